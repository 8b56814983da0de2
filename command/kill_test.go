//go:build linux

package command

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// killed holds the commands that the session of TestKill starts on hosts before it is killed: programs in the
// background, some in sessions of their own.
const killed = `h1 sh -c 'iperf3 -s -D 2>/dev/null; sleep 1000 & sleep 1001 &' >/dev/null 2>&1
h5 sh -c 'sleep 1002 & sleep 0.1' >/dev/null 2>&1
h2 sh -c '(setsid sh -c "sleep 1003 & exec sleep 1004" &)' >/dev/null 2>&1
h1 sh -c 'ping -i 0.01 h5'
`

// others holds the commands that another terminal's program runs meanwhile.
const others = `(setsid sleep 1005 &) >/dev/null 2>&1; exec sleep 1006`

// TestKill kills a live fabric and its namespace init, alone and in either order, at moments from before its first
// namespace to after its last. Programs run on its hosts, from this terminal and another. It then looks for leftover
// processes, namespaces and BPF programs, and checks that the next fabric of that name comes up at once.
func TestKill(t *testing.T) {
	testenv.NeedRoot(t)
	t.Parallel()
	times := 10
	if s := os.Getenv("PAUSENET_KILLS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		times = n
	}
	_, pausenet := program(t)
	random := rand.New(rand.NewPCG(1, uint64(times)))
	pause := func(most int) { time.Sleep(time.Duration(random.IntN(most)) * time.Microsecond) }
	for i := range times {
		// Bring-up takes 0.2 s, the lines half a second.
		after := time.Duration(random.IntN(900)) * time.Millisecond
		variable := fmt.Sprintf("PAUSENET_TEST_KILL=%d-%d", os.Getpid(), i)
		cmd := exec.Command(pausenet, "up", "--name", "test-kill", "--slowdown", "500")
		cmd.Stdin = strings.NewReader(killed)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Env = append(os.Environ(), variable)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after / 2)
		// if it is up by now
		client := exec.Command(pausenet, "exec", "--fabric", "test-kill", "h3", "--", "sh", "-c", others)
		client.Env = cmd.Env
		if err := client.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after / 2)
		programs, initPID := programsOf(cmd.Process.Pid), initOf(cmd.Process.Pid)
		kill := func(pid int) {
			if pid > 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		how := "main"
		switch i % 5 {
		case 1:
			how = "main, as it shuts down"
			_ = cmd.Process.Signal(syscall.SIGTERM)
			pause(30_000)
		case 2:
			how = "main and then the namespace init"
			kill(cmd.Process.Pid)
			pause(500)
			kill(initPID)
		case 3:
			how = "the namespace init and then main"
			kill(initPID)
			pause(500)
		case 4:
			how = "all, the client too"
			kill(client.Process.Pid)
			kill(initPID)
		}
		kill(cmd.Process.Pid)
		_, _ = cmd.Wait(), client.Wait() // however they ended
		nothingLeft(t, fmt.Sprintf("%s killed after %v, with %d programs, namespace init %d", how, after, len(programs),
			initPID), cmd.Process.Pid, variable, programs)
	}
	again := exec.Command(pausenet, "up", "--name", "test-kill", "--slowdown", "500")
	again.Stdin = strings.NewReader("pingpair\n")
	if out, err := again.CombinedOutput(); !strings.Contains(string(out), "0% dropped (2/2 received)") {
		t.Errorf("the next fabric: %v\n%s", err, out)
	}
}

// initOf returns the namespace init of a fabric's process, or 0 if there is none yet.
func initOf(pid int) int {
	return aProcess(func(folder string) bool {
		line, _ := os.ReadFile(folder + "/cmdline")
		return string(line) == fmt.Sprintf("pausenet-init\x00%d\x00", pid)
	})
}

// aProcess returns a process whose folder in /proc satisfies the predicate, or 0 if there is none.
func aProcess(is func(folder string) bool) int {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		if pid, err := strconv.Atoi(filepath.Base(folder)); err == nil && is(folder) {
			return pid
		}
	}
	return 0
}

// programsOf returns the BPF programs that a process has open.
func programsOf(pid int) (ids []ebpf.ProgramID) {
	infos, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	for _, f := range infos {
		info, _ := os.ReadFile(f)
		if _, id, ok := strings.Cut(string(info), "prog_id:\t"); ok {
			var n ebpf.ProgramID
			if _, err := fmt.Sscan(id, &n); err == nil {
				ids = append(ids, n)
			}
		}
	}
	return ids
}

// nothingLeft waits until no process is left of a killed one's, nor any in a namespace of its, and its programs are
// unloaded. All of its processes have a variable in their environment.
func nothingLeft(t *testing.T, what string, pid int, variable string, programs []ebpf.ProgramID) {
	t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(5 * time.Millisecond) {
		var left []string
		if pid := aProcess(func(folder string) bool {
			environ, _ := os.ReadFile(folder + "/environ")
			return bytes.Contains(environ, []byte(variable))
		}); pid > 0 {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			left = append(left, fmt.Sprintf("process %d %q", pid, line))
		}
		leftovers, err := kernel.FindLeftovers()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range leftovers {
			if l.Owner == pid {
				left = append(left, fmt.Sprintf("namespace %+v", l))
			}
		}
		for _, id := range programs {
			if p, err := ebpf.NewProgramFromID(id); err == nil {
				p.Close()
				left = append(left, fmt.Sprintf("program %d", id))
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: left are %v", what, left)
		}
	}
}

// TestHangUp checks that a fabric whose terminal disappears ends in order, with its verdict.
func TestHangUp(t *testing.T) {
	testenv.NeedRoot(t)
	t.Parallel()
	_, pausenet := program(t)
	cmd := exec.Command(pausenet, "up", "--name", "test-hangup", "--slowdown", "500")
	typed, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer typed.Close()
	printed, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := typed.Write([]byte("sh echo ready\n")); err != nil {
		t.Fatal(err)
	}
	var out []byte
	buffer := make([]byte, 4096)
	for sent := false; ; {
		n, err := printed.Read(buffer)
		out = append(out, buffer[:n]...)
		if !sent && bytes.Contains(out, []byte("\nready\n")) {
			sent = true
			_ = cmd.Process.Signal(syscall.SIGHUP)
		}
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); !bytes.Contains(out, []byte("checks: ")) || cmd.ProcessState.ExitCode() < 0 {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat("/run/pausenet/test-hangup.sock"); err == nil {
		t.Error("the socket is left")
	}
}

// TestInitKilled kills only the namespace init of a fabric, and with it all programs on its nodes. The fabric ends in
// order and reports why.
func TestInitKilled(t *testing.T) {
	testenv.NeedRoot(t)
	t.Parallel()
	_, pausenet := program(t)
	cmd := exec.Command(pausenet, "up", "--name", "test-init", "--slowdown", "500")
	typed, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer typed.Close()
	if _, err := typed.Write([]byte("h1 sh -c 'echo ready; exec sleep 1000'\n")); err != nil {
		t.Fatal(err)
	}
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	printed := func() string {
		text, _ := os.ReadFile(out.Name())
		return string(text)
	}
	for deadline := time.Now().Add(timeout); !strings.Contains(printed(), "\nready\n"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			t.Fatal(printed())
		}
	}
	initPID := initOf(cmd.Process.Pid)
	if err := syscall.Kill(initPID, syscall.SIGKILL); err != nil {
		t.Errorf("namespace init %d: %v", initPID, err)
	}
	err = cmd.Wait()
	text := printed()
	if cmd.ProcessState.ExitCode() != exitVerdict || !strings.Contains(text, "checks: ") ||
		!strings.Contains(text, fmt.Sprintf("its namespace init, process %d, was killed, and all programs on nodes with it",
			initPID)) {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestStoppedClient checks that a stopped program of another terminal keeps no part of a killed fabric alive.
func TestStoppedClient(t *testing.T) {
	testenv.NeedRoot(t)
	t.Parallel()
	_, pausenet := program(t)
	up := exec.Command(pausenet, "up", "--name", "test-stopped", "--slowdown", "500", "--detach")
	up.Env = append(os.Environ(), detachedVariable+"=1") // the process in the background itself
	up.Stdin = strings.NewReader("")
	out, err := up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // who is killed leaves the socket, which nobody answers
		_ = up.Process.Kill()
		forgetFabric("test-stopped")
	})
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != upLine; {
		t.Log(lines.Text())
	}
	client := exec.Command(pausenet, "exec", "--fabric", "test-stopped", "h3", "--", "sh", "-c",
		"echo ready; exec sleep 1000")
	client.Env = append(os.Environ(), fmt.Sprintf("PAUSENET_TEST_KILL=stopped-%d", os.Getpid()))
	said, err := client.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Process.Kill() })
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	// It lets go as soon as the program runs.
	for deadline := time.Now().Add(timeout); ; time.Sleep(time.Millisecond) {
		links := slices.DeleteFunc(netLinks(fmt.Sprintf("/proc/%d", client.Process.Pid)),
			func(link string) bool { return link == own })
		if len(links) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it holds %v", links)
		}
	}
	_ = client.Process.Signal(syscall.SIGSTOP)
	programs := programsOf(up.Process.Pid)
	_ = up.Process.Kill()
	_ = up.Wait()
	nothingLeft(t, "a client is stopped", up.Process.Pid, "no such variable", programs)
	_ = client.Process.Signal(syscall.SIGCONT)
	if err := client.Wait(); client.ProcessState.ExitCode() != exitVerdict {
		t.Errorf("the client: %v", err)
	}
}

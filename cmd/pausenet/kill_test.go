//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator"
)

// killed is what the session of TestKill does in hosts before it is killed.
const killed = `h1 sh -c 'iperf3 -s -D 2>/dev/null; sleep 1000 & sleep 1001 &'
h5 sh -c 'sleep 1002 & sleep 0.1'
h1 sh -c 'ping -i 0.01 h5'
`

// TestKill kills a live fabric, with programs in its hosts, at moments from before its first namespace to after its last, and looks for
// what is left: processes in its namespaces, namespaces, programs. The next one of its name comes up at once.
func TestKill(t *testing.T) {
	testenv.NeedRoot(t)
	times := 6
	if s := os.Getenv("PAUSENET_KILLS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		times = n
	}
	_, pausenet := program(t)
	random := rand.New(rand.NewPCG(1, uint64(times)))
	for i := range times {
		// Bring-up takes 0.2 s, the lines half a second; a third is killed while it shuts down.
		after := time.Duration(random.IntN(900)) * time.Millisecond
		cmd := exec.Command(pausenet, "up", "--name", "test-kill", "--slowdown", "500")
		cmd.Stdin = strings.NewReader(killed)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.WaitDelay = 10 * time.Second
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		programs := programsOf(cmd.Process.Pid)
		if i%3 == 2 {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
		}
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); err == exec.ErrWaitDelay {
			t.Errorf("killed after %v: a program still has its output", after)
		}
		nothingLeft(t, fmt.Sprintf("killed after %v, with %d programs", after, len(programs)), cmd.Process.Pid, programs)
	}
	again := exec.Command(pausenet, "up", "--name", "test-kill", "--slowdown", "500")
	again.Stdin = strings.NewReader("pingpair\n")
	if out, err := again.CombinedOutput(); !strings.Contains(string(out), "0% dropped (2/2 received)") {
		t.Errorf("the next fabric: %v\n%s", err, out)
	}
}

// programsOf are the BPF programs that a process has open.
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

// nothingLeft waits until no process is in a namespace of a killed one's and its programs are unloaded.
func nothingLeft(t *testing.T, what string, pid int, programs []ebpf.ProgramID) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		var left []string
		leftovers, err := orchestrator.FindLeftovers()
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

// TestHangUp: a terminal that goes away ends the fabric in order, with its verdict.
func TestHangUp(t *testing.T) {
	testenv.NeedRoot(t)
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pausenet := filepath.Join(dir, "pausenet")
	if err := os.Symlink(self, pausenet); err != nil {
		t.Fatal(err)
	}
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
	if err := cmd.Wait(); !bytes.Contains(out, []byte("verdict: ")) || cmd.ProcessState.ExitCode() < 0 {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat("/run/pausenet/test-hangup.sock"); err == nil {
		t.Error("the socket is left")
	}
}

//go:build linux

package command

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pausenet/pausenet/internal/testenv"
)

// fabric brings the small fabric up until the test's end, and waits until it is.
func fabric(t *testing.T, name, pausenet string) {
	t.Helper()
	up := exec.Command(pausenet, "up", "small", "--name", name, "--slowdown", "500")
	lines, err := up.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // it ends with its lines, late or not
		_ = lines.Close()
		_ = up.Wait()
	})
	for deadline := time.Now().Add(timeout); ; time.Sleep(100 * time.Millisecond) {
		out, err := exec.Command(pausenet, "exec", "--fabric", name, "h0", "--", "true").CombinedOutput()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

// TestExecFromNode starts programs on one host from another, as mpirun's launch agent does. The programs on the first
// host may not enter another's namespaces.
func TestExecFromNode(t *testing.T) {
	testenv.NeedRoot(t)
	t.Parallel()
	folder, pausenet := program(t)
	const name = "test-exec"
	fabric(t, name, pausenet)
	there := func(args ...string) *exec.Cmd {
		cmd := exec.Command(pausenet, append([]string{
			"exec", "--fabric", name, "h0", "--", pausenet, "exec", "--fabric",
			name, "h1", "--",
		}, args...)...)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "SAID=before")
		return cmd
	}

	cmd := there("sh", "-c", "hostname; pwd -P; echo $SAID; grep CapEff /proc/self/status; cat; echo beside >&2; exit 7")
	var out, beside bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("read\n"), &out, &beside
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 7 || !strings.HasPrefix(beside.String(), "beside\n") {
		t.Errorf("%v, exit code %d: %q", err, code, beside.String())
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		t.Fatal(err)
	}
	own, err := exec.Command(pausenet, "exec", "--fabric", name, "h0", "--", "grep", "CapEff",
		"/proc/self/status").Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "h1\n" + folder + "\nbefore\n" + string(own) + "read\n"; out.String() != want {
		t.Errorf("it wrote %q, not %q", out.String(), want)
	}

	for _, k := range []struct {
		command string
		code    int
		says    string
	}{
		{"kill -9 $$", 128 + 9, "signal: killed"},
		{"exec no-such-program", 127, "not found"},
	} {
		cmd := there("sh", "-c", k.command)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != k.code || !strings.Contains(string(out), k.says) {
			t.Errorf("%s: exit code %d: %s", k.command, code, out)
		}
	}
	if out, err := there("no-such-program").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), `"no-such-program": executable file not found`) {
		t.Errorf("a program that is none: %v: %s", err, out)
	}

	// With another fabric up, a program on a node means its own.
	fabric(t, name+"-other", pausenet)
	on := func(command string) string {
		cmd := exec.Command(pausenet, "exec", "--fabric", name, "h0", "--", "sh", "-c", command)
		cmd.Env = append(os.Environ(), "PAUSENET_FABRIC="+name+"-other")
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	for command, want := range map[string]string{
		"env -i " + pausenet + " exec h2 -- /bin/hostname":                              "h2\n",
		pausenet + " exec h2 -- sh -c 'hostname; " + pausenet + " exec leaf0 hostname'": "h2\nleaf0\n",
		pausenet + " inspect | tail -n +2 | cut -d' ' -f1":                              name + "\n",
		"echo $PAUSENET_FABRIC":                                                         name + "\n",

		pausenet + " exec --fabric " + name + "-other h2 hostname; true": "pausenet: no such fabric named \"" + name +
			"-other\" (up: " + name + ")\n",
		pausenet + " view no-such-run; true": "pausenet: no built-in scenario \"no-such-run\": pausenet list prints the " +
			"names; write a file's name with .yaml\n",
		// It does not find the machine's sockets and records, and may not change the fabric, as it has less than root's
		// powers.
		"ls -A /run/pausenet; echo own >/run/pausenet/x; cat /run/pausenet/x": "own\n",
		pausenet + " down " + name + "; true": "pausenet: programs on nodes may look at their fabric and run programs on " +
			"its nodes, but not use \"down\" (use it on the machine, or bring the fabric up with --privileged)\n",
	} {
		if got := on(command); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	if _, err := os.Stat("/run/pausenet/x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program on a node has written into the machine's folder: %v", err)
	}

	// SIGTERM is passed on, and who has asked for a program and is killed takes it along.
	for _, k := range []struct {
		command string
		signal  syscall.Signal
		says    string // as it ends
	}{
		{"trap 'echo ended; exit' TERM; echo started; while :; do sleep 0.1; done", syscall.SIGTERM, "ended\n"},
		{"echo started; while :; do sleep 0.1; done", syscall.SIGKILL, ""},
	} {
		cmd := there("sh", "-c", k.command)
		said, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		started := make([]byte, len("started\n"))
		if _, err := io.ReadFull(said, started); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(k.signal); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(said) // to the end of all that might write there
		_ = cmd.Wait()
		if string(rest) != k.says {
			t.Errorf("%v: it says %q, not %q", k.signal, rest, k.says)
		}
	}
}

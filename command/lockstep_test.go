//go:build linux

package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
)

// inLockstep runs a program on a host of a fabric in lock step, and returns what it printed.
func inLockstep(t *testing.T, command ...string) (string, error) {
	t.Helper()
	testenv.NeedRoot(t)
	libraries, err := filepath.Abs("../bin/verbs")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(libraries, "libpausenet-clock.so")); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("this test needs the libraries for RDMA programs: make verbs")
		}
		t.Skip("this test needs the libraries for RDMA programs: make verbs")
	}
	folder := t.TempDir() // the libraries stand beside the program
	own := filepath.Join(folder, "pausenet")
	if err := os.Symlink(libraries, filepath.Join(folder, "verbs")); err != nil {
		t.Fatal(err)
	}
	if err := testenv.PlaceProgram(own); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(own, append([]string{"exec", "--up", "small", "--clock", "lockstep", "h1"}, command...)...).Output()
	return string(out), err
}

// TestLockstepClock checks that programs in lock step sleep for virtual time and read it: however busy the machine is,
// the time between two programs is what a third one slept, to the nanosecond. TCP sends no probes by the wall clock.
func TestLockstepClock(t *testing.T) {
	t.Parallel()
	out, err := inLockstep(t, "sh", "-c",
		"a=$(date +%s%N); sleep 0.0005; b=$(date +%s%N); sleep 0.0007; c=$(date +%s%N); echo $((b-a)) $((c-b)); "+
			"cat /proc/sys/net/ipv4/tcp_early_retrans")
	if err != nil || out != "500000 700000\n0\n" {
		t.Errorf("got %q, %v, want the times slept, and 0", out, err)
	}
}

// TestLockstepCalls runs test/verbs/clock.c, which waits by each call that the clock's library has.
func TestLockstepCalls(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "clock")
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("this test needs gcc")
	}
	compile := exec.Command(gcc, "-O2", "-D_FORTIFY_SOURCE=2", "-Wall", "-Wextra", "-Werror", "-o", file, "../test/verbs/clock.c", "-lpthread")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := inLockstep(t, file); err != nil || out != "" {
		t.Errorf("%v: calls that took another time:\n%s", err, out)
	}
}

//go:build linux

package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
)

// TestLockstepClock checks that programs in lock step sleep for virtual time and read it: however busy the machine is,
// the time between two programs is what a third one slept, to the nanosecond.
func TestLockstepClock(t *testing.T) {
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
	_, pausenet := program(t)
	folder := t.TempDir() // the libraries stand beside the program
	own := filepath.Join(folder, "pausenet")
	if err := os.Symlink(libraries, filepath.Join(folder, "verbs")); err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(pausenet)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, body, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(own, "exec", "--up", "small", "--clock", "lockstep", "h1", "sh", "-c",
		"a=$(date +%s%N); sleep 0.0005; b=$(date +%s%N); sleep 0.0007; c=$(date +%s%N); echo $((b-a)) $((c-b))")
	out, err := cmd.Output()
	if err != nil || string(out) != "500000 700000\n" {
		t.Errorf("got %q, %v, want the times slept", out, err)
	}
}

//go:build unix

package openfiles

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestFewFiles starts this test again where it may open few files.
func TestFewFiles(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[string]int{"6": environment, "16": 0} {
		cmd := exec.Command("sh", "-c", "ulimit -n "+limit+"; exec "+own+" -test.run=^$")
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Errorf("%s files: exit code %d, want %d: %s", limit, code, want, out)
		}
		if message := "limit on open files is " + limit; strings.Contains(string(out), message) != (want != 0) {
			t.Errorf("%s files: %s", limit, out)
		}
	}
}

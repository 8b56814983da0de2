package internal

import (
	"os/exec"
	"strings"
	"testing"
)

// TestProgramWithoutWazero: the program has the translated pipelines alone, wazero only where it is asked for.
func TestProgramWithoutWazero(t *testing.T) {
	for tags, want := range map[string]bool{"": false, "wazero": true} {
		out, err := exec.Command("go", "list", "-deps", "-tags="+tags, "../cmd/pausenet").Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(out), "github.com/tetratelabs/wazero"); got != want {
			t.Errorf("with tags %q the program has wazero: %v", tags, got)
		}
	}
}

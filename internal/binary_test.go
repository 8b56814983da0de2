package internal

import (
	"os/exec"
	"strings"
	"testing"
)

// TestProgramWithoutReference: the program has the translated pipelines alone, and those by wazero only where they are
// asked for.
func TestProgramWithoutReference(t *testing.T) {
	for tags, want := range map[string]bool{"": false, "wazero": true} {
		out, err := exec.Command("go", "list", "-deps", "-tags="+tags, "../cmd/pausenet").Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(out), "github.com/pausenet/pausenet/ebpf/wasm/reference"); got != want {
			t.Errorf("with tags %q the program has the reference: %v", tags, got)
		}
	}
}

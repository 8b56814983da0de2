//go:build unix

package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/sweep"
)

// TestPointUnheard checks that a point continues if its sweep no longer reads its reports. Only the end of standard
// input ends a point in order. A sweep that is killed closes both at once, and the point may notice either first.
func TestPointUnheard(t *testing.T) {
	dir, pausenet := program(t)
	s, err := scenario.Load("dcon-burst", nil)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := scenario.ConfigurationHash(s, "none", s.Seed)
	if err != nil {
		t.Fatal(err)
	}
	job, err := json.Marshal(&sweep.Job{
		Common: sweep.Common{Plane: "wasm"}, Scenario: "dcon-burst", Controller: "none",
		Directory: filepath.Join(dir, "point"), Hash: hash,
	})
	if err != nil {
		t.Fatal(err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	cmd := exec.Command(pausenet, "sweep-point")
	cmd.Stdout = writer
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	if _, err := in.Write(append(job, '\n')); err != nil {
		t.Fatal(err)
	}
	state, err := cmd.Process.Wait() // Cmd.Wait would end its standard input
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "point", "manifest.json"))
	if err != nil || !strings.Contains(string(manifest), `"status": "complete"`) {
		t.Errorf("%v: %v\n%.200s", state, err, manifest)
	}
}

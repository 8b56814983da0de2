package command

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
)

// TestNothingToSteal checks that the program that students have contains no line of the teacher's material, such as
// solutions and hidden checks, and that the search would find one.
func TestNothingToSteal(t *testing.T) {
	testenv.WholeScenario(t)
	t.Parallel()
	program := filepath.Join(t.TempDir(), "pausenet")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/pausenet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	lines := func(folder string) map[string]string {
		all := map[string]string{}
		err := fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := os.ReadFile(filepath.Join(folder, name))
			for line := range strings.Lines(string(data)) {
				line = strings.TrimSpace(line)
				if strings.HasSuffix(name, ".txt") && !strings.ContainsAny(line, "0123456789") {
					continue // an output of perftest: its headings are no secret
				}
				if len(line) >= 24 {
					all[line] = name
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	shown, found := lines("../experiments/lab/exercises"), 0
	for line, name := range lines("../experiments/lab/teacher") {
		switch there := bytes.Contains(binary, []byte(line)); {
		case shown[line] != "" && there:
			found++
		case shown[line] == "" && there:
			t.Errorf("the program contains a line of the teacher's %s: %s", name, line)
		}
	}
	if found == 0 {
		t.Error("the program does not contain the exercises' lines either: is it the right one?")
	}
}

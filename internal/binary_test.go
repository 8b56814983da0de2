package internal

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
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

const (
	// mostBytes bounds the stripped program for linux/amd64. It leaves room for Go's next version.
	mostBytes = 40_500_000
	// mostInit bounds what the variables and init functions of all packages allocate at the start, in bytes.
	mostInit = 1 << 20
)

// TestProgramSize checks the size of the stripped program, what it allocates at its start, and that the linker could
// leave out methods that nothing calls. It keeps all exported ones as soon as one function calls methods by names that
// only data decides, as text/template does. The same program contains nothing of the teacher's material.
func TestProgramSize(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pausenet")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", file, "../cmd/pausenet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// The names of a program's functions are in it, stripped or not.
	for function, want := range map[string]bool{
		"time.Time.Format":                  true,
		"time.Time.ISOWeek":                 false, // nothing calls it
		"text/template.(*Template).Execute": false,
		"html/template.(*Template).Execute": false,
		"text/template.(*state).evalField":  false,
	} {
		if got := bytes.Contains(program, []byte(function)); got != want {
			t.Errorf("the program has %s: %v, want %v", function, got, want)
		}
	}
	if got := len(program); runtime.GOOS+"/"+runtime.GOARCH == "linux/amd64" && got > mostBytes {
		t.Errorf("the program has %d bytes, want at most %d (largest symbols: go tool nm -size -sort size)", got, mostBytes)
	}
	checkNothingToSteal(t, program)
	trace := exec.Command(file, "version")
	trace.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := trace.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	allocated := 0
	for _, m := range regexp.MustCompile(`(?m)^init .* ms clock, (\d+) bytes`).FindAllSubmatch(out, -1) {
		n, _ := strconv.Atoi(string(m[1]))
		allocated += n
	}
	if allocated == 0 || allocated > mostInit {
		t.Errorf("packages allocate %d bytes at the start, want at most %d (GODEBUG=inittrace=1 pausenet version)", allocated,
			mostInit)
	}
}

// checkNothingToSteal checks that the program that students have contains no line of the teacher's material, such as
// solutions and hidden checks, and that the search would find one.
func checkNothingToSteal(t *testing.T, program []byte) {
	t.Helper()
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
		switch there := bytes.Contains(program, []byte(line)); {
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

package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestOwnProgram builds a pausenet with its own congestion control in a module outside of this repository, and checks
// that every command knows that controller.
func TestOwnProgram(t *testing.T) {
	t.Parallel()
	folder, err := filepath.Abs(filepath.Join("..", "examples", "own-controller"))
	if err != nil {
		t.Fatal(err)
	}
	list := exec.Command("go", "list", "-deps", ".")
	list.Dir = folder
	if out, err := list.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\nif pausenet's dependencies have changed: go -C examples/own-controller mod tidy", err, out)
	}
	// In a workspace the build takes pausenet's packages from the cache, where the tests' builds have put them.
	workspace := filepath.Join(t.TempDir(), "go.work")
	text := fmt.Sprintf("go %s\nuse %q\nuse %q\n", strings.TrimPrefix(runtime.Version(), "go"), folder, filepath.Join(folder, "..", ".."))
	if err := os.WriteFile(workspace, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "own")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, ".") // linking debug information takes a second
	build.Dir, build.Env = folder, append(os.Environ(), "GOWORK="+workspace)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"--version"}, []string{"in example.org/own-controller"}},
		{[]string{"list", "--cc"}, []string{"\nhalving ", "\ndcqcn "}},
		{[]string{"list", "--cc", "halving+win"}, []string{"step ", "window "}},
		{[]string{
			"run", "incast", "--cc", "halving,dcqcn", "--set", "cc.halving.step=80Mbps", "--plane", "wasm", "--out",
			t.TempDir(),
		}, []string{" halving  ", " ok  "}},
	} {
		out, err := exec.Command(program, c.args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", c.args, err, out)
		}
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%v: no %q in\n%s", c.args, want, out)
			}
		}
	}
	if out, err := exec.Command(program, "run", "incast", "--cc", "halvin").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), `did you mean "halving"`) {
		t.Errorf("%v\n%s", err, out)
	}
}

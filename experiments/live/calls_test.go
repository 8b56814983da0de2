//go:build linux

package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
)

// compiled compiles test/verbs/calls.c against the machine's headers of libibverbs and librdmacm.
func compiled(t *testing.T) string {
	t.Helper()
	program(t, "gcc", "gcc")
	verbsFolder(t)
	file := filepath.Join(t.TempDir(), "calls")
	command := exec.Command("gcc", "-Wall", "-Wextra", "-Werror", "-o", file, "../../test/verbs/calls.c", "-libverbs",
		"-lrdmacm", "-lpthread")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// TestVerbsCalls makes each call that the headers of libibverbs and librdmacm declare, and compares the results with
// the table in docs/verbs.md. With -update it writes the table.
func TestVerbsCalls(t *testing.T) {
	t.Parallel()
	file := compiled(t)
	f := bringUp(t, "")
	defer down(t, f)
	results := map[string][]string{}
	called := map[string]bool{}
	for line := range strings.Lines(onRDMA(t, f, "h1", file, "10.0.0.2")) {
		i := strings.LastIndexByte(line, ' ')
		name, result := line[:i], strings.TrimSpace(line[i:])
		if !strings.HasPrefix(name, "pausenet:") { // a refusal's message
			call, _, _ := strings.Cut(name, ",")
			called[call] = true
			results[result] = append(results[result], "`"+name+"`")
		}
	}
	for call := range declared(t) {
		if !called[call] {
			results["not called"] = append(results["not called"], "`"+call+"`")
		}
	}
	var table strings.Builder
	table.WriteString("| result | calls |\n|---|---|\n")
	for _, row := range [][2]string{
		{"works", "work"},
		{"EOPNOTSUPP", "refused with `EOPNOTSUPP`"},
		{"not called", "not called by this test"},
	} {
		slices.Sort(results[row[0]])
		fmt.Fprintf(&table, "| %s | %s |\n", row[1], strings.Join(slices.Compact(results[row[0]]), ", "))
		delete(results, row[0])
	}
	if len(results) > 0 {
		t.Errorf("calls that fail in another way: %v", results)
	}
	const page, begin, end = "../../docs/verbs.md", "<!-- calls -->\n", "<!-- end of calls -->"
	text, err := os.ReadFile(page)
	must(t, err)
	before, rest, _ := strings.Cut(string(text), begin)
	old, after, found := strings.Cut(rest, end)
	switch {
	case !found:
		t.Fatalf("%s has no table between %q and %q", page, begin, end)
	case *testenv.Update:
		must(t, os.WriteFile(page, []byte(before+begin+table.String()+end+after), 0o644))
	case old != table.String():
		t.Errorf("%s (go test -run TestVerbsCalls -update writes it) has\n%s\nnot\n%s", page, old, table.String())
	}
}

// declared returns the functions that the headers declare.
func declared(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, header := range []string{"infiniband/verbs.h", "rdma/rdma_cma.h", "rdma/rdma_verbs.h"} {
		text, err := os.ReadFile("/usr/include/" + header)
		must(t, err)
		code := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAll(text, nil)
		for _, m := range regexp.MustCompile(`(?m)^(?:[a-z][\w \t*]*[ *]|)((?:ibv|rdma|mult_to|mbps_to)_\w+) ?\([^;{]*[;{]`).
			FindAllSubmatch(code, -1) {
			names[string(m[1])] = true
		}
	}
	delete(names, "ibv_static_providers") // of a static libibverbs
	return names
}

// Package internal holds the test of the fences between the repository's folders.
package internal

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/pausenet/pausenet"

// common are rooms that every room may import: the words for sizes, rates and times, and the small shared packages.
var common = []string{"units", "vtime", "internal"}

// rooms says which other rooms a room may import beside the common ones. A package is of the room that is nearest above it: what is
// not listed here is of its folder's room.
var rooms = map[string][]string{
	"units":    {},
	"vtime":    {},
	"internal": {},
	"test":     {},

	"topologies":      {},
	"topologies/draw": {"topologies"},
	"ebpf":            {},
	"ebpf/kernel":     {"ebpf"},
	"ebpf/wasm":       {"ebpf"},
	"hostagent":       {},
	"switchagent":     {"ebpf"},
	"settings":        {"hostagent", "switchagent"},

	"orchestrator/engine":        {"topologies", "ebpf", "ebpf/wasm", "hostagent", "switchagent", "settings"},
	"orchestrator/kernel":        {"topologies", "ebpf", "ebpf/kernel", "hostagent", "switchagent", "orchestrator/engine"},
	"orchestrator/kernel/doctor": {"topologies", "hostagent", "switchagent", "orchestrator/engine", "orchestrator/kernel"},
	"orchestrator/live":          {"topologies", "ebpf", "hostagent", "switchagent", "orchestrator/engine", "orchestrator/kernel"},

	// From the language of scenarios, and what a run comes to, to what runs them, reads the results and repeats them. Their tests may
	// import what any of them may, as far as Go lets them.
	"experiments/internal": {},
	"experiments/fluid":    {},
	"experiments/report":   {},
	"experiments/workload": {},
	"experiments/measure":  {"topologies"},
	"experiments/scenario": {"experiments/measure", "experiments/workload", "topologies", "hostagent", "switchagent", "settings", "orchestrator/engine"},
	"experiments/rundir":   {"experiments/measure", "experiments/scenario"},
	"experiments/runner": {
		"experiments/measure", "experiments/scenario", "experiments/rundir", "topologies", "hostagent", "switchagent", "settings", "orchestrator/engine", "orchestrator/kernel",
	},
	"experiments/results": {"experiments/measure", "experiments/scenario", "experiments/rundir", "experiments/report"},
	"experiments/suite": {
		"experiments/measure", "experiments/scenario", "experiments/rundir", "experiments/runner", "experiments/results", "topologies", "orchestrator/engine",
	},
	"experiments/sweep": {
		"experiments/measure", "experiments/scenario", "experiments/rundir", "experiments/runner", "experiments/results", "experiments/report", "orchestrator/engine",
	},
	"experiments/jsonschema": {"experiments/measure", "experiments/scenario", "experiments/workload", "topologies", "hostagent", "switchagent", "settings"},
	"experiments/bound":      {"experiments/measure", "experiments/scenario", "experiments/rundir", "experiments/fluid", "topologies", "orchestrator/engine"},
	"experiments/bench":      {"experiments/measure", "experiments/scenario", "topologies", "hostagent", "switchagent", "orchestrator/engine", "orchestrator/kernel"},
	"experiments/live": {
		"experiments/measure", "experiments/scenario", "experiments/runner", "topologies", "ebpf", "hostagent", "switchagent", "settings", "orchestrator/engine", "orchestrator/kernel", "orchestrator/live",
	},
	"experiments/train": {"experiments/measure", "experiments/scenario", "experiments/runner", "experiments/report", "hostagent"},

	"cmd": {
		"topologies", "topologies/draw", "ebpf", "hostagent", "switchagent", "settings", "orchestrator/engine", "orchestrator/kernel", "orchestrator/kernel/doctor", "orchestrator/live",
		"experiments/measure", "experiments/scenario", "experiments/rundir", "experiments/runner", "experiments/results", "experiments/suite",
		"experiments/sweep", "experiments/bound", "experiments/bench", "experiments/live", "experiments/train", "experiments/report",
		"experiments/workload", "experiments/fluid", "experiments/jsonschema",
	},
}

// roomOf is the room of a package, by its path in the repository; "" if it is in none.
func roomOf(dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, known := rooms[dir]; known {
			return dir
		}
	}
	return ""
}

// pure are the rooms of state machines without IO: they are given the time and events, and say what to do.
var pure = []string{"units", "ebpf", "hostagent", "switchagent", "settings", "orchestrator/engine", "experiments/fluid", "experiments/measure"}

// impure are the packages, with all below them, that bring a clock, threads, the operating system, a logger, sockets,
// randomness that no seed decides, or what loads pipelines.
var impure = []string{
	"time", "sync", "context", "os", "log", "net", "syscall", "runtime", "unsafe", "math/rand", "crypto/rand",
	"golang.org/x/sys", "golang.org/x/net", "github.com/cilium/ebpf", "github.com/tetratelabs/wazero", "github.com/vishvananda",
}

// harmless are exceptions from impure: values, no IO.
var harmless = []string{"net/netip"}

// prints are the functions of package fmt that write or read by themselves.
var prints = []string{"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"}

// TestFences holds every file of the repository to the table of rooms. External test packages may import what they like.
func TestFences(t *testing.T) {
	files := 0
	problems, err := breaches(os.DirFS(".."), &files)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
	if files < 100 {
		t.Errorf("%d Go files were looked at: is this the repository?", files)
	}
}

// TestFencesHold breaks each fence once.
func TestFencesHold(t *testing.T) {
	imports := func(name string, paths ...string) string {
		s := "package " + name + "\n"
		for _, p := range paths {
			s += "import _ " + strconv.Quote(p) + "\n"
		}
		return s
	}
	room := func(name string) string { return module + "/" + name }
	for _, c := range []struct{ file, source, want string }{
		{"topologies/x.go", imports("topologies", room("units"), "os", "net"), ""},
		{"topologies/x.go", imports("topologies", room("ebpf")), "may not import room ebpf"},
		{"topologies/x_test.go", imports("topologies", room("orchestrator/engine")), "may not import room orchestrator/engine"},
		{"topologies/x_test.go", imports("topologies_test", room("orchestrator/engine")), ""},
		{"topologies/x.go", imports("topologies", room("topologies/draw")), "may not import room topologies/draw"},
		{"topologies/draw/x.go", imports("draw", room("topologies")), ""},
		{"topologies/draw/x.go", imports("draw", room("ebpf")), "room topologies/draw may not import room ebpf"},
		{"orchestrator/engine/x.go", imports("engine", room("topologies/draw")), "may not import room topologies/draw"},
		{"ebpf/x.go", imports("ebpf", room("switchagent")), "may not import room switchagent"},
		{"switchagent/x.go", imports("switchagent", room("ebpf"), room("internal/wire"), "net/netip"), ""},
		{"ebpf/x.go", imports("ebpf", "github.com/cilium/ebpf"), "without IO"},
		{"ebpf/x.go", imports("ebpf", room("ebpf/kernel")), "may not import room ebpf/kernel"},
		{"ebpf/wasm/x.go", imports("wasm", room("ebpf"), "github.com/tetratelabs/wazero"), ""},
		{"switchagent/x.go", imports("switchagent", room("ebpf/wasm")), "may not import room ebpf/wasm"},
		{"switchagent/x.go", imports("switchagent", room("hostagent")), "may not import room hostagent"},
		{"switchagent/x.go", imports("switchagent", room("topologies")), "may not import room topologies"},
		{"switchagent/x.go", imports("switchagent", "github.com/cilium/ebpf"), "without IO"},
		{"hostagent/x.go", imports("hostagent", room("hostagent/cc")), ""},
		{"hostagent/x.go", imports("hostagent", room("ebpf")), "may not import room ebpf"},
		{"hostagent/cc/x.go", imports("cc", room("switchagent")), "may not import room switchagent"},
		{"hostagent/cc/x.go", imports("cc", "time"), "without IO"},
		{"hostagent/cc/x.go", imports("cc", "log/slog"), "without IO"},
		{"hostagent/cc/x.go", imports("cc", "net"), "without IO"},
		{"hostagent/x.go", imports("hostagent", "golang.org/x/sys/unix"), "without IO"},
		{"hostagent/x.go", imports("hostagent", "math/rand/v2"), "without IO"},
		{"hostagent/x.go", "package hostagent\nfunc f() { go f() }\n", "starts a goroutine"},
		{"hostagent/x.go", "package hostagent\nimport \"fmt\"\nfunc f() { fmt.Println() }\n", "fmt.Println"},
		{"hostagent/x.go", "package hostagent\nimport p \"fmt\"\nfunc f() { p.Printf(\"\") }\n", "fmt.Printf"},
		{"hostagent/x.go", "package hostagent\nfunc f() { println() }\n", "println"},
		{"hostagent/x.go", "package hostagent\nimport \"fmt\"\nvar e = fmt.Errorf(\"\")\n", ""},
		{"hostagent/x_test.go", imports("hostagent", "time", "os"), ""},
		{"orchestrator/engine/x.go", imports("engine", room("ebpf"), room("hostagent/cc"), room("vtime")), ""},
		{"orchestrator/engine/x.go", imports("engine", "time"), "without IO"},
		{"orchestrator/engine/x.go", imports("engine", "context"), "without IO"},
		{"orchestrator/engine/x.go", imports("engine", room("ebpf/kernel")), "may not import room ebpf/kernel"},
		{"orchestrator/engine/x.go", imports("engine", room("orchestrator/kernel")), "may not import room orchestrator/kernel"},
		{"orchestrator/kernel/x.go", imports("kernel", room("orchestrator/engine"), "time", "golang.org/x/sys/unix"), ""},
		{"orchestrator/kernel/x.go", imports("kernel", room("orchestrator/live")), "may not import room orchestrator/live"},
		{"orchestrator/kernel/x.go", imports("kernel", room("orchestrator/kernel/doctor")), "may not import room orchestrator/kernel/doctor"},
		{"orchestrator/live/x.go", imports("live", room("orchestrator/kernel")), ""},
		{"orchestrator/x.go", imports("orchestrator"), "is in no room"},
		{"experiments/scenario/x.go", imports("scenario", room("orchestrator/kernel")), "may not import room orchestrator/kernel"},
		{"orchestrator/live/x.go", imports("live", room("experiments/report")), "may not import room experiments/report"},
		{"settings/x.go", imports("settings", room("hostagent"), room("switchagent"), room("internal/yamlspec")), ""},
		{"settings/x.go", imports("settings", room("topologies")), "may not import room topologies"},
		{"settings/x.go", imports("settings", "os"), "without IO"},
		{"switchagent/x.go", imports("switchagent", room("settings")), "may not import room settings"},
		{"experiments/x.go", imports("experiments"), "is in no room"},
		{"experiments/measure/x.go", imports("measure", room("topologies"), room("units"), room("internal/interval")), ""},
		{"experiments/measure/x.go", imports("measure", room("orchestrator/engine")), "may not import room orchestrator"},
		{"experiments/measure/x.go", imports("measure", room("experiments/scenario")), "may not import room experiments/scenario"},
		{"experiments/measure/x.go", imports("measure", "time"), "without IO"},
		{"experiments/scenario/x.go", imports("scenario", room("experiments/measure"), room("settings"), "os"), ""},
		{"experiments/scenario/x.go", imports("scenario", room("experiments/rundir")), "may not import room experiments/rundir"},
		{"experiments/rundir/x.go", imports("rundir", room("experiments/scenario")), ""},
		{"experiments/rundir/x.go", imports("rundir", room("orchestrator/engine")), "may not import room orchestrator"},
		{"experiments/runner/x.go", imports("runner", room("experiments/rundir"), room("orchestrator/engine")), ""},
		{"experiments/runner/x.go", imports("runner", room("experiments/results")), "may not import room experiments/results"},
		{"experiments/results/x.go", imports("results", room("experiments/rundir"), room("experiments/report")), ""},
		{"experiments/results/x.go", imports("results", room("experiments/runner")), "may not import room experiments/runner"},
		{"experiments/results/x_test.go", imports("results", room("experiments/runner"), room("experiments/internal/lab")), ""},
		{"experiments/results/x.go", imports("results", room("experiments/internal/lab")), "may not import room experiments/internal"},
		{"experiments/sweep/x.go", imports("sweep", room("experiments/results"), room("experiments/runner")), ""},
		{"experiments/sweep/x.go", imports("sweep", room("experiments/suite")), "may not import room experiments/suite"},
		{"experiments/report/x.go", imports("report", room("experiments/measure")), "may not import room experiments/measure"},
		{"experiments/runner/x.go", imports("runner", room("cmd/pausenet")), "may not import room cmd"},
		{"experiments/fluid/x.go", imports("fluid", room("vtime"), "math"), ""},
		{"experiments/fluid/x.go", imports("fluid", room("topologies")), "room experiments/fluid may not import room topologies"},
		{"experiments/fluid/x.go", imports("fluid", room("experiments/runner")), "room experiments/fluid may not import room experiments/runner"},
		{"experiments/fluid/x.go", imports("fluid", "os"), "without IO"},
		{"experiments/bound/x.go", imports("bound", room("experiments/fluid"), "os"), ""},
		{"orchestrator/live/x.go", imports("live", room("experiments/fluid")), "may not import room experiments/fluid"},
		{"vtime/x.go", imports("vtime", room("topologies")), "may not import room topologies"},
		{"newroom/x.go", imports("newroom"), "is in no room"},
	} {
		problems := breachesOf(c.file, []byte(c.source))
		switch {
		case c.want == "" && len(problems) > 0:
			t.Errorf("%s:\n%s%q, want nothing", c.file, c.source, problems)
		case c.want != "" && (len(problems) != 1 || !strings.Contains(problems[0], c.want)):
			t.Errorf("%s:\n%s%q, want one problem with %q", c.file, c.source, problems, c.want)
		}
	}
}

// breaches are those of every Go file in a tree; files counts them.
func breaches(tree fs.FS, files *int) (problems []string, err error) {
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			// Not the project's: tools keep what they like below hidden folders.
			if base := path.Base(name); name != "." && (strings.HasPrefix(base, ".") || base == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		*files++
		problems = append(problems, breachesOf(name, source)...)
		return nil
	})
	return problems, err
}

// breachesOf are a file's breaches of the fences, for whatever system it is built.
func breachesOf(name string, source []byte) (problems []string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	test := strings.HasSuffix(name, "_test.go")
	if test && strings.HasSuffix(file.Name.Name, "_test") {
		return nil
	}
	bad := func(at ast.Node, format string, args ...any) {
		problems = append(problems, fmt.Sprintf("%v: %s", set.Position(at.Pos()), fmt.Sprintf(format, args...)))
	}
	room := roomOf(path.Dir(name))
	allowed := rooms[room]
	if room == "" {
		return []string{fmt.Sprintf("%s is in no room: say in fences_test.go and docs/architecture.md what %s may import", name, room)}
	}
	sansIO := !test && slices.Contains(pure, room)
	formatter := "" // what the file calls package fmt
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			bad(spec, "%v", err)
			continue
		}
		if imported == "fmt" {
			formatter = "fmt"
			if spec.Name != nil {
				formatter = spec.Name.Name
			}
		}
		if other, ok := strings.CutPrefix(imported, module+"/"); ok {
			other = roomOf(other)
			if test && strings.HasPrefix(room, "experiments/") && other != "cmd" {
				continue
			}
			if other != room && !slices.Contains(common, other) && !slices.Contains(allowed, other) {
				bad(spec, "room %s may not import room %s", room, other)
			}
		} else if sansIO && within(impure, imported) && !within(harmless, imported) {
			bad(spec, "room %s is without IO: it may not import %s", room, imported)
		}
	}
	if !sansIO {
		return problems
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			bad(n, "room %s is without IO: it starts a goroutine", room)
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && formatter != "" && x.Name == formatter && slices.Contains(prints, n.Sel.Name) {
				bad(n, "room %s is without IO: it calls fmt.%s", room, n.Sel.Name)
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "print" || f.Name == "println") {
				bad(n, "room %s is without IO: it calls %s", room, f.Name)
			}
		}
		return true
	})
	return problems
}

// within says whether an import path is one of the packages or below one.
func within(packages []string, imported string) bool {
	for _, p := range packages {
		if imported == p || strings.HasPrefix(imported, p+"/") {
			return true
		}
	}
	return false
}

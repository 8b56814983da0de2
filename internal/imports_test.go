// Package internal holds the test of the repository's import rules.
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

// common are packages that every package may import: the words for sizes, rates and times, and the small shared
// packages.
var common = []string{"units", "vtime", "internal"}

// mayImport are the import rules: which other packages a package may import beside the common ones. What is not listed
// here goes by the rule of the nearest package above it, and belongs to that.
var mayImport = map[string][]string{
	"units":    {},
	"vtime":    {},
	"docs":     {},
	"internal": {},
	"test":     {},

	"topologies":      {},
	"topologies/draw": {"topologies"},
	"topologies/clab": {},
	"topologies/spec": {"topologies"},
	"ebpf":            {},
	"ebpf/kernel":     {"ebpf"},
	"ebpf/wasm":       {"ebpf"},
	"ebpf/digest":     {"ebpf/kernel", "ebpf/wasm"},
	// Only what compares may have it.
	"ebpf/wasm/reference": {"ebpf", "ebpf/wasm"},

	"hostagent":   {},
	"switchagent": {"ebpf"},
	"settings":    {"topologies", "hostagent", "switchagent"},

	"orchestrator/engine": {
		"topologies", "ebpf", "hostagent", "switchagent",
		"orchestrator/engine/calendar", "orchestrator/engine/cycle", "orchestrator/engine/fill",
		"orchestrator/engine/fingerprint", "orchestrator/engine/partition", "orchestrator/engine/paths",
		"orchestrator/engine/plane",
	},
	"orchestrator/engine/calendar":    {},
	"orchestrator/engine/cycle":       {},
	"orchestrator/engine/fill":        {"topologies", "ebpf", "switchagent", "orchestrator/engine/paths"},
	"orchestrator/engine/fingerprint": {"ebpf"},
	"orchestrator/engine/partition":   {"topologies"},
	"orchestrator/engine/paths":       {"topologies", "ebpf"},
	"orchestrator/engine/plane":       {"topologies", "ebpf"},
	"orchestrator/engine/wasmplane": {
		"topologies", "ebpf", "ebpf/wasm", "orchestrator/engine/fill",
		"orchestrator/engine/plane",
	},
	"experiments/observe/provenance": {"topologies", "hostagent", "orchestrator/engine"},
	"orchestrator/kernel": {
		"topologies", "ebpf", "ebpf/kernel", "ebpf/wasm/reference", "hostagent",
		"switchagent", "orchestrator/engine/fill", "orchestrator/engine/plane", "orchestrator/engine/wasmplane",
		"orchestrator/image", "orchestrator/nodefiles", "orchestrator/pidns",
	},
	"orchestrator/kernel/doctor": {
		"topologies", "topologies/spec", "hostagent", "switchagent", "orchestrator/engine",
		"orchestrator/engine/paths", "orchestrator/kernel",
	},
	"orchestrator/image":     {},
	"orchestrator/nodefiles": {},
	"orchestrator/pidns":     {},
	"orchestrator/lockstep":  {},
	"orchestrator/nat":       {"topologies", "orchestrator/kernel"},
	"orchestrator/netnames":  {},
	"orchestrator/routes":    {"topologies", "orchestrator/engine/fill", "orchestrator/kernel"},
	"orchestrator/wallclock": {
		"topologies", "ebpf", "hostagent", "switchagent", "orchestrator/engine",
		"orchestrator/engine/fill", "orchestrator/engine/paths", "orchestrator/engine/plane", "orchestrator/engine/wasmplane",
		"orchestrator/kernel",
	},

	"orchestrator/verbs": {"topologies", "hostagent", "orchestrator/engine", "orchestrator/kernel"},

	// From the language of scenarios, and what a run comes to, to what runs them, reads the results and repeats them.
	// Their tests may import what any of them may, as far as Go lets them.
	"experiments": {
		"experiments/measure", "experiments/scenario", "experiments/results/rundir", "experiments/runner",
		"orchestrator/engine", "orchestrator/engine/plane", "orchestrator/engine/partition",
	},
	"experiments/internal":           {"experiments/scenario", "orchestrator/engine/plane", "orchestrator/kernel"},
	"experiments/analysis/fluid":     {},
	"experiments/observe/perfetto":   {},
	"experiments/pages/report":       {"experiments/analysis/paired"},
	"experiments/traffic/workload":   {},
	"experiments/traffic/steps":      {},
	"experiments/traffic/collective": {"experiments/traffic/steps"},
	"experiments/measure":            {"experiments/traffic/steps", "topologies"},
	// The languages of controllers in files have libraries that the state machines have not. Only programs import them,
	// and with them the language.
	"controllerfile":      {"hostagent"},
	"controllerfile/star": {"controllerfile", "hostagent"},
	"controllerfile/wasm": {"controllerfile", "hostagent", "controllerfile/star"},

	"experiments/scenario": {
		"controllerfile", "experiments/traffic/steps", "experiments/traffic/collective", "experiments/measure",
		"experiments/traffic/workload", "topologies", "topologies/spec", "hostagent", "switchagent", "settings", "orchestrator/engine",
		"orchestrator/engine/fill", "orchestrator/engine/paths", "orchestrator/engine/plane",
	},
	// Apart from scenario, because a run does not need it.
	"experiments/scenario/lint": {
		"experiments/scenario", "topologies", "topologies/spec", "hostagent", "switchagent", "settings",
		"orchestrator/engine/fill", "orchestrator/engine/paths",
	},
	"experiments/results/rundir": {"experiments/measure", "experiments/scenario"},
	// Apart from rundir, which the playground has.
	"experiments/results/parquet": {"experiments/scenario", "experiments/results/rundir", "experiments/runner"},
	"experiments/results/replay":  {"experiments/scenario", "experiments/results/rundir", "experiments/results/why", "topologies"},
	"experiments/runner": {
		"experiments/traffic/steps", "experiments/measure", "experiments/scenario", "experiments/results/rundir", "topologies", "hostagent",
		"switchagent", "settings", "orchestrator/engine", "orchestrator/engine/paths", "orchestrator/engine/plane",
		"orchestrator/engine/wasmplane", "orchestrator/engine/partition",
	},
	"experiments/observe": {
		"experiments/observe/perfetto", "experiments/scenario", "experiments/results/rundir", "experiments/results/replay", "experiments/runner",
		"topologies", "orchestrator/engine", "orchestrator/engine/paths", "orchestrator/engine/plane",
		"experiments/observe/provenance",
	},
	"experiments/pages/view": {"experiments/results/rundir", "experiments/results/runfolders", "experiments/results/replay"},
	// Apart from view, which needs no library that draws.
	"experiments/pages/animation":    {"experiments/results/replay", "experiments/scenario"},
	"experiments/pages/liveview":     {"experiments/live", "experiments/pages/view"},
	"experiments/results/why":        {"experiments/measure", "experiments/results/rundir"},
	"experiments/results/runfolders": {"experiments/results/rundir"},
	"experiments/results": {
		"experiments/measure", "experiments/scenario", "experiments/results/rundir", "experiments/results/runfolders",
		"experiments/pages/report",
	},
	"experiments/suite": {
		"experiments/measure", "experiments/scenario", "experiments/results/rundir", "experiments/runner", "experiments/results",
		"topologies", "orchestrator/engine", "orchestrator/engine/plane",
	},
	"experiments/sweep": {
		"experiments/analysis/pairs",
		"controllerfile", "experiments/measure", "experiments/scenario", "experiments/scenario/lint",
		"experiments/results/rundir", "experiments/results/parquet",
		"experiments/runner", "experiments/results", "experiments/pages/report", "orchestrator/engine", "orchestrator/engine/plane",
		"orchestrator/engine/partition", "experiments/observe",
	},
	"experiments/analysis/paired": {},
	"experiments/analysis/pairs":  {"experiments/analysis/paired", "experiments/measure"},
	"experiments/compare": {
		"controllerfile", "experiments/measure", "experiments/scenario", "experiments/runner", "experiments/sweep",
		"experiments/analysis/paired", "experiments/analysis/pairs", "experiments/ccbench", "experiments/search", "orchestrator/engine/plane",
	},
	"experiments/jsonschema": {
		"experiments/lab", "experiments/scenario", "experiments/sweep", "topologies", "topologies/spec", "switchagent", "settings",
	},
	"experiments/analysis/headroom": {
		"experiments/scenario", "experiments/scenario/sonic", "experiments/runner", "topologies", "settings", "hostagent",
		"switchagent", "orchestrator/engine", "orchestrator/engine/fill",
	},
	"experiments/analysis/deadlock": {
		"experiments/measure", "experiments/scenario", "experiments/runner", "topologies", "switchagent",
		"orchestrator/engine/fill", "experiments/analysis/deadlock/certificate",
	},
	"experiments/analysis/deadlock/certificate": {"topologies"}, // nothing of the prover that it checks
	"experiments/analysis/expect": {
		"experiments/analysis/resimulate", "experiments/measure", "experiments/scenario", "experiments/traffic/collective",
		"orchestrator/engine", "topologies",
	},
	"experiments/analysis/diagnose": {
		"experiments/analysis/resimulate", "experiments/analysis/expect", "experiments/counters", "experiments/scenario",
		"experiments/runner", "experiments/measure", "topologies", "hostagent", "switchagent", "orchestrator/engine",
		"orchestrator/engine/paths",
	},
	"experiments/analysis/resimulate": {
		"experiments/measure", "experiments/scenario", "experiments/runner", "topologies", "orchestrator/engine",
	},
	"experiments/scenario/sonic": {},
	"experiments/analysis/audit": {"experiments/scenario/sonic", "switchagent"},
	"experiments/analysis/estimate": {
		"experiments/measure", "experiments/scenario", "experiments/runner", "topologies",
	},
	"experiments/analysis/bound": {
		"experiments/measure", "experiments/scenario", "experiments/results/rundir", "experiments/analysis/fluid",
		"topologies", "orchestrator/engine", "orchestrator/engine/paths",
	},
	"experiments/counters": {
		"experiments/scenario", "experiments/runner", "topologies", "switchagent", "orchestrator/engine",
	},
	"experiments/env": {"controllerfile", "experiments/scenario", "experiments/runner", "hostagent"},
	"experiments/aifabric": {
		"experiments/measure", "experiments/scenario", "experiments/results/rundir", "experiments/runner", "experiments/suite",
		"topologies", "topologies/spec",
	},
	"experiments/ccbench": {
		"experiments/scenario", "experiments/runner", "experiments/analysis/bound", "experiments/pages/report",
		"orchestrator/engine",
	},
	"experiments/bench": {
		"experiments/measure", "experiments/scenario", "topologies", "topologies/spec", "hostagent", "switchagent",
		"orchestrator/engine", "orchestrator/engine/paths", "orchestrator/engine/plane", "orchestrator/kernel",
	},
	"experiments/live": {
		"controllerfile", "experiments/counters", "experiments/measure", "experiments/scenario", "experiments/scenario/lint",
		"experiments/runner",
		"topologies", "ebpf", "hostagent", "switchagent", "settings", "orchestrator/engine", "orchestrator/engine/paths",
		"orchestrator/engine/plane", "orchestrator/kernel", "orchestrator/lockstep", "orchestrator/wallclock", "orchestrator/image",
		"orchestrator/nat", "orchestrator/netnames", "orchestrator/pidns", "orchestrator/routes",
		"orchestrator/verbs",
	},
	"experiments/lab": {
		"experiments/measure", "controllerfile", "experiments/scenario", "experiments/pages/report", "experiments/runner",
		"experiments/suite", "experiments/analysis/bound", "experiments/analysis/fluid", "hostagent", "orchestrator/engine",
		"experiments/lab/picture", "experiments/counters", "experiments/results/rundir", "topologies",
	},
	"experiments/lab/picture": {},
	"experiments/explore": {
		"experiments/measure", "experiments/scenario", "experiments/runner", "experiments/observe",
		"experiments/results/rundir", "experiments/results/why", "experiments/analysis/bound", "experiments/sweep",
		"topologies",
	},
	"experiments/search": {"experiments/explore", "experiments/scenario", "topologies"},
	"experiments/tune": {
		"experiments/analysis/paired", "experiments/explore", "experiments/scenario", "experiments/sweep",
		"experiments/pages/report",
	},
	"experiments/train": {
		"experiments/measure", "experiments/scenario", "experiments/runner", "experiments/pages/report",
		"hostagent", "orchestrator/engine", "orchestrator/engine/plane",
	},

	"playground": {
		"experiments/measure", "controllerfile", "experiments/scenario", "experiments/scenario/lint",
		"experiments/results/rundir", "experiments/results/replay",
		"experiments/runner", "experiments/observe", "experiments/suite",
		"experiments/lab", "hostagent", "controllerfile/star", "orchestrator/engine",
	},
	// It puts the files together that the browser is served, with the page of view and the schema of scenarios.
	"playground/site": {
		"experiments/measure", "controllerfile", "experiments/scenario", "experiments/results/replay",
		"experiments/jsonschema", "experiments/pages/view", "experiments/pages/animation", "experiments/lab", "hostagent",
		"orchestrator/engine", "playground",
	},

	"cmd": {"command"},
	"command": {
		"topologies/clab", "topologies", "topologies/spec", "topologies/draw", "ebpf", "ebpf/digest", "hostagent",
		"controllerfile/star", "controllerfile/wasm", "switchagent", "settings", "orchestrator/engine",
		"orchestrator/engine/plane", "orchestrator/engine/partition", "orchestrator/kernel",
		"orchestrator/kernel/doctor", "orchestrator/wallclock", "orchestrator/image", "experiments/measure",
		"controllerfile", "experiments/scenario", "experiments/results/rundir", "experiments/results/runfolders",
		"experiments/results/parquet", "experiments/runner", "experiments/observe", "experiments/results",
		"experiments/suite", "experiments/sweep", "experiments/compare", "experiments/analysis/paired", "experiments/analysis/pairs",
		"experiments/analysis/bound", "experiments/analysis/estimate",
		"experiments/analysis/deadlock", "experiments/analysis/deadlock/certificate",
		"experiments/analysis/resimulate", "experiments/analysis/headroom", "experiments/aifabric",
		"experiments/bench", "experiments/ccbench", "experiments/live", "experiments/train", "experiments/explore",
		"experiments/search", "experiments/pages/report", "experiments/analysis/expect",
		"experiments/traffic/workload", "experiments/analysis/fluid", "experiments/jsonschema", "experiments/lab",
		"experiments/scenario/lint", "experiments/scenario/sonic", "experiments/pages/view", "experiments/pages/animation",
		"experiments/pages/liveview", "experiments/results/why", "docs", "experiments/analysis/audit",
		"experiments/tune", "experiments/counters", "experiments/analysis/diagnose", "experiments/env",
	},
}

// testsMayImport are the packages that tests of a package may import besides. Any may read topologies by
// topologies/spec.
var testsMayImport = map[string][]string{
	"orchestrator/engine":    {"orchestrator/engine/wasmplane"},
	"orchestrator/kernel":    {"orchestrator/engine", "orchestrator/engine/paths"},
	"orchestrator/wallclock": {"orchestrator/pidns"},
}

// ruledBy is the package by whose rule a package goes, by its path in the repository; "" if there is none.
func ruledBy(dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, known := mayImport[dir]; known {
			return dir
		}
	}
	return ""
}

// pure are the packages of state machines without IO: they are given the time and events, and say what to do.
var pure = []string{
	"units", "ebpf", "hostagent", "switchagent", "settings", "orchestrator/engine",
	"orchestrator/engine/calendar", "orchestrator/engine/cycle", "orchestrator/engine/fill",
	"orchestrator/engine/fingerprint", "orchestrator/engine/partition", "orchestrator/engine/paths",
	"orchestrator/engine/plane", "orchestrator/engine/wasmplane", "experiments/observe/provenance", "experiments/analysis/fluid",
	"experiments/analysis/paired", "experiments/analysis/pairs", "experiments/analysis/audit",
	"experiments/measure", "experiments/traffic/steps", "experiments/traffic/collective",
}

// impure are the packages, with all below them, that bring a clock, threads, the operating system, a logger, sockets,
// randomness that no seed decides, or what loads pipelines.
var impure = []string{
	"time", "sync", "context", "os", "log", "net", "syscall", "runtime", "unsafe", "math/rand", "crypto/rand",
	"golang.org/x/sys", "golang.org/x/net", "github.com/cilium/ebpf", "github.com/tetratelabs/wazero",
	"github.com/vishvananda",
}

// harmless are exceptions from impure: values, no IO.
var harmless = []string{"net/netip", "net/url"}

// prints are the functions of package fmt that write or read by themselves.
var prints = []string{"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"}

// TestImportRules holds every file of the repository to the rules. External test packages may import what they like.
func TestImportRules(t *testing.T) {
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

// TestImportRulesHold breaks each rule once.
func TestImportRulesHold(t *testing.T) {
	imports := func(name string, paths ...string) string {
		s := "package " + name + "\n"
		for _, p := range paths {
			s += "import _ " + strconv.Quote(p) + "\n"
		}
		return s
	}
	ours := func(name string) string { return module + "/" + name }
	for _, c := range []struct{ file, source, want string }{
		{"topologies/x.go", imports("topologies", ours("units"), "os", "net"), ""},
		{"topologies/x.go", imports("topologies", ours("ebpf")), "may not import package ebpf"},
		{
			"topologies/x_test.go", imports("topologies", ours("orchestrator/engine")),
			"may not import package orchestrator/engine",
		},
		{"topologies/x_test.go", imports("topologies_test", ours("orchestrator/engine")), ""},
		{"topologies/x.go", imports("topologies", ours("topologies/draw")), "may not import package topologies/draw"},
		{"topologies/draw/x.go", imports("draw", ours("topologies")), ""},
		{"topologies/draw/x.go", imports("draw", ours("ebpf")), "package topologies/draw may not import package ebpf"},
		{"orchestrator/engine/x.go", imports("engine", ours("topologies/draw")), "may not import package topologies/draw"},
		{"ebpf/x.go", imports("ebpf", ours("switchagent")), "may not import package switchagent"},
		{"switchagent/x.go", imports("switchagent", ours("ebpf"), ours("internal/wire"), "net/netip"), ""},
		{"ebpf/x.go", imports("ebpf", "github.com/cilium/ebpf"), "without IO"},
		{"ebpf/x.go", imports("ebpf", ours("ebpf/kernel")), "may not import package ebpf/kernel"},
		{"ebpf/wasm/x.go", imports("wasm", ours("ebpf"), "unsafe"), ""},
		{"ebpf/wasm/x.go", imports("wasm", ours("ebpf/wasm/reference")), "may not import package ebpf/wasm/reference"},
		{"ebpf/wasm/reference/x.go", imports("reference", ours("ebpf/wasm"), "github.com/tetratelabs/wazero"), ""},
		{
			"orchestrator/engine/x.go", imports("engine", ours("ebpf/wasm/reference")),
			"may not import package ebpf/wasm/reference",
		},
		{"switchagent/x.go", imports("switchagent", ours("ebpf/wasm")), "may not import package ebpf/wasm"},
		{"switchagent/x.go", imports("switchagent", ours("hostagent")), "may not import package hostagent"},
		{"switchagent/x.go", imports("switchagent", ours("topologies")), "may not import package topologies"},
		{"switchagent/x.go", imports("switchagent", "github.com/cilium/ebpf"), "without IO"},
		{"hostagent/x.go", imports("hostagent", ours("hostagent/cc")), ""},
		{"hostagent/x.go", imports("hostagent", ours("ebpf")), "may not import package ebpf"},
		{"hostagent/cc/x.go", imports("cc", ours("switchagent")), "may not import package switchagent"},
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
		{"orchestrator/engine/x.go", imports("engine", ours("ebpf"), ours("hostagent/cc"), ours("vtime")), ""},
		{"orchestrator/engine/x.go", imports("engine", "time"), "without IO"},
		{"orchestrator/engine/x.go", imports("engine", "context"), "without IO"},
		{"orchestrator/engine/x.go", imports("engine", ours("ebpf/kernel")), "may not import package ebpf/kernel"},
		{
			"orchestrator/engine/x.go", imports("engine", ours("orchestrator/kernel")),
			"may not import package orchestrator/kernel",
		},
		{
			"orchestrator/engine/x.go", imports("engine", ours("orchestrator/engine/wasmplane")),
			"may not import package orchestrator/engine/wasmplane",
		},
		{"orchestrator/engine/x_test.go", imports("engine", ours("orchestrator/engine/wasmplane")), ""},
		{"orchestrator/engine/x.go", imports("engine", ours("topologies/spec")), "may not import package topologies/spec"},
		{"orchestrator/engine/x.go", imports("engine", ours("settings")), "may not import package settings"},
		{"orchestrator/engine/x_test.go", imports("engine", ours("topologies/spec")), ""},
		{
			"orchestrator/kernel/x.go", imports("kernel", ours("orchestrator/engine/plane"), "time", "golang.org/x/sys/unix"),
			"",
		},
		{
			"orchestrator/kernel/x.go", imports("kernel", ours("orchestrator/engine")),
			"may not import package orchestrator/engine",
		},
		{"orchestrator/kernel/x_test.go", imports("kernel", ours("orchestrator/engine")), ""},
		{
			"orchestrator/kernel/x.go", imports("kernel", ours("orchestrator/wallclock")),
			"may not import package orchestrator/wallclock",
		},
		{
			"orchestrator/kernel/x.go", imports("kernel", ours("orchestrator/kernel/doctor")),
			"may not import package orchestrator/kernel/doctor",
		},
		{"orchestrator/wallclock/x.go", imports("wallclock", ours("orchestrator/kernel")), ""},
		{"orchestrator/x.go", imports("orchestrator"), "has no import rule"},
		{
			"experiments/scenario/x.go", imports("scenario", ours("orchestrator/kernel")),
			"may not import package orchestrator/kernel",
		},
		{
			"orchestrator/wallclock/x.go", imports("wallclock", ours("experiments/pages/report")),
			"may not import package experiments/pages/report",
		},
		{"settings/x.go", imports("settings", ours("hostagent"), ours("switchagent"), ours("internal/yamlspec")), ""},
		{"settings/x.go", imports("settings", ours("ebpf")), "may not import package ebpf"},
		{"settings/x.go", imports("settings", "os"), "without IO"},
		{"switchagent/x.go", imports("switchagent", ours("settings")), "may not import package settings"},
		{"experiments/x.go", imports("experiments", ours("experiments/runner")), ""},
		{"experiments/x.go", imports("experiments", ours("experiments/pages/report")), "may not import package experiments/pages/report"},
		{"experiments/measure/x.go", imports("measure", ours("topologies"), ours("units"), ours("internal/interval")), ""},
		{"experiments/measure/x.go", imports("measure", ours("orchestrator/engine")), "may not import package orchestrator"},
		{
			"experiments/measure/x.go", imports("measure", ours("experiments/scenario")),
			"may not import package experiments/scenario",
		},
		{"experiments/measure/x.go", imports("measure", "time"), "without IO"},
		{"experiments/scenario/x.go", imports("scenario", ours("experiments/measure"), ours("settings"), "os"), ""},
		{
			"experiments/scenario/x.go", imports("scenario", ours("experiments/results/rundir")),
			"may not import package experiments/results/rundir",
		},
		{"experiments/results/rundir/x.go", imports("rundir", ours("experiments/scenario")), ""},
		{"experiments/results/rundir/x.go", imports("rundir", ours("orchestrator/engine")), "may not import package orchestrator"},
		{"experiments/runner/x.go", imports("runner", ours("experiments/results/rundir"), ours("orchestrator/engine")), ""},
		{
			"experiments/runner/x.go", imports("runner", ours("experiments/results")),
			"may not import package experiments/results",
		},
		{"experiments/results/x.go", imports("results", ours("experiments/results/rundir"), ours("experiments/pages/report")), ""},
		{
			"experiments/results/x.go", imports("results", ours("experiments/runner")),
			"may not import package experiments/runner",
		},
		{
			"experiments/results/x_test.go", imports("results", ours("experiments/runner"), ours("experiments/internal/lab")),
			"",
		},
		{
			"experiments/results/x.go", imports("results", ours("experiments/internal/lab")),
			"may not import package experiments/internal",
		},
		{"experiments/sweep/x.go", imports("sweep", ours("experiments/results"), ours("experiments/runner")), ""},
		{"experiments/sweep/x.go", imports("sweep", ours("experiments/suite")), "may not import package experiments/suite"},
		{
			"experiments/pages/report/x.go", imports("report", ours("experiments/measure")),
			"may not import package experiments/measure",
		},
		{"experiments/runner/x.go", imports("runner", ours("command")), "may not import package command"},
		{"experiments/analysis/fluid/x.go", imports("fluid", ours("vtime"), "math"), ""},
		{
			"experiments/analysis/fluid/x.go", imports("fluid", ours("topologies")),
			"package experiments/analysis/fluid may not import package topologies",
		},
		{
			"experiments/analysis/fluid/x.go", imports("fluid", ours("experiments/runner")),
			"package experiments/analysis/fluid may not import package experiments/runner",
		},
		{"experiments/analysis/fluid/x.go", imports("fluid", "os"), "without IO"},
		{"experiments/analysis/bound/x.go", imports("bound", ours("experiments/analysis/fluid"), "os"), ""},
		{
			"orchestrator/wallclock/x.go", imports("wallclock", ours("experiments/analysis/fluid")),
			"may not import package experiments/analysis/fluid",
		},
		{"vtime/x.go", imports("vtime", ours("topologies")), "may not import package topologies"},
		{"newpackage/x.go", imports("newpackage"), "has no import rule"},
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
			// Other modules, such as a user's, may import what Go lets them.
			if _, err := fs.Stat(tree, path.Join(name, "go.mod")); err == nil && name != "." {
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

// breachesOf are a file's breaches of the import rules, for whatever system it is built.
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
	pkg := ruledBy(path.Dir(name))
	allowed := mayImport[pkg]
	if pkg == "" {
		return []string{fmt.Sprintf("%s has no import rule: say in imports_test.go and docs/architecture.md what it may import", name)}
	}
	sansIO := !test && slices.Contains(pure, pkg)
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
			other = ruledBy(other)
			if test && (other == "topologies/spec" || slices.Contains(testsMayImport[pkg], other) ||
				strings.HasPrefix(pkg, "experiments/") && other != "cmd" && other != "command") {
				continue
			}
			if other != pkg && !slices.Contains(common, other) && !slices.Contains(allowed, other) {
				bad(spec, "package %s may not import package %s", pkg, other)
			}
		} else if sansIO && within(impure, imported) && !within(harmless, imported) {
			bad(spec, "package %s is without IO: it may not import %s", pkg, imported)
		}
	}
	if !sansIO {
		return problems
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			bad(n, "package %s is without IO: it starts a goroutine", pkg)
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && formatter != "" && x.Name == formatter && slices.Contains(prints, n.Sel.Name) {
				bad(n, "package %s is without IO: it calls fmt.%s", pkg, n.Sel.Name)
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "print" || f.Name == "println") {
				bad(n, "package %s is without IO: it calls %s", pkg, f.Name)
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

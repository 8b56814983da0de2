package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pausenet/pausenet/hostagent/cc"
)

// command runs a command line and returns its output and exit code.
func command(args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&errs)
	code = exit(&errs, root.Execute())
	return out.String(), errs.String(), code
}

func TestCommands(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	fabric := file("fabric.yaml", "star: {hosts: 3}\n")
	wrong := file("wrong.yaml", "star: {host: 3}\n")
	scenario := file("mine.yaml", "topology: fabric.yaml\nflows: [{from: h0, to: h2, size: 1MB}]\nduration: 1ms\n")
	sweep := file("both.yaml", "sweep: {scenario: mine.yaml, parameters: {flows.0.size: [1MB, 2MB]}, seeds: 1..2}\n")
	wrongSweep := file("none.yaml", "sweep: {scenario: mine.yaml, parameters: {flows.0.sise: [1MB]}}\n")

	strange := file("strange.yaml", "plane: wasm\njob: 3\nswitch: {buffer: 1MB}\n")
	tagged := file("tagged.yaml", "topology: fabric.yaml\nflows: [{tag: burst, from: h0, to: h2, size: 1MB}]\nduration: 1ms\n")
	words := file("words.yaml", "format: xml\njobs: many\n")

	odd := file("odd.yaml", "topology: {star: {hosts: 3}, rate: 7Gbps, delay: 1us}\ncontrollers: [dcqcn, hpcc]\n"+
		"flows: [{from: h0, to: h1, size: 1KB}]\nduration: 1ms\n")
	for _, c := range []struct {
		args           string
		code           int
		stdout, stderr string // parts of them
	}{
		{"--version", exitFine, "pausenet version ", ""},
		{"--version", exitFine, "\npipelines  wasm ", ""},
		{"version", exitFine, "\nplanes     wasm", ""},
		{"version -o json", exitFine, `"pipelines_sha256": {`, ""},
		{"version -f xml", exitBadInput, "", "pausenet: --format xml: expected table, json or yaml"},
		{"list", exitFine, "dcon-testbed", ""},
		{"list -o json", exitFine, `"name": "dcon-burst"`, ""},
		{"list -f xml", exitBadInput, "", "pausenet: --format xml: expected table, json or yaml"},
		{"show", exitBadInput, "", "pausenet: an argument is missing: write pausenet show NAME|FILE [flags]"},
		{"up --web=all", exitBadInput, "", "--web=all: expected ro (read-only) or rw (can change the fabric)"},
		{"up --clock atomic", exitBadInput, "", "pausenet: --clock atomic: expected wall or lockstep\n"},
		{"up --clock lockstep --plane kernel", exitBadInput, "", "pausenet: --clock lockstep needs --plane wasm\n"},
		{"up --clock lockstep --slowdown 9", exitBadInput, "", "--slowdown has no effect with --clock lockstep (leave one of them out)"},
		{"view --fabric lab dcon-burst", exitBadInput, "", "dcon-burst: --fabric shows only a live fabric"},
		{"view --fabric lab --cc dcqcn", exitBadInput, "", "--cc applies to runs"},
		{"view --fabric lab --export f.html", exitBadInput, "", "--export applies to runs"},
		{"view --fabric lab --web=wr", exitBadInput, "", `did you mean "rw"?`},
		{"view dcon-burst --web=rw", exitBadInput, "", "--web is only for a live fabric"},
		{"exec h1 --fabric lab true", exitBadInput, "", "--fabric: expected a program after the node; flags of exec come " +
			"before the node: write pausenet exec [flags] NODE COMMAND..."},
		{
			"report resluts", exitBadInput, "",
			"pausenet: resluts: file does not exist: name the folder of a run, of a scenario or of results, such as results/incast",
		},
		{"exec h1 --", exitBadInput, "", "pausenet: an argument is missing: write pausenet exec [flags] NODE COMMAND..."},
		{"list extra", exitBadInput, "", `pausenet: unexpected argument "extra": write pausenet list`},
		{"list topologies", exitFine, "TOPOLOGY      PURPOSE\ndcon-large", ""},
		{"list sweeps -o json", exitFine, "{\n  \"sweeps\": [", ""},
		{"list --cc", exitFine, "hpcc            INT ", ""},
		{"list --cc hpcc PCN+win", exitFine, "  max_stage  integer, default 0\n", ""},
		{"list --cc hpcc PCN+win", exitFine, "\npcn+win\n  summary ", ""},
		{"list --cc timely+tcd -o json", exitFine, `"tcd": true`, ""},
		{"list --cc hpc", exitBadInput, "", `did you mean "hpcc"?`},
		{"show dcon-burst", exitFine, "490 of 64KB", ""},
		{"show dcon-burst -o json --set switch.pfc.xoff=256KB", exitFine, `"xon_bytes": 254000`, ""},
		{"show dcon-burst --source", exitFine, "# DCON, sections 3.1", ""},
		{"show dcon-burst --source --set seed=1", exitBadInput, "", "pausenet: --source and --set: use only one of them"},
		{
			"show dcon-burst --set seed=x", exitBadInput, "",
			"pausenet: --set: \"x\" is not a whole number\n    | seed=x\n    |      ^\n",
		},
		{"show star --set x=1", exitBadInput, "", "star.yaml is a topology: --set applies only to scenarios"},
		{"show leafspin", exitBadInput, "", `no built-in or file "leafspin": did you mean "leafspine"? ` +
			`(list the built-ins with "pausenet list")`},
		{"show " + fabric, exitFine, "3 hosts, 1 switch", ""},
		{"show " + dir, exitBadInput, "", "is a folder, not a file"},
		{"validate " + fabric + " " + scenario, exitFine, "scenario mine is valid; 1 flow;", ""},
		{
			"validate " + fabric + " " + wrong, exitBadInput, "topology fabric is valid",
			wrong + ":1:8: unknown key \"host\": did you mean \"hosts\"?\n  1 | star: {host: 3}\n    |        ^^^^\n",
		},
		{"validate " + sweep, exitFine, sweep + ": sweep both is valid; 4 points", ""},
		{
			"validate " + wrongSweep + " " + fabric, exitBadInput, "topology fabric is valid",
			wrongSweep + ":1:43: unknown key \"sise\"",
		},
		{"validate " + wrong + " -o json", exitBadInput, `"path": "star.host",
        "line": 1,
        "column": 8,
        "message": "unknown key \"host\": did you mean \"hosts\"?"`, ""},
		{"validate " + scenario + " --set switch.pfc.alpha=65 -o json", exitBadInput, `"path": "switch.pfc.alpha"`, ""},
		{"cc check ../examples/controllers/aimd.star", exitFine, "aimd.star is valid: tested with 100 random histories", ""},
		{"cc check ../examples/controllers/nobody.star", exitBadInput, "", "nobody.star"},
		{
			"run incast --watch --cc dcqcn", exitBadInput, "",
			"--watch: neither the scenario nor a congestion controller is a file",
		},
		{"cc check mine.py", exitBadInput, "", "a congestion controller's file must end in .star"},
		{"cc new " + dir + "/mine --lang python", exitBadInput, "", `--lang "python": there are starlark, c, rust, go`},
		{"cc new " + dir + "/mi;ne", exitBadInput, "", `name "mi;ne": a congestion control's name is letters`},
		{"list --cc ../examples/controllers/timely.star", exitFine, "RTT below which the rate rises", ""},
		{"list --cc ../examples/controllers/nobody.star", exitBadInput, "", "nobody.star"},
		{"bench cc --scenarios incasts", exitBadInput, "", `no scenario or family "incasts": families are incast, mix, `},
		{"bench cc --scenarios rate --cc nobody", exitBadInput, "", `unknown congestion controller "nobody"`},
		{"bench cc --check " + dir, exitBadInput, "", "is not a folder written by bench cc --out"},
		{"bench cc --check x --sample few", exitBadInput, "", "--sample few: expected a number of runs, or all"},
		{"bench cc --jobs 0", exitBadInput, "", "--jobs 0: expected at least 1"},
		{"bench cc --check x --cc dcqcn", exitBadInput, "", "use only one of them"},
		{"bench cc --sample 3", exitBadInput, "", "--sample has an effect only with --check"},
		{"bench cc --force", exitBadInput, "", "--force has an effect only with --out"},
		{"check deadlock leafspine --certificate x --failures 2", exitBadInput, "", "--certificate and --failures: use only one"},
		{"audit x --write-baseline b --scenarios s", exitBadInput, "", "--write-baseline and --scenarios: use only one"},
		{"counters incast --cc nobody", exitBadInput, "", `unknown congestion controller "nobody"`},
		{"counters small", exitBadInput, "", "small is a topology, without traffic to count"},
		{"counters --cc none", exitBadInput, "", "--cc and --set are for a scenario: name it"},
		{"counters incast --fabric lab", exitBadInput, "", "--fabric is for live fabrics"},
		{"counters pfc-storm --node h9", exitBadInput, "", "--node h9: no such node in pfc-storm (its nodes: leaf0, leaf1, spine0 and 9 others)"},
		{"counters pfc-storm --redis 127.0.0.1:0", exitBadInput, "", "--redis serves one switch: name it with --node"},
		{"counters pfc-storm --node h7 --redis 127.0.0.1:0", exitBadInput, "", "--redis serves a switch, and h7 is a host"},
		{"counters pfc-storm --cc none --node h7", exitFine, "     tx_prio3_pause: 12\n", ""},
		{"diagnose " + fabric, exitBadInput, "", "name the fabric's file with --topology"},
		{"diagnose " + dir + " --window 0s --topology " + fabric, exitBadInput, "", "--window 0s: expected a time above 0"},
		{"diagnose " + words + " --topology " + fabric, exitBadInput, "", "words.yaml: none of the formats: show pfc counters,"},
		{"diagnose nowhere", exitBadInput, "", "nowhere: no such file or directory"},
		{"lab list", exitFine, "PFC and head-of-line blocking", ""},
		{"lab list -o json", exitFine, `"hand_in": [`, ""},
		{"lab show pfc", exitFine, "How far PAUSE spreads", ""},
		{"lab show pcf", exitBadInput, "", `no exercise or folder "pcf": did you mean "pfc"? (list the exercises with pausenet lab list)`},
		{"lab show", exitBadInput, "", "write pausenet lab show NAME|FOLDER"},
		{"lab check nowhere", exitBadInput, "", `no folder nowhere (create it with "pausenet lab start NAME")`},
		{"lab check " + dir, exitBadInput, "", "is not the folder of an exercise, because it has no lab.yaml"},
		{"schema", exitFine, `"title": "pausenet scenario"`, ""},
		{"schema sweep", exitFine, `"title": "pausenet sweep"`, ""},
		{"schema page", exitBadInput, "", `no schema of "page" (choose one of scenario, topology, sweep, exercise, hidden)`},
		// What a run would refuse, validate does, of the congestion controls that would run; odd's link has no code in
		// telemetry.
		{"validate " + odd, exitBadInput, "", "scenario odd: hpcc reads link rates from in-band telemetry"},
		{"run " + odd + " --out " + dir, exitBadInput, "", "scenario odd: hpcc reads link rates from in-band telemetry"},
		{
			"run " + odd + " --seeds 1..2 --out " + dir, exitBadInput, "",
			"scenario odd: hpcc reads link rates from in-band telemetry",
		},
		{"validate " + odd + " --cc dcqcn", exitFine, "scenario odd is valid", ""},
		{"validate " + odd + " --cc dcqcn,nobody", exitBadInput, "", `unknown congestion controller "nobody"`},
		{"validate " + sweep + " --cc dcqcn,swift", exitFine, "sweep both is valid; 8 points", ""},
		{"validate", exitBadInput, "", "an argument is missing"},
		{"graph star --dot", exitFine, `"h0" -- "s0";`, ""},
		{"graph dcon-burst --mermaid", exitFine, "flowchart BT", ""},
		{"graph star", exitFine, "<svg xmlns=", ""},
		{"graph star --dot --svg", exitBadInput, "", "pausenet: --svg and --dot: use only one of them"},
		{"graph star --out " + filepath.Join(dir, "none", "x.svg"), exitBadInput, "", "no such file"},
		{"graph star --out " + filepath.Join(dir, "x.svg"), exitFine, "", ""},
		// A configuration file serves every command, so it may have any flag of any, and no other key.
		{"list --config " + file("wasm.yaml", "plane: wasm\nsource: true\n"), exitFine, "dcon-testbed", ""},
		{"list --config " + strange, exitBadInput, "", strange + ": unknown key \"job\": did you mean \"jobs\"?\n" + strange +
			": unknown key \"switch\" (a key is"},
		{"list --config " + file("nested.yaml", "out: {a: b}\n"), exitBadInput, "", "out is a mapping, but a flag takes a value or a list"},
		{"list --config " + file("open.yaml", "out: [a\n"), exitBadInput, "", "open.yaml:1:6: sequence end token ']' not found"},
		{"list --config " + words, exitBadInput, "", "xml: expected table, json or yaml"},
		{"run incast --config " + words, exitBadInput, "", words + `: jobs: many: expected a whole number`},
		// A sweep is told from a scenario, by every verb, and is validated with what --set makes of it.
		{"run " + sweep, exitBadInput, "", sweep + ":1:1: this is a sweep, not a scenario: run it with pausenet sweep " +
			sweep},
		{"show " + sweep, exitFine, "flows.0.size  1MB, 2MB", ""},
		{"show " + wrongSweep, exitBadInput, "", `unknown key "sise"`},
		{"run ../examples/search/headroom.yaml", exitBadInput, "", "this is a family for search, not a scenario: run it with pausenet search"},
		{"run ../examples/tune/dcqcn.yaml", exitBadInput, "", "this is a family for tune, not a scenario: run it with pausenet tune"},
		{"validate ../examples/search/headroom.yaml ../examples/tune/dcqcn.yaml", exitFine, "family dcqcn is valid", ""},
		{"graph " + sweep, exitBadInput, "", "this is a sweep, not a scenario"},
		{"validate " + sweep + " --set host.cnp_interval=10us,20us,30us", exitFine, "12 points", ""},
		{"validate " + sweep + " --set flows.0.sise=1", exitBadInput, "", `unknown key "sise"`},
		{"validate " + sweep + " --set nothing", exitBadInput, "", "a parameter must be path=values"},
		{"sweep incast --metrics fct", exitBadInput, "", `unknown metric "fct": did you mean "fct_`},
		{"sweep incast --metrics foo", exitBadInput, "", "the metrics are fct_mean, fct_p50, "},
		{
			"validate " + file("cc.yaml", "sweep: {scenario: mine.yaml, controllers: [dcqcn, foo]}\n"), exitBadInput, "",
			"cc.yaml:1:51: unknown congestion controller \"foo\"",
		},
		{
			"validate " + file("twice.yaml", "sweep: {scenario: mine.yaml, controllers: [dcqcn, DCQCN]}\n"), exitBadInput, "",
			"twice.yaml:1:51: congestion control dcqcn is listed twice",
		},
		{
			"validate " + file("folder.yaml", "sweep: {scenario: "+dir+"}\n"), exitBadInput, "",
			"folder.yaml:1:19: scenario: " + dir + " is a folder",
		},
		// One place under two names, and one value under two.
		{"validate " + file("one.yaml", "sweep: {scenario: tagged.yaml, parameters: {flows.burst.size: [1MB, 2MB], "+
			"flows.0.size: [3MB]}}\n"), exitBadInput, "", "one.yaml:1:45: parameter flows.burst.size has no effect: " +
			"the later parameter flows.0.size sets the same value (flows.0.size); remove one"},
		{
			"sweep " + tagged + " --set flows.0.size=1MB,2MB --set flows.0={from:h0,to:h1,size:1MB}", exitBadInput, "",
			"parameter flows.0.size has no effect: the later parameter flows.0 sets",
		},
		{"validate " + file("equal.yaml", "sweep: {scenario: tagged.yaml, parameters: {flows.burst.size: [1MB, 1000KB]}, "+
			"controllers: [none]}\n"), exitFine, "size=1000KB none is the same run as size=1MB none", ""},
		{"bench --rounds 0", exitBadInput, "", "pausenet: --rounds 0: expected at least 1"},
		{"sweep incast --jobs 0", exitBadInput, "", "pausenet: --jobs 0: expected at least 1"},
		{"compare dcqcn", exitBadInput, "", "pausenet: an argument is missing: write pausenet compare A B [SCENARIO...] [flags]"},
		{"compare dcqcn hpcc incast --worst w.yaml", exitBadInput, "", "--worst has an effect only with --over"},
		{"compare dcqcn hpcc incast --jobs 0", exitBadInput, "", "pausenet: --jobs 0: expected at least 1"},
		{"compare dcqcn hpcc incast --metrics foo", exitBadInput, "", `pausenet: --metrics: unknown metric "foo"`},
		{"compare dcqcn hpcc incast --metrics cnps", exitBadInput, "", "--metrics cnps: no value of CNPs is better than another"},
		{"compare dcqcn hpcc incast --margin 100", exitBadInput, "", "--margin 100: expected a percentage from 0 to 100"},
		{"compare host.ack_every=1,4 dcqcn incast", exitBadInput, "", "host.ack_every=1,4 has 2 values"},
		{"compare " + scenario + " incast --seeds 1..2 --metrics goodput", exitFine, "No significant difference", ""},
		{"compare dcqcn DCQCN " + scenario + " --seeds 1..2 -o json", exitFine, `"identical_pairs": 2,`, ""},
		{"run incast --jobs 0", exitBadInput, "", "pausenet: --jobs 0: expected at least 1"},
		{"run incast --seed -1", exitBadInput, "", `seed "-1" must be a whole number from 0 to 2^62-1`},
		{"train lstm --seed 1.5", exitBadInput, "", `seed "1.5" must be a whole number from 0 to 2^62-1`},
		{"nonsense", exitBadInput, "", `pausenet: unknown command "nonsense" for "pausenet" (list them with "pausenet --help")`},
		// Habits of other tools.
		{"deploy -t fabric.yaml", exitBadInput, "", `unknown command "deploy" for "pausenet": did you mean "up"?`},
		{"--topo tree,2", exitBadInput, "", "give the topology without a flag, as in pausenet up NAME|FILE"},
		{"--test pingall", exitBadInput, "", "as in echo pingall | sudo pausenet up"},
		{"-c", exitBadInput, "", "did you mean pausenet clean?"},
		{"run incast --sed 3", exitBadInput, "", "unknown flag: --sed: did you mean --seed?"},
		{"fault link h0 leaf0 down -1ms", exitBadInput, "", "-1ms: negative values are not allowed (try 1ms)"},
		{"run incast -x", exitBadInput, "", "(list the flags with \"pausenet run --help\")"},
		{"lab chek", exitBadInput, "", `unknown command "chek" for "pausenet lab": did you mean "check"?`},
		{"train gru", exitBadInput, "", `unknown command "gru" for "pausenet train" (expected lstm, pid, cells, features, loop)`},
		{"import goal ring.goal", exitBadInput, "", "name such a file in a scenario, as in workloads: [{goal: {file: NAME}}]"},
		{"import sonic", exitBadInput, "", "write pausenet import sonic CONFIG_DB"},
		{
			"run ../examples/controllers/aimd.star", exitBadInput, "",
			"aimd.star is a controller file: use pausenet run SCENARIO --cc ../examples/controllers/aimd.star",
		},
		{
			"show ../experiments/scenario/sonic/testdata/config_db.json", exitBadInput, "",
			"convert it with pausenet import sonic ../experiments/scenario/sonic/testdata/config_db.json",
		},
		{"run ../experiments/scenario/testdata/workloads/nine.goal", exitBadInput, "", "is a GOAL schedule"},
		{"run " + file("flows.csv", "src,dst\n"), exitBadInput, "", "flows.csv is a table"},
		{
			"run incast --cc ../examples/controllers/aimd", exitBadInput, "",
			"did you mean the file, ../examples/controllers/aimd.star?",
		},
	} {
		stdout, stderr, code := command(strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%s: exit code %d, want %d\nstdout %q, want %q\nstderr %q, want %q", c.args, code, c.code,
				stdout, c.stdout, stderr, c.stderr)
		}
		if c.code == exitFine && stderr != "" {
			t.Errorf("%s: on stderr: %s", c.args, stderr)
		}
		if strings.Contains(stderr, "Usage:") || strings.Contains(stderr, "goroutine") {
			t.Errorf("%s: a usage dump or a stack trace:\n%s", c.args, stderr)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, "x.svg")); err != nil || !bytes.HasPrefix(data, []byte("<svg")) {
		t.Errorf("drawing %q, %v", data, err)
	}
}

func TestShowIsJSON(t *testing.T) {
	for _, name := range []string{"dcon-burst", "fattree"} {
		stdout, _, _ := command("show", name, "-o", "json")
		if !json.Valid([]byte(stdout)) {
			t.Errorf("%s: not JSON", name)
		}
	}
}

func TestCount(t *testing.T) {
	if one, more := count(1, "hop"), count(3, "hop"); one != "1 hop" || more != "3 hops" {
		t.Error(one, more)
	}
}

// TestBuiltinsFitTerminal checks that the lists of built-ins show a name and a purpose per line within 80 columns, and
// that show of each built-in fits too.
func TestBuiltinsFitTerminal(t *testing.T) {
	lines := [][]string{{"list"}, {"list", "--cc"}, append([]string{"list", "--cc"}, cc.Names()...)}
	all, err := builtins()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(all.Scenarios, all.Topologies...) {
		if s.Flows <= 1000 { // of more, show takes a while
			lines = append(lines, []string{"show", s.Name})
		}
	}
	for _, name := range []string{"dcon-readings", "qp-count", "allreduce-algorithms"} { // the quick ones
		lines = append(lines, []string{"show", name})
	}
	for _, args := range lines {
		out, stderr, code := command(args...)
		if code != exitFine {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
		for line := range strings.Lines(out) {
			line = strings.TrimRight(line, "\n")
			if n := utf8.RuneCountInString(line); n > defaultWidth {
				t.Errorf("%v prints a line of %d columns: %s", args, n, line)
			}
			if args[0] == "list" && len(args) == 1 && strings.HasPrefix(line, "  ") {
				t.Errorf("a purpose does not fit: %s", line)
			}
		}
	}
}

package scenario

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/vtime"
)

// TestOneMistakeOneMessage checks that each mistake is reported once, at its position, without messages about its
// consequences.
func TestOneMistakeOneMessage(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"empty.csv": "", "head.csv": "tag,src,dst,size_bytes,start_ns\n", "nothing.txt": "0 100\n", "empty.json": "",
		"list.json": "[]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const flow = "flows: [{from: h0, to: h1, size: 1KB}]\n"
	for _, c := range []struct{ text, want string }{
		{"flows: 0\n", "1:8 a flow must be a mapping"},
		{"flows: {}\n", "1:8 expected a list, found a mapping"},
		{"flows: []\n", "1:1 a scenario needs at least one flow"},
		{"workloads: []\n", "1:1 a scenario needs at least one flow"},
		{"workloads: [{all-to-all: {size: 1KB, rounds: 0, interval: 5us}}]\n", "1:46 rounds 0 is outside 1..1073741824"},
		{"workloads: [{all-to-all: {size: 1KB, rounds: x, interval: 5us}}]\n", `1:46 "x" is not a whole number`},
		{"workloads: [{all-to-all: {size: 1KB, rounds: 3, interval: 0}}]\n", "1:59 interval 0: write a time above 0"},
		{"workloads: [{all-to-all: {size: 1KB, rounds: 3, interval: x}}]\n", `1:59 "x" is not a time`},
		{
			"workloads: [{poisson: {sizes: websearch, load: 0.5, of: hosts, flows: 0}}]\n",
			"1:71 flows 0 is outside 1..1073741824",
		},
		{
			"workloads: [{incast: {size: 1KB, load: 0.5, of: hosts, degree: 2, events: x}}]\n",
			`1:75 "x" is not a whole number`,
		},
		{"workloads: [{csv: empty.csv}]\n", "1:19 " + filepath.Join(dir, "empty.csv") +
			" is empty: write a header"},
		{"workloads: [{csv: head.csv}]\n", "1:19 " + filepath.Join(dir, "head.csv") + " has no flow"},
		{"workloads: [{poisson: {sizes: nothing.txt, load: 0.5, of: hosts}}]\n", "1:1 no flow is longer than 0 B"},
		{
			"flows: [{from: h0, to: h1, size: 1KB, cc: none, constant_rate: 1Gbps}]\n",
			"1:43 a flow of constant rate has no congestion control",
		},
		{"flows: [{from: h0, to: h1, size: 1KB, cc: swifft}]\n", "1:43 unknown congestion controller \"swifft\""},
		{"flows: [{from: h0, to: h1, size: 1KB, priority: 8}]\n", "1:49 8 is outside 0..7"},
		{flow + "report: [{title: a, series: [{queue: \"s0:h0\", priority: 8}]}]\n", "2:57 8 is outside 0..7"},
		{flow + "report: [{title: a, series: [{state: \"s0:h0\", priority: 1}]}]\n", "2:57 priority: only queue, ingress"},
		{flow + "report: [{title: a, series: [{pause: all, priority: 1}]}]\n", "2:53 priority: only queue, ingress"},
		{flow + "report: [{title: a, series: [{queue: all}]}]\n", "2:38 \"all\" is not a port"},
		{"flows: [{from: h0, to: h1, size: 1KB, weight: 0}]\n", "1:47 weight 0 is outside 1..1000"},
		{"flows: [{from: h0, to: h1, size: 1KB, stop: 1ms}]\n", "1:45 stop 1ms must be before the end of the run"},
		{
			"flows: [{from: h0, to: h1, size: 1KB, start: 5us, stop: 5us}]\n",
			"1:57 stop 5us must be later than the last start, 5us",
		},
		{"flows: [{from: h0, to: h1, size: 1KB, on_off: {on: 0s, off: 1us}}]\n", "1:52 on 0: remove on_off"},
		{
			"flows: [{from: h0, to: h1, size: 1KB, on_off: {true: 1us, false: 2us}}]\n",
			"1:47 a program that goes by YAML 1.1 has read on and off as true and false",
		},
		{"flows: [{from: h0, to: h1, size: 1KB, on_off: 5us}]\n", "1:47 expected a mapping such as {on: 10us, off: 40us}"},
		{"flows: [{from: h0, to: h1, size: 1KB, qps: 129}]\n", "1:44 qps.count 129 is outside 1..128"},
		{
			"flows: [{from: h0, to: h1, size: 1KB, qps: {count: 1, message: 1KB}}]\n",
			"1:45 a flow of one QP has nothing to split",
		},
		{"flows: [{from: h0, to: h1, size: 1KB, qps: {count: 2, via: [h2]}}]\n", "1:61 h2 is a host"},
		{
			"flows: [{from: h0, to: h1, size: 1KB, qps: {count: 2, via: [s0, s0, s0]}}]\n",
			"1:60 via names 3 switches for 2 QPs",
		},
		{"workloads: [{all-to-all: {size: 1KB}, qps: {count: 2, via: [s0]}}]\n", "1:55 qps.via is for listed flows only"},
		{
			flow + "published: [{title: x, columns: [], rows: [{metric: fct_mean, unit: ms, values: []}]}]\n",
			"2:33 a table needs at least one column",
		},
		{flow + "published: [{title: x, columns: [dcqcn], rows: []}]\n", "2:48 a table needs at least one row"},
		{
			flow + "cc: {lstm-pid: {weights: " + filepath.Join(dir, "list.json") + "}}\n",
			"2:26 lstm-pid.weights cannot be used: weights file " + filepath.Join(dir, "list.json") +
				": line 1, column 2: unexpected JSON array for the whole file",
		},
		{
			flow + "controllers: [{name: own, cc: lstm-pid, set: {weights: " + filepath.Join(dir, "empty.json") + "}}]\n",
			"2:56 lstm-pid.weights cannot be used: weights file " + filepath.Join(dir, "empty.json") +
				": line 1, column 1: incomplete JSON",
		},
	} {
		_, err := Parse(filepath.Join(dir, "x.yaml"), []byte(c.text+"topology: star\nduration: 1ms\n"), nil)
		var problems yamlspec.Problems
		if !errors.As(err, &problems) {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		got := fmt.Sprintf("%d:%d %s", problems[0].Line, problems[0].Column, problems[0].Message)
		if len(problems) != 1 || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s\ngot %v\nwant %s", c.text, err, c.want)
		}
	}
}

// on and off are keys, be they plain or in quotes, as they are in YAML 1.2; in 1.1 they would be true and false.
func TestOnOffKeys(t *testing.T) {
	for _, text := range []string{
		"{on: 10us, off: 40us}", `{"on": 10us, 'off': 40us}`, "{on: \"10us\", \"off\": 40us}",
		"\n      on: 10us\n      off: 40us",
	} {
		s, err := Parse("x.yaml", []byte("topology: star\nduration: 1ms\nflows:\n"+
			"  - from: h0\n    to: h1\n    size: 1KB\n    on_off: "+text+"\n"), nil)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if own := s.Flows[0].own(); own.On != 10*vtime.Microsecond || own.Off != 40*vtime.Microsecond {
			t.Errorf("%q: on %v, off %v", text, own.On, own.Off)
		}
	}
}

// A range of switches is one item of via, and each of its switches the path of a QP.
func TestQPsViaARange(t *testing.T) {
	_, err := Parse("x.yaml", []byte("topology: {leafspine: {spines: 2, leaves: 3, hosts_per_leaf: 2}}\nduration: 1ms\n"+
		"flows: [{from: h0, to: h2, size: 100KB, qps: {count: 3, via: leaf0..leaf2}}]\n"), nil)
	if want := "x.yaml:3:62: no shortest path from h0 to h2 goes through leaf2"; err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

package experiments_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/vtime"
)

// TestRun checks the errors for a program's mistakes, and that options left out default to the scenario's.
func TestRun(t *testing.T) {
	ctx := context.Background()
	for want, o := range map[string]experiments.Options{
		"unknown congestion control":           {Controller: "dcqn"},
		"imports controllerfile/star for them": {Controller: "../examples/controllers/timely.star"},
		"a Run has one":                        {Controller: "all"},
		"switch.pfc.xof":                       {Set: []string{"switch.pfc.xof=80KB"}},
		"-1 processors":                        {Processors: -1},
		"65 processors":                        {Processors: 65},
	} {
		if _, err := experiments.Run(ctx, "incast", o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := experiments.Run(ctx, "nowhere", experiments.Options{}); err == nil {
		t.Error("there is no such scenario")
	}
	folder := t.TempDir()
	kept, err := experiments.Run(ctx, "incast", experiments.Options{Directory: folder, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	unkept, err := experiments.Run(ctx, "incast", experiments.Options{Seed: 2, Controller: kept.Controller})
	if err != nil {
		t.Fatal(err)
	}
	if kept.Fingerprint != unkept.Fingerprint || kept.Seed != 2 {
		t.Errorf("fingerprint %s with a directory, %s without; seed %d", kept.Fingerprint, unkept.Fingerprint, kept.Seed)
	}
	n := 0
	for f, err := range kept.EachFlow() {
		if err != nil || f.Number != n || f.Size != 500_000 || !f.Ended || f.Slowdown() < 1 {
			t.Errorf("flow %+v, %v", f, err)
		}
		n++
	}
	if n != kept.Flows.Count {
		t.Errorf("%d flows, the summary has %d", n, kept.Flows.Count)
	}
	for range kept.EachFlow() {
		break
	}
	for _, err := range unkept.EachFlow() {
		if err == nil || !strings.Contains(err.Error(), "Options.Directory") {
			t.Errorf("%v", err)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if r, err := experiments.Run(cancelled, "convergence-2", experiments.Options{}); err == nil || r != nil && !r.Partial {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestOneMoreFlow checks that a flow between leaves of its own, added at the start of the list, changes nothing for the
// other flows, whatever determines their ports.
func TestOneMoreFlow(t *testing.T) {
	const scenario = `
name: pair
topology: {leafspine: {spines: 4, leaves: 4, hosts_per_leaf: 4, rate: 100Gbps}}
host: {recovery: selective}
controllers: dcqcn
flows: [{tag: others, from: h0..h3, to: h4..h7, size: 200KB}]
duration: 1ms
drain: true
expect_unused: [pfc]
`
	const first = "flows: [{tag: first, from: h8, to: h12, size: 1KB}, "
	for _, entropy := range []string{"flow", "random", "reps"} {
		var fct [2][]vtime.Time
		for i, text := range []string{scenario, strings.Replace(scenario, "flows: [", first, 1)} {
			r, err := experiments.RunText(t.Context(), "pair.yaml", text,
				experiments.Options{Set: []string{"host.entropy=" + entropy}, Directory: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			for f, err := range r.EachFlow() {
				if err != nil {
					t.Fatal(err)
				}
				if f.Tag == "others" {
					fct[i] = append(fct[i], f.FCT)
				}
			}
		}
		if len(fct[0]) != 16 || !slices.Equal(fct[0], fct[1]) {
			t.Errorf("entropy %s: completion times %v alone, %v with one more flow", entropy, fct[0], fct[1])
		}
	}
}

// TestProcessors checks that a run has equal results on one processor, on several, and on all of the machine's, with
// and without files.
func TestProcessors(t *testing.T) {
	var want *experiments.Result
	for _, processors := range []int{1, 2, 3, 0} {
		for _, folder := range []string{"", t.TempDir()} {
			r, err := experiments.Run(context.Background(), "dcon-burst",
				experiments.Options{Controller: "dcon", Processors: processors, Directory: folder})
			if err != nil {
				t.Fatal(err)
			}
			r.Speed = measure.SpeedSummary{} // of this machine
			if want == nil {
				want = r
			}
			if !reflect.DeepEqual(r.Summary, want.Summary) {
				t.Errorf("%d processors: %+v, want %+v", processors, r.Summary, want.Summary)
			}
		}
	}
}

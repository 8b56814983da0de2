package runner

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/internal/lab"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/vtime"
)

// TestFiles holds the CSV files against the design's table, and against each other and the summary.
func TestFiles(t *testing.T) {
	o := run(t, parse(t, lab.Small), "dcqcn", Options{
		Version: "v1", Command: "pausenet run small",
		Sets: []string{"seed=1"},
	})
	tables := map[string]testenv.Table{}
	for name, header := range map[string]string{
		"flows.csv": "flow,tag,src,dst,size_bytes,start_ns,fct_ns,ideal_fct_ns,slowdown,retransmitted_bytes",
		"ports.csv": "time_ns,node,port,peer,priority,queue_bytes,ingress_bytes,paused,tx_bytes",
		"pfc.csv":   "time_ns,node,port,peer,priority,event",
		"rates.csv": "time_ns,flow,rate_bps,goodput_bps,rtt_ns",
	} {
		tables[name] = o.table(name)
		if got := tables[name].Header; got != header {
			t.Errorf("%s: header %s, want %s", name, got, header)
		}
		if len(tables[name].Rows) == 0 {
			t.Errorf("%s is empty", name)
		}
		if name == "flows.csv" {
			continue
		}
		before := int64(0)
		for _, row := range tables[name].Rows {
			if now := testenv.Number(t, row, "time_ns"); now < before {
				t.Errorf("%s: time goes back at %v", name, row)
			} else {
				before = now
			}
		}
	}
	// Flows: the scenario's, in order.
	flows := tables["flows.csv"].Rows
	if len(flows) != 13 || flows[0]["src"] != "h0" || flows[0]["dst"] != "h7" || flows[6]["start_ns"] != "20000" ||
		flows[12]["tag"] != "other" {
		t.Errorf("%v", flows)
	}
	mean := 0.0
	for _, f := range flows {
		fct, ideal := testenv.Number(t, f, "fct_ns"), testenv.Number(t, f, "ideal_fct_ns")
		if fct < ideal || testenv.Number(t, f, "retransmitted_bytes") != 0 {
			t.Errorf("%v", f)
		}
		mean += float64(fct) / 13
	}
	if got := o.Summary.Flows.FCT.Mean; got < mean-1 || got > mean+1 {
		t.Errorf("mean FCT %g in the summary, %g in flows.csv", got, mean)
	}
	// PFC: alternating for each port but for refreshes, counted as in the summary.
	pauses, resumes := int64(0), int64(0)
	for _, row := range tables["pfc.csv"].Rows {
		switch row["event"] {
		case "pause":
			pauses++
		case "resume":
			resumes++
		default:
			t.Errorf("%v", row)
		}
		if row["priority"] != "3" || !strings.HasPrefix(row["port"], row["node"]+"-eth") {
			t.Errorf("%v", row)
		}
	}
	if p := o.Summary.PFC; p.Pauses != pauses || p.Resumes != resumes || pauses == 0 || pauses != resumes ||
		p.PausedNS == 0 {
		t.Errorf("%d PAUSEs and %d RESUMEs in pfc.csv, in the summary %+v", pauses, resumes, p)
	}
	// Rates: what was delivered in the samples is what the flow is long, but for what came after the last.
	delivered := map[string]float64{}
	for _, row := range tables["rates.csv"].Rows {
		delivered[row["flow"]] += float64(testenv.Number(t, row, "goodput_bps")) * 5e-6 / 8
	}
	for id, bytes := range delivered {
		size := 60e3
		if id == "12" {
			size = 100e3
		}
		if bytes > size+1 || bytes < size*0.6 {
			t.Errorf("flow %s: %.0f of %.0f bytes in rates.csv", id, bytes, size)
		}
	}
	// Ports: the receiver's leaf port towards it is full at some time, and pauses are seen.
	most, paused := int64(0), false
	for _, row := range tables["ports.csv"].Rows {
		if row["node"] == "leaf1" && row["peer"] == "h7" {
			most = max(most, testenv.Number(t, row, "queue_bytes"))
		}
		paused = paused || row["paused"] == "1"
	}
	if most < 60_000 || !paused {
		t.Errorf("queue towards h7 at most %d, paused %t", most, paused)
	}
}

// TestManifestAndSummary checks that the manifest and the summary have all fields that the design names, and that a run
// can be repeated from them.
func TestManifestAndSummary(t *testing.T) {
	s := parse(t, lab.Small)
	o := run(t, s, "dcqcn", Options{
		Plane: opener(t, plane.Kernel), Version: "v1", Command: "pausenet run small --seed 7", Seed: 7,
		Sets: []string{"seed=1"},
	})
	m := o.json("manifest.json")
	for key, want := range map[string]any{
		"status": "complete", "scenario": "small", "controller": "dcqcn", "seed": 7.0, "version": "v1",
		"command": "pausenet run small --seed 7", "plane": "kernel", "hooks": "clsact", "fingerprint": o.Summary.Fingerprint,
		"verdict": string(o.Summary.Verdict.Status),
	} {
		if m[key] != want {
			t.Errorf("manifest: %s is %v, want %v", key, m[key], want)
		}
	}
	if k, _ := m["kernel"].(string); !strings.HasPrefix(k, "Linux ") {
		t.Errorf("manifest: kernel %v", m["kernel"])
	}
	for _, key := range []string{"configuration", "controller_constants", "paths", "files", "go", "machine", "set"} {
		if m[key] == nil {
			t.Errorf("manifest: no %s", key)
		}
	}
	if paths, ok := m["paths"].([]any); !ok || len(paths) != len(s.Flows) {
		t.Errorf("manifest: %d paths of %d flows", len(paths), len(s.Flows))
	}
	sum := o.json("summary.json")
	for _, key := range []string{
		"scenario", "controller", "seed", "plane", "verdict", "partial", "fingerprint", "virtual_ns", "flows", "by_tag",
		"by_size",
		"pfc", "ecn_marks", "cnps", "cnms", "rtt", "rtt_sampled", "drops", "peak_ingress_bytes", "switches", "speed",
	} {
		if _, ok := sum[key]; !ok {
			t.Errorf("summary: no %s", key)
		}
	}
	for _, of := range []string{"fct_ns", "slowdown"} {
		q, _ := sum["flows"].(map[string]any)[of].(map[string]any)
		for _, key := range []string{"mean", "p50", "p95", "p99"} {
			if v, ok := q[key].(float64); !ok || v <= 0 {
				t.Errorf("summary: %s of %s is %v", key, of, q[key])
			}
		}
	}
	if sum["partial"] != false || !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(o.Summary.Fingerprint) {
		t.Errorf("partial %v, fingerprint %q", sum["partial"], o.Summary.Fingerprint)
	}
	if tags, _ := sum["by_tag"].(map[string]any); len(tags) != 2 || tags["incast"] == nil || tags["other"] == nil {
		t.Errorf("summary: by_tag %v", sum["by_tag"])
	}
	for _, r := range []measure.RTTSummary{o.Summary.RTT, o.Summary.RTTSampled} {
		if r.Samples == 0 || r.Mean < 4000 || r.P50 > r.P95 || r.P95 > r.P99 || r.P99 < r.Mean || r.Max < r.P99*0.99 {
			t.Errorf("%+v", r)
		}
	}
	// 13 flows of 60 and 100 packets: each has a sample, and no two of the packets that are in flight at a time are
	// one.
	if r := o.Summary.RTTSampled; r.Samples < 13 || r.Samples > o.Summary.RTT.Samples/4 {
		t.Errorf("%d samples of %d", r.Samples, o.Summary.RTT.Samples)
	}
}

// TestCancelled checks that a stopped run keeps its rows, and is marked as partial everywhere.
func TestCancelled(t *testing.T) {
	testenv.NeedRoot(t)
	s := parse(t, lab.Small, "drain=false", "duration=1s", "flows.0.size=unbounded", "flows.0.count=1",
		"flows.0.interval=0")
	ctx, cancel := context.WithCancel(context.Background())
	o := Options{
		Controller: "dcqcn", Seed: 1, Plane: kernel.Opener(plane.Kernel), Directory: t.TempDir(),
		Progress: func(now vtime.Time, _ *engine.Totals) {
			if now > 100*vtime.Microsecond {
				cancel()
			}
		},
	}
	r, err := Run(ctx, s, o)
	if !errors.Is(err, context.Canceled) || r == nil {
		t.Fatalf("%v, %v", r, err)
	}
	got := &outcome{t, r, o.Directory}
	if sum := got.json("summary.json"); sum["partial"] != true {
		t.Errorf("summary: partial %v", sum["partial"])
	}
	if m := got.json("manifest.json"); m["status"] != "partial" || m["verdict"] != "FAIL" {
		t.Errorf("manifest: %v, %v", m["status"], m["verdict"])
	}
	if v := r.Summary.Verdict; v.Status != measure.Fail || len(v.Messages) != 1 ||
		!strings.HasPrefix(v.Messages[0], "interrupted at ") {
		t.Errorf("%+v", v)
	}
	ns := (100 * vtime.Microsecond).RoundNanoseconds()
	for _, name := range []string{"ports.csv", "rates.csv"} {
		rows := got.table(name).Rows
		if len(rows) == 0 || testenv.Number(t, rows[len(rows)-1], "time_ns") < ns {
			t.Errorf("%s: %d rows", name, len(rows))
		}
	}
	if rows := got.table("flows.csv").Rows; len(rows) != len(s.Flows) || rows[0]["fct_ns"] != "" {
		t.Errorf("flows.csv: %v", rows)
	}
}

// TestCancelledDraining cancels a run that drains after its duration. The message names draining, and does not claim 5
// ms of 1 ms.
func TestCancelledDraining(t *testing.T) {
	s := parse(t, lab.Small, "drain=true", "duration=1us", "flows.0.size=1TB", "flows.0.count=1", "flows.0.interval=0")
	ctx, cancel := context.WithCancel(context.Background())
	r, err := Run(ctx, s, Options{
		Controller: "dcqcn", Seed: 1, Plane: wasmplane.Open, Directory: t.TempDir(),
		Progress: func(now vtime.Time, _ *engine.Totals) {
			if now > 100*vtime.Microsecond {
				cancel()
			}
		},
	})
	if !errors.Is(err, context.Canceled) || r == nil {
		t.Fatalf("%v, %v", r, err)
	}
	if m := r.Summary.Verdict.Messages; len(m) != 1 ||
		!strings.HasSuffix(m[0], ", while draining: the results are partial") {
		t.Errorf("%q", m)
	}
}

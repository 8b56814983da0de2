package observe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/observe/perfetto/perfettotest"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/vtime"
)

// readTrace reads a run's trace. It names tracks by the path of names below the node.
func readTrace(o *outcome) (*perfettotest.Trace, func(uint64) string) {
	o.Helper()
	data, err := os.ReadFile(filepath.Join(o.dir, rundir.PerfettoFile))
	if err != nil {
		o.Fatal(err)
	}
	trace, err := perfettotest.Read(data)
	if err != nil {
		o.Fatal(err)
	}
	var path func(uint64) string
	path = func(id uint64) string {
		t := trace.Tracks[id]
		if t.Parent == 0 {
			return t.Name
		}
		return path(t.Parent) + "/" + t.Name
	}
	return trace, path
}

// TestTrace checks that the trace agrees with the CSV files: each pause as sent, one link delay later, an arrow to each
// pause further from the root, sampled queues and rates, and the flows. The trace changes no result.
func TestTrace(t *testing.T) {
	s := mustLoad(t, "dcon-burst", "cc.dcqcn.clamp_target=true")
	without := run(t, s, "dcqcn", runner.Options{})
	o := run(t, s, "dcqcn", observed(Perfetto))
	if o.Summary.Fingerprint != without.Summary.Fingerprint {
		t.Errorf("fingerprint %s with a trace, %s without", o.Summary.Fingerprint, without.Summary.Fingerprint)
	}
	trace, path := readTrace(o)

	const delay = 5000 // ns
	want, since := map[string]bool{}, map[string]int64{}
	ports := map[string]string{} // by node and peer
	for _, l := range o.table("links.csv").Rows {
		ports[l["node"]+" "+l["peer"]] = l["port"]
	}
	pause := func(key string, from, to int64) { want[fmt.Sprintf("%s: %d to %d", key, from, to)] = true }
	for _, row := range o.table("pfc.csv").Rows {
		at, node, peer, priority := testenv.Number(t, row, "time_ns"), row["node"], row["peer"], row["priority"]
		port := ports[peer+" "+node]
		if port == "" {
			port = peer + "-eth1" // links.csv has the switches' ports
		}
		key := fmt.Sprintf("%s/%s to %s, priority %s: paused by %s", peer, port, node, priority, node)
		from, paused := since[key]
		switch {
		case row["event"] == "pause" && !paused:
			since[key] = at + delay
		case row["event"] == "resume" && paused:
			pause(key, from, at+delay)
			delete(since, key)
		}
	}
	for key, from := range since {
		pause(key, from, s.Duration.RoundNanoseconds())
	}
	depth, arrows, flows, unfinished := int64(0), int64(0), 0, 0
	for _, n := range o.Summary.PFC.Spread.ByDepth[1:] {
		depth += n
	}
	got := map[string]bool{}
	counters := map[string]map[int64]int64{}
	for i := range trace.Events {
		e := &trace.Events[i]
		switch on := path(e.Track); {
		case strings.HasSuffix(on, "/flows"):
			flows++
			if e.Notes["unfinished"] != "" {
				unfinished++
			}
		case e.Type == "TYPE_SLICE_BEGIN":
			got[fmt.Sprintf("%s: %s: %d to %d", on, e.Name, e.At, e.To)] = true
			arrows += int64(len(e.Flows))
			if hops := e.Notes["hops from the root"]; (hops == "1") != (len(e.FlowEnds) == 0) {
				t.Errorf("%s: %d arrows to a pause %s hops from the root", on, len(e.FlowEnds), hops)
			}
		case e.Type == "TYPE_COUNTER":
			if counters[on] == nil {
				counters[on] = map[int64]int64{}
			}
			counters[on][e.At] = e.Value
		}
	}
	if len(want) < 100 || depth < 40 {
		t.Fatalf("%d pauses, %d of them further than a hop from the root: this is no test", len(want), depth)
	}
	for k := range want {
		if !got[k] {
			t.Errorf("missing: %s", k)
		}
	}
	for k := range got {
		if !want[k] {
			t.Errorf("not in pfc.csv: %s", k)
		}
	}
	if arrows != depth {
		t.Errorf("%d arrows, %d pauses that others brought about", arrows, depth)
	}
	if flows != len(s.Flows) || unfinished != 2 {
		t.Errorf("%d flows, %d unfinished", flows, unfinished)
	}

	last := map[string]int64{}
	same := func(counter string, at, value int64) {
		t.Helper()
		if v, changed := counters[counter][at]; changed {
			last[counter] = v
		}
		if counters[counter] == nil || last[counter] != value {
			t.Fatalf("%s at %d ns: %d in the trace, %d in the table", counter, at, last[counter], value)
		}
	}
	for _, row := range o.table("ports.csv").Rows {
		queue := fmt.Sprintf("%s/%s to %s, priority %s/", row["node"], row["port"], row["peer"], row["priority"])
		same(queue+"egress queue", testenv.Number(t, row, "time_ns"), testenv.Number(t, row, "queue_bytes"))
		same(queue+"ingress buffer", testenv.Number(t, row, "time_ns"), testenv.Number(t, row, "ingress_bytes"))
	}
	for _, row := range o.table("rates.csv").Rows {
		flow := testenv.Number(t, row, "flow")
		f := &s.Flows[flow]
		same(fmt.Sprintf("%s/rate of flow %d (%s)", s.Topology.Nodes[f.Source].Name, flow, f.Tag),
			testenv.Number(t, row, "time_ns"), testenv.Number(t, row, "rate_bps"))
	}
}

// TestTraceOfFaults checks that a fault is an instant at its node.
func TestTraceOfFaults(t *testing.T) {
	s := parse(t, `
name: cut
topology: {leafspine: {leaves: 2, spines: 2, hosts_per_leaf: 1}}
flows: [{tag: a, from: h0, to: h1, size: 1MB}]
faults: [{link: "leaf0:spine0", at: 20us, for: 30us, down: true}]
duration: 1ms
`)
	o := run(t, s, "dcqcn", observed(Perfetto))
	trace, path := readTrace(o)
	got := map[string]bool{}
	for i := range trace.Events {
		if e := &trace.Events[i]; e.Type == "TYPE_INSTANT" {
			got[fmt.Sprint(path(e.Track), " ", e.Name, " ", vtime.Time(e.At)*vtime.Nanosecond)] = true
		}
	}
	rows := o.table("events.csv").Rows
	if len(rows) < 2 {
		t.Fatal("no events: this is no test")
	}
	for _, row := range rows {
		node := row["node"]
		if node == "" {
			node = fabricName
		}
		if want := fmt.Sprint(node, "/events ", strings.ReplaceAll(row["event"], "_", " "), " ",
			vtime.Time(testenv.Number(t, row, "time_ns"))*vtime.Nanosecond); !got[want] {
			t.Errorf("missing: %s of %v", want, got)
		}
	}
}

// TestTraceOfExpiredPauses checks that a pause that expires without a RESUME ends in the trace at its expiry.
func TestTraceOfExpiredPauses(t *testing.T) {
	o := run(t, mustLoad(t, "pfc-storm"), "none", observed(Perfetto))
	trace, path := readTrace(o)
	pauses := 0
	for i := range trace.Events {
		if e := &trace.Events[i]; e.Type == "TYPE_SLICE_BEGIN" && strings.Contains(path(e.Track), ", priority ") {
			pauses++
			if e.To >= o.Summary.VirtualNS {
				t.Errorf("%s: a pause from %d to %d ns lasts to the end of the run", path(e.Track), e.At, e.To)
			}
		}
	}
	if pauses == 0 {
		t.Error("nothing was paused: the test tests nothing")
	}
}

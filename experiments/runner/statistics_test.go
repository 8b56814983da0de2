package runner

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/internal/lab"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

const us = vtime.Microsecond

// chainPlan returns a line of three switches with a host each, and a second host at the last: a - s0 - s1 - s2 - c, b
// at s1.
func chainPlan(t *testing.T) (plan *topologies.Plan, port func(from, to string) topologies.PortID) {
	t.Helper()
	plan, err := spec.Parse("chain", []byte(`
delay: 1us
nodes: [{name: s0..s2, kind: switch}, {name: [a, b, c, d], kind: host}]
links: [{from: a, to: s0}, {from: b, to: s1}, {from: [c, d], to: s2}, {from: s0, to: s1}, {from: s1, to: s2}]
`))
	if err != nil {
		t.Fatal(err)
	}
	return plan, func(from, to string) topologies.PortID {
		return plan.PortsBetween(plan.NodeByName(from).ID, plan.NodeByName(to).ID)[0]
	}
}

// TestSpread checks chains computed by hand. A hold starts and ends a link's delay, 1 us, after its frame was sent.
func TestSpread(t *testing.T) {
	type event struct {
		at       vtime.Time // us
		from, to string     // the PFC frame's way
		priority uint8
		resume   bool
	}
	for name, c := range map[string]struct {
		events  []event
		byDepth []int64
		chain   string
	}{
		"none": {nil, nil, ""},
		"the root alone, twice": {
			[]event{{10, "s2", "s1", 3, false}, {20, "s2", "s1", 3, true}, {30, "s2", "s1", 3, false}},
			[]int64{2},
			"s2 s1",
		},
		"from end to end": {
			[]event{
				{10, "s2", "s1", 3, false},
				{11, "s1", "s0", 3, false},
				{12, "s1", "b", 3, false},
				{20, "s0", "a", 3, false},
			},
			[]int64{1, 2, 1},
			"s2 s1 s0 a",
		},
		"a hold has started only when the frame has crossed": {
			[]event{{10, "s2", "s1", 3, false}, {10 + 0, "s1", "s0", 3, false}},
			[]int64{2},
			"s2 s1",
		},
		"a hold has ended when RESUME has crossed": {
			[]event{{10, "s2", "s1", 3, false}, {20, "s2", "s1", 3, true}, {21, "s1", "s0", 3, false}},
			[]int64{2},
			"s2 s1",
		},
		"and not before": {
			[]event{{10, "s2", "s1", 3, false}, {21, "s2", "s1", 3, true}, {21, "s1", "s0", 3, false}},
			[]int64{1, 1},
			"s2 s1 s0",
		},
		"of another priority": {
			[]event{{10, "s2", "s1", 3, false}, {12, "s1", "s0", 4, false}},
			[]int64{2},
			"s2 s1",
		},
		"back the way it came is no chain": { // s1 holds s2; s2 holds s1's port towards it: nothing that s2 waits for
			[]event{{10, "s1", "s2", 3, false}, {12, "s2", "s1", 3, false}},
			[]int64{2},
			"s1 s2",
		},
		"but beyond it is": {
			[]event{{10, "s1", "s2", 3, false}, {12, "s2", "c", 3, false}, {12, "s2", "d", 3, false}},
			[]int64{1, 2},
			"s1 s2 c",
		},
	} {
		plan, port := chainPlan(t)
		s := newSpread(plan)
		for _, e := range c.events {
			if e.resume {
				s.resume(e.at*us, port(e.from, e.to), e.priority)
			} else {
				s.pause(e.at*us, port(e.from, e.to), e.priority)
			}
		}
		got := s.summary()
		if !slices.Equal(got.ByDepth, c.byDepth) || strings.Join(got.Chain, " ") != c.chain || got.Depth != len(c.byDepth) {
			t.Errorf("%s: %+v, want %v, %s", name, got, c.byDepth, c.chain)
		}
	}
}

// TestSpreadRing checks that a chain ends before it would repeat a switch, if switches wait for each other in a ring.
func TestSpreadRing(t *testing.T) {
	plan, err := spec.Parse("ring", []byte(`
nodes: [{name: s0..s2, kind: switch}, {name: [a, b], kind: host}]
links: [{from: a, to: s0}, {from: b, to: s1}, {from: s0, to: [s1, s2]}, {from: s1, to: s2}]
`))
	if err != nil {
		t.Fatal(err)
	}
	port := func(from, to string) topologies.PortID {
		return plan.PortsBetween(plan.NodeByName(from).ID, plan.NodeByName(to).ID)[0]
	}
	s := newSpread(plan)
	s.anyWay = true                 // on the shortest paths nothing goes round the ring
	for i := range vtime.Time(30) { // s0 holds s1, s1 holds s2, s2 holds s0, and around again
		way := [][2]string{{"s0", "s1"}, {"s1", "s2"}, {"s2", "s0"}}[i%3]
		if i >= 3 {
			s.resume((10*i-5)*us, port(way[0], way[1]), 3)
		}
		s.pause(10*i*us, port(way[0], way[1]), 3)
	}
	if got := s.summary(); got.Depth != 3 {
		t.Errorf("%+v", got)
	}
}

// TestSpreadGoesWherePacketsGo checks that PAUSE only spreads along paths of packets. Packets that arrive at a leaf
// from above do not leave upwards again, so a hold above the leaf does not cause another one above it. After a change
// of routes it may.
func TestSpreadGoesWherePacketsGo(t *testing.T) {
	plan, err := spec.Parse("leafspine", []byte("leafspine: {spines: 2, leaves: 3, hosts_per_leaf: 1}"))
	if err != nil {
		t.Fatal(err)
	}
	port := func(from, to string) topologies.PortID {
		return plan.PortsBetween(plan.NodeByName(from).ID, plan.NodeByName(to).ID)[0]
	}
	for _, c := range []struct {
		first, second [2]string
		anyWay        bool
		depth         int
	}{
		{[2]string{"leaf0", "spine0"}, [2]string{"spine0", "leaf1"}, false, 2},
		{[2]string{"spine0", "leaf1"}, [2]string{"leaf1", "h1"}, false, 2},
		{[2]string{"h0", "leaf0"}, [2]string{"leaf0", "spine1"}, false, 2},
		{[2]string{"spine0", "leaf1"}, [2]string{"leaf1", "spine1"}, false, 1},
		{[2]string{"spine0", "leaf1"}, [2]string{"leaf1", "spine1"}, true, 2},
	} {
		s := newSpread(plan)
		s.anyWay = c.anyWay
		s.pause(0, port(c.first[0], c.first[1]), 3)
		s.pause(10*us, port(c.second[0], c.second[1]), 3)
		if got := s.summary(); got.Depth != c.depth {
			t.Errorf("%v, %v: %+v, want depth %d", c.first, c.second, got, c.depth)
		}
	}
}

// TestSpreadEndsAtHosts checks that PAUSE does not spread through a host with several ports that is paused at one, and
// sends PAUSE by another because it is slow or malfunctions.
func TestSpreadEndsAtHosts(t *testing.T) {
	plan, err := spec.Parse("planes", []byte("planes: {planes: 2, leaves: 2, spines: 2, hosts_per_leaf: 2}"))
	if err != nil {
		t.Fatal(err)
	}
	h := plan.NodeByName("h3")
	for _, anyWay := range []bool{false, true} {
		s := newSpread(plan)
		s.anyWay = anyWay
		s.pause(0, plan.Ports[h.Ports[0]].Peer, 3)
		s.pause(10*us, h.Ports[1], 3)
		if got := s.summary(); got.Depth != 1 {
			t.Errorf("%+v, want depth 1", got)
		}
	}
}

func TestStretches(t *testing.T) {
	var s intervals
	s.add(10, 20, 5)
	s.add(24, 30, 5) // nearer than the gap: one interval
	s.add(40, 50, 5)
	s.begin(70, 5)
	s.begin(72, 5) // open already
	if !slices.Equal(s, intervals{{10, 30}, {40, 50}, {70, vtime.Never}}) {
		t.Fatalf("%v", s)
	}
	for _, c := range []struct {
		from, to vtime.Time
		want     bool
	}{
		{0, 10, false},
		{0, 11, true},
		{29, 35, true},
		{30, 40, false},
		{30, 41, true},
		{50, 70, false},
		{50, 71, true},
		{1000, 1001, true},
	} {
		if got := s.meet(c.from, c.to); got != c.want {
			t.Errorf("%d to %d: %t", c.from, c.to, got)
		}
	}
	if got := s.within(100); got != 20+10+30 {
		t.Errorf("%d within", got)
	}
	s.end(80)
	s.end(90)
	if got := s.within(100); got != 20+10+10 {
		t.Errorf("%d within", got)
	}
}

// TestJain: the index of known shares (Jain's own example: of n with k equal shares it is k/n).
func TestJain(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{5, 5, 5}, 1},
		{[]float64{1, 1, 0, 0, 0}, 0.4},
		{[]float64{1, 2, 3}, 36. / 42},
		{[]float64{7}, 0},
		{[]float64{0, 0}, 0},
		{nil, 0},
	} {
		var s shares
		for _, x := range c.x {
			s.add(x)
		}
		if got := s.jain(); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %g, want %g", c.x, got, c.want)
		}
	}
	var f measure.Fairness
	for _, j := range []float64{0.5, 1, 0.75} {
		f.Take(j)
	}
	if f != (measure.Fairness{Windows: 3, Mean: 0.75, Least: 0.5}) {
		t.Errorf("%+v", f)
	}
}

// TestFairnessOfConstantRates runs two flows of one tag at 10 and 30 Gb/s, one of which ends early, and one of another
// tag. The index is 40^2/(2*(10^2+30^2)) = 0.8 in every window with both, and undefined once one is alone.
func TestFairnessOfConstantRates(t *testing.T) {
	o := run(t, parse(t, `
topology: {rate: 100Gbps, delay: 1us, star: {hosts: 6}}
flows:
  - {tag: pair, from: h0, to: h3, size: unbounded, constant_rate: 10Gbps}
  - {tag: pair, from: h1, to: h4, size: 1MB, constant_rate: 30Gbps}
  - {tag: alone, from: h2, to: h5, size: unbounded, constant_rate: 50Gbps}
duration: 2ms
sample: {interval: 5us}
expect_unused: [pfc, ecn, controller]
`), "none", Options{Plane: wasmplane.Open})
	got := o.Summary.Fairness
	pair := got.ByTag["pair"]
	// 1 MB takes some 0.27 ms at 30 Gb/s of line rate; windows are of 20 us, and the first has both only from its end
	// on.
	if got.WindowNS != 20_000 || len(got.ByTag) != 1 || pair.Windows < 10 || pair.Windows > 14 {
		t.Errorf("%+v", got)
	}
	if math.Abs(pair.Mean-0.8) > 0.01 || math.Abs(pair.Least-0.8) > 0.02 {
		t.Errorf("%+v", pair)
	}
}

// TestVictimsOfSlowReceiver runs two flows of one host. The flow to the slow receiver slows down the other, whose
// receiver is idle.
func TestVictimsOfSlowReceiver(t *testing.T) {
	o := run(t, parse(t, `
topology: {rate: 25Gbps, delay: 1us, star: {hosts: 3}}
switch: {pfc: {xoff: 32KB}}
flows:
  - {tag: slow, from: h0, to: h1, size: 1MB}
  - {tag: idle, from: h0, to: h2, size: 1MB}
faults: [{at: 0s, for: 2ms, host: h1, receiver: {rate: 2Gbps, buffer: 256KB}}]
duration: 5ms
drain: true
`), "none", Options{Plane: wasmplane.Open})
	if got, want := o.Summary.Victims.ByTag, map[string]int{"idle": 1}; !maps.Equal(got, want) {
		t.Errorf("victims %v, want %v (slowdowns: slow %.1f, idle %.1f)", got, want, o.Summary.ByTag["slow"].Slowdown.Mean,
			o.Summary.ByTag["idle"].Slowdown.Mean)
	}
}

// TestVictims checks that f0 is the victim in DCON's burst under DCQCN: it passes only ports stopped by PAUSE, which
// alone slows it. f1 and the burst use the congested port. Under DCON no PAUSE is sent between switches.
func TestVictims(t *testing.T) {
	testenv.WholeScenario(t)
	s := mustLoad(t, "dcon-burst")
	for controller, c := range map[string]struct {
		depth   int
		chain   string
		victims map[string]int
	}{
		"dcqcn": {3, "L2 S1 L0 H0", map[string]int{"f0": 1}},
		"dcon":  {1, "", map[string]int{}},
	} {
		o := run(t, s, controller, Options{Plane: wasmplane.Open})
		spread, victims := o.Summary.PFC.Spread, o.Summary.Victims
		if spread.Depth != c.depth || c.chain != "" && strings.Join(spread.Chain, " ") != c.chain ||
			spread.Time < burstStart {
			t.Errorf("%s: %+v", controller, spread)
		}
		if len(victims.ByTag) != len(c.victims) || victims.ByTag["f0"] != c.victims["f0"] ||
			victims.Count != c.victims["f0"] {
			t.Errorf("%s: victims %+v", controller, victims)
		}
		if c.victims["f0"] == 1 && (victims.Worst[0].Flow != 0 || victims.Worst[0].Slowdown <= victims.Over) {
			t.Errorf("%+v", victims.Worst)
		}
		var paused int64
		for _, n := range spread.ByDepth {
			paused += n
		}
		if paused == 0 || paused > o.Summary.PFC.Pauses {
			t.Errorf("%s: paused %d times by %d PAUSEs", controller, paused, o.Summary.PFC.Pauses)
		}
		// The root is L2's port towards R1, for as long as the burst takes to drain. Under DCON that of S1 is, once it
		// is over: C/N each is what f0 and f1 have there, and a queue does not drain by that.
		at := slices.IndexFunc(o.Summary.Links.Congested,
			func(l measure.Link) bool { return l.Node == "L2" && l.Peer == "R1" })
		if at < 0 {
			t.Fatalf("%s: congested %+v", controller, o.Summary.Links.Congested)
		}
		if root := o.Summary.Links.Congested[at]; controller == "dcqcn" && at != 0 || root.CongestedNS < 6e6 ||
			root.CongestedNS > 8e6 {
			t.Errorf("%s: congested %+v", controller, o.Summary.Links.Congested)
		}
	}
}

// TestLinksByCredits checks that under credits the stopped time of links equals that of the ports in ports.csv, on both
// planes, and that no PAUSE is counted.
func TestLinksByCredits(t *testing.T) {
	s := parse(t, lab.Small)
	s.Switch.FlowControl, s.Switch.CBFC.Buffer = switchagent.FlowCBFC, 64*units.KB
	s.Sample.Interval = vtime.Microsecond
	planes := []string{plane.Wasm}
	if os.Geteuid() == 0 {
		planes = append(planes, plane.Kernel)
	}
	var first []map[string]string // the rows of links.csv
	for _, plane := range planes {
		o := run(t, s, "dcqcn", Options{Plane: opener(t, plane)})
		rows := o.table("links.csv").Rows
		if first == nil {
			first = rows
		} else if !slices.EqualFunc(rows, first, maps.Equal) {
			t.Error("links.csv is not the same on both planes")
		}
		samples, off := map[string]int64{}, map[string]int64{}
		for _, row := range o.table("ports.csv").Rows {
			samples[row["port"]]++
			off[row["port"]] += testenv.Number(t, row, "paused")
		}
		var sum int64
		for _, row := range rows {
			paused, port := testenv.Number(t, row, "paused_ns"), row["port"]
			sum += paused
			if pauses := testenv.Number(t, row, "pauses"); pauses != 0 {
				t.Errorf("%s: %d PAUSEs", port, pauses)
			}
			if n := samples[port]; n > 0 {
				share, want := float64(paused)/float64(o.Summary.VirtualNS), float64(off[port])/float64(n)
				if math.Abs(share-want) > 0.02 || (paused == 0) != (off[port] == 0) {
					t.Errorf("%s: paused for %.3f of the time, in %.3f of the samples", port, share, want)
				}
			}
		}
		c := o.Summary.Credits
		if c == nil || c.StalledNS != sum || sum == 0 || o.Summary.PFC.PausedNS != 0 ||
			measure.MetricByName("paused").Of(&o.Summary, nil) != float64(sum) {
			t.Errorf("%s: %+v, links were stopped for %d ns", plane, c, sum)
		}
		if len(o.Summary.Links.Paused) == 0 {
			t.Error("no link leads those that were stopped")
		}
	}
}

// TestLinks holds links.csv against the other files and against arithmetic: a link's bytes and frames give its
// utilisation.
func TestLinks(t *testing.T) {
	o := run(t, parse(t, lab.Small), "dcqcn", Options{Plane: wasmplane.Open})
	rows := o.table("links.csv")
	const header = "node,port,peer,rate_bps,tx_frames,tx_bytes,utilisation,peak_queue_bytes,congested_ns,pauses," +
		"resumes,pauses_per_second,paused_ns"
	if rows.Header != header || len(rows.Rows) != len(o.Scenario.Topology.Ports) {
		t.Fatalf("%s, %d rows", rows.Header, len(rows.Rows))
	}
	sent := map[string]int64{} // PAUSEs by link in pfc.csv: to, from
	for _, row := range o.table("pfc.csv").Rows {
		if row["event"] == "pause" {
			sent[row["peer"]+" "+row["node"]]++
		}
	}
	seconds := float64(o.Summary.VirtualNS) / 1e9
	var pauses, pausedNS, peak int64
	for _, row := range rows.Rows {
		frames, bytes := testenv.Number(t, row, "tx_frames"), testenv.Number(t, row, "tx_bytes")
		// Every frame here is longer than the shortest, so each takes 24 bytes of line beside its own.
		want := float64(bytes+24*frames) * 8 / 40e9 / seconds
		if got, err := strconv.ParseFloat(row["utilisation"], 64); err != nil || math.Abs(got-want) > 2e-6 {
			t.Errorf("%s to %s: utilisation %g, want %g", row["node"], row["peer"], got, want)
		}
		if got, want := testenv.Number(t, row, "pauses"), sent[row["node"]+" "+row["peer"]]; got != want {
			t.Errorf("%s to %s: %d PAUSEs, %d in pfc.csv", row["node"], row["peer"], got, want)
		}
		pauses += testenv.Number(t, row, "pauses")
		pausedNS += testenv.Number(t, row, "paused_ns")
		peak = max(peak, testenv.Number(t, row, "peak_queue_bytes"))
	}
	if p := o.Summary.PFC; p.Pauses != pauses || p.PausedNS != pausedNS || pauses == 0 {
		t.Errorf("%d PAUSEs for %d ns, in the summary %d for %d ns", pauses, pausedNS, p.Pauses, p.PausedNS)
	}
	most := int64(0)
	for _, row := range o.table("ports.csv").Rows {
		most = max(most, testenv.Number(t, row, "queue_bytes"))
	}
	if peak < most {
		t.Errorf("longest queue %d, %d in ports.csv", peak, most)
	}
	if _, err := os.Stat(filepath.Join(o.dir, "links.csv.tmp")); err == nil {
		t.Error("links.csv.tmp is left")
	}
	l := o.Summary.Links
	if l.Busiest[0].Node != "leaf1" || l.Busiest[0].Peer != "h7" || l.BetweenSwitches.Max <= 0 ||
		l.ToHosts.Max != l.Busiest[0].Utilisation {
		t.Errorf("%+v", l)
	}
}

// TestCongestionThreshold checks that the congested port is found whatever signals the controller uses, and with PFC
// alone by XOFF, and that a shorter queue is not congestion.
func TestCongestionThreshold(t *testing.T) {
	text := `
topology: {rate: 40Gbps, delay: 1us, star: {hosts: 4}}
switch: {pfc: {xoff: 100KB}, ecn: {kmin: 5KB, kmax: 50KB, pmax: 0.1}}
flows: [{from: h0..h2, to: h3, size: 100KB}]
duration: 100us
drain: true
expect_unused: [pfc, ecn, controller]
`
	// Three senders at 40 Gb/s into one: two thirds of what has come wait, 2/3 of 3*100 KB of payload as the last
	// comes.
	for set, want := range map[string]bool{
		"switch.ecn.kmax=190KB": true,
		"switch.ecn.kmax=250KB": false,
		"switch.ecn.mode=off":   true, // XOFF
	} {
		sets := []string{set}
		if set != "switch.ecn.mode=off" {
			sets = append(sets, "switch.pfc.xoff=400KB") // which is never reached
		}
		o := run(t, parse(t, text, sets...), "none", Options{Plane: wasmplane.Open})
		congested := o.Summary.Links.Congested
		if (len(congested) == 1) != want || want && (congested[0].Node != "s0" || congested[0].Peer != "h3") {
			t.Errorf("%s: %+v", set, congested)
		}
	}
}

// TestQueuesUnderPAUSEOfAnotherPriority checks that PAUSEs of a priority without data change neither the recorded
// queues of a port nor its time of congestion.
func TestQueuesUnderPAUSEOfAnotherPriority(t *testing.T) {
	text := `
topology: {rate: 40Gbps, delay: 1us, star: {hosts: 4}}
switch: {pfc: {xoff: 400KB}, ecn: {kmin: 5KB, kmax: 50KB, pmax: 0.1}}
flows: [{from: h0..h2, to: h3, size: 100KB}]
duration: 200us
sample: {interval: 200us}
drain: true
expect_unused: [pfc, ecn, controller, faults]
`
	var peaks []int64
	for _, faults := range []string{"", "faults: [{at: 1us, for: 150us, host: h3, pause: [5], interval: 1us}]\n"} {
		o := run(t, parse(t, text+faults), "none", Options{Plane: wasmplane.Open})
		if pauses := o.Summary.PFC.Pauses; (pauses > 50) != (faults != "") {
			t.Errorf("%d PAUSEs", pauses)
		}
		peak := int64(0)
		for _, row := range o.table("links.csv").Rows {
			peak = max(peak, testenv.Number(t, row, "peak_queue_bytes"))
		}
		peaks = append(peaks, peak)
		if c := o.Summary.Links.Congested; len(c) != 1 || c[0].Peer != "h3" {
			t.Errorf("%s: congested %+v", faults, c)
		}
	}
	// Three senders at one time into one link of their rate: two thirds of what has come wait, 2/3 of 3*100 KB of
	// payload.
	if peaks[0] < 195_000 || peaks[1] != peaks[0] {
		t.Errorf("the longest queue is of %d bytes, under PAUSE of priority 5 of %d", peaks[0], peaks[1])
	}
}

// TestCongestionAfterPAUSERanOut checks that a port whose last PAUSE has expired without a RESUME, as those of a
// malfunctioning NIC do, counts as free.
func TestCongestionAfterPAUSERanOut(t *testing.T) {
	o := run(t, parse(t, `
topology: {rate: 40Gbps, delay: 1us, star: {hosts: 4}}
switch: {pfc: {xoff: 400KB}, ecn: {kmin: 5KB, kmax: 50KB, pmax: 0.1}}
flows: [{from: h0, to: h3, size: 100KB}, {from: h0..h2, to: h3, size: 100KB, start: 5ms}]
faults: [{at: 1us, for: 20us, host: h3, pause: [3], interval: 5us}]
duration: 6ms
expect_unused: [pfc, ecn, controller, faults]
`), "none", Options{Plane: wasmplane.Open})
	if p := o.Summary.PFC; p.Pauses != 4 || p.Resumes != 0 || p.SwitchPauses != 0 {
		t.Errorf("%d PAUSEs, %d RESUMEs, %d PAUSEs between switches", p.Pauses, p.Resumes, p.SwitchPauses)
	}
	// 65535 quanta last for 839 us here; at 5 ms three senders congest one port.
	c := o.Summary.Links.Congested
	if len(c) != 1 || c[0].Peer != "h3" {
		t.Fatalf("congested %+v", c)
	}
	// The first PAUSE leaves at 1 us, the last 15 us later; that takes 17 ns on the line, and 65535 quanta of 512 bits
	// 838 848 ns.
	if ns := o.Summary.PFC.PausedNS; ns < 838_848+15_000 || ns > 838_848+15_020 {
		t.Errorf("paused for %d ns", ns)
	}
	// It is above 50 KB until that much of 300 KB is left, which takes some 53 us.
	if ns := c[0].CongestedNS; ns < 40_000 || ns > 70_000 {
		t.Errorf("congested for %d ns", ns)
	}
}

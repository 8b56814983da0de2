package runner

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
)

// verdictOf returns the summary of a run of a scenario's source.
func verdictOf(t *testing.T, source, controller string, sets ...string) *measure.Summary {
	t.Helper()
	s, err := scenario.Parse("x.yaml", []byte(source), sets)
	if err != nil {
		t.Fatal(err)
	}
	return &run(t, s, controller, Options{Plane: wasmplane.Open, Sets: sets}).Summary
}

// says fails the test unless the verdict has this status, and exactly these messages and notes, each given by a part of
// it.
func says(t *testing.T, v measure.Verdict, status measure.Status, messages, notes []string) {
	t.Helper()
	ok := v.Status == status && len(v.Messages) == len(messages) && len(v.Notes) == len(notes)
	for i := range messages {
		ok = ok && strings.Contains(v.Messages[i], messages[i])
	}
	for i := range notes {
		ok = ok && strings.Contains(v.Notes[i], notes[i])
	}
	if !ok {
		t.Errorf("%+v\nwant %s, messages with %q, notes with %q", v, status, messages, notes)
	}
}

// eightIntoOne has one flow that ends within the duration, and seven that do not.
const eightIntoOne = `
topology: {star: {hosts: 9}, rate: 25Gbps, delay: 1us}
expect_unused: [pfc, controller]
flows:
  - {tag: short, from: h0, to: h8, size: 4KB}
  - {tag: long, from: h1..h7, to: h8, size: 4MB}
duration: 1ms
`

// TestUnfinished checks that a run that is too short for its flows gets a warning, unless the scenario expects them to
// outlast it.
func TestUnfinished(t *testing.T) {
	sum := verdictOf(t, eightIntoOne, "none")
	says(t, sum.Verdict, measure.Warn, []string{"duration too short: 7 of 8 flows unfinished at 1ms, so FCTs cover only " +
		"the other 1: try a longer duration, or drain: true"}, nil)
	for name, c := range map[string]struct {
		of   measure.FlowStatistics
		want *measure.UnfinishedFlows
	}{
		"all":   {sum.Flows, &measure.UnfinishedFlows{Flows: 7}},
		"short": {sum.ByTag["short"], nil},
		"long":  {sum.ByTag["long"], &measure.UnfinishedFlows{Flows: 7}},
		"up to": {sum.BySize[0].FlowStatistics, nil},
		"over":  {sum.BySize[1].FlowStatistics, &measure.UnfinishedFlows{Flows: 7}},
	} {
		if !reflect.DeepEqual(c.of.Unfinished, c.want) {
			t.Errorf("%s: %+v, want %+v", name, c.of.Unfinished, c.want)
		}
	}

	sum = verdictOf(t, eightIntoOne, "none", "flows.long.expect_unfinished=true")
	says(t, sum.Verdict, measure.Pass, nil, nil)
	if want := (&measure.UnfinishedFlows{Flows: 7, Expected: 7}); !reflect.DeepEqual(sum.Flows.Unfinished, want) {
		t.Errorf("%+v, want %+v", sum.Flows.Unfinished, want)
	}
	sum = verdictOf(t, eightIntoOne, "none", "flows.short.expect_unfinished=true")
	says(t, sum.Verdict, measure.Warn, []string{"7 of 8 flows"}, nil)
	sum = verdictOf(t, eightIntoOne, "none", "drain=true")
	says(t, sum.Verdict, measure.Pass, nil, nil)
	if sum.Flows.Unfinished != nil {
		t.Errorf("%+v", sum.Flows.Unfinished)
	}
	sum = verdictOf(t, eightIntoOne, "none", "flows.long.size=unbounded")
	says(t, sum.Verdict, measure.Pass, nil, nil)
	sum = verdictOf(t, eightIntoOne, "none", "flows.short.size=1MB")
	says(t, sum.Verdict, measure.Warn, []string{"8 of 8 flows unfinished at 1ms: try a longer"}, nil)
}

// TestUnstarted checks flows with a start after the end.
func TestUnstarted(t *testing.T) {
	const late = `
topology: {star: {hosts: 9}, rate: 25Gbps, delay: 1us}
expect_unused: [pfc]
workloads: [{tag: search, poisson: {size: 4KB, interval: 10us, flows: 30}}]
duration: 100us
`
	sum := verdictOf(t, late, "none")
	u := sum.Flows.Unfinished
	if u == nil || u.NotStarted < 10 || u.NotStarted > u.Flows {
		t.Fatalf("%+v", u)
	}
	says(t, sum.Verdict, measure.Warn, []string{" not started)"}, nil)
	sum = verdictOf(t, late, "none", "workloads.search.expect_unfinished=true")
	says(t, sum.Verdict, measure.Pass, nil, nil)
	sum = verdictOf(t, late, "none", "expect_unused=[pfc, flows]")
	if u.Flows > u.NotStarted {
		says(t, sum.Verdict, measure.Warn, []string{"duration too short"}, nil)
	} else {
		says(t, sum.Verdict, measure.Pass, nil, nil)
	}
}

// TestEmptyWorkload checks a workload whose first flow would start after the end.
func TestEmptyWorkload(t *testing.T) {
	sum := verdictOf(t, `
topology: {star: {hosts: 9}, rate: 25Gbps, delay: 1us}
workloads: [{tag: search, poisson: {sizes: websearch, interval: 100ms}}]
duration: 100us
`, "dcqcn")
	says(t, sum.Verdict, measure.Warn, []string{"workload search has no flows: with seed 1 none starts before its end"},
		nil)
}

// lossy drops the excess of four senders, and has no timer that would detect the loss.
const lossy = `
topology: {star: {hosts: 5}, rate: 40Gbps, delay: 1us}
switch: {pfc: {priorities: []}, lossy_limit: 20KB}
host: {retransmit_timeout: 0s}
flows: [{tag: incast, from: h0..h3, to: h4, size: 500KB}]
duration: 20ms
`

// overrun starts the note of a verdict about expected losses of a lossy class.
const overrun = "dropped beyond switch.lossy_limit: "

// TestStopped checks that flows whose last packets were lost, without a timer, are reported as never ending, whatever
// the scenario expects of them. While one of their packets is in flight, or a timer runs, they may still end.
func TestStopped(t *testing.T) {
	never := []string{
		"flows stopped for good, with nothing in flight and no timer to retransmit (",
		"(try host.retransmit_timeout)",
	}
	for _, sets := range [][]string{nil, {"flows.incast.expect_unfinished=true"}, {"drain=true"}} {
		sum := verdictOf(t, lossy, "none", sets...)
		says(t, sum.Verdict, measure.Fail, never[:1], []string{overrun})
		says(t, sum.Verdict, measure.Fail, never[1:], []string{overrun})
		if u := sum.Flows.Unfinished; u == nil || u.Stopped == 0 || u.Stopped != u.Flows {
			t.Errorf("%v: %+v", sets, u)
		}
	}
	for _, sets := range [][]string{{"duration=60us"}, {"duration=300us", "host.retransmit_timeout=1ms"}} {
		sum := verdictOf(t, lossy, "none", sets...)
		says(t, sum.Verdict, measure.Warn, []string{"frames dropped)"}, []string{overrun})
		if u := sum.Flows.Unfinished; u == nil || u.Stopped != 0 {
			t.Errorf("%v: %+v", sets, u)
		}
	}
	sum := verdictOf(t, lossy, "none+win", "flows.incast.size=unbounded", "flows.incast.from=[h0, h1, h2, h3]",
		"switch.lossy_limit=2KB")
	says(t, sum.Verdict, measure.Fail, []string{" of unbounded delivered (try host.retransmit_timeout)"},
		[]string{overrun})
	sum = verdictOf(t, lossy, "none", "duration=60us", "drain=true", "host.retransmit_timeout=1ms")
	says(t, sum.Verdict, measure.Pass, nil, []string{overrun})
	sum = verdictOf(t, lossy, "none", "flows.incast.from=h0", "flows.incast.cc=swift", "flows.incast.size=1KB",
		"switch.lossy_limit=1MB")
	says(t, sum.Verdict, measure.Pass, nil, []string{"no flow changed its rate or window"})
}

// TestDrainLimit checks that a link that loses nearly everything does not keep a run going forever.
func TestDrainLimit(t *testing.T) {
	const dead = `
topology: {delay: 1us, leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 2, rate: 10Gbps}}
expect_unused: [pfc]
flows: [{from: h0, to: h2, size: 100KB}, {from: h1, to: h0, size: 100KB}]
faults: [{name: cut, at: 0s, link: "leaf0:spine0", loss: 99.9%}]
duration: 1ms
drain: true
`
	sum := verdictOf(t, dead, "none", "drain_limit=20ms")
	says(t, sum.Verdict, measure.Fail, []string{"1 of 2 flows unfinished 20ms after the duration, when drain_limit " +
		"ended the run ("}, []string{"dropped by the wire: "})
	if sum.VirtualNS != 21_000_000 {
		t.Errorf("it ended at %d ns", sum.VirtualNS)
	}
	again := verdictOf(t, dead, "none", "drain_limit=20ms")
	if again.Fingerprint != sum.Fingerprint {
		t.Error("the same run came to something else")
	}
}

// TestCutOff checks that the verdict names the flow stopped by a dead port, and that port.
func TestCutOff(t *testing.T) {
	const rails = `
topology: {rail: {rails: 2, groups: 2, hosts_per_group: 2, spines: 2, rate: 10Gbps}}
switch: {pfc: {priorities: []}}
expect_unused: [controller]
flows:
  - {tag: one, from: h0.1, to: h2.1, size: 1MB}
  - {tag: two, from: h0.2, to: h2.2, size: 1MB}
faults: [{name: cut, at: 100us, link: "h2:leaf2", down: true, reroute: 50us}]
duration: 2ms
`
	const limit = "1 of 2 flows unfinished 10ms after the duration, when drain_limit ended the run ("
	const one = "): flow 0 (one), h0.1 to h2.1, is cut off: "
	for _, c := range []struct {
		sets   []string
		status measure.Status
		want   []string
	}{
		{nil, measure.Fail, []string{limit, one + "there is no route from leaf2 to h2:leaf2, whose link is down"}},
		{
			[]string{"faults.cut.reroute=never"},
			measure.Fail,
			[]string{limit, one + "its packets go through leaf2:h2, whose link is down"},
		},
		{
			[]string{"switch.load_balancing.mode=spray"},
			measure.Fail,
			[]string{limit, one + "there is no route from leaf2 to h2:leaf2, whose link is down"},
		},
		{
			[]string{"faults.cut.link=h0:leaf0", "faults.cut.reroute=never"},
			measure.Fail,
			[]string{one + "its packets go through h0:leaf0, whose link is down"},
		},
		{[]string{"faults.+={at: 90us, link: \"h0:leaf1\", down: true}"}, measure.Fail, []string{
			"2 of 2 flows", "2 of them are cut off; the first is flow 0 (one), h0.1 to h2.1: there is no route",
		}},
		{[]string{"host.retransmit_timeout=50ms"}, measure.Fail, []string{limit, "is cut off"}},
		{[]string{"drain=false"}, measure.Warn, []string{
			"1 of 2 flows unfinished at 2ms (",
			"so FCTs cover only the other 1: flow 0 (one), h0.1 to h2.1, is cut off: there is no route",
		}},
		{[]string{"faults.cut={at: 100us, link: \"h2:leaf2\", down: true, for: 1ms}"}, measure.Pass, nil},
	} {
		for _, recovery := range []string{"selective", "go-back-n"} {
			sets := append([]string{"host.recovery=" + recovery}, c.sets...)
			if !slices.Contains(sets, "drain=false") {
				sets = append(sets, "drain=true", "drain_limit=10ms")
			}
			v := verdictOf(t, rails, "none", sets...).Verdict
			text := strings.Join(v.Messages, "; ")
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%v %s: %s, want %q", c.sets, recovery, text, want)
				}
			}
			if v.Status != c.status {
				t.Errorf("%v %s: %+v, want %s", c.sets, recovery, v, c.status)
			}
		}
	}
}

// TestUnused checks that an unused mechanism is a note, unless the run is about it or the user set it.
func TestUnused(t *testing.T) {
	testenv.WholeScenario(t)
	const (
		reacted = "the congestion control did not react: no flow changed its rate or window, because no packet was marked"
		noPFC   = "PFC was not needed: no switch sent a PAUSE; the largest ingress occupancy was "
	)
	for _, c := range []struct {
		scenario, controller string
		sets                 []string
		status               measure.Status
		messages, notes      []string
	}{
		{"incast", "swift", nil, measure.Pass, nil, []string{noPFC}},
		{"incast", "swift", []string{"expect_unused=[pfc]"}, measure.Pass, nil, nil},
		{"incast", "nscc", []string{"expect_unused=[pfc]"}, measure.Pass, nil, []string{
			"did not react: no flow changed its rate or window, because marks slow no flow down " +
				"while queues delay packets by less than cc.nscc.target_delay",
		}},
		{
			"incast", "nscc",
			[]string{"expect_unused=[pfc]", "switch.pfc.xoff=10KB"},
			measure.Warn,
			[]string{"because marks slow no flow down while queues delay packets by less than cc.nscc.target_delay"},
			nil,
		},
		{
			"incast", "swift",
			[]string{"switch.pfc.xoff=90KB"},
			measure.Warn,
			[]string{"--set switch.pfc.xoff=90KB had no effect: " + noPFC},
			nil,
		},
		{
			"incast", "swift",
			[]string{"switch.pfc.xoff=90KB", "switch.ecn.kmax=300KB"},
			measure.Warn,
			[]string{"--set switch.pfc.xoff=90KB", "--set switch.ecn.kmax=300KB"},
			nil,
		},
		{
			"incast", "swift",
			[]string{"switch.pfc.watchdog={detect: 1ms}"},
			measure.Warn,
			[]string{
				"--set switch.pfc.watchdog={detect: 1ms} had no effect: PFC",
				"PFC watchdog was not needed: no queue was paused for 1ms",
			},
			nil,
		},
		{"incast", "none", []string{"switch={pfc: {xoff: 100KB, priorities: [5]}}"}, measure.Warn, []string{
			"PFC had no effect: it protects priorities [5], and data has priority 3 (change switch.pfc.priorities)",
		}, []string{overrun}},
		{
			"incast", "none",
			[]string{"switch.pfc.priorities=[5]", "expect_unused=[pfc, controller]"},
			measure.Pass, nil,
			[]string{overrun},
		},
		{"incast", "dcqcn", nil, measure.Pass, nil, nil},
		{"incast", "none", nil, measure.Pass, nil, []string{"no congestion control: only PAUSE slowed senders"}},
		{
			"incast", "none",
			[]string{"switch.flow_control=cbfc"},
			measure.Pass, nil,
			[]string{"no congestion control: only lack of credits slowed senders"},
		},
		{"incast", "dcon", nil, measure.Warn, []string{reacted}, nil},
		{
			"incast", "dcqcn",
			[]string{"switch.ecn.mode=off"},
			measure.Warn,
			[]string{"no flow changed its rate or window, because ECN is off"},
			nil,
		},
		{"line-rate", "none", nil, measure.Pass, nil, nil},
		{"line-rate", "none+win", nil, measure.Pass, nil, nil},
		{"line-rate", "dcon", nil, measure.Pass, nil, []string{reacted}},
		{
			"line-rate", "dcon",
			[]string{"expect_unused=[controller]"},
			measure.Pass, nil,
			[]string{"ECN was not needed: no packet was marked", "CNMs were not needed"},
		},
		{
			"line-rate", "dcon",
			[]string{"expect_unused=[controller, ecn]", "switch.cnm.repeat=60us"},
			measure.Warn,
			[]string{"--set switch.cnm.repeat=60us had no effect: CNMs"},
			nil,
		},
		{
			"line-rate", "dcon",
			[]string{"expect_unused=[controller, cnm, ecn, pfc]", "switch.pfc.priorities=[3]"},
			measure.Warn,
			[]string{"--set switch.pfc.priorities=[3] had no effect: the run is the same"},
			nil,
		},
	} {
		s := mustLoad(t, c.scenario, c.sets...)
		v := run(t, s, c.controller, Options{Plane: wasmplane.Open, Sets: c.sets, CheckSets: true}).Summary.Verdict
		t.Log(c.scenario, c.controller, c.sets)
		says(t, v, c.status, c.messages, c.notes)
	}
	// A sweep's point is not run again without its values: 90KB may be why no switch sent a PAUSE. Beside other
	// congestion controls a setting may be for those.
	sets := []string{"switch.pfc.xoff=90KB"}
	s := mustLoad(t, "incast", sets...)
	says(t, run(t, s, "swift", Options{Plane: wasmplane.Open, Sets: sets}).Summary.Verdict, measure.Pass, nil,
		[]string{noPFC})
	beside := Options{Plane: wasmplane.Open, Sets: sets, CheckSets: true, Compared: true}
	says(t, run(t, s, "swift", beside).Summary.Verdict, measure.Pass, nil,
		[]string{"--set switch.pfc.xoff=90KB had no effect: " + noPFC})
}

// TestVariantSetting checks that a setting of a variant counts as the user's in that variant's run only.
func TestVariantSetting(t *testing.T) {
	const two = `
topology: {star: {hosts: 5}, rate: 40Gbps, delay: 1us}
controllers: [swift, {name: early, cc: swift, switch: {pfc: {xoff: 90KB}}}]
flows: [{from: h0..h3, to: h4, size: 500KB}]
duration: 1ms
`
	sets := "controllers.early.switch.pfc.xoff=80KB"
	says(t, verdictOf(t, two, "swift", sets).Verdict, measure.Pass, nil, []string{"PFC was not needed"})
	s, err := scenario.Parse("x.yaml", []byte(two), []string{sets})
	if err != nil {
		t.Fatal(err)
	}
	options := Options{Plane: wasmplane.Open, Sets: []string{sets}, CheckSets: true}
	says(t, run(t, s, "early", options).Summary.Verdict, measure.Warn, []string{"--set " + sets + " had no effect: PFC"},
		nil)
	says(t, verdictOf(t, two, "early").Verdict, measure.Pass, nil, []string{"PFC was not needed"})
}

// TestUndelivered checks that a flow that delivers nothing is a warning, even if it is unbounded or expected to be
// unfinished.
func TestUndelivered(t *testing.T) {
	const cut = `
topology: {delay: 1us, leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 2, rate: 10Gbps}}
expect_unused: [pfc, controller]
flows: [{tag: dead, from: h0, to: h2, size: unbounded}, {tag: fine, from: h2, to: h3, size: unbounded}]
faults: [{name: cut, at: 0s, link: "leaf0:spine0", down: true, reroute: never}]
duration: 1ms
`
	want := []string{"1 flow delivered nothing: flow 0 (dead), h0 to h2"}
	notes := []string{"dropped as their port's link was down: "}
	says(t, verdictOf(t, cut, "none").Verdict, measure.Warn, want, notes)
	says(t, verdictOf(t, cut, "none", "flows.dead.size=1MB", "flows.dead.expect_unfinished=true").Verdict, measure.Warn,
		want, notes)
	says(t, verdictOf(t, cut, "none", "faults.cut.at=500us").Verdict, measure.Pass, nil,
		append(notes, "dropped as their link went down: "))
	says(t, verdictOf(t, cut, "none", "flows.dead.start=999us").Verdict, measure.Pass, nil, nil)
}

// TestNothingToReactTo checks that a congestion control that never reacts is only a note if nothing was congested.
func TestNothingToReactTo(t *testing.T) {
	const alone = "topology: {star: {hosts: 3}, rate: 10Gbps, delay: 1us}\nexpect_unused: [pfc]\n" +
		"flows: [{from: h0, to: h2, size: 100KB}]\nduration: 1ms\n"
	says(t, verdictOf(t, alone, "dcqcn").Verdict, measure.Pass, nil,
		[]string{"nothing was congested: no PAUSE, no marks, no drops"})
	says(t, verdictOf(t, alone, "dcqcn", "flows.+={from: h1, to: h2, size: 100KB}", "switch.pfc.xoff=10KB",
		"switch.ecn.mode=off").Verdict, measure.Warn,
		[]string{"the congestion control did not react: no flow changed its rate or window, because ECN is off"}, nil)
}

package experiments

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/report"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// withFaults is a scenario with faults, each an item of a list.
func withFaults(items string) string {
	return `topology: {leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 2}}
flows: [{from: h0, to: h2, size: 100KB}]
duration: 10ms
faults:
` + items
}

// TestReadEvents: a page has the events as they were written, commas and quotes included, the first of them and how many there are beside.
func TestReadEvents(t *testing.T) {
	o := run(t, parse(t, withFaults(`
  - {at: 1ms, for: 100us, every: 300us, times: 12, link: "leaf0:spine0", down: true}
  - {at: 6ms, for: 1ms, host: h3, pause: [3, 4], interval: 50us}
`)), "none", Options{Plane: orchestrator.PlaneWasm})
	r, err := ReadRun(o.dir)
	if err != nil {
		t.Fatal(err)
	}
	total := len(o.table("events.csv").rows)
	if len(r.events) != mostEvents || len(r.events)+r.more != total || total < 26 {
		t.Errorf("%d events read and %d beside, %d written", len(r.events), r.more, total)
	}
	if e, want := r.events[1], (report.Event{Time: 1_100_000, Name: "link up", Place: "leaf0 → spine0"}); e != want {
		t.Errorf("%+v, want %+v", e, want)
	}
	file := filepath.Join(t.TempDir(), "events.csv")
	for _, c := range []struct {
		rows, problem string
		want          []report.Event
	}{
		{"5,s0,s0-eth1,h1,pause_flood,ends\n5,,,,storm_end,\n", "", []report.Event{{Time: 5, Name: "pause flood ends", Place: "s0 → h1"}, {Time: 5, Name: "storm end"}}},
		{`7,s0,s0-eth1,h1,storm,"priority 3, ""so"" to speak"` + "\n", "", []report.Event{{Time: 7, Name: "storm", Place: "s0 → h1", Detail: `priority 3, "so" to speak`}}},
		{"7,,,,a,\n6,,,,b,\n", "events.csv:3: time goes back", nil},
		{"7,,,,a,b,c\n", "events.csv:2: 7 fields of 6", nil},
		{"7,,,a,\"b, c\"\n", "events.csv:2: 5 fields of 6", nil},
	} {
		if err := os.WriteFile(file, []byte(eventsHeader+"\n"+c.rows), 0o600); err != nil {
			t.Fatal(err)
		}
		var r RunFolder
		switch err := r.readEvents(file); {
		case c.problem == "" && (err != nil || !slices.Equal(r.events, c.want)):
			t.Errorf("%q: %+v, %v", c.rows, r.events, err)
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%q: %v, want %s", c.rows, err, c.problem)
		}
	}
}

func TestParseFaults(t *testing.T) {
	s := parse(t, withFaults(`
  - {name: cut, at: 1ms, for: 500us, every: 2ms, times: 3, link: "leaf0:spine0", down: true, reroute: 100us}
  - {at: 2ms, link: ["leaf0:spine1", "leaf1:spine1"], loss: 1%, one_way: true}
  - {at: 2ms, link: "leaf0:spine1", corrupt: 1/100}
  - {at: 2ms, link: "leaf0:spine1", ber: 1e-9}
  - {at: 2ms, link: "leaf0:spine1", delay: 7us}
  - {at: 2ms, link: "leaf0:spine1", rate: 10Gbps}
  - {at: 3ms, host: h0..h1, receiver: {rate: 5Gbps, buffer: 100KB}}
  - {at: 3ms, for: 1ms, host: h3, pause: [3, 4], interval: 50us}
  - {at: 9ms, link: "leaf1:spine0", down: false}
`))
	f := s.Faults
	ports, err := FindPorts(s.Topology, "leaf0:spine0")
	if err != nil {
		t.Fatal(err)
	}
	want := Fault{
		Name: "cut", At: vtime.Millisecond, For: 500 * vtime.Microsecond, Every: 2 * vtime.Millisecond, Times: 3,
		Ports: ports, Effect: settings.Effect{Kind: settings.FaultDown, Reroute: 100 * vtime.Microsecond},
	}
	if len(f) != 9 || !reflect.DeepEqual(f[0], want) {
		t.Fatalf("%d faults; the first %+v, want %+v", len(f), f[0], want)
	}
	if f[1].Kind != settings.FaultLoss || f[1].Probability != 0.01 || !f[1].OneWay || len(f[1].Ports) != 2 || f[2].Kind != settings.FaultCorrupt ||
		f[2].Probability != 0.01 || f[3].Kind != settings.FaultBER || f[3].Probability != 1e-9 || f[4].Delay != 7*vtime.Microsecond || f[5].Rate != 10*units.Gbps {
		t.Errorf("faults of links: %+v", f[1:6])
	}
	if r := (orchestrator.Receiver{Rate: 5 * units.Gbps, Buffer: 100 * units.KB, XOFF: 50 * units.KB, XON: 25 * units.KB}); f[6].Receiver != r || len(f[6].Hosts) != 2 {
		t.Errorf("receiver %+v", f[6])
	}
	if f[7].Priorities != 1<<3|1<<4 || f[7].Interval != 50*vtime.Microsecond || !f[8].Up || f[8].Reroute != vtime.Never {
		t.Errorf("%+v and %+v", f[7], f[8])
	}
	if s.Host.RetransmitTimeout != lossyTimeout || !s.reroutes() {
		t.Errorf("retransmission timeout %v, reroutes %v", s.Host.RetransmitTimeout, s.reroutes())
	}
	if _, err := json.Marshal(s.View()); err != nil {
		t.Error(err)
	}
	var b strings.Builder
	if err := s.Describe(&b); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"at 1ms for 500us, every 2ms, 3 times (cut): leaf0:spine0 down, routes follow after 100us",
		"at 2ms: leaf0:spine1 leaf1:spine1 loses 1 % of the frames, one way",
		"at 3ms: h0 h1 takes frames at 5Gbps; buffer 100KB, XOFF 50KB, XON 25KB",
		"at 3ms for 1ms: h3 sends PAUSE for priorities [3 4] every 50us",
		"at 9ms: leaf1:spine0 up, routes do not follow",
	} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("%q is not in\n%s", line, b.String())
		}
	}
	if s := parse(t, withFaults("  - {name: cut, at: 1ms, link: \"leaf0:spine0\", down: true}")); s.Host.RetransmitTimeout != lossyTimeout {
		t.Error("no retransmission timeout")
	}
	if s := parse(t, withFaults("  - {at: 1ms, link: \"leaf0:spine0\", delay: 3us}")); s.Host.RetransmitTimeout != 0 {
		t.Error("a fault that loses nothing has flows time out")
	}
}

func TestFaultMistakes(t *testing.T) {
	for item, want := range map[string]string{
		`{link: "leaf0:spine0", down: true}`:                                                             `missing key "at"`,
		`{at: 1ms, down: true}`:                                                                          `a fault is of a link`,
		`{at: 1ms, link: "leaf0:spine0", host: h0, loss: 1}`:                                             `of a link or of a host, not of both`,
		`{at: 1ms, link: "leaf0:spine0"}`:                                                                `a fault has one of down, loss, corrupt, ber, delay, rate`,
		`{at: 1ms, host: h0}`:                                                                            `a fault has one of receiver, pause`,
		`{at: 1ms, link: "leaf0:spine0", pause: [3]}`:                                                    `pause is a fault of a host`,
		`{at: 1ms, link: "leaf0:spine0", loss: 1, delay: 1us}`:                                           `delay beside loss: a fault is of one kind`,
		`{at: 1ms, link: "leaf0:spine9", loss: 1}`:                                                       `no link from leaf0 to "spine9"`,
		`{at: 1ms, host: leaf0, pause: [3]}`:                                                             `leaf0 is a switch`,
		`{at: 1ms, link: "leaf0:spine0", loss: 2}`:                                                       `loss 2 is outside 0..1`,
		`{at: 1ms, link: "leaf0:spine0", delay: 0us}`:                                                    `delay 0s is outside 1ns..1s`,
		`{at: 1ms, link: "leaf0:spine0", rate: 1bps}`:                                                    `rate 1bps is outside 1Mbps..10Tbps`,
		`{at: 1ms, for: 1ms, every: 1ms, link: "leaf0:spine0", loss: 1}`:                                 `every 1ms: the fault lasts for 1ms`,
		`{at: 1ms, every: 1ms, link: "leaf0:spine0", loss: 1}`:                                           `it needs for`,
		`{at: 1ms, for: 1us, times: 2, link: "leaf0:spine0", loss: 1}`:                                   `times needs the time from one to the next`,
		`{at: 1ms, for: 0s, link: "leaf0:spine0", loss: 1}`:                                              `for 0s`,
		`{at: 1ms, link: "leaf0:spine0", down: true, one_way: true}`:                                     `a link is down both ways`,
		`{at: 1ms, link: "leaf0:spine0", loss: 1, reroute: 1ms}`:                                         `reroute is for links that go down`,
		`{at: 1ms, link: "leaf0:spine0", loss: 1, interval: 1ms}`:                                        `interval is for hosts that send PAUSE`,
		`{at: 1ms, for: 1ms, link: "leaf0:spine0", down: false}`:                                         `a link that comes up is not taken down again`,
		`{at: 1ms, host: h0, pause: []}`:                                                                 `pause needs priorities`,
		`{at: 1ms, host: h0, receiver: {buffer: 1KB}}`:                                                   `missing key "rate"`,
		`{at: 1ms, host: h0, receiver: {rate: 1Gbps, xoff: 1KB, xon: 1KB}}`:                              `xon 1KB must be below receiver.xoff 1KB`,
		`{at: 1ms, link: "leaf0:spine0", lost: 1}`:                                                       `unknown key "lost"`,
		`{at: 1ms, for: 5ms, link: "leaf0:spine0", loss: 1}, {at: 2ms, link: "spine0:leaf0", loss: 0.5}`: `while fault number 0, also loss, lasts at the same place`,
		`oops`: `a fault is a mapping such as`,
	} {
		_, err := ParseScenario("x.yaml", []byte(withFaults("  ["+item+"]")), nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x.yaml:5:") {
			t.Errorf("%s: %v, want one about %q in line 5", item, err, want)
		}
	}
	for text, want := range map[string]string{
		"host: {retransmit_timeout: 0s}":                               "would wait for ever",
		"switch: {pfc: {watchdog: {detect: 0s}}}":                      "write watchdog: off",
		"switch: {pfc: {watchdog: {restore: 0s}}}":                     "pfc.watchdog.restore 0s is outside",
		"switch: {flow_control: cbfc, pfc: {watchdog: {detect: 1ms}}}": "there is no PFC under flow_control cbfc",
		"switch: {pfc: {watchdog: {action: explode}}}":                 "is not one of drop, forward",
	} {
		_, err := ParseScenario("x.yaml", []byte(withFaults("  - {at: 1ms, link: \"leaf0:spine0\", loss: 1}\n")+text), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want one about %q", text, err, want)
		}
	}
}

// TestFaultSettings: --set reaches into faults by their names, and into the watchdog.
func TestFaultSettings(t *testing.T) {
	s := mustLoad(t, "link-failure", "faults.cut.at=2ms", "faults.cut.reroute=never", "switch.pfc.watchdog.detect=1ms")
	if s.Faults[0].At != 2*vtime.Millisecond || s.Faults[0].Reroute != vtime.Never {
		t.Errorf("%+v", s.Faults[0])
	}
	if w := (switchagent.Watchdog{Detect: vtime.Millisecond, Restore: 200 * vtime.Millisecond}); s.Switch.PFC.Watchdog != w {
		t.Errorf("watchdog %+v", s.Switch.PFC.Watchdog)
	}
	if s := mustLoad(t, "link-failure", "switch.pfc.watchdog=off"); s.Switch.PFC.Watchdog.On() {
		t.Error("the watchdog is on")
	}
}

// runWasm is a built-in's run without root.
func runWasm(t *testing.T, name, controller string, sets ...string) *outcome {
	t.Helper()
	return run(t, mustLoad(t, name, sets...), controller, Options{Plane: orchestrator.PlaneWasm})
}

// kinds are the events of a run's events.csv, in order.
func (o *outcome) kinds() (kinds []string) {
	for _, row := range o.table("events.csv").rows {
		kinds = append(kinds, row["event"])
	}
	return kinds
}

// TestLinkFailure: flows survive a link's failure; events.csv and the summary tell of it, and twice the same.
func TestLinkFailure(t *testing.T) {
	testenv.WholeScenario(t)
	o := runWasm(t, "link-failure", "dcqcn")
	if v := o.Summary.Verdict; v.Status != Pass || o.Summary.Flows.Completed != 8 {
		t.Errorf("%+v, %d flows", v, o.Summary.Flows.Completed)
	}
	if got := strings.Join(o.kinds(), " "); got != "link_down reroute link_up reroute" {
		t.Errorf("events %s", got)
	}
	if row := o.table("events.csv").rows[0]; row["time_ns"] != "500000" || row["node"] != "leaf0" || row["peer"] != "spine0" {
		t.Errorf("%v", row)
	}
	f := o.Summary.Faults
	if f == nil || f.Lost["link_down"].Frames == 0 || f.Lost["port_down"].Frames == 0 || len(f.Deadlocks) != 0 {
		t.Fatalf("%+v", f)
	}
	lost := int64(0)
	for _, n := range f.Lost {
		lost += n.Frames
	}
	if lost != o.Summary.Drops.Frames || o.Summary.Drops.Lossless != 0 {
		t.Errorf("%d frames lost, %+v dropped", lost, o.Summary.Drops)
	}
	again := runWasm(t, "link-failure", "dcqcn")
	if again.Summary.Fingerprint != o.Summary.Fingerprint || again.content() != o.content() {
		t.Error("the second run differs")
	}
	never := runWasm(t, "link-failure", "dcqcn", "faults.cut.reroute=never")
	if got := strings.Join(never.kinds(), " "); got != "link_down link_up" || never.Summary.Faults.Lost["port_down"].Frames <= f.Lost["port_down"].Frames {
		t.Errorf("without new routes: events %s, %+v lost", got, never.Summary.Faults.Lost)
	}
}

// TestPFCStorm: the storm stops everybody; the watchdog ends it for all but those who sent into it.
func TestPFCStorm(t *testing.T) {
	testenv.WholeScenario(t)
	none, dog, forward := runWasm(t, "pfc-storm", "none"), runWasm(t, "pfc-storm", "watchdog"), runWasm(t, "pfc-storm", "forward")
	for _, o := range []*outcome{none, dog, forward} {
		if o.Summary.Verdict.Status != Pass {
			t.Errorf("%s: %+v", o.Controller, o.Summary.Verdict)
		}
	}
	fct := func(o *outcome, tag string) float64 { return o.Summary.ByTag[tag].FCT.Mean }
	if fct(dog, "victim") > 0.8*fct(none, "victim") || fct(forward, "victim") > 0.8*fct(none, "victim") {
		t.Errorf("victims take %v, with the watchdog %v and %v", fct(none, "victim"), fct(dog, "victim"), fct(forward, "victim"))
	}
	if none.Summary.Drops.Frames != 0 || dog.Summary.Faults.Lost["watchdog"].Frames == 0 || forward.Summary.Drops.Frames != 0 {
		t.Error("what is dropped is not as it should be")
	}
	if got := strings.Join(dog.kinds(), " "); got != "pause_flood storm pause_flood storm_end" {
		t.Errorf("events %s", got)
	}
}

// TestDeadlockBuiltin: without a watchdog the verdict names the circle; with one the circles end, and so do the flows.
func TestDeadlockBuiltin(t *testing.T) {
	testenv.WholeScenario(t)
	none, dog := runWasm(t, "deadlock", "none"), runWasm(t, "deadlock", "watchdog")
	const around = "leaf2-eth5 (to spine0) waits for spine0-eth4 (to leaf3) waits for leaf3-eth6 (to spine1) waits for spine1-eth3 (to leaf2) waits for leaf2-eth5 (to spine0), priority 3"
	if v := none.Summary.Verdict; v.Status != Fail || !strings.Contains(v.Messages[0], around) {
		t.Errorf("%+v", v)
	}
	if d := none.Summary.Faults.Deadlocks; len(d) != 1 || d[0].EndedNS != 0 || len(d[0].Cycle) != 4 || d[0].Cycle[1].Node != "spine0" || d[0].SinceNS < 150_000 {
		t.Errorf("%+v", d)
	}
	if v := dog.Summary.Verdict; v.Status != Pass || dog.Summary.Flows.Completed != len(dog.Scenario.Flows) {
		t.Errorf("%+v", v)
	}
	if d := dog.Summary.Faults.Deadlocks; len(d) == 0 || d[len(d)-1].EndedNS == 0 {
		t.Errorf("%+v", d)
	}
}

// TestLateFault: a fault that the run does not live to see is worth a warning.
func TestLateFault(t *testing.T) {
	o := runWasm(t, "link-failure", "none", "faults.cut.at=1s")
	if v := o.Summary.Verdict; v.Status != Warn || !strings.Contains(v.Messages[0], "1 faults never happened") {
		t.Errorf("%+v", v)
	}
	v := o.Summary.Faults
	if v == nil || len(v.Events) != 0 {
		t.Errorf("%+v", v)
	}
}

// TestRepeatedFault: a fault happens as often as it says, at the times that follow.
func TestRepeatedFault(t *testing.T) {
	for times, want := range map[string]string{
		"times: 3, ": "1000000 1100000 3000000 3100000 5000000 5100000",
		"":           "1000000 1100000 3000000 3100000 5000000 5100000 7000000 7100000 9000000 9100000",
	} {
		s := parse(t, withFaults("  - {at: 1ms, for: 100us, every: 2ms, "+times+"link: \"leaf0:spine0\", rate: 10Gbps, one_way: true}"))
		o := run(t, s, "none", Options{Plane: orchestrator.PlaneWasm})
		var at []string
		for _, row := range o.table("events.csv").rows {
			at = append(at, row["time_ns"])
		}
		if got := strings.Join(at, " "); got != want {
			t.Errorf("%q: at %s, want %s", times, got, want)
		}
		if last := o.table("events.csv").rows[len(at)-1]["detail"]; last != "40Gbps" {
			t.Errorf("at the end the link is one of %s", last)
		}
	}
}

// TestFaultsWhateverIsLookedAt: nothing of a run with faults depends on when it is looked at.
func TestFaultsWhateverIsLookedAt(t *testing.T) {
	testenv.WholeScenario(t)
	for _, name := range []string{"link-failure", "pfc-storm", "deadlock"} {
		controller := mustLoad(t, name).Controllers[1]
		often, seldom := runWasm(t, name, controller, "report=[]", "sample.interval=1700ns"), runWasm(t, name, controller, "report=[]", "sample.interval=1ms")
		if often.Summary.Fingerprint != seldom.Summary.Fingerprint || strings.Join(often.kinds(), " ") != strings.Join(seldom.kinds(), " ") {
			t.Errorf("%s: looked at often %s, seldom %s", name, often.Summary.Fingerprint, seldom.Summary.Fingerprint)
		}
	}
}

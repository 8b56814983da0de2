package runner

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/internal/lab"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/settings"
)

// runWasm runs a built-in without root.
func runWasm(t *testing.T, name, controller string, sets ...string) *outcome {
	t.Helper()
	return run(t, mustLoad(t, name, sets...), controller, Options{Plane: wasmplane.Open})
}

// kinds returns the kinds of events in a run's events.csv, in order.
func (o *outcome) kinds() (kinds []string) {
	for _, row := range o.table("events.csv").Rows {
		kinds = append(kinds, row["event"])
	}
	return kinds
}

// TestLinkFailure checks that flows survive a link's failure, and that events.csv and the summary report it, equally in
// two runs.
func TestLinkFailure(t *testing.T) {
	testenv.WholeScenario(t)
	o := runWasm(t, "link-failure", "dcqcn")
	if v := o.Summary.Verdict; v.Status != measure.Pass || o.Summary.Flows.Completed != 8 {
		t.Errorf("%+v, %d flows", v, o.Summary.Flows.Completed)
	}
	if got := strings.Join(o.kinds(), " "); got != "link_down reroute link_up reroute" {
		t.Errorf("events %s", got)
	}
	if row := o.table("events.csv").Rows[0]; row["time_ns"] != "500000" || row["node"] != "leaf0" ||
		row["peer"] != "spine0" {
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
	if got := strings.Join(never.kinds(), " "); got != "link_down link_up" ||
		never.Summary.Faults.Lost["port_down"].Frames <= f.Lost["port_down"].Frames {
		t.Errorf("without new routes: events %s, %+v lost", got, never.Summary.Faults.Lost)
	}
}

// TestPFCStorm checks that the storm stops all flows, and that the watchdog ends it for all except those that sent into
// it.
func TestPFCStorm(t *testing.T) {
	testenv.WholeScenario(t)
	none, dog, forward := runWasm(t, "pfc-storm", "none"), runWasm(t, "pfc-storm", "watchdog"), runWasm(t, "pfc-storm",
		"forward")
	for _, o := range []*outcome{none, dog, forward} {
		if o.Summary.Verdict.Status != measure.Pass {
			t.Errorf("%s: %+v", o.Controller, o.Summary.Verdict)
		}
	}
	// What goes into the storm is no victim of it: the two flows on spine0 are, and none once the watchdog frees them.
	for o, want := range map[*outcome]map[string]int{none: {"victim": 2}, dog: {}, forward: {}} {
		if got := o.Summary.Victims.ByTag; !maps.Equal(got, want) {
			t.Errorf("%s: victims %v, want %v", o.Controller, got, want)
		}
	}
	fct := func(o *outcome, tag string) float64 { return o.Summary.ByTag[tag].FCT.Mean }
	if fct(dog, "victim") > 0.8*fct(none, "victim") || fct(forward, "victim") > 0.8*fct(none, "victim") {
		t.Errorf("victims take %v, with the watchdog %v and %v", fct(none, "victim"), fct(dog, "victim"),
			fct(forward, "victim"))
	}
	if none.Summary.Drops.Frames != 0 || dog.Summary.Faults.Lost["watchdog"].Frames == 0 ||
		forward.Summary.Drops.Frames != 0 {
		t.Error("what is dropped is not as it should be")
	}
	if got := strings.Join(dog.kinds(), " "); got != "injected_storm storm injected_storm storm_end" {
		t.Errorf("events %s", got)
	}
}

// TestDeadlockBuiltin: without a watchdog the verdict names the cycle; with one the cycles end, and so do the flows.
func TestDeadlockBuiltin(t *testing.T) {
	testenv.WholeScenario(t)
	none, dog := runWasm(t, "deadlock", "none"), runWasm(t, "deadlock", "watchdog")
	const around = "leaf2-eth5 (to spine0) waits for spine0-eth4 (to leaf3) waits for leaf3-eth6 (to spine1) waits for " +
		"spine1-eth3 (to leaf2) waits for leaf2-eth5 (to spine0), priority 3"
	if v := none.Summary.Verdict; v.Status != measure.Fail || !strings.Contains(v.Messages[0], around) {
		t.Errorf("%+v", v)
	}
	if d := none.Summary.Faults.Deadlocks; len(d) != 1 || d[0].EndedNS != 0 || len(d[0].Cycle) != 4 ||
		d[0].Cycle[1].Node != "spine0" || d[0].SinceNS < 150_000 {
		t.Errorf("%+v", d)
	}
	if v := dog.Summary.Verdict; v.Status != measure.Pass || dog.Summary.Flows.Completed != len(dog.Scenario.Flows) {
		t.Errorf("%+v", v)
	}
	if d := dog.Summary.Faults.Deadlocks; len(d) == 0 || d[len(d)-1].EndedNS == 0 {
		t.Errorf("%+v", d)
	}
}

// TestLateFault checks the warning about a fault after the end of the run.
func TestLateFault(t *testing.T) {
	o := runWasm(t, "link-failure", "none", "faults.cut.at=1s")
	if v := o.Summary.Verdict; v.Status != measure.Warn ||
		!strings.Contains(v.Messages[0], "1 fault did not happen: the run ended before, at ") {
		t.Errorf("%+v", v)
	}
	v := o.Summary.Faults
	if v == nil || len(v.Events) != 0 {
		t.Errorf("%+v", v)
	}
}

// TestRepeatedFault checks that a fault occurs as often as set, at the right times.
func TestRepeatedFault(t *testing.T) {
	for times, want := range map[string]string{
		"times: 3, ": "1000000 1100000 3000000 3100000 5000000 5100000",
		"":           "1000000 1100000 3000000 3100000 5000000 5100000 7000000 7100000 9000000 9100000",
	} {
		s := parse(t, lab.WithFaults("  - {at: 1ms, for: 100us, every: 2ms, "+times+
			"link: \"leaf0:spine0\", rate: 10Gbps, one_way: true}"))
		o := run(t, s, "none", Options{Plane: wasmplane.Open})
		var at []string
		for _, row := range o.table("events.csv").Rows {
			at = append(at, row["time_ns"])
		}
		if got := strings.Join(at, " "); got != want {
			t.Errorf("%q: at %s, want %s", times, got, want)
		}
		if last := o.table("events.csv").Rows[len(at)-1]["detail"]; last != "40Gbps" {
			t.Errorf("at the end the link is one of %s", last)
		}
	}
}

// TestFaultsWhateverIsLookedAt checks that a run with faults does not depend on the times of its samples.
func TestFaultsWhateverIsLookedAt(t *testing.T) {
	testenv.WholeScenario(t)
	for _, name := range []string{"link-failure", "pfc-storm", "deadlock"} {
		controller := mustLoad(t, name).Controllers[1]
		often, seldom := runWasm(t, name, controller, "report=[]", "sample.interval=1700ns"), runWasm(t, name, controller,
			"report=[]", "sample.interval=1ms")
		if often.Summary.Fingerprint != seldom.Summary.Fingerprint ||
			strings.Join(often.kinds(), " ") != strings.Join(seldom.kinds(), " ") {
			t.Errorf("%s: looked at often %s, seldom %s", name, often.Summary.Fingerprint, seldom.Summary.Fingerprint)
		}
	}
}

// TestEveryFault checks that each kind of fault in the table happens, and is repaired.
func TestEveryFault(t *testing.T) {
	values := map[schema.Kind]string{
		schema.Flag: "true", schema.Number: "1/2", schema.Integer: "2", schema.Time: "3us", schema.Rate: "10Gbps",
		schema.Size:       "10KB",
		schema.Priorities: "[3]", schema.Group: "{rate: 10Gbps}",
	}
	table := settings.Fault(new(settings.Effect))
	for i := range settings.Faults {
		f := &settings.Faults[i]
		where := `link: "leaf0:spine0"`
		if f.OfHost {
			where = "host: h2"
		}
		value := values[table.Find(string(f.Kind)).Kind()]
		item := fmt.Sprintf("  - {at: 1us, for: 20us, %s, %s: %s}\n", where, f.Kind, value)
		o := run(t, parse(t, lab.WithFaults(item), "duration=100us"), "none", Options{Plane: wasmplane.Open})
		if rows := o.table("events.csv").Rows; len(rows) < 2 {
			t.Errorf("%s: %d events", item, len(rows))
		}
	}
}

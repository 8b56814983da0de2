//go:build linux

package live

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// inject injects a fault, given as a line.
func inject(f *Fabric, line string) error {
	_, _, err := f.Fault(strings.Fields(line))
	return err
}

// TestLink changes a link in both directions, undoes it, and checks that impossible changes are refused.
func TestLink(t *testing.T) {
	t.Parallel()
	f := bringUp(t, "")
	defer down(t, f)
	from, to := f.Plan.NodeByName("leaf0"), f.Plan.NodeByName("spine0")
	out := int(f.Plan.PortsBetween(from.ID, to.ID)[0])
	back := int(f.Plan.Ports[out].Peer)
	wires := func() (w [2]engine.Wire) {
		must(t, f.Do(func(e *engine.Engine) error { w = [2]engine.Wire{e.Wire(out), e.Wire(back)}; return nil }))
		return w
	}
	healthy := wires()
	must(t, inject(f, "link leaf0 spine0 loss=1% corrupt=0.25 ber=1e-9 delay=20us rate=10Gbps"))
	want := engine.Wire{
		Rate: 10 * units.Gbps, Delay: 20 * vtime.Microsecond, Up: true, Loss: 0.01,
		Corruption: engine.Corruption{Frame: 0.25, Bit: 1e-9},
	}
	if got := wires(); got != [2]engine.Wire{want, want} {
		t.Errorf("the link is %+v, want %+v", got, want)
	}
	must(t, inject(f, "link spine0 leaf0 down reroute=50us"))
	if got := wires(); got[0].Up || got[1].Up {
		t.Errorf("the link is %+v", got)
	}
	must(t, inject(f, "link leaf0-eth"+strconv.Itoa(f.Plan.Ports[out].Number)+" spine0 normal"))
	if got := wires(); got != healthy {
		t.Errorf("the link is %+v, was %+v", got, healthy)
	}
	for words, says := range map[string]string{
		"los=1%": "unknown link state", "loss=101%": "outside 0..1", "loss=": "is missing", "delay=5": "unit",
		"delay=2s":  "1ns..1s",
		"rate=1bps": "1Mbps..10Tbps", "down reroute=soon": "or never", "loss=1% reroute=1us": "link leaf0 spine0 down",
		"loss=1% x": "unknown link state", "down -1ms": `time "-1ms" is negative (a fault lasts`,
		"down 200d": `"200d" is not a time`, "down 1e9s": "is too large (a fault lasts", "down 0s": "must last some time",
	} {
		if err := inject(f, "link leaf0 spine0 "+words); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", words, err, says)
		}
	}
	if got := wires(); got != healthy {
		t.Errorf("what was refused has changed the link: %+v", got)
	}
}

// TestFaultEnds checks that a fault with a time ends by itself in virtual time, that a later change at its place replaces
// it, and that the end then restores the state before both.
func TestFaultEnds(t *testing.T) {
	t.Parallel()
	f := bringUpAs(t, Options{Name: "test-fault"})
	defer down(t, f)
	port := int(f.Plan.PortsBetween(f.Plan.NodeByName("h0").ID, f.Plan.NodeByName("leaf0").ID)[0])
	state := func() (w engine.Wire, now vtime.Time) {
		must(t, f.Do(func(e *engine.Engine) error { w, now = e.Wire(port), e.Now(); return nil }))
		return w, now
	}
	healthy, _ := state()
	awaitHealthy := func(ends vtime.Time) {
		t.Helper()
		until(t, "the fault has ended", func() bool { w, now := state(); return now >= ends && w == healthy })
	}
	reply := ask(t, "test-fault", Request{Verb: "fault", Command: strings.Fields("link h0 down loss=5% 200us")})
	if w, now := state(); reply.EndsNS < 200_000 || reply.WaitNS != 100_000_000 ||
		now < vtime.Time(reply.EndsNS)*vtime.Nanosecond && (w.Up || w.Loss != 0.05) {
		t.Errorf("%+v; at %v the link is %+v", reply, now, w)
	}
	awaitHealthy(vtime.Time(reply.EndsNS) * vtime.Nanosecond)
	_, late, err := f.Fault(strings.Fields("link h0 leaf0 loss=1% down 300ms"))
	must(t, err)
	must(t, inject(f, "link h0 up"))
	span, ends, err := f.Fault(strings.Fields("link leaf0 h0 loss=2% 100us"))
	must(t, err)
	if span != 100*vtime.Microsecond || ends >= late {
		t.Errorf("the fault ends after %v at %v, the first one at %v", span, ends, late)
	}
	awaitHealthy(ends)
	_, ends, err = f.Fault(strings.Fields("switch leaf0 stop 100us"))
	must(t, err)
	must(t, inject(f, "link h1 down"))
	awaitHealthy(ends)
	_, ends, err = f.Fault(strings.Fields("host h0 receive=1Gbps 100us"))
	must(t, err)
	awaitHealthy(ends)
	for line, says := range map[string]string{
		"": "expected link", "link": "expected link", "link h0": "expected link", "link h0 leaf0": "expected link",
		"lnk h0 down": `did you mean "link"?`, "link h0 up 5ms": "a repair does not end by itself",
		"link h9 down": `no node "h9"`, "link h0 down 0s": "must last some time", "switch h0 stop": "h0 is a host",
		"host h0 receive=normal 1ms": "does not end by itself", "host h0": "expected link",
	} {
		if err := inject(f, line); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", line, err, says)
		}
	}
	if refused := f.refusal("fault"); !strings.Contains(refused, "--allow-faults") {
		t.Errorf("programs on nodes: %q", refused)
	}
	f.options.AllowFaults = true
	if refused := f.refusal("fault"); refused != "" {
		t.Error(refused)
	}
}

// TestWay checks that the path of a flow's packets is the plan's, and that it uses another spine once its link is down.
func TestWay(t *testing.T) {
	t.Parallel()
	f := bringUp(t, "")
	defer down(t, f)
	must(t, f.StartFlows([]FlowRequest{{From: "h0", To: "h7", Size: 1_000_000_000}}, func(FlowResult) {}))
	way := func() []string {
		t.Helper()
		ports, err := f.Way(0)
		must(t, err)
		return ports
	}
	first := way()
	var planned []string
	must(t, f.Do(func(e *engine.Engine) error {
		own := &e.Flows()[0]
		for _, port := range paths.Forward(f.Plan, own.Source, own.Destination, own.Ports) {
			planned = append(planned, f.Plan.Ports[port].Name)
		}
		return nil
	}))
	if len(first) != 4 || !slices.Equal(first, planned) {
		t.Errorf("the way is %v, planned %v", first, planned)
	}
	spine, _, _ := strings.Cut(first[2], "-")
	must(t, inject(f, "link leaf0 "+spine+" down"))
	if now := way(); len(now) != 4 || strings.HasPrefix(now[2], spine) {
		t.Errorf("with leaf0 to %s down the way is %v", spine, now)
	}
	must(t, inject(f, "link leaf0 "+spine+" up"))
	if now := way(); !slices.Equal(now, first) {
		t.Errorf("with the link up again the way is %v, was %v", now, first)
	}
	if none, err := f.Way(7); err != nil || none != nil {
		t.Errorf("a flow that there is not: %v, %v", none, err)
	}
}

// TestStopFlows checks that flows end with their next packet, by number or all, and that the invariant of delivery is
// checked as each ends.
func TestStopFlows(t *testing.T) {
	t.Parallel()
	f := bringUp(t, "")
	defer down(t, f)
	ended := make(chan FlowResult, 3)
	must(t, f.StartFlows([]FlowRequest{
		{From: "h0", To: "h7", Size: 1_000_000_000_000},
		{From: "h1", To: "h6", Size: 1_000_000_000_000, QPs: 2},
		{From: "h2", To: "h5", Size: 1_000_000_000_000},
	}, func(r FlowResult) { ended <- r }))
	open := func(want ...int) {
		t.Helper()
		s, err := f.Snapshot()
		must(t, err)
		var got []int
		for i := range s.Flows {
			got = append(got, s.Flows[i].Flow)
		}
		if !slices.Equal(got, want) {
			t.Errorf("flows %v are open, want %v", got, want)
		}
	}
	open(0, 1, 2, 3)
	if _, err := f.StopFlows([]int{9}); err == nil || !strings.Contains(err.Error(), "no unfinished flow 9") {
		t.Error(err)
	}
	stop := func(want int, numbers ...int) {
		t.Helper()
		if n, err := f.StopFlows(numbers); err != nil || n != want {
			t.Errorf("stop %v: %d, %v", numbers, n, err)
		}
	}
	stop(1, 0)
	if r := <-ended; r.From != "h0" || r.Sent <= 0 || r.Sent >= r.Size || r.Slowdown() < 1 || r.Rate > 10*units.Gbps {
		t.Errorf("it came to %+v", r)
	}
	open(1, 2, 3)
	stop(3)
	for range 2 {
		if r := <-ended; r.From == "h0" || r.Sent <= 0 || r.Sent >= r.Size || r.Slowdown() < 1 {
			t.Errorf("it came to %+v", r)
		}
	}
	open()
	stop(0)
}

// TestHost makes a host a slow receiver and undoes it, and checks that impossible changes are refused.
func TestHost(t *testing.T) {
	t.Parallel()
	f := bringUp(t, "")
	defer down(t, f)
	rate := func() units.Rate {
		t.Helper()
		ended := make(chan FlowResult, 1)
		must(t, f.StartFlows([]FlowRequest{{From: "h0", To: "h3", Size: 200_000}}, func(r FlowResult) { ended <- r }))
		r := <-ended
		return r.Rate
	}
	must(t, inject(f, "host h3 receive=1Gbps buffer=100KB xoff=50KB"))
	if r := rate(); r > units.Gbps || r < units.Gbps*7/10 {
		t.Errorf("a flow to a receiver of 1 Gbps has %v", r)
	}
	must(t, inject(f, "host h3 receive=normal"))
	if r := rate(); r < 8*units.Gbps {
		t.Errorf("a flow to a healthy receiver has %v", r)
	}
	must(t, inject(f, "host h3 pfc-storm on 3,4 interval=50us"))
	must(t, inject(f, "host h3 normal"))
	must(t, inject(f, "host h3 pause-flood on")) // its old name
	must(t, inject(f, "host h3 pause-flood off"))
	if kinds := presentKinds([]string{"storm", "pause_flood"}); !slices.Equal(kinds, []string{"storm", "injected_storm"}) {
		t.Errorf("kinds of events: %q", kinds)
	}
	for words, says := range map[string]string{
		"": "expected link", "recieve=1Gbps": "receive=1Gbps", "receive=fast": "rate", "receive=1Gbps xoff=1GB": "xoff",
		"receive=1Gbps speed=2": "buffer=, xoff= or xon=", "pfc-storm": "pfc-storm on", "pfc-storm on 8": "outside 0..7",
		"pfc-storm on interval=1ns": "below 1us", "normal please": "cannot combine normal", "receive=normal xon=1KB": "rate",
	} {
		if err := inject(f, "host h3 "+words); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", words, err, says)
		}
	}
	if err := inject(f, "host leaf0 normal"); err == nil ||
		!strings.Contains(err.Error(), "is a switch") {
		t.Errorf("leaf0: %v", err)
	}
}

// otherValue returns a value that no switch has, for a setting with wide bounds. Settings that depend on others are in
// TestSettings.
func otherValue(row *keys.Key) string {
	switch row.Kind() {
	case schema.Choice, schema.Flag:
		for _, word := range row.Words() {
			if word != row.Text() {
				return word
			}
		}
	case schema.Priorities:
		return "[4]"
	case schema.Integer:
		return "7"
	case schema.Number:
		return "0.5"
	case schema.Rate:
		return "25Gbps"
	case schema.Time:
		return "1ms"
	case schema.Size:
		return "100KB"
	}
	return ""
}

// TestSettings checks that every setting offered by completion can be changed, and that the switch then uses the new
// value.
func TestSettings(t *testing.T) {
	t.Parallel()
	values := map[string]string{ // where any other value would not go with the settings before
		"pfc.xoff": "300KB", "pfc.xon": "200KB", "pfc.xoff_to_xon": "1KB", "pfc.quanta": "60000",
		"pfc.watchdog":         "{detect: 3ms}",
		"pfc.watchdog.restore": "2ms", "ecn.mode": "step", "ecn.kmin": "5KB", "ecn.kmax": "200KB", "ecn.priorities": "[3, 4]",
		"cnm.ecn_threshold": "30KB",
	}
	f := bringUp(t, "")
	defer down(t, f)
	sw := switchagent.Default()
	rows := settings.Switch(&sw, new(topologies.Balancing))
	for _, key := range Settings {
		if key == "pfc.alpha" || key == "trim" { // of switches that came up with one; of lossy data
			continue
		}
		value, given := values[key]
		if !given {
			value = otherValue(rows.Find(key))
		}
		if _, err := f.Set("leaf0." + key + "=" + value); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if _, err := f.Set("leaf0.trim=true"); err == nil ||
		!strings.Contains(err.Error(), "data has priority 3, which is lossless") {
		t.Errorf("trim: %v", err)
	}
	if _, err := f.Set("leaf0.pfc.priorities=[4]"); err == nil ||
		!strings.Contains(err.Error(), "pfc.priorities stays as it is while a fabric works, as ") ||
		!strings.Contains(err.Error(), "changed: lossy_limit, ") {
		t.Errorf("pfc.priorities: %v", err)
	}
}

// TestSetWarns checks that a change of a setting prints the new warnings, as --set does, once and for the changed
// switches only.
func TestSetWarns(t *testing.T) {
	t.Parallel()
	f := bringUp(t, "", "switch.buffer=1MB")
	defer down(t, f)
	for _, c := range []struct {
		setting string
		want    string // text of the only warning; empty: there is none
	}{
		{"leaf0.pfc.headroom=1KB", "leaf0:"},
		{"leaf0.lossy_limit=600KB", ""}, // already warned of
		{"leaf1.pfc.headroom=1KB", "leaf1:"},
		{"switch.pfc.headroom=2KB", "pfc.headroom is 2KB"},
		{"switch.pfc.headroom=auto", ""},
		{"switch.pfc.xoff=2MB", "pfc.xoff 2MB is above the shared buffer"},
		{"switch.pfc.xoff=auto", ""},
		{"leaf0.pfc.xoff=10B", "leaf0: pfc.xoff is 10B, no more than a full packet of 1.058KB"},
		{"switch.pfc.xoff=auto", ""},
		{"switch.ecn.kmin=1GB", "switch.ecn.kmin is 1GB, but the shared buffer is 1MB, so no packet is marked"},
		{"switch.ecn.kmin=auto", ""},
		{"switch.ecn.priorities=[5]", "ECN marks priorities [5], but RDMA may also use [3], where dcqcn gets no congestion signal"},
		{"switch.ecn.priorities=[3,5]", ""},
	} {
		warnings, err := f.Set(c.setting)
		if err != nil {
			t.Fatalf("%s: %v", c.setting, err)
		}
		all := strings.Join(warnings, "\n")
		if (c.want == "") != (len(warnings) == 0) || !strings.Contains(all, c.want) {
			t.Errorf("%s: %q, want %q", c.setting, warnings, c.want)
		}
		if strings.HasPrefix(c.setting, "leaf") && (strings.Contains(all, "spine0:") || c.want == "leaf1:" &&
			strings.Contains(all, "leaf0:")) {
			t.Errorf("%s: %q is of switches that were not changed", c.setting, warnings)
		}
	}
}

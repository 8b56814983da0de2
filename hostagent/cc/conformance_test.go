package cc

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
	"pgregory.net/rapid"
)

const us = vtime.Microsecond

// env40 is the DCON paper's path: 40 Gb/s, 40 us, 1000 B packets in the ns-3 simulators' framing.
var env40 = Env{LineRate: 40 * units.Gbps, BaseRTT: 40 * us, MTU: 1000, LineMTU: 1048}

// env100 is the thesis' path: 100 Gb/s, 4.16 us.
var env100 = Env{LineRate: 100 * units.Gbps, BaseRTT: 4160 * vtime.Nanosecond, MTU: 1000, LineMTU: 1048}

// variants are the settings under which controllers have to conform beside their defaults. Add a controller's here.
var variants = map[string][]map[string]string{
	"dcqcn": {
		{"order": "paper"},
		{"byte_counter": "3KB", "fast_recovery": "2"},
		{"byte_counter": "0", "clamp_target": "false"},
		{"profile": "b"},
		{"profile": "b", "alpha_timer": "50us", "decrease_timer": "50us", "increase_timer": "55us"},
	},
	"dcon": {
		{"literal": "true"},
		{"byte_counter": "3KB", "fast_recovery": "2"},
		{"recovery": "jump"},
		{"cnm_rate": "set"},
		{"increase": "halve"},
		{"cnp_in_hold": "keep-target", "hold": "0s"},
	},
	"dcqcn+tcd": {{"ce_alpha": "1"}, {"order": "paper", "ce_alpha": "1/2"}, {"profile": "b"}, {"ue": "hold"}, {"ue": "none"}, {"profile": "b", "ue": "hold"}},
	"dcqcn+win": {{"profile": "b", "window": "1B"}},
	"dctcp":     {{"window": "1B"}, {"ai": "line", "g": "1"}},
	"hpcc":      {{"max_stage": "5"}, {"window": "1B", "rtt": "1ns", "eta": "1/1000", "ai": "line"}},
	"pcn":       {{"w_max": "1/2"}, {"w_min": "1", "w_max": "1"}},
	"swift": {
		{"pacing": "below-one"},
		{"fs_range": "0s", "ai": "0", "max_mdf": "1", "beta": "1", "base_target": "1.1rtt", "hop_delay": "1us"},
		{"max_cwnd": "1B", "initial_cwnd": "10bdp", "reset_after": "1"},
	},
	"lstm-pid": {{"target": "1.01rtt", "kp": "-1000", "kd": "1000"}},
	"pid":      {{"ki": "1000", "initial_rate": "line", "min_rate": "1bps"}, {"rttch": "true", "target": "20rtt"}},
	"timely":   {{"scaled": "true"}, {"beta": "1", "hai_after": "0", "min_rtt": "1ns"}},
}

// TestConformance holds every registered controller to what the hostagent relies on.
func TestConformance(t *testing.T) {
	names := Names()
	for _, s := range windowedSpecs {
		names = append(names, s.Name)
	}
	for _, name := range names {
		for _, given := range append([]map[string]string{nil}, variants[name]...) {
			for _, env := range []Env{env40, env100, {LineRate: units.Gbps, BaseRTT: 100 * us, MTU: 1000, LineMTU: 1082}} {
				t.Run(fmt.Sprintf("%s/%v/%v", name, given, env.LineRate), func(t *testing.T) { conforms(t, name, given, env) })
			}
		}
	}
}

// conforms is the conformance suite for one controller, setting and path.
func conforms(t *testing.T, name string, given map[string]string, env Env) {
	t.Helper()
	set, err := Resolve(name, given, env)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	build := func(t rapid.TB) Controller {
		c, err := spec.New(env, set)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if !slices.Contains([]Departure{DepartureStays, DepartureMoves, DepartureMovesInWindow}, spec.Departure) {
		t.Errorf("its Departure is %q: say what a change of the rate does to a departure that is already timed", spec.Departure)
	}
	lowest := math.SmallestNonzeroFloat64
	if set.Has(minRateName) {
		lowest = set.Rate(minRateName)
	}

	again, err := Resolve(name, set.Map(), env)
	if err != nil || !reflect.DeepEqual(again, set) {
		t.Errorf("settings %v do not read back: %v, %v", set.Map(), again.Map(), err)
	}
	if js, err := json.Marshal(set); err != nil || !json.Valid(js) {
		t.Errorf("JSON %s: %v", js, err)
	}
	constantsBefore := fmt.Sprintf("%+v", reflect.ValueOf(set.constants).Elem())

	rapid.Check(t, func(t *rapid.T) {
		a, b := build(t), build(t)
		start := rapid.SampledFrom([]float64{0, 1, 1e9, 20e9, 1e15, math.NaN()}).Draw(t, "preset")
		if p, ok := a.(Presetter); ok && start != 0 {
			p.Preset(0, start)
			b.(Presetter).Preset(0, start)
		}
		var now vtime.Time
		for range rapid.IntRange(1, 120).Draw(t, "events") {
			e := drawEvent(t)
			// Late timers are late alike for both: a live clock may not call in time.
			now = e.apply(a, now)
			e.apply(b, now-e.after)
			if r := a.Rate(); !(r >= lowest && r <= float64(env.LineRate)) {
				t.Fatalf("rate %g is outside %g..%v after %+v", r, lowest, env.LineRate, e)
			}
			if moves := a.Retimes(); moves && spec.Departure == DepartureStays || !moves && spec.Departure == DepartureMoves {
				t.Fatalf("a change of the rate moves a departure: %t; it says: %q", moves, spec.Departure)
			}
			if a.Window() < 0 {
				t.Fatalf("window %d", a.Window())
			}
		}
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("equal events, unequal states:\n%+v\n%+v", a, b)
		}
		// "Undetermined" is no congestion: whoever knows the mark must not slow down for it, nor who does not.
		before := a.Rate()
		if a.OnCNP(&Sample{Now: now, UE: true}); a.Rate() < before {
			t.Fatalf("an undetermined mark took the rate from %g to %g", before, a.Rate())
		}
	})
	if after := fmt.Sprintf("%+v", reflect.ValueOf(set.constants).Elem()); after != constantsBefore {
		t.Errorf("flows changed the constants they share from %s to %s", constantsBefore, after)
	}
	allocatesNothing(t, build(t))
}

// event is something that happens to a flow, a span after the event before.
type event struct {
	after  vtime.Time
	kind   int
	late   bool // timers wait for the event
	sample Sample
}

func drawEvent(t *rapid.T) event {
	return event{
		after: vtime.Time(rapid.OneOf(
			rapid.Int64Range(0, int64(10*us)), rapid.Int64Range(0, int64(400*us)), rapid.SampledFrom([]int64{0, int64(55 * us), int64(20 * vtime.Millisecond)}),
		).Draw(t, "after")),
		kind: rapid.IntRange(0, 6).Draw(t, "kind"),
		late: rapid.Bool().Draw(t, "late"),
		sample: Sample{
			Hops: drawHops(t), PathID: rapid.SampledFrom([]uint16{0, 7}).Draw(t, "path"),
			Received:      rapid.SampledFrom([]int{0, 1, 50, 65535}).Draw(t, "received"),
			ReceivingRate: rapid.SampledFrom([]units.Rate{0, 102 * units.Mbps, 8 * units.Gbps, 1 << 32 * units.Mbps}).Draw(t, "receiving rate"),
			RTT:           vtime.Time(rapid.Int64Range(1, int64(vtime.Millisecond)).Draw(t, "rtt")),
			AckedBytes:    1000,
			CE:            rapid.Bool().Draw(t, "ce"), UE: rapid.Bool().Draw(t, "ue"),
			CNMFlows: rapid.SampledFrom([]int{0, 1, 2, 15, 490, 65535}).Draw(t, "flows"),
			CNMRate:  rapid.SampledFrom([]units.Rate{0, units.Gbps, 40 * units.Gbps, 400 * units.Gbps}).Draw(t, "port"),
		},
	}
}

// drawHops is telemetry of up to five switches, most often of two; their counters may have gone round.
func drawHops(t *rapid.T) []wire.INTHop {
	hops := make([]wire.INTHop, rapid.SampledFrom([]int{2, 2, 0, 1, 5}).Draw(t, "hops"))
	for i := range hops {
		hops[i] = wire.ParseINTSlot(rapid.Uint64().Draw(t, "slot"))
	}
	return hops
}

// apply runs the timers of c until the event and then the event, and says when that was.
func (e event) apply(c Controller, now vtime.Time) vtime.Time {
	until := now + e.after
	if e.late {
		now = until
	}
	for steps := 0; c.Deadline() <= until; steps++ {
		now = max(now, c.Deadline())
		c.OnTimer(now)
		if d := c.Deadline(); d <= now {
			panic(fmt.Sprintf("%T: deadline %v after OnTimer(%v)", c, d, now))
		}
		if steps > 20 { // the rest in one late call
			now = until
		}
	}
	s := e.sample
	s.Now = until
	s.NextSend, s.AckSequence = int64(until/us), int64(until/us)/2
	switch e.kind {
	case 0, 1:
		for range 4 {
			c.OnSent(until, 1000)
		}
	case 2:
		c.OnAck(&s)
	case 3:
		c.OnCNP(&s)
	case 4:
		c.OnCNM(&s)
	case 5:
		c.OnNak(until)
	case 6:
		c.OnTimeout(until)
	}
	return until
}

func allocatesNothing(t *testing.T, c Controller) {
	t.Helper()
	var now vtime.Time
	s := &Sample{
		RTT: 50 * us, AckedBytes: 1000, CE: true, CNMFlows: 16, CNMRate: 40 * units.Gbps, Received: 50, ReceivingRate: 8 * units.Gbps,
		Hops: []wire.INTHop{{Rate: 40 * units.Gbps}, {Rate: 100 * units.Gbps}},
	}
	n := testing.AllocsPerRun(300, func() {
		now += 7 * us
		s.Now = now
		for i := range s.Hops {
			s.Hops[i].Departed = now % wire.INTTimeWrap
		}
		if c.Deadline() <= now {
			c.OnTimer(now)
		}
		c.OnSent(now, 1000)
		c.OnAck(s)
		c.OnCNP(s)
		c.OnCNM(s)
		c.OnNak(now)
		c.OnTimeout(now)
		_, _ = c.Rate(), c.Window()
	})
	if n != 0 {
		t.Errorf("%g allocations per round of events", n)
	}
}

// mustBuild resolves and builds a controller.
func mustBuild(t testing.TB, name string, given map[string]string, env Env) Controller {
	t.Helper()
	set, err := Resolve(name, given, env)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := spec.New(env, set)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// expect fails unless got, in b/s, is want, in Gb/s to nine decimals.
func expect(t testing.TB, what string, got, want float64) {
	t.Helper()
	if math.Abs(got/1e9-want) > 0.6e-9 {
		t.Errorf("%s is %.12f, want %.9f", what, got/1e9, want)
	}
}

func expectAlpha(t testing.TB, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 0.6e-9 {
		t.Errorf("alpha is %.12f, want %.9f", got, want)
	}
}

func cnp(now vtime.Time) *Sample { return &Sample{Now: now, CE: true} }

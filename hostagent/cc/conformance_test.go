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

// env40 describes the DCON paper's path: 40 Gb/s, 40 us, 1000 B packets in the ns-3 simulators' framing.
var env40 = Env{LineRate: 40 * units.Gbps, BaseRTT: 40 * us, MTU: 1000, LineMTU: 1048}

// env100 describes the thesis' path: 100 Gb/s, 4.16 us.
var env100 = Env{LineRate: 100 * units.Gbps, BaseRTT: 4160 * vtime.Nanosecond, MTU: 1000, LineMTU: 1048}

// variants lists settings besides the defaults under which controllers must conform. Add a controller's settings here.
var variants = map[string][]map[string]string{
	"dcqcn": {
		{"order": "paper"},
		{"byte_counter": "3KB", "fast_recovery": "2"},
		{"byte_counter": "0", "clamp_target": "true"},
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
	"dcqcn+tcd": {
		{"ce_alpha": "1"},
		{"order": "paper", "ce_alpha": "1/2"},
		{"profile": "b"},
		{"ue": "hold"},
		{"ue": "none"},
		{"profile": "b", "ue": "hold"},
	},
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

// TestConformance checks every registered controller by the rules of the hostagent.
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

// conforms runs the conformance suite for one controller, setting and path.
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
		t.Errorf("its Departure is %q: say what a change of the rate does to a departure that is already timed",
			spec.Departure)
	}
	reread, err := Resolve(name, set.Map(), env)
	if err != nil || !reflect.DeepEqual(reread, set) {
		t.Errorf("settings %v do not read back: %v, %v", set.Map(), reread.Map(), err)
	}
	if js, err := json.Marshal(set); err != nil || !json.Valid(js) {
		t.Errorf("JSON %s: %v", js, err)
	}
	constantsBefore := fmt.Sprintf("%+v", reflect.ValueOf(set.constants).Elem())

	rapid.Check(t, func(t *rapid.T) {
		if err := Conform(spec, set, env, 120, drawing(t)); err != nil {
			t.Fatal(err)
		}
	})
	if after := fmt.Sprintf("%+v", reflect.ValueOf(set.constants).Elem()); after != constantsBefore {
		t.Errorf("flows changed the constants they share from %s to %s", constantsBefore, after)
	}
	allocatesNothing(t, build(t))
}

// TestACKWithoutRTT: a controller by delay takes no step for an ACK that tells no RTT, and one for the same ACK with a
// long RTT.
func TestACKWithoutRTT(t *testing.T) {
	for _, name := range []string{"lstm-pid", "nscc", "pid", "pid+rttch", "swift", "timely"} {
		build := func() Controller {
			c := mustBuild(t, name, nil, env100)
			for i := range vtime.Time(100) {
				c.OnAck(&Sample{
					Now: i * us, RTT: 6 * us, AckedBytes: 1000, AckSequence: int64(i) * 1000,
					NextSend: int64(i)*1000 + 4000,
				})
			}
			return c
		}
		before, none, long := build(), build(), build()
		for i := range vtime.Time(50) {
			s := Sample{
				Now: (1 + i) * vtime.Millisecond, CE: true, AckedBytes: 1000, AckSequence: int64(100+i) * 1000,
				NextSend: int64(100+i)*1000 + 4000,
			}
			none.OnAck(&s)
			s.RTT = 600 * us
			long.OnAck(&s)
		}
		if w, ok := none.(*nscc); ok { // its quadrants take the average for the delay
			if b := before.(*nscc); w.average != b.average || long.(*nscc).average <= b.average {
				t.Errorf("nscc: an average delay of %g after ACKs without an RTT, %g before and %g after long ones", w.average,
					b.average, long.(*nscc).average)
			}
			continue
		}
		if none.Rate() != before.Rate() || none.Window() != before.Window() || long.Rate() >= before.Rate() {
			t.Errorf("%s: %g bps and %d B after ACKs without an RTT; before %g and %d, after long RTTs %g",
				name, none.Rate(), none.Window(), before.Rate(), before.Window(), long.Rate())
		}
	}
}

// TestNSCCLosses: each lost packet leaves the window and the bytes in flight (vectors: uec.cpp's processNack and
// rtxTimerExpired).
func TestNSCCLosses(t *testing.T) {
	w := newNSCC(t, map[string]string{"quick_adapt": "false"}, uecPath)
	w.cwnd = 10_000
	for range 8 {
		w.OnSent(0, 1000)
	}
	w.OnLoss(us, 1000, false)
	w.OnLoss(us, 1000, true)
	w.OnLoss(us, 500, false)
	near(t, "cwnd", w.cwnd, 7000, 0)
	near(t, "in flight", w.inFlight, 5500, 0)
}

// drawing has rapid make the choices, and find small ones that fail.
func drawing(t *rapid.T) Draw {
	return func(what string, lowest, highest int64) int64 { return rapid.Int64Range(lowest, highest).Draw(t, what) }
}

func allocatesNothing(t *testing.T, c Controller) {
	t.Helper()
	var now vtime.Time
	s := &Sample{
		RTT: 50 * us, AckedBytes: 1000, CE: true, CNMFlows: 16, CNMRate: 40 * units.Gbps, Received: 50,
		ReceivingRate: 8 * units.Gbps,
		Hops:          []wire.INTHop{{Rate: 40 * units.Gbps}, {Rate: 100 * units.Gbps}},
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

package cc

import (
	"math"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

func newSwift(t *testing.T, given map[string]string, env Env) *swift {
	t.Helper()
	return mustBuild(t, "swift", given, env).(*swift)
}

// near fails unless got is want within half a unit of want's last decimal.
func near(t testing.TB, what string, got, want, half float64) {
	t.Helper()
	if !(math.Abs(got-want) <= half) {
		t.Errorf("%s is %.12g, want %.12g", what, got, want)
	}
}

// swiftAt returns a flow of the 40 Gb/s profile with a window and a target of 50 us whatever the window.
func swiftAt(t *testing.T, cwnd float64) *swift {
	w := newSwift(t, map[string]string{"fs_range": "0s"}, env40)
	w.cwnd = cwnd
	return w
}

func ack(now, rtt vtime.Time) *Sample { return &Sample{Now: now, RTT: rtt, AckedBytes: 1000} }

// The target of the Swift paper with flow-based scaling (vectors, Swift).
func TestSwiftTarget(t *testing.T) {
	short := Env{LineRate: 40 * units.Gbps, BaseRTT: 20 * us, MTU: 1000, LineMTU: 1048}
	w := newSwift(t, map[string]string{"base_target": "25us", "hops": "3", "hop_delay": "1us", "fs_range": "25us"}, short)
	near(t, "a", w.c.fsAlpha/1e6, 8.163858, 0.6e-6)
	near(t, "b", w.c.fsBeta/1e6, -0.816386, 0.6e-6)
	for cwnd, want := range map[float64]float64{
		0.1: 53, 1: 35.347472, 4: 31.265543, 25: 28.816386, 100: 28, 200: 28, 0.001: 53,
	} {
		near(t, "target", w.c.target(cwnd)/1e6, want, 0.6e-6)
	}
	w = newSwift(t, nil, env40)
	for cwnd, want := range map[float64]float64{0.1: 60, 1: 52.938989, 16: 50.489831, 100: 50, 200: 50} {
		near(t, "target at 40G", w.c.target(cwnd)/1e6, want, 0.6e-6)
	}
	if w.c.base != float64(50*us) || w.c.fsRange != float64(10*us) || w.c.maxCwnd != 400 || w.c.minCwnd != 0.001 ||
		w.cwnd != 200 {
		t.Errorf("profile at 40G: %+v", w.c)
	}
	w = newSwift(t, nil, env100)
	if w.c.base != 5.2e6 || w.c.fsRange != 1.04e6 || w.c.maxCwnd != 104 || w.cwnd != 52 {
		t.Errorf("profile at 100G: %+v", w.c)
	}
}

func TestSwiftAck(t *testing.T) {
	for _, c := range []struct {
		cwnd  float64
		delay vtime.Time
		want  float64
	}{
		{10, 40 * us, 10.1},
		{10, 60 * us, 8.666666667},
		{10, 200 * us, 5},
		{10, 50 * us, 10},
		{0.5, 40 * us, 1.5},
		{0.001, 200 * us, 0.001},
		{399.999, 40 * us, 400},
	} {
		w := swiftAt(t, c.cwnd)
		w.OnAck(ack(vtime.Millisecond, c.delay))
		near(t, "cwnd", w.cwnd, c.want, 0.6e-9)
		if cut := w.lastCut == vtime.Millisecond; cut != (c.want < c.cwnd) {
			t.Errorf("%+v: cut noted: %v", c, cut)
		}
	}
	w := swiftAt(t, 10)
	w.lastCut = vtime.Millisecond
	w.OnAck(ack(vtime.Millisecond+60*us-1, 60*us))
	near(t, "cwnd less than an RTT after a cut", w.cwnd, 10, 0)
	w.OnAck(ack(vtime.Millisecond+60*us, 60*us))
	near(t, "cwnd an RTT after a cut", w.cwnd, 8.666666667, 0.6e-9)
	w = swiftAt(t, 10)
	w.OnAck(&Sample{Now: us, RTT: 40 * us, AckedBytes: 3000})
	near(t, "cwnd after an ACK for three packets", w.cwnd, 10.3, 1e-12)
}

func TestSwiftPacing(t *testing.T) {
	w := swiftAt(t, 0.5)
	w.OnAck(ack(0, 60*us)) // above its target: a cut, from what makes it 0.5
	w.set(0.5)
	near(t, "gap", 1048*8e12/w.Rate(), 120e6, 1) // ps
	if w.Window() != 1000 {
		t.Errorf("window %d below one packet", w.Window())
	}
	w.set(2.5)
	near(t, "gap", 1048*8e12/w.Rate(), 24e6, 1)
	if w.Window() != 2500 {
		t.Errorf("window %d", w.Window())
	}
	w.OnAck(ack(0, 140*us)) // srtt 60 -> 70 us
	near(t, "srtt", w.srtt, 70e6, 1e-3)
	w.set(2.5)
	near(t, "gap", 1048*8e12/w.Rate(), 28e6, 1)

	w = newSwift(t, map[string]string{"pacing": "below-one"}, env40)
	w.OnAck(ack(0, 60*us))
	w.set(2.5)
	if w.Rate() != 40e9 || w.Window() != 2000 {
		t.Errorf("rate %g, window %d: not the line's, not two packets", w.Rate(), w.Window())
	}
	w.set(0.5)
	near(t, "gap", 1048*8e12/w.Rate(), 120e6, 1)
	if fresh := newSwift(t, nil, env40); fresh.Rate() != 40e9 || fresh.Window() != 200_000 {
		t.Errorf("a new flow has rate %g and window %d", fresh.Rate(), fresh.Window())
	}
}

func TestSwiftLosses(t *testing.T) {
	w := swiftAt(t, 16)
	for i, want := range []float64{8, 4, 2, 1, 0.001} { // the fifth timeout in a row
		w.OnTimeout(vtime.Time(i+1) * vtime.Millisecond)
		near(t, "cwnd", w.cwnd, want, 1e-12)
	}
	w = swiftAt(t, 16)
	w.OnNak(0)
	w.OnNak(40*us - 1) // the unloaded RTT, as there is no sample
	near(t, "cwnd after two NAKs within an RTT", w.cwnd, 8, 0)
	for i := range vtime.Time(4) {
		w.OnTimeout((i + 1) * vtime.Millisecond)
	}
	w.OnAck(ack(5*vtime.Millisecond, 40*us))
	before := w.cwnd
	w.OnTimeout(6 * vtime.Millisecond)
	near(t, "cwnd after a timeout that an ACK came before", w.cwnd, before/2, 1e-12)
}

func TestSwiftPreset(t *testing.T) {
	w := newSwift(t, nil, env40)
	w.Preset(0, 10e9)
	expect(t, "rate", w.Rate(), 10)
	near(t, "srtt", w.srtt, w.c.target(w.cwnd), 1e4)
	w.Preset(0, 1e15)
	if w.cwnd != 400 || w.Rate() != 40e9 {
		t.Errorf("cwnd %g, rate %g", w.cwnd, w.Rate())
	}
}

func TestSwiftRefusals(t *testing.T) {
	for _, c := range []struct {
		given map[string]string
		want  string
	}{
		{map[string]string{"base_target": "40us"}, "base_target 40us does not exceed the path's unloaded RTT of 40us"},
		{map[string]string{"base_target": "20us", "hop_delay": "5us"}, "does not exceed"},
		{map[string]string{"base_target": "30us", "hop_delay": "5us"}, ""},
		{map[string]string{"fs_min": "100"}, "not below fs_max"},
		{map[string]string{"min_cwnd": "2", "max_cwnd": "1KB", "initial_cwnd": "1KB"}, "more than max_cwnd"},
	} {
		_, err := Resolve("swift", c.given, env40)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.given, err)
		}
	}
}

// TestSwiftRetimes: below one packet a departure stays where it was timed; as the window reaches a packet it moves, and
// from there up.
func TestSwiftRetimes(t *testing.T) {
	for _, pacing := range []string{"always", "below-one"} {
		w := newSwift(t, map[string]string{"fs_range": "0s", "pacing": pacing}, env40)
		w.set(0.5)
		if w.Retimes() {
			t.Errorf("%s: a window of half a packet moves a departure", pacing)
		}
		w.OnAck(ack(vtime.Millisecond, 40*us)) // 1.5 packets
		if !w.Retimes() {
			t.Errorf("%s: a window of %g packets moves no departure", pacing, w.cwnd)
		}
	}
}

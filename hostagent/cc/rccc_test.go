package cc

import (
	"testing"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

func newRCCC(t *testing.T, given map[string]string, env Env) *rccc {
	t.Helper()
	return mustBuild(t, "rccc", given, env).(*rccc)
}

var rcccEnv = Env{LineRate: 100 * units.Gbps, BaseRTT: 12 * vtime.Microsecond, MTU: 1000, LineMTU: 1090}

// The simulator's constants: 1.5 times the bandwidth-delay product of 150 KB, and a grant a packet.
func TestRCCCConstants(t *testing.T) {
	f := newRCCC(t, nil, rcccEnv)
	want := Grants{
		Share: 0.99, Each: 1000, Initial: 225_000, Most: 225_000, Timeout: 500 * vtime.Microsecond,
		Period: 18 * vtime.Microsecond, Target: 0.3, Gain: 0.5, Decrease: 0, Increase: 0.01, Least: 0.01,
	}
	if got := *f.Grants(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if f.Rate() != 100e9 || f.Window() != 225_000 {
		t.Errorf("rate %g, window %d", f.Rate(), f.Window())
	}
	if _, err := Resolve("rccc", map[string]string{"max_cwnd": "999B"}, rcccEnv); err == nil {
		t.Error("a window of less than a packet is taken")
	}
	for given, want := range map[string]int64{"300KB": 225_000, "200KB": 200_000, "0B": 0} {
		if got := newRCCC(t, map[string]string{"initial_credit": given}, rcccEnv).Grants().Initial; got != want {
			t.Errorf("initial_credit %s: %d bytes, want %d", given, got, want)
		}
	}
}

// Marks lower the rate where the fabric is oversubscribed, by r to 0.9/r at most (main_uec.cpp,
// OversubscribedCC::setOversubscriptionRatio).
func TestRCCCOversubscribed(t *testing.T) {
	for _, c := range []struct {
		ratio           float64
		given           string
		decrease, least float64
	}{
		{0, "auto", 0, 0.01},
		{1, "auto", 0, 0.01},
		{1, "true", 0.5, 0.01},
		{3, "auto", 0.5, 0.3},
		{3, "true", 0.5, 0.3},
		{3, "false", 0, 0.3},
		{180, "auto", 0.5, 0.01},
	} {
		env := rcccEnv
		env.Oversubscription = c.ratio
		g := newRCCC(t, map[string]string{"oversubscribed": c.given}, env).Grants()
		near(t, "decrease", g.Decrease, c.decrease, 0)
		near(t, "least share", g.Least, c.least, 1e-12)
		near(t, "a given least share", newRCCC(t, map[string]string{"min_share": "0.2"}, env).Grants().Least, 0.2, 0)
	}
}

// TestGrantRate: marks lower the rate at which a receiver grants (vectors, RCCC).
func TestGrantRate(t *testing.T) {
	g := newRCCC(t, map[string]string{"oversubscribed": "true"}, rcccEnv).Grants()
	r := NewGrantRate()
	for i, c := range []struct {
		packets, marked int64
		want            float64
	}{
		{10, 0, 1.000000000},
		{10, 3, 1.000000000},
		{10, 10, 0.862500000},
		{10, 10, 0.652265625},
		{8, 8, 0.458624268},
		{0, 0, 0.424944048},
		{20, 1, 0.434944048},
		{20, 0, 0.454944048},
		{20, 0, 0.494944048},
		{20, 0, 0.574944048},
		{20, 0, 0.734944048},
		{20, 1, 0.744944048},
		{7, 7, 0.664347868},
		{7, 7, 0.512148788},
	} {
		r.Step(g, c.packets, c.marked)
		near(t, "share", r.Share(), c.want, 5e-10)
		if t.Failed() {
			t.Fatalf("period %d", i)
		}
	}
	for range 100 {
		r.Step(g, 5, 5)
	}
	if r.Share() != 0.01 {
		t.Errorf("a share of %g after marks alone", r.Share())
	}
}

// TestGrantRateEdges: by hand, in binary fractions, so that nothing is rounded.
func TestGrantRateEdges(t *testing.T) {
	g := Grants{Target: 0.5, Gain: 1, Decrease: 0.5, Increase: 1. / (1 << 20), Least: 0.25}
	r := NewGrantRate()
	step := func(packets, marked int64, want float64) {
		t.Helper()
		r.Step(&g, packets, marked)
		near(t, "share", r.Share(), want, 0)
	}
	step(4, 4, 0.75)
	step(4, 2, 0.75+g.Increase) // at the target marks do not lower it
	step(4, 4, (0.75+g.Increase)*0.75)
	before := r.Share()
	for n := range 15 { // periods without marks raise it by 1, 2, 4, ...
		step(4, 0, before+g.Increase*float64(int64(2)<<n-1))
	}
	step(4, 4, r.Share()*0.75)
	before = r.Share()
	g.Decrease = 0 // no marks lower it
	step(4, 4, before+g.Increase)
	g.Increase = 0
	before = r.Share()
	for range 2000 {
		step(4, 0, before)
	}
}

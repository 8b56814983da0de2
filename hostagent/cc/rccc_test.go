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
		Period: 12 * vtime.Microsecond, Target: 0.3, Gain: 0.5, Decrease: 0.5, Increase: 0.01, Least: 0.01,
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
}

// TestGrantRate: marks lower the rate at which a receiver grants (vectors, RCCC).
func TestGrantRate(t *testing.T) {
	g := newRCCC(t, nil, rcccEnv).Grants()
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

package switchagent_test

import (
	"math"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		edit func(s *switchagent.Settings)
		want []string // none: valid
	}{
		{edit: func(*switchagent.Settings) {}},
		{edit: func(s *switchagent.Settings) { *s = switchagent.Default() }},    // what is auto is not wrong yet
		{edit: func(s *switchagent.Settings) { s.PFC.XOFF = switchagent.Auto }}, // and XON may be below it
		{edit: func(s *switchagent.Settings) { s.PFC.XON = switchagent.Auto }},
		{edit: func(s *switchagent.Settings) { s.ECN.KMin, s.ECN.KMax = 300*units.KB, switchagent.Auto }},
		{edit: func(s *switchagent.Settings) { s.CNM.QECN, s.CNM.QCNM = switchagent.Auto, units.KB }},
		{edit: func(s *switchagent.Settings) { s.PFC.XOFF = 0; s.PFC.XON = -1 }, want: []string{"pfc.xoff"}},
		{edit: func(s *switchagent.Settings) { s.PFC.XON = s.PFC.XOFF }, want: []string{"pfc.xon"}},
		{edit: func(s *switchagent.Settings) { s.PFC.XON = s.PFC.XOFF - 1 }},
		{edit: func(s *switchagent.Settings) { s.PFC.Alpha, s.PFC.XOFF, s.PFC.XON = 1, 0, 0 }},
		{
			edit: func(s *switchagent.Settings) { s.ECN.Mode, s.ECN.Point = switchagent.ECNPCN, switchagent.ECNEnqueue },
			want: []string{"ecn.at"},
		},
		{edit: func(s *switchagent.Settings) { s.PFC = switchagent.PFC{} }}, // no lossless priority, nothing to be wrong
		{edit: func(s *switchagent.Settings) { s.ECN.KMin = s.ECN.KMax }},
		{edit: func(s *switchagent.Settings) { s.ECN.KMin = s.ECN.KMax + 1 }, want: []string{"ecn.kmin"}},
		{edit: func(s *switchagent.Settings) { s.FlowControl = switchagent.FlowCBFC }},
		{edit: func(s *switchagent.Settings) { s.CBFC = switchagent.CBFC{} }},
		{
			edit: func(s *switchagent.Settings) {
				s.FlowControl, s.CBFC.Block, s.PFC.Watchdog.Detect = switchagent.FlowCBFC, 96, vtime.Millisecond
			},
			want: []string{"cbfc.block", "pfc.watchdog", "pfc.watchdog.restore"},
		},
		{edit: func(s *switchagent.Settings) { s.Detector = switchagent.DetectorTCD }},
		{edit: func(s *switchagent.Settings) { s.CNM.QCNM = s.CNM.QECN }},
		{edit: func(s *switchagent.Settings) { s.CNM.QCNM = 100 * units.KB }, want: []string{"cnm.threshold"}},
	} {
		s := stated()
		c.edit(&s)
		err := s.Validate()
		if (err != nil) != (len(c.want) > 0) {
			t.Errorf("%+v: %v", s, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not speak of %s", err, want)
			}
		}
	}
}

// Thresholds for ports of one rate, at others: HPCC's simulator at 100 Gb/s (run.py and third.cc), whose alpha doubles
// with the rate up to 1.
func TestPerRate(t *testing.T) {
	for _, c := range []struct {
		per, rate  units.Rate
		alpha      float64
		headroom   units.Bytes
		kmin, kmax units.Bytes
	}{
		{0, 400 * units.Gbps, 0.125, 37_500, 400_000, 1_600_000},
		{100 * units.Gbps, 100 * units.Gbps, 0.125, 37_500, 400_000, 1_600_000},
		{100 * units.Gbps, 400 * units.Gbps, 0.5, 150_000, 1_600_000, 6_400_000},
		{100 * units.Gbps, 25 * units.Gbps, 0.03125, 9_375, 100_000, 400_000},
		{100 * units.Gbps, 1600 * units.Gbps, 1, 600_000, 6_400_000, 25_600_000},
		{3 * units.Gbps, units.Gbps, 0.125 / 3, 12_500, 133_333, 533_333},
	} {
		pfc := switchagent.PFC{Alpha: 0.125, Headroom: 37_500, PerRate: c.per}
		ecn := switchagent.ECN{KMin: 400_000, KMax: 1_600_000, PerRate: c.per}
		alpha, headroom := pfc.At(c.rate)
		kmin, kmax := ecn.At(c.rate)
		if math.Abs(alpha-c.alpha) > 1e-12 || headroom != c.headroom || kmin != c.kmin || kmax != c.kmax {
			t.Errorf("%v at %v: alpha %g, headroom %v, %v to %v; want %+v", c.per, c.rate, alpha, headroom, kmin, kmax, c)
		}
	}
	// An alpha above 1 that is asked for stays.
	if alpha, _ := (&switchagent.PFC{Alpha: 4, PerRate: units.Gbps}).At(2 * units.Gbps); alpha != 4 {
		t.Errorf("alpha %g", alpha)
	}
}

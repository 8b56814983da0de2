package switchagent_test

import (
	"testing"

	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// credits has flow control go by credits of a period of 40 us, and T_max be so many of them.
func credits(periods float64) func(s *switchagent.Settings) {
	return func(s *switchagent.Settings) {
		s.FlowControl, s.CBFC.Period, s.TCD.CreditPeriods = switchagent.FlowCBFC, 40*vtime.Microsecond, periods
	}
}

// T_max of the patent's simulation (paragraph 0099: 100.4 us) and other links by its formula (paragraphs 0019 to 0022;
// ebpf/testdata/vectors.txt).
func TestUndeterminedTime(t *testing.T) {
	for _, c := range []struct {
		rate  units.Rate
		delay vtime.Time
		want  float64 // us
		edit  func(s *switchagent.Settings)
	}{
		{40 * units.Gbps, 4 * vtime.Microsecond, 100.4, nil},
		{40 * units.Gbps, 5 * vtime.Microsecond, 122.4, nil},
		{100 * units.Gbps, vtime.Microsecond, 26.96, nil},
		{10 * units.Gbps, 4 * vtime.Microsecond, 137.6, nil},
		{1 * units.Gbps, 4 * vtime.Microsecond, 584, nil},
		{40 * units.Gbps, 4 * vtime.Microsecond, 54.4, func(s *switchagent.Settings) { s.TCD.Epsilon = 0.1 }},
		{40 * units.Gbps, 4 * vtime.Microsecond, 33, func(s *switchagent.Settings) { s.TCD.TMax = 33 * vtime.Microsecond }},
		// With a dynamic threshold XON stays a fixed distance below XOFF.
		{40 * units.Gbps, 4 * vtime.Microsecond, 104.4, func(s *switchagent.Settings) {
			s.PFC.Alpha, s.PFC.XOFF, s.PFC.XON, s.PFC.XOFFToXON = 1, 0, 0, 3*units.KB
		}},
		// Without credits it is so many of their periods, whatever pauses and the link would make it; a T_max that is given
		// goes first.
		{40 * units.Gbps, 4 * vtime.Microsecond, 1.05 * 40, credits(1.05)},
		{10 * units.Gbps, vtime.Microsecond, 40, credits(1)},
		{10 * units.Gbps, vtime.Microsecond, 100, credits(2.5)},
		{40 * units.Gbps, 4 * vtime.Microsecond, 33, func(s *switchagent.Settings) {
			credits(2.5)(s)
			s.TCD.TMax = 33 * vtime.Microsecond
		}},
		// Under PFC they count for nothing.
		{40 * units.Gbps, 4 * vtime.Microsecond, 100.4, func(s *switchagent.Settings) {
			credits(2.5)(s)
			s.FlowControl = switchagent.FlowPFC
		}},
	} {
		s := switchagent.Default()
		if c.edit != nil {
			c.edit(&s)
		}
		if got := s.UndeterminedTime(2*units.KB, s.CBFC.Period, c.rate, c.delay,
			1000); got != vtime.Time(c.want*float64(vtime.Microsecond)+0.5) {
			t.Errorf("%v, %v: T_max %v, want %g us", c.rate, c.delay, got, c.want)
		}
	}
}

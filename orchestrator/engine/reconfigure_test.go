package engine

import (
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// TestSetWhatIs: a working switch that is given its own settings stays as it is, with all that the pipelines know of
// it.
func TestSetWhatIs(t *testing.T) {
	l := newFaultLab(t, "framing: ns3\nrate: 40Gbps\ndelay: 1us\nstar: {hosts: 4}",
		func(s *switchagent.Settings, _ *hostagent.Settings) {
			s.Detector = switchagent.DetectorTCD
			s.PFC.Alpha, s.PFC.XOFF, s.PFC.Headroom, s.Buffer = 0.125, 0, 20_000, 200_000
			s.ECN.Mode, s.ECN.Point = switchagent.ECNStep, switchagent.ECNEnqueue
		})
	for _, from := range []string{"h1", "h2", "h3"} {
		l.send(from, "h0", 500_000, 0, 0)
	}
	t0, spilled := &l.state.Switches[0], false
	for i := range vtime.Time(100) {
		l.at((i+1)*3*vtime.Microsecond, func() error {
			spilled = spilled || t0.HeadroomUsed > 0
			before, s := *t0, *l.settings[0]
			err := l.SetSwitch(0, &s)
			if *t0 != before {
				t.Errorf("switch became\n%+v, was\n%+v", *t0, before)
			}
			return err
		})
	}
	l.run(0)
	if !spilled || t0.EcnMode != ebpf.ECNTCD || t0.Uncounted != 10 {
		t.Errorf("nothing was ever in the headroom, or %+v", *t0)
	}
}

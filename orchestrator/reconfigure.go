package orchestrator

import (
	"errors"

	"github.com/pausenet/pausenet/switchagent"
)

// SetSwitch changes the settings of a switch that works: thresholds of PFC, ECN and CNM, the PFC watchdog and the lossy limit. Which priorities are
// lossless, the buffer, the scheduler, the detector and the kind of flow control stay as they were at time 0.
func (e *Engine) SetSwitch(index int, s *switchagent.Settings) error {
	own := e.settings[index]
	if s.Buffer != own.Buffer || s.FlowControl != own.FlowControl || s.CBFC != own.CBFC || s.PFC.Priorities != own.PFC.Priorities ||
		(s.PFC.Alpha > 0) != (own.PFC.Alpha > 0) || s.Scheduler != own.Scheduler ||
		s.Detector != own.Detector || s.TCD != own.TCD {
		return errors.New("of a switch that works, only pfc.xoff, xon, xoff_to_xon, alpha, headroom, quanta and watchdog, ecn, cnm and lossy_limit can be changed: bring the fabric up with --set")
	}
	if err := s.Validate(); err != nil {
		return err
	}
	dog := own.PFC.Watchdog
	*own = *s
	t := &e.state.Switches[index]
	before := *t
	fillSwitch(t, own, plannedRates(e.plan, &e.plan.Nodes[e.plan.Switch[index]]), before.Cnm != 0, before.Seed, before.EcmpSeed)
	t.Used, t.IntOn, t.TcdRed, t.Q_len, t.TrendSlack = before.Used, before.IntOn, before.TcdRed, before.Q_len, before.TrendSlack
	sw := e.switches[index]
	sw.FindDue()
	if err := e.resume(sw); err != nil || s.PFC.Watchdog == dog {
		return err
	}
	own.PFC.Watchdog = dog // what its storms were made by
	return e.setWatchdog(index, s.PFC.Watchdog)
}

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
	if err := errors.Join(s.Validate(), CheckThresholds(e.plan, s)); err != nil {
		return err
	}
	dog := own.PFC.Watchdog
	*own = *s
	e.fitSwitch(index)
	sw := e.switches[index]
	sw.FindDue()
	if err := e.resume(sw); err != nil || s.PFC.Watchdog == dog {
		return err
	}
	own.PFC.Watchdog = dog // what its storms were made by
	return e.setWatchdog(index, s.PFC.Watchdog)
}

package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
)

// SetSwitch changes those settings of a switch that can be changed while it works (settings.Setting.Live). Which priorities are lossless,
// the buffer, the scheduler, the detector and the kind of flow control stay as they were at time 0.
func (e *Engine) SetSwitch(index int, s *switchagent.Settings) error {
	own := e.settings[index]
	rows := settings.Switch(own)
	for _, row := range rows.Differ(settings.Switch(s)) {
		if !row.Live {
			return fmt.Errorf("%s stays as it is while a fabric works: bring it up with --set switch.%[1]s=. What can be changed: %s",
				row.Name, strings.Join(rows.Live(), ", "))
		}
	}
	if (s.PFC.Alpha > 0) != (own.PFC.Alpha > 0) {
		return errors.New("pfc.alpha stays 0, or above 0, while a fabric works: bring it up with --set switch.pfc.alpha=")
	}
	if err := errors.Join(settings.CheckSwitch(s), CheckFlowControl(e.plan, s), CheckThresholds(e.plan, s)); err != nil {
		return err
	}
	dog := own.PFC.Watchdog
	*own = *s
	e.fitSwitch(index)
	sw := e.switches[index]
	sw.FindDue()
	if err := e.freed(sw); err != nil || s.PFC.Watchdog == dog {
		return err
	}
	own.PFC.Watchdog = dog // what its storms were made by
	return e.setWatchdog(index, s.PFC.Watchdog)
}

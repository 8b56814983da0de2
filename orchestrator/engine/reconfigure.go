package engine

import (
	"errors"

	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// Settings returns the settings of a switch, given its index. Do not change them.
func (e *Engine) Settings(index int) *switchagent.Settings { return e.settings[index] }

// SetSwitch changes the settings of a switch while it works. The caller has checked by settings.CheckLive that they
// are valid, and that lossless priorities, the buffer, the scheduler, the detector and the kind of flow control stay as
// they were at time 0.
func (e *Engine) SetSwitch(index int, s *switchagent.Settings) error {
	own := e.settings[index]
	if (s.PFC.Alpha > 0) != (own.PFC.Alpha > 0) {
		return errors.New("pfc.alpha stays 0, or above 0, while a fabric works: bring it up with --set switch.pfc.alpha=")
	}
	if err := errors.Join(fill.CheckFlowControl(e.plan, s), fill.CheckThresholds(e.plan, s)); err != nil {
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
	own.PFC.Watchdog = dog // the old settings: setWatchdog ends their storms
	return e.setWatchdog(index, s.PFC.Watchdog)
}

// fitSwitch resolves a switch's settings for its cables as they are, and applies them to its pipelines and traffic
// manager. It keeps settings that do not change while a switch works.
func (e *Engine) fitSwitch(index int) {
	s, node := e.settings[index], &e.plan.Nodes[e.plan.Switch[index]]
	buffer, ports := s.Resolve(e.cables[index])
	registers := e.state.Ports[node.Ports[0]:][:len(node.Ports)]
	fill.Switch(&e.state.Switches[index], registers, s, buffer, ports)
	for _, id := range node.Ports {
		e.describeDetector(&e.ports[id])
	}
	e.switches[index].Fit(buffer, ports)
}

// fitHeadroom grows the headroom of a switch's port to the bytes that its changed cable can have in flight. Headroom
// never shrinks: frames in flight on a longer cable still arrive.
func (e *Engine) fitHeadroom(p *port) {
	if !p.isSwitch || e.settings[p.index].PFC.Headroom != switchagent.Auto {
		return
	}
	s := &e.settings[p.index].PFC
	planned, now := e.cableOf(p)
	before, needed := planned.InFlight(s), now.InFlight(s)
	if n := needed.Sum(); n > max(before.Sum(), planned.Grown) {
		planned.Grown = n
		e.fitSwitch(int(p.index))
	}
}

// describeCable updates the pipelines' data about a port's cable, and the headroom of the switches at its ends if it is
// automatic.
func (e *Engine) describeCable(p *port) {
	fill.Cable(e.state, topologies.PortID(p.id), p.rate, p.delay)
	if p.isSwitch {
		e.describeDetector(p)
	}
	e.fitHeadroom(p)
	e.fitHeadroom(&e.ports[p.peer])
}

// describeDetector updates how long the pipelines treat port p as undetermined.
func (e *Engine) describeDetector(p *port) {
	profile := &e.state.Switches[p.index].Profiles[e.state.Ports[p.id].Profile]
	planned, _ := e.cableOf(p)
	credits := planned.Credits(&e.settings[p.index].CBFC)
	fill.Undetermined(&e.state.Extras[p.id], profile, e.settings[p.index], credits.Period, p.rate, p.delay, e.plan.MTU)
}

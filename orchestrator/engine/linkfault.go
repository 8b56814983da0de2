package engine

import (
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// SetLink takes the link of a port down, both ways, or up again. As it goes down, what is on the wire or being sent is
// lost, switches flush what waits for it and discard what comes, and NICs keep what they have. Routes do not change:
// see Reroute. PAUSEs that hold either end are forgotten. As it comes up, PAUSEs that are still due are sent, and
// credits begin anew.
func (e *Engine) SetLink(id int, up bool) error {
	ends := [2]*port{&e.ports[id], &e.ports[e.ports[id].peer]}
	if e.faultOf(ends[0]).down == !up {
		return nil
	}
	for _, p := range ends {
		e.faultOf(p).down = !up
		if p.isSwitch && up {
			e.switches[p.index].Open(int(p.id))
		} else if p.isSwitch {
			e.switches[p.index].Close(int(p.id))
		}
	}
	if up {
		e.note(id, EventLinkUp, "")
		return e.linkUp(ends)
	}
	e.note(id, EventLinkDown, "")
	return e.linkDown(ends)
}

func (e *Engine) linkDown(ends [2]*port) error {
	for _, p := range ends {
		for p.wire.count > 0 {
			if err := e.lose(p, p.wire.pop(&e.freeChunks), LossLink); err != nil {
				return err
			}
		}
		p.expected = false
		e.forgetPauses(p)
	}
	for _, p := range ends {
		if err := e.flush(p); err != nil {
			return err
		}
	}
	return nil
}

// forgetPauses ends what holds a port up: its peer, which would end it, is gone.
func (e *Engine) forgetPauses(p *port) {
	e.monitor.linkDown(e.now, p)
	e.flowControl.linkDown(&e.worker, p)
}

// flush loses what waits at a port.
func (e *Engine) flush(p *port) error {
	lose := func(f *frame.Frame) {
		if f.Control {
			e.flowControl.refused(&e.worker, p, f)
		}
		e.countLoss(p, LossPort, f)
	}
	if !p.isSwitch {
		if p.control != nil {
			for f := p.control.Pop(); f != nil; f = p.control.Pop() {
				lose(f)
			}
		}
		return nil
	}
	s := e.switches[p.index]
	s.FlushControl(int(p.id), lose)
	for priority := range uint8(switchagent.Priorities) {
		s.Flush(int(p.id), priority, lose)
	}
	return e.freed(s)
}

func (e *Engine) linkUp(ends [2]*port) error {
	if err := e.flowControl.linkUp(&e.worker, ends); err != nil {
		return err
	}
	for _, p := range ends {
		if err := e.serve(p); err != nil {
			return err
		}
	}
	return nil
}

// LinkUp says whether the link of a port is up.
func (e *Engine) LinkUp(port int) bool {
	return e.ports[port].fault == nil || !e.ports[port].fault.down
}

// Reroute has the routes avoid the links that are down: shortest paths anew, on every switch at once. A host that no
// way is left to gets nothing.
func (e *Engine) Reroute() error {
	routes := e.plan.RoutesOver(func(p topologies.PortID) bool { return e.LinkUp(int(p)) })
	if err := fill.Routes(&routes, e.state); err != nil {
		return err
	}
	e.rerouted = true
	e.findTrees()
	e.note(-1, EventReroute, "")
	return nil
}

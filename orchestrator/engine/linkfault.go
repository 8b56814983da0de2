package engine

import (
	"fmt"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// SetLink takes the link of a port down, both ways, or up again. When it goes down, frames on the wire are lost,
// switches flush the frames queued for it and discard later ones, NICs keep their frames, and both ends forget PAUSEs.
// When it comes up, PAUSEs that are still due are sent and credits start anew. Routes do not change: see Reroute.
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

// forgetPauses ends the pauses of a port whose peer, which would end them, is unreachable.
func (e *Engine) forgetPauses(p *port) {
	e.monitor.linkDown(e.now, p)
	e.flowControl.linkDown(&e.worker, p)
}

// flush drops all frames that wait at a port.
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

// Reroute recomputes shortest paths over the links that are up, on all switches at once. A host without a path receives
// nothing. If switches have a control plane, the routes are its own, and Reroute changes none.
func (e *Engine) Reroute() error {
	if e.punt != nil {
		e.slowPath.findTrees(&e.links)
		return nil
	}
	routes := e.plan.RoutesOver(func(p topologies.PortID) bool { return e.LinkUp(int(p)) })
	return e.SetRoutes(&routes)
}

// SetRoutes makes all switches forward by these routes.
func (e *Engine) SetRoutes(routes *topologies.Routes) error {
	if err := fill.Routes(routes, e.state); err != nil {
		return err
	}
	e.rerouted = true
	e.slowPath.findTrees(&e.links)
	e.note(-1, EventReroute, "")
	return nil
}

// SetLoss makes the wire from a port lose each frame with the given probability.
func (e *Engine) SetLoss(port int, probability float64) error {
	if !(probability >= 0 && probability <= 1) {
		return fmt.Errorf("loss %v is not a probability", probability)
	}
	e.faultOf(&e.ports[port]).loss = probability
	e.note(port, EventLoss, "%v", probability)
	return nil
}

// SetCorruption makes the wire from a port damage frames.
func (e *Engine) SetCorruption(port int, c Corruption) error {
	if !(c.Frame >= 0 && c.Frame <= 1 && c.Bit >= 0 && c.Bit <= 1) {
		return fmt.Errorf("corruption %+v: not probabilities", c)
	}
	f := e.faultOf(&e.ports[port])
	f.corrupt, f.ber = c.Frame, c.Bit
	e.note(port, EventCorruption, "frame %v, bit %v", c.Frame, c.Bit)
	return nil
}

// RepairWire removes all faults of the wire from a port: it restores the topology's delay and rate, and ends loss and
// corruption. It does not bring the link up.
func (e *Engine) RepairWire(port int) error {
	w, link := e.Wire(port), &e.plan.Ports[port]
	if w.Loss != 0 {
		if err := e.SetLoss(port, 0); err != nil {
			return err
		}
	}
	if w.Corruption != (Corruption{}) {
		if err := e.SetCorruption(port, Corruption{}); err != nil {
			return err
		}
	}
	if w.Delay != link.Delay {
		if err := e.SetDelay(port, link.Delay); err != nil {
			return err
		}
	}
	if w.Rate != link.Rate {
		return e.SetRate(port, link.Rate)
	}
	return nil
}

// SetDelay changes the propagation delay of the wire from a port. Frames on the wire arrive as before, and later ones
// do not overtake them.
func (e *Engine) SetDelay(port int, delay vtime.Time) error {
	if delay < vtime.Nanosecond || delay > vtime.Second {
		return fmt.Errorf("delay %v is outside 1ns..1s", delay)
	}
	p := &e.ports[port]
	fault := e.faultOf(p)
	if p.wire.count > 0 {
		fault.wireEnd = p.wire.end()
	}
	p.delay = delay
	e.quiescence = max(e.quiescence, 4*delay)
	if e.divided() {
		e.lookahead = vtime.Never
		for i := range e.ports {
			if q := &e.ports[i]; q.partition != e.ports[q.peer].partition {
				e.lookahead = min(e.lookahead, q.delay)
			}
		}
		e.window = min(e.window, e.now+e.lookahead)
	}
	e.describeCable(p)
	e.note(port, EventDelay, "%v", delay)
	return nil
}

// SetRate changes the rate of a port. A frame that is being sent ends at the old rate. PAUSEs in force are refreshed,
// as their quanta depend on the rate.
func (e *Engine) SetRate(port int, rate units.Rate) error {
	if rate < units.Mbps || rate > 10*units.Tbps {
		return fmt.Errorf("rate %v is outside 1Mbps..10Tbps", rate)
	}
	p := &e.ports[port]
	p.setRate(rate)
	if far := &e.ports[p.peer]; !far.isSwitch {
		e.nics[far.index].Rate = rate
	}
	e.faultOf(p)
	e.describeCable(p)
	e.note(port, EventRate, "%v", rate)
	return e.flowControl.refreshPeer(&e.worker, &e.ports[p.peer])
}

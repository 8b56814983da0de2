package engine

import (
	"math/bits"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// credits is the engine's part of credit-based flow control: the ports' message timers, and the hosts' side, whose NICs
// know nothing of it. A fabric whose flow control is PFC has none.
//
// A port sends a message about each priority every period, and the ports' timers run at fixed distances from each other: free
// running, as in a real fabric. Were they in step, the whole fabric would stop and go to the beat of the period. The timers
// rest while nothing but messages moves and every peer has been told so: nothing would be said but what is known.
type credits struct {
	settings *switchagent.CBFC
	period   []vtime.Time  // of each port
	full     int           // bytes of the longest frame that a NIC sends
	hosts    []frame.Queue // messages that wait at the hosts' ports, by host
	alive    int           // messages that are waiting or on a wire
	sent     int64         // messages that left a port
	spent    uint64        // frames of all priorities that have left a port
	told     []uint64      // by port: what spent was when it last sent while nothing else moved
	resting  bool          // some timers do
	rests    []bool        // by port
	// Of several regions these stand as the last synchronisation window ended; of one they are read as they are needed.
	quiet bool   // nothing but messages moved
	moved uint64 // what spent was
}

// longestFrame is the longest frame that a NIC sends in a plan's fabric.
func longestFrame(plan *topologies.Plan) int {
	const telemetry = ebpf.TelemetryBytes - 54 // what it adds to a data packet
	return wire.DataLen(wire.OpWriteFirst, plan.MTU) + telemetry
}

// fullSize is the size of a full data packet's frame in switches' buffers.
func fullSize(plan *topologies.Plan) int {
	return plan.Framing.Counted(wire.DataLen(wire.OpWriteMiddle, plan.MTU))
}

// CheckFlowControl says what of a fabric's flow control does not go with its topology; nil without a topology.
func CheckFlowControl(plan *topologies.Plan, s *switchagent.Settings) error {
	if plan == nil || s.FlowControl != switchagent.FlowCBFC {
		return nil
	}
	longest := longestFrame(plan)
	for id := range plan.Ports {
		cable := cableAt(plan, topologies.PortID(id), longest)
		if buffer := cable.Credits(&s.CBFC).Buffer; !s.CBFC.Holds(buffer, plan.Framing.Counted(longest), fullSize(plan)) {
			return schema.Errorf("cbfc.buffer", "%v does not hold the blocks of a frame of %d B: with an MTU of %d a port would wait for ever",
				buffer, longest, plan.MTU)
		}
	}
	return nil
}

// newCredits readies a fabric whose switches' flow control goes by credits. Its links have been initialised: each port knows
// that its peer's buffer is empty, as InfiniBand's initial messages (Op 1) would have told it before the link came up.
func newCredits(plan *topologies.Plan, state *ebpf.State, settings []*switchagent.Settings, live bool) *credits {
	if len(settings) == 0 || settings[0].FlowControl != switchagent.FlowCBFC {
		return nil
	}
	s := &settings[0].CBFC // of the whole fabric
	c := &credits{
		settings: s, full: longestFrame(plan), hosts: make([]frame.Queue, len(plan.Hosts)),
		period: make([]vtime.Time, len(plan.Ports)), told: make([]uint64, len(plan.Ports)), rests: make([]bool, len(plan.Ports)), resting: true,
	}
	longest := longestFrame(plan)
	if live {
		longest = max(longest, InterfaceMTU(plan)+wire.EthernetLen)
	}
	for i := range state.Ports[:len(plan.Ports)] {
		c.rests[i] = true
		p := &state.Ports[i]
		p.CreditVls = s.Priorities
		cable := cableAt(plan, topologies.PortID(i), longest)
		of := cable.Credits(s)
		block := s.BlockSize(of.Buffer, fullSize(plan))
		c.period[i] = of.Period
		p.BlockShift = uint8(bits.TrailingZeros64(uint64(block)))
		p.CreditBuffer = uint32(of.Buffer)
		for m := s.Priorities; m != 0; m &= m - 1 {
			p.Credit[bits.TrailingZeros8(m)].Limit = uint16(min(of.Buffer/block, ebpf.CreditMost))
		}
	}
	return c
}

// phase is a port's place in the period: multiples of the golden ratio are spread evenly, however many ports there are, and
// ports with adjacent numbers stand far apart.
func (c *credits) phase(port int) vtime.Time {
	const golden = 0x9e3779b9 // 2^32 divided by it
	return vtime.Time(uint64(uint32(port)*golden) * uint64(c.period[port]/vtime.Nanosecond) >> 32 * uint64(vtime.Nanosecond))
}

// spendCredits counts a frame that has left port p, and sets the timers going that rest.
func (e *Engine) spendCredits(p *port, f *frame.Frame) {
	c := e.credits
	if c.settings.Priorities>>f.Priority&1 != 0 {
		e.state.Spend(int(p.id), f.Priority, int(f.Length))
	}
	c.spent++
	if c.resting && len(e.regions) == 1 {
		e.wakeCredits(e.now)
	}
}

// tellAgain has the ports' timers go on after a message was lost: its port is wrong about what its peer has been told.
func (e *Engine) tellAgain() {
	c := e.credits
	c.spent++
	if c.resting && len(e.regions) == 1 {
		e.wakeCredits(e.now)
	}
}

// creditsAtBarrier finds out what moves, at the end of a synchronisation window: within, some regions are ahead of others. Timers that rest are set
// going if a frame has left any port.
func (e *Engine) creditsAtBarrier(now vtime.Time) {
	c := e.credits
	if c.resting && c.spent != c.moved {
		e.wakeCredits(now)
	}
	c.quiet, c.moved = e.pool.Out() == c.alive, c.spent
}

// wakeCredits sets the timers going that rest, each at its port's first time after the given one.
func (e *Engine) wakeCredits(after vtime.Time) {
	c := e.credits
	c.resting = false
	for port, rests := range c.rests {
		if rests {
			c.rests[port] = false
			at := c.phase(port)
			if at <= after {
				at += ((after-at)/c.period[port] + 1) * c.period[port]
			}
			e.push(at, eventCredit, int32(port))
		}
	}
}

// sendCredits has port p's messages built and sent: its time has come.
func (e *Engine) sendCredits(p *port) error {
	c := e.credits
	if len(e.regions) == 1 {
		c.quiet, c.moved = e.pool.Out() == c.alive, c.spent
	}
	if c.quiet && c.told[p.id] == c.moved {
		c.resting, c.rests[p.id] = true, true
		return nil
	}
	if c.quiet {
		c.told[p.id] = c.moved
	}
	e.push(e.now+c.period[p.id], eventCredit, p.id)
	for m := c.settings.Priorities; m != 0; m &= m - 1 {
		if _, err := e.trigger(p, ebpf.TriggerCredit, 0, uint8(bits.TrailingZeros8(m))); err != nil {
			return err
		}
	}
	return nil
}

// queueCredit puts a message that was built into the queue of its port.
func (e *Engine) queueCredit(p *port, f *frame.Frame) error {
	e.credits.alive++
	if p.isSwitch {
		return e.enqueue(p.id, f, 0)
	}
	f.Priority = 0
	if p.faulty && p.fault.down {
		e.refused(p, f)
		return nil
	}
	e.credits.hosts[p.index].Push(f)
	return e.serve(p)
}

// gateHost has a host's port go OFF for a priority that lacks the credits for a full frame: the port does not know what the
// NIC would send next.
func (e *Engine) gateHost(p *port) {
	if !e.nics[p.index].Waiting() {
		return
	}
	for _, priority := range [...]uint8{e.hosts.DataPriority, e.hosts.ControlPriority} {
		if e.credits.settings.Priorities>>priority&1 != 0 && !e.state.Paused(int(p.id), priority, e.now) {
			e.state.HasCredit(e.now, int(p.id), priority, e.credits.full)
		}
	}
}

// CreditMessages is how many credit messages have left a port.
func (e *Engine) CreditMessages() int64 {
	if e.credits == nil {
		return 0
	}
	return e.credits.sent
}

// checkCredits: what a port counts as sent its peer has received or is on the wire; none has sent more than it may, nor has
// any buffered more than its buffer holds; every message arrives, and none told of anything but what had come.
func (e *Engine) checkCredits() {
	if e.credits == nil {
		return
	}
	const invariant = "credits add up"
	for i := range e.ports {
		p, r := &e.ports[i], &e.state.Ports[i]
		far := &e.state.Ports[p.peer]
		name := e.plan.Ports[i].Name
		var flying [switchagent.Priorities]uint16
		var messages, waiting uint64
		p.wire.each(func(f *frame.Frame) {
			if f.Control {
				messages++
			} else {
				flying[f.Priority] += e.state.Blocks(i, int(f.Length))
			}
		})
		if p.isSwitch {
			e.switches[p.index].Port(i).EachControl(func(*frame.Frame) { waiting++ })
		} else {
			waiting = uint64(e.credits.hosts[p.index].Packets)
		}
		var lost uint64
		if f := p.fault; f != nil {
			lost = uint64(f.lostCredits)
		}
		if r.CreditsSent != far.CreditsReceived+messages+waiting+lost {
			e.fail(invariant, name, "%d messages built, %d waiting, %d on the wire, %d lost by faults, %d received",
				r.CreditsSent, waiting, messages, lost, far.CreditsReceived)
		}
		repairs := e.ports[p.peer].fault != nil // what a fault loses its messages put right
		if r.CreditRepairs != 0 && !repairs {
			e.fail(invariant, name, "%d messages told of other blocks than had come", r.CreditRepairs)
		}
		for m := e.credits.settings.Priorities; m != 0; m &= m - 1 {
			priority := uint8(bits.TrailingZeros8(m))
			sent, received := r.Credit[priority].Sent, far.Credit[priority].Received
			if (sent-received-flying[priority])%ebpf.CreditRange != 0 && p.fault == nil {
				e.fail(invariant, name, "priority %d: %d blocks sent, %d on the wire, %d received (modulo %d)",
					priority, sent, flying[priority], received, ebpf.CreditRange)
			}
			if left := e.state.Credits(i, priority); left > ebpf.CreditMost {
				e.fail(invariant, name, "priority %d: %d blocks sent of %d granted (modulo %d)", priority, sent, r.Credit[priority].Limit, ebpf.CreditRange)
			}
			if most := r.Class[priority].Peak; most > r.CreditBuffer {
				e.fail(invariant, name, "priority %d: %d bytes were buffered, the buffer is %v", priority, most, units.Bytes(r.CreditBuffer))
			}
		}
	}
}

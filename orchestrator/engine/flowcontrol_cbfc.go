package engine

import (
	"math/bits"
	"slices"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/cycle"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// cbfc implements credit-based flow control: the ports' message timers, and the hosts' side, as NICs do not implement
// it.
//
// A port sends a message about each priority every period. The ports' timers are offset from each other, like the
// unsynchronised timers of a real fabric; in step, they would stop and start the whole fabric once per period. The
// timers rest while only messages move and every peer has the latest state, because messages would only repeat it.
type cbfc struct {
	settings  *switchagent.CBFC // settings of the whole fabric
	period    []vtime.Time      // message period by port
	announced []uint64          // by port: value of spent when it last sent while only messages moved
	resting   []bool            // by port
	// State at the last poll: with several partitions, at the end of the last synchronisation window.
	quiet       bool   // only messages moved
	spentAtPoll uint64 // value of spent
}

// creditCounts holds the counts of credit-based flow control over a run.
type creditCounts struct {
	alive   int    // messages that wait at a port or are on a wire
	sent    int64  // messages that left a port
	spent   uint64 // frames of all priorities that have left a port
	resting bool   // some ports' timers rest
}

// newCBFC initialises the links of a fabric with credit-based flow control. Each port knows that its peer's buffer is
// empty, as after InfiniBand's initial messages (Op 1).
func newCBFC(e *Engine) *cbfc {
	plan, s := e.plan, &e.settings[0].CBFC
	c := &cbfc{
		settings: s, period: make([]vtime.Time, len(plan.Ports)), announced: make([]uint64, len(plan.Ports)),
		resting: make([]bool, len(plan.Ports)),
	}
	e.credits.resting = true
	longest := e.longest
	if e.features.Live {
		longest = max(longest, plan.InterfaceMTU+wire.EthernetLen)
	}
	for i := range e.state.Ports[:len(plan.Ports)] {
		c.resting[i] = true
		e.state.Ports[i].CreditVls = s.Priorities
		cable := fill.CableAt(plan, topologies.PortID(i), longest)
		of := cable.Credits(s)
		block := s.BlockSize(of.Buffer, fill.FullSize(plan))
		c.period[i] = of.Period
		p := &e.state.Extras[i]
		p.Uncounted = uint32(plan.Framing.Uncounted())
		p.BlockShift = uint32(bits.TrailingZeros64(uint64(block)))
		p.CreditBuffer = uint32(of.Buffer)
		for m := s.Priorities; m != 0; m &= m - 1 {
			p.Credit[bits.TrailingZeros8(m)].Limit = uint16(min(of.Buffer/block, ebpf.CreditMost))
		}
	}
	return c
}

func (c *cbfc) usesPause() bool { return false }

func (c *cbfc) longestTimer() vtime.Time { return slices.Max(c.period) }

// seesBarriers returns true: timers come to rest at barriers.
func (c *cbfc) seesBarriers() bool { return true }

func (c *cbfc) countsFrames() bool { return true }

func (c *cbfc) gate(w *worker, p *port, priorities uint8, size int) {
	for m := priorities & c.settings.Priorities; m != 0; m &= m - 1 {
		if priority := uint8(bits.TrailingZeros8(m)); !w.state.Paused(int(p.id), priority, w.now) {
			w.state.HasCredit(w.now, int(p.id), priority, size)
		}
	}
}

// departed counts the blocks of the peer's buffer that a frame uses, and restarts resting timers.
func (c *cbfc) departed(w *worker, p *port, f *frame.Frame) {
	if f.Control {
		w.credits.sent++
		return
	}
	if c.settings.Priorities>>f.Priority&1 != 0 {
		w.state.Spend(int(p.id), f.Priority, int(f.Length))
	}
	c.spend(w)
}

func (c *cbfc) arrived(w *worker, _ *port, f *frame.Frame) {
	if f.Control && w.pass.Verdict == ebpf.VerdictConsumed {
		w.credits.alive--
	}
}

// freed does nothing: the next message announces the free space.
func (c *cbfc) freed(*worker, *switchagent.Switch) error { return nil }

// pauseWanted does nothing. No account reaches the limit (cbfcLevels.limit), unless it breaks an invariant.
func (c *cbfc) pauseWanted(*worker, *port, uint8) error { return nil }

// timer builds and sends a port's messages, which are due.
func (c *cbfc) timer(w *worker, ev event) error {
	p := &w.ports[ev.ID]
	if !w.divided() {
		c.poll(w, w.pool.Out())
	}
	if c.quiet && c.announced[p.id] == c.spentAtPoll {
		w.credits.resting, c.resting[p.id] = true, true
		return nil
	}
	if c.quiet {
		c.announced[p.id] = c.spentAtPoll
	}
	w.push(p.partition, w.now+c.period[p.id], eventCredit, p.id)
	for m := c.settings.Priorities; m != 0; m &= m - 1 {
		priority := uint8(bits.TrailingZeros8(m))
		f, _, err := w.build(p, ebpf.TriggerCredit, 0, priority, ebpf.CreditLen)
		if t := w.monitor.tracer; t != nil && p.isSwitch {
			t.Pausing(w.now, int(p.id), priority, PauseAccount)
		}
		if f != nil {
			err = c.queue(w, p, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// queue puts a message that was built into the queue of its port.
func (c *cbfc) queue(w *worker, p *port, f *frame.Frame) error {
	w.credits.alive++
	f.Control = true
	if p.isSwitch {
		return w.enqueue(p.id, f, 0)
	}
	f.Priority = 0
	if p.faulty && p.fault.down {
		w.refused(p, f)
		return nil
	}
	p.queueControl(f)
	return w.serve(p)
}

// barrier polls at the end of a synchronisation window: within it, some partitions are ahead of others. It restarts
// resting timers if a frame has left any port.
func (c *cbfc) barrier(e *Engine, now vtime.Time) {
	if e.credits.resting && e.credits.spent != c.spentAtPoll {
		c.wake(&e.worker, now)
	}
	c.poll(&e.worker, e.pool.Out())
}

// poll records whether only messages move now. frames is the number of frames in the fabric.
func (c *cbfc) poll(w *worker, frames int) {
	c.quiet, c.spentAtPoll = frames == w.credits.alive, w.credits.spent
}

// spend counts a frame that leaves a port, and restarts the timers: there is something to announce.
func (c *cbfc) spend(w *worker) {
	w.credits.spent++
	if w.credits.resting && !w.divided() {
		c.wake(w, w.now)
	}
}

// wake restarts the resting timers, each at its port's first time after the given one.
func (c *cbfc) wake(w *worker, after vtime.Time) {
	w.credits.resting = false
	for port, rests := range c.resting {
		if rests {
			c.resting[port] = false
			at := c.phase(port)
			if at <= after {
				at += ((after-at)/c.period[port] + 1) * c.period[port]
			}
			w.push(w.ports[port].partition, at, eventCredit, int32(port))
		}
	}
}

// phase returns a port's offset in the period. Multiples of the golden ratio are spread evenly for any number of ports,
// and ports with adjacent numbers get distant offsets.
func (c *cbfc) phase(port int) vtime.Time {
	const golden = 0x9e3779b9 // 2^32 divided by the golden ratio
	period := uint64(c.period[port] / vtime.Nanosecond)
	return vtime.Time(uint64(uint32(port)*golden)*period>>32) * vtime.Nanosecond
}

// linkDown does nothing: there are no credits until the link comes up.
func (c *cbfc) linkDown(*worker, *port) {}

// linkUp initialises a link, as newCBFC does for all: nothing has been sent, and all free space is granted.
func (c *cbfc) linkUp(w *worker, ends [2]*port) error {
	for _, p := range ends {
		r, far := &w.state.Extras[p.id], &w.state.Extras[p.peer]
		classes, farClasses := &w.state.Ports[p.id].Class, &w.state.Ports[p.peer].Class
		for m := c.settings.Priorities; m != 0; m &= m - 1 {
			i := bits.TrailingZeros8(m)
			free := far.CreditBuffer - min(farClasses[i].Buffered, far.CreditBuffer)
			r.Credit[i].Sent, far.Credit[i].Received = 0, 0
			r.Credit[i].Limit = uint16(min(free>>r.BlockShift, ebpf.CreditMost))
			r.Credit[i].Needed = 0
			classes[i].PausedUntil = min(classes[i].PausedUntil, uint64(w.now))
		}
	}
	return nil
}

// refreshPeer does nothing: the next message announces everything.
func (c *cbfc) refreshPeer(*worker, *port) error { return nil }

// lost restarts the timers: the port's record of its peer's state is wrong.
func (c *cbfc) lost(w *worker, p *port, _ *frame.Frame) {
	p.fault.lostCredits++
	w.credits.alive--
	c.spend(w)
}

func (c *cbfc) refused(w *worker, p *port, _ *frame.Frame) {
	p.fault.lostCredits++
	w.credits.alive--
}

func (c *cbfc) priorityOf(f *frame.Frame) uint8 { return f.Priority }

// staysPaused reports whether the free space, when only these bytes remain, is too small for the waiting frame.
func (c *cbfc) staysPaused(d dependencies, account cycle.PortPriority, bytes, _ uint64) bool {
	r := &d.state.Extras[account.Port]
	free := uint64(r.CreditBuffer) - min(bytes, uint64(r.CreditBuffer))
	needed := uint64(d.state.Extras[d.ports[account.Port].peer].Credit[account.Priority].Needed)
	return needed != 0 && min(free>>r.BlockShift, ebpf.CreditMost) < needed
}

// CreditMessages returns the number of credit messages that have left a port.
func (e *Engine) CreditMessages() int64 {
	return e.credits.sent
}

// check checks the credits. Blocks that a port has sent are received or on the wire. No port has sent more than it may,
// or buffered more than its buffer. Every message arrives and reports all blocks that have arrived. There is no PAUSE.
func (c *cbfc) check(e *Engine) {
	const invariant = "credits add up"
	for i := range e.ports {
		p, r := &e.ports[i], &e.state.Extras[i]
		far := &e.state.Extras[p.peer]
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
		} else if p.control != nil {
			waiting = uint64(p.control.Packets)
		}
		var lost uint64
		if f := p.fault; f != nil {
			lost = uint64(f.lostCredits)
		}
		if r.CreditsSent != far.CreditsReceived+messages+waiting+lost {
			e.fail(invariant, name, "%d messages built, %d waiting, %d on the wire, %d lost by faults, %d received",
				r.CreditsSent, waiting, messages, lost, far.CreditsReceived)
		}
		if n := r.PausesSent + r.ResumesSent + r.PausesReceived + r.ResumesReceived; n != 0 {
			e.fail("every pause arrives", name,
				"%d PAUSEs and RESUMEs were built or received where flow control goes by credits", n)
		}
		repairs := e.ports[p.peer].fault != nil // messages repair the counts after a fault has lost frames
		if r.CreditRepairs != 0 && !repairs {
			e.fail(invariant, name, "%d messages told of other blocks than had come", r.CreditRepairs)
		}
		for m := c.settings.Priorities; m != 0; m &= m - 1 {
			priority := uint8(bits.TrailingZeros8(m))
			sent, received := r.Credit[priority].Sent, far.Credit[priority].Received
			if (sent-received-flying[priority])%ebpf.CreditRange != 0 && p.fault == nil {
				e.fail(invariant, name, "priority %d: %d blocks sent, %d on the wire, %d received (modulo %d)",
					priority, sent, flying[priority], received, ebpf.CreditRange)
			}
			if left := e.state.Credits(i, priority); left > ebpf.CreditMost {
				e.fail(invariant, name, "priority %d: %d blocks sent of %d granted (modulo %d)", priority, sent,
					r.Credit[priority].Limit, ebpf.CreditRange)
			}
			if most := e.state.Ports[i].Class[priority].Peak; most > r.CreditBuffer {
				e.fail(invariant, name, "priority %d: %d bytes were buffered, the buffer is %v", priority, most,
					units.Bytes(r.CreditBuffer))
			}
		}
	}
}

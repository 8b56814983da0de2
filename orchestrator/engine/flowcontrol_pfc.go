package engine

import (
	"math/bits"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/cycle"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// pfc implements flow control by PAUSE and RESUME (IEEE 802.1Qbb). An ingress pipeline requests a PAUSE when a frame
// takes its account to XOFF, and the traffic manager a RESUME when a dequeue takes it to XON. A PAUSE is refreshed when
// half of its time has passed. Its state is in the ports.
type pfc struct{}

func (pfc) usesPause() bool { return true }

// longestTimer returns 0: PAUSEs are refreshed only while something holds a peer, which may last for ever in a cycle.
func (pfc) longestTimer() vtime.Time { return 0 }

func (pfc) seesBarriers() bool { return false }

// countsFrames returns false: the pipelines and the traffic manager keep the accounts.
func (pfc) countsFrames() bool { return false }

// gate does nothing: the registers of a host's port hold the paused priorities.
func (pfc) gate(*worker, *port, uint8, int) {}

func (pfc) departed(w *worker, p *port, f *frame.Frame) {
	if f.Control {
		p.pfcSent[pauseIndex(f)]++
		w.monitor.departed(w.now, p, f)
	}
}

func (pfc) arrived(w *worker, in *port, f *frame.Frame) {
	in.readPause(w.now, f)
	if f.Control {
		w.monitor.consumedPFC(w.now, in, f)
	}
}

func (c pfc) freed(w *worker, s *switchagent.Switch) error { return c.resume(w, s) }

func (c pfc) pauseWanted(w *worker, in *port, priority uint8) error {
	if in.faulty {
		in.fault.beginPause(priority, w.now)
	}
	before := w.state.Extras[in.id].PausesSent
	if err := c.sendPause(w, in, priority); err != nil || w.state.Extras[in.id].PausesSent == before {
		return err
	}
	w.switches[in.index].Paused(int(in.id), priority)
	c.scheduleRefresh(w, in, priority)
	return nil
}

func (c pfc) timer(w *worker, ev event) error { return c.refresh(w, int(ev.ID>>3), uint8(ev.ID&7)) }

func (pfc) barrier(*Engine, vtime.Time) {}

func (pfc) linkDown(w *worker, p *port) {
	p.pauses = 0
	for i := range w.state.Ports[p.id].Class {
		c := &w.state.Ports[p.id].Class[i]
		c.PausedUntil = min(c.PausedUntil, uint64(w.now))
	}
}

func (c pfc) linkUp(w *worker, ends [2]*port) error {
	for _, p := range ends {
		// Until the PAUSE arrives the peer may send frames for which there is no room.
		var pausing uint8
		for i := range w.state.Ports[p.id].Class {
			pausing |= w.state.Ports[p.id].Class[i].Pausing << i
		}
		p.fault.losePause(p, w.now, w.now, pausing)
		if err := c.refreshPeer(w, p); err != nil {
			return err
		}
	}
	return nil
}

func (c pfc) refreshPeer(w *worker, p *port) error {
	if p.fault != nil && p.fault.down {
		return nil
	}
	if !p.isSwitch {
		if r := p.receiver(); r != nil && r.pausing {
			r.pausePeer(w, p)
		}
		return w.serve(p)
	}
	for m := w.settings[p.index].PFC.Priorities; m != 0; m &= m - 1 {
		priority := uint8(bits.TrailingZeros8(m))
		// a RESUME is due, which ends the pause
		if w.state.Ports[p.id].Class[priority].Pausing == 0 || w.state.ResumeDue(int(p.id), priority) {
			continue
		}
		if err := c.sendPause(w, p, priority); err != nil {
			return err
		}
		c.scheduleRefresh(w, p, priority)
	}
	return nil
}

func (pfc) lost(w *worker, p *port, f *frame.Frame) {
	p.fault.lostPFC[pauseIndex(f)]++
	p.fault.losePause(p, f.Departed, w.now, pausedBy(f))
}

func (pfc) refused(w *worker, p *port, f *frame.Frame) {
	p.fault.refusedPFC[pauseIndex(f)]++
	p.fault.losePause(p, w.now, w.now, pausedBy(f))
}

// priorityOf returns the priority that a PFC frame pauses or resumes.
func (pfc) priorityOf(f *frame.Frame) uint8 {
	return uint8(bits.TrailingZeros8(wire.PFC(f.Data()).ClassEnable()))
}

// staysPaused reports whether the account stays above XON.
func (pfc) staysPaused(d dependencies, account cycle.PortPriority, bytes, used uint64) bool {
	return d.state.Ports[account.Port].Class[account.Priority].Pausing != 0 &&
		(d.Headroom(account, bytes) != 0 || bytes > d.state.ResumeLevel(account.Port, used))
}

// sendPause lets the pipeline of ingress port in build a PAUSE that is still due: the first of a pause, or a refresh.
func (c pfc) sendPause(w *worker, in *port, priority uint8) error {
	f, _, err := w.build(in, ebpf.TriggerPause, 0, priority, ebpf.FrameMin)
	if f == nil {
		return err
	}
	w.monitor.built(w.now, in, priority, PauseAccount)
	return c.enqueue(w, f)
}

// enqueue queues the PFC frame that was just built.
func (pfc) enqueue(w *worker, f *frame.Frame) error {
	f.Control = true
	return w.enqueue(int32(w.pass.Egress), f, uint8(w.pass.OutPriority))
}

// scheduleRefresh schedules the next PAUSE for when half of this one has passed, so that the pause does not expire
// while it is needed.
func (pfc) scheduleRefresh(w *worker, in *port, priority uint8) {
	at := w.now + vtime.Time(w.state.Ports[in.id].Quantum)*vtime.Time(w.settings[in.index].PFC.Quanta)/2
	in.pausings().refreshAt[priority] = at
	w.push(in.partition, at, eventRefresh, in.id<<3|int32(priority))
}

// refresh sends the next PAUSE of a pause, unless a RESUME, or a later PAUSE, was sent in between.
func (c pfc) refresh(w *worker, id int, priority uint8) error {
	in := &w.ports[id]
	if w.state.Ports[id].Class[priority].Pausing == 0 || in.pausings().refreshAt[priority] != w.now {
		return nil
	}
	// A frame that was refused left its account without a dequeue; with a dynamic threshold that may be enough to resume.
	s := w.switches[in.index]
	s.FindDue()
	if err := c.resume(w, s); err != nil || w.state.Ports[id].Class[priority].Pausing == 0 {
		return err
	}
	if err := c.sendPause(w, in, priority); err != nil {
		return err
	}
	c.scheduleRefresh(w, in, priority)
	return nil
}

// resume builds the RESUMEs that are due since a switch's last dequeue.
func (c pfc) resume(w *worker, s *switchagent.Switch) error {
	for len(s.Due()) > 0 {
		d := s.Due()[0]
		s.Resumed(d.Port, d.Priority)
		f, _, err := w.build(&w.ports[d.Port], ebpf.TriggerResume, 0, d.Priority, ebpf.FrameMin)
		if f != nil {
			err = c.enqueue(w, f)
		}
		if err != nil {
			return err
		}
		// Serving the ingress port may have dequeued, which replaces Due. RESUMEs that are not built yet are still due.
		s.FindDue()
	}
	return nil
}

// check checks that each PAUSE and RESUME that was built has left, is queued or was refused, and that each that left
// has arrived, is on the wire or was lost.
func (pfc) check(e *Engine) {
	for i := range e.ports {
		p, r, far := &e.ports[i], &e.state.Extras[i], &e.state.Extras[e.ports[i].peer]
		name := e.plan.Ports[i].Name
		var flying, waiting, forged [2]int64 // forged: sent by programs
		var lost, refused [2]int64
		if f := p.fault; f != nil {
			lost, refused = f.lostPFC, f.refusedPFC
		}
		count := func(into *[2]int64) func(f *frame.Frame) {
			return func(f *frame.Frame) {
				if f.Control {
					into[pauseIndex(f)]++
				}
			}
		}
		p.wire.each(count(&flying))
		if p.isSwitch {
			e.switches[p.index].Port(i).EachControl(count(&waiting))
		} else if p.control != nil {
			p.control.Each(count(&waiting))
		}
		if p.hostStack != nil {
			forged = p.hostStack.forged
		}
		sent := [2]int64{int64(r.ResumesSent), int64(r.PausesSent)}
		received := [2]int64{int64(far.ResumesReceived), int64(far.PausesReceived)}
		for k, what := range [2]string{"RESUME", "PAUSE"} {
			if sent[k] != p.pfcSent[k]+waiting[k]+refused[k] || p.pfcSent[k]+forged[k] != received[k]+flying[k]+lost[k] {
				e.fail("every pause arrives", name, "%s: %d built, %d waiting, %d without a link, %d sent, %d on the wire, "+
					"%d lost by faults, %d received",
					what, sent[k], waiting[k], refused[k], p.pfcSent[k], flying[k], lost[k], received[k])
			}
		}
	}
}

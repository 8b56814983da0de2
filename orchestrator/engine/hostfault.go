package engine

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// SetReceiver makes the NIC of an interface a slow receiver, or changes its settings. nil makes it healthy: it receives
// all waiting frames at once.
func (e *Engine) SetReceiver(nic int, slow *hostagent.SlowReceiver) error {
	p := e.hostPort(nic)
	if slow == nil {
		r := p.receiver()
		if r == nil {
			return nil
		}
		p.fault.receiver = nil
		e.note(int(p.id), EventReceiver, "line rate")
		for f := r.queue.Pop(); f != nil; f = r.queue.Pop() {
			e.deliver(p, f)
		}
		if r.pausing {
			r.resumePeer(&e.worker, p)
		}
		return e.serve(p)
	}
	if slow.Rate <= 0 {
		return errors.New("a slow receiver needs a rate")
	}
	if err := slow.Validate(); err != nil {
		return err
	}
	r := p.receiver()
	if r == nil {
		r = &receiver{drained: vtime.Never}
		e.faultOf(p).receiver = r
	}
	r.SlowReceiver = *slow
	e.note(int(p.id), EventReceiver, "%v, buffer %v, XOFF %v, XON %v", r.Rate, r.Buffer, r.XOFF, r.XON)
	return nil
}

// endFaulty queues a frame at a slow receiver, and reports whether there is one.
//
//go:noinline
func (w *worker) endFaulty(in *port, f *frame.Frame) bool {
	r := in.fault.receiver
	if r == nil || w.pass.Verdict != ebpf.VerdictHost {
		return false
	}
	size := int64(w.plan.Framing.Counted(int(f.Length)))
	if units.Bytes(r.buffered+size) > r.Buffer {
		w.countLoss(in, LossReceiver, f)
		return true
	}
	r.queue.Push(f)
	r.buffered += size
	w.state.Ports[in.id].Class[f.Priority].Buffered += uint32(size)
	if r.drained == vtime.Never {
		r.drained = w.now + r.Rate.TimeFor(int64(f.Length))
		w.push(in.partition, r.drained, eventDrain, in.id)
	}
	if !r.pausing && units.Bytes(r.buffered) >= r.XOFF && w.flowControl.usesPause() {
		r.pausing = true
		r.pausePeer(w, in)
		w.mustServe(in)
	}
	return true
}

// drain delivers the first frame of the receiver's buffer. A nil r means that the NIC is healthy now.
func (r *receiver) drain(w *worker, p *port) error {
	if r == nil || r.drained != w.now {
		return nil
	}
	f := r.queue.Pop()
	r.buffered -= int64(w.plan.Framing.Counted(int(f.Length)))
	w.deliver(p, f)
	r.drained = vtime.Never
	if next := r.queue.Head(); next != nil {
		r.drained = w.now + r.Rate.TimeFor(int64(next.Length))
		w.push(p.partition, r.drained, eventDrain, p.id)
	}
	if r.pausing && units.Bytes(r.buffered) <= r.XON {
		r.pausing = false
		r.resumePeer(w, p)
	}
	return w.serve(p)
}

// deliver ends a frame at a NIC.
func (w *worker) deliver(p *port, f *frame.Frame) {
	w.state.Ports[p.id].Class[f.Priority].Buffered -= uint32(w.plan.Framing.Counted(int(f.Length)))
	w.endFrame(int(f.Length))
	w.lastProgress = max(w.lastProgress, w.now)
	w.nics[p.index].Receive(w.now, f)
	w.pool.Put(f)
}

// pfcAt returns the PFC settings of the switch of a host's port.
func (w *worker) pfcAt(p *port) *switchagent.PFC { return &w.settings[w.ports[p.peer].index].PFC }

// pausePeer queues the PAUSEs of a receiver without room, and schedules their refresh.
func (r *receiver) pausePeer(w *worker, p *port) {
	pfc := w.pfcAt(p)
	w.queuePFC(p, pfc.Priorities, pfc.Quanta, PauseReceiver)
	r.pauseAt = w.now + vtime.Time(w.state.Ports[p.id].Quantum)*vtime.Time(pfc.Quanta)/2
	w.push(p.partition, r.pauseAt, eventReceiverPause, p.id)
}

func (*receiver) resumePeer(w *worker, p *port) {
	w.queuePFC(p, w.pfcAt(p).Priorities, wire.Resume, PauseReceiver)
}

// refreshPause refreshes a slow receiver's PAUSE. A nil r means that the NIC is healthy now.
func (r *receiver) refreshPause(w *worker, p *port) error {
	if r == nil || !r.pausing || r.pauseAt != w.now {
		return nil
	}
	r.pausePeer(w, p)
	return w.serve(p)
}

// queuePFC builds a host's PFC frames, one per priority, and queues them ahead of all other frames.
func (w *worker) queuePFC(p *port, priorities uint8, quanta uint16, why PauseCause) {
	for ; priorities != 0; priorities &= priorities - 1 {
		f := w.pool.Get(wire.PFCLen)
		priority := uint8(bits.TrailingZeros8(priorities))
		wire.PutPause(f.Data(), w.plan.Ports[p.id].MAC, priority, quanta)
		f.Control, f.Priority = true, 0
		f.OnSince, f.QueueBytes, f.QueuePackets, f.Burst = 0, 0, 0, 0
		w.Created.add(int(f.Length))
		if quanta == wire.Resume {
			w.state.Extras[p.id].ResumesSent++
		} else {
			w.state.Extras[p.id].PausesSent++
			w.monitor.built(w.now, p, priority, why)
		}
		if p.fault.down {
			w.refused(p, f)
			continue
		}
		p.queueControl(f)
	}
}

// InjectPFCStorm makes the NIC of an interface send PAUSE for priorities every interval, with the maximum pause time,
// like a NIC whose receive side hangs. Zero priorities end the storm; the last PAUSE then expires.
func (e *Engine) InjectPFCStorm(nic int, priorities uint8, interval vtime.Time) error {
	p := e.hostPort(nic)
	if !e.flowControl.usesPause() {
		return errors.New("there is no PAUSE under credit-based flow control")
	}
	if priorities == 0 {
		if p.fault != nil && p.fault.storm != nil {
			p.fault.storm = nil
			e.note(int(p.id), EventPFCStorm, "ends")
		}
		return nil
	}
	if interval < vtime.Microsecond {
		return fmt.Errorf("interval %v between PAUSEs is below 1us", interval)
	}
	e.faultOf(p).storm = &injectedStorm{priorities: priorities, interval: interval, next: e.now}
	e.note(int(p.id), EventPFCStorm, "priorities %v every %v", list(priorities), interval)
	if !e.started { // no frames may exist before the first Run
		e.push(p.partition, e.now, eventPFCStorm, p.id)
		return nil
	}
	return p.fault.storm.send(&e.worker, p)
}

// send sends the next PAUSEs of an injected storm. A nil f means that the storm has ended.
func (f *injectedStorm) send(w *worker, p *port) error {
	if f == nil || f.next != w.now {
		return nil
	}
	w.queuePFC(p, f.priorities, wire.PauseMax, PauseStorm)
	f.next = w.now + f.interval
	w.push(p.partition, f.next, eventPFCStorm, p.id)
	return w.serve(p)
}

// list returns a set of priorities as numbers.
func list(set uint8) (numbers []int) {
	for ; set != 0; set &= set - 1 {
		numbers = append(numbers, bits.TrailingZeros8(set))
	}
	return numbers
}

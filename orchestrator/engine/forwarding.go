package engine

import (
	"errors"
	"math/bits"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// serve sends the next frame of a port, if the port is free and has one.
func (w *worker) serve(p *port) error {
	if w.now < p.busyUntil {
		if !p.freeArmed {
			p.freeArmed = true
			w.pushOwn(p, p.busyUntil, eventFree)
		}
		return nil
	}
	var f *frame.Frame
	var wake vtime.Time
	if p.isSwitch {
		f, wake = w.switches[p.index].Dequeue(w.now, int(p.id))
	} else {
		f, wake = w.pull(p)
	}
	if f == nil {
		if w.countsFrames && w.monitor.tracer != nil {
			w.traceCredits(p)
		}
		if wake < p.wakeAt {
			p.wakeAt = wake
			w.pushOwn(p, wake, eventWake)
		}
		return nil
	}
	if !f.Control && w.mayNotLeave(p, f) {
		w.fail("no data leaves a paused port", w.plan.Ports[p.id].Name, "a frame of priority %d left", f.Priority)
	}
	n := int(f.Length)
	serialisation := p.serialise(w.plan.Framing.LineBytes(n))
	f.Departed = w.now
	p.busyUntil = w.now + serialisation
	p.busy += serialisation
	p.txFrames++
	p.txBytes[f.Priority] += int64(n)
	if w.waiting(p) && !p.freeArmed {
		p.freeArmed = true
		w.pushOwn(p, p.busyUntil, eventFree)
	}
	if t := w.monitor.tracer; t != nil {
		t.Departed(w.now, int(p.id), f, serialisation)
	}
	arrival := p.busyUntil + p.delay
	if p.faulty {
		arrival = max(arrival, p.fault.wireEnd)
	}
	if p.wire.count == 0 {
		w.scheduleArrival(p, arrival)
	}
	p.wire.push(f, arrival, &w.freeChunks)
	if !f.Control {
		w.lastProgress = max(w.lastProgress, w.now)
	}
	if f.Control || w.countsFrames {
		w.flowControl.departed(w, p, f)
	}
	if p.isSwitch {
		return w.freed(w.switches[p.index])
	}
	return nil
}

// freed lets flow control act on work that has become due at a switch since frames left it.
func (w *worker) freed(s *switchagent.Switch) error {
	if len(s.Due()) == 0 {
		return nil
	}
	return w.flowControl.freed(w, s)
}

// waiting reports whether anything may want to leave a port as soon as it is free. If not, the port needs no event:
// later frames compare the time.
func (w *worker) waiting(p *port) bool {
	if p.isSwitch {
		return w.switches[p.index].Port(int(p.id)).Waiting()
	}
	return w.nics[p.index].Waiting() || p.control != nil && p.control.Packets > 0 || p.hostStack != nil &&
		p.hostStack.packets > 0
}

// pull returns the next frame of a host's NIC, or when there may be one.
func (w *worker) pull(p *port) (*frame.Frame, vtime.Time) {
	registers := &w.state.Ports[p.id]
	if p.faulty && p.fault.down {
		return nil, vtime.Never
	}
	if p.control != nil {
		if f := p.control.Pop(); f != nil {
			return f, 0
		}
	}
	if w.countsFrames && w.nics[p.index].Waiting() {
		// The size of the NIC's next frame is unknown, so there must be room for the longest.
		w.flowControl.gate(w, p, 1<<w.hosts.DataPriority|1<<w.hosts.ControlPriority|w.data, w.longest)
	}
	f, wake := w.choose(p, registers)
	if f == nil {
		return nil, wake
	}
	w.Created.add(int(f.Length))
	f.QueueBytes, f.QueuePackets, f.Burst = 0, 0, 0
	f.OnSince = registers.Class[f.Priority].PausedUntil
	return f, 0
}

// choose returns the next frame that flow control lets a host's port send, or when there may be one.
func (w *worker) choose(p *port, registers *ebpf.Port) (*frame.Frame, vtime.Time) {
	if p.hostStack != nil {
		return w.pullShared(p)
	}
	var off uint8
	ends := vtime.Never
	for _, priority := range [...]uint8{w.hosts.DataPriority, w.hosts.ControlPriority} {
		if until := vtime.Time(registers.Class[priority].PausedUntil); until > w.now {
			off |= 1 << priority
			ends = min(ends, until)
		}
	}
	for more := w.data &^ (1<<w.hosts.DataPriority | 1<<w.hosts.ControlPriority); more != 0; more &= more - 1 {
		priority := bits.TrailingZeros8(more)
		if until := vtime.Time(registers.Class[priority].PausedUntil); until > w.now {
			off |= 1 << priority
			ends = min(ends, until)
		}
	}
	f, wake := w.nics[p.index].Dequeue(w.now, off)
	return f, min(wake, ends)
}

// arrive moves the first frame on the wire from port p to the far end: through p's egress pipeline and the peer's
// ingress pipeline, and on from there.
func (w *worker) arrive(p *port) error {
	in := &w.ports[p.peer]
	if err := w.catchUp(in, w.now, 0); err != nil {
		return err
	}
	if p.faulty {
		if done, err := w.arriveFaulty(p); done || err != nil {
			return err
		}
	}
	if p.wire.count == 1 { // without it there may be no later arrival
		if err := w.catchUp(p, w.now, 0); err != nil {
			return err
		}
	}
	f := w.takeOff(p)
	in.arrived++
	w.Hops++
	w.depart(p, f)
	x := w.pass
	x.Trigger = ebpf.TriggerNone
	var before marks
	if w.monitor.tracer != nil {
		w.monitor.tracer.Arrived(w.now, int(p.id), f)
		before = w.monitor.marksOf(p, f)
	}
	if err := w.process(in, f); err != nil {
		return w.unprocessed(p, f, err)
	}
	w.monitor.arrived(p, in, f)
	if w.monitor.tracer != nil {
		w.monitor.traceMark(w.now, p, f, before)
	}
	if f.Control || f.HostStack() {
		w.flowControl.arrived(w, in, f)
		if f.HostStack() && w.forProcessor(f) {
			return w.takeSlowPath(in, f)
		}
	}
	// The pass's results do not survive the next one, a trigger's.
	want, priority := x.Want, uint8(x.OutPriority)
	egress, flow := int32(x.Egress), x.WantFlow
	forward := x.Verdict == ebpf.VerdictForward
	if forward {
		f.InPort = in.id
		f.Entry = x.Flow
	} else {
		w.end(in, f)
	}
	// The pipeline's decisions on this frame's arrival take effect before the frame can leave again.
	if want != 0 {
		if err := w.follow(in, want, priority, egress, flow); err != nil {
			return err
		}
	}
	if forward {
		return w.enqueue(egress, f, priority)
	}
	return nil
}

// takeOff removes the first frame from the wire of port p, and schedules the next arrival.
func (w *worker) takeOff(p *port) *frame.Frame {
	f := p.wire.pop(&w.freeChunks)
	next := p.wire.next()
	if p.expected = next != vtime.Never; p.expected {
		w.push(w.ports[p.peer].partition, next, eventArrival, p.id)
	} else if p.deferred.At != vtime.Never {
		w.undefer(p)
	}
	return f
}

// depart copies a frame's departure record to the pass.
func (w *worker) depart(p *port, f *frame.Frame) {
	x := w.pass
	x.OutPort = uint32(p.id)
	x.Departed = uint64(f.Departed)
	x.OnSince = f.OnSince
	x.QueueBytes = f.QueueBytes
	x.QueuePackets = f.QueuePackets
	x.Burst = uint32(f.Burst)
}

// process makes a frame's pass into port in, at the present time.
func (w *worker) process(in *port, f *frame.Frame) error {
	x := w.pass
	x.Now = uint64(w.now)
	x.InPort = uint32(in.id)
	w.Passes++
	if err := w.passes.Process(int(in.id), f); err != nil {
		return err
	}
	w.partitions[in.partition].hash.Frame(w.now, x, int(f.Length), w.passes.Header(f))
	return nil
}

// endFrame counts a frame of n bytes that ends.
func (w *worker) endFrame(n int) {
	w.Ended.add(n)
	w.lastFrameEnd = max(w.lastFrameEnd, w.now)
}

// end ends a frame at port in.
func (w *worker) end(in *port, f *frame.Frame) {
	x := w.pass
	if f.HostStack() {
		w.endHostStack(in, f)
		return
	}
	if in.faulty && w.endFaulty(in, f) {
		return
	}
	w.endFrame(int(f.Length))
	switch x.Verdict {
	case ebpf.VerdictHost:
		w.nics[in.index].Receive(w.now, f)
		w.pool.Put(f)
		w.mustServe(in)
		return
	case ebpf.VerdictConsumed:
	case ebpf.VerdictDrop:
		w.Dropped++
		if w.rerouted && (x.Reason == ebpf.ReasonNoRoute || x.Reason == ebpf.ReasonTTL) {
			w.lost[LossRoute].add(int(f.Length))
			w.faultOf(in).lost[LossRoute].add(int(f.Length))
		} else if x.Reason == ebpf.ReasonNoRoute || x.Reason == ebpf.ReasonTTL || x.Reason == ebpf.ReasonMalformed {
			w.fail("pipelines lose nothing", w.plan.Ports[in.id].Name, "a frame was dropped: %s", ebpf.ReasonNames[x.Reason])
		}
	case ebpf.VerdictNone:
		w.fail("every frame is dealt with", w.plan.Ports[in.id].Name, "the ingress pipeline gave no verdict")
	}
	w.pool.Put(f)
}

// mustServe serves a host's port. Serving a host's port makes no pass, so it cannot fail.
func (w *worker) mustServe(p *port) {
	if err := w.serve(p); err != nil {
		w.fail("a host's port makes no pass", w.plan.Ports[p.id].Name, "%v", err)
	}
}

// enqueue passes a frame for port out to its switch's traffic manager.
func (w *worker) enqueue(out int32, f *frame.Frame, priority uint8) error {
	p := &w.ports[out]
	f.Priority = priority
	if d := w.switches[p.index].Enqueue(int(out), f); d != switchagent.Admitted {
		w.drop(p, f, d)
		return nil
	}
	if t := w.monitor.tracer; t != nil {
		if cut := w.switches[p.index].TakeTrimmed(); cut.Frame != nil {
			t.Trimmed(w.now, int(out), cut.Frame, cut.Length, cut.Priority,
				p.serialise(w.plan.Framing.LineBytes(int(cut.Frame.Length))))
		}
		t.Enqueued(w.now, int(out), f, p.serialise(w.plan.Framing.LineBytes(int(f.Length))))
	}
	return w.serve(p)
}

// follow executes the requests in the result of a pass.
func (w *worker) follow(in *port, want uint32, priority uint8, egress int32, flow uint32) error {
	if want&ebpf.StateChanged != 0 {
		if w.watchdogs != nil {
			w.watchdogs.watchPort(w, in)
		}
		w.monitor.changed(w.now, in, w.pass.Changed)
		// Priorities that are ON now may send. Those that are OFF need no call: Dequeue and pull check paused_until.
		if err := w.serve(in); err != nil {
			return err
		}
	}
	if want&ebpf.WantPause != 0 {
		if err := w.flowControl.pauseWanted(w, in, priority); err != nil {
			return err
		}
	}
	if want&(ebpf.WantWalk|ebpf.WantFlow) == 0 {
		return nil
	}
	for walk := want&ebpf.WantWalk != 0; walk; {
		more, err := w.trigger(&w.ports[egress], ebpf.TriggerWalk, 0)
		if err != nil {
			return err
		}
		walk = more&ebpf.WantWalk != 0
	}
	if want&ebpf.WantFlow != 0 {
		if _, err := w.trigger(&w.ports[egress], ebpf.TriggerFlow, flow); err != nil {
			return err
		}
	}
	w.monitor.builtCNMs(egress, priority)
	return nil
}

// trigger lets the ingress pipeline of port in build a packet, and queues it. It returns the pipeline's other requests.
func (w *worker) trigger(in *port, kind, argument uint32) (want uint32, err error) {
	f, want, err := w.build(in, kind, argument, 0, ebpf.FrameMin)
	if f == nil {
		return want, err
	}
	return want, w.enqueue(int32(w.pass.Egress), f, uint8(w.pass.OutPriority))
}

// build sends a blank frame of n bytes into port in for the ingress pipeline to build a packet in. The frame is nil if
// it builds none.
func (w *worker) build(
	in *port, kind, argument uint32, priority uint8, n int,
) (f *frame.Frame, want uint32, err error) {
	x := w.pass
	x.Trigger = kind
	x.Argument = argument
	x.Priority = uint32(priority)
	x.OutPort = ebpf.NoPort
	f = w.pool.Get(n)
	clear(f.Data())
	w.Triggers++
	if err := w.process(in, f); err != nil {
		w.pool.Put(f)
		return nil, 0, unlessUnfinished(err)
	}
	want = x.Want
	if x.Verdict != ebpf.VerdictForward {
		w.pool.Put(f)
		return nil, want, nil
	}
	w.Created.add(int(f.Length))
	f.InPort, f.Control = -1, false
	if t := w.monitor.tracer; t != nil {
		t.Built(w.now, int(in.id), f)
	}
	return f, want, nil
}

// Departed returns when the frame in the present pass left its port. It is for Taps.
func (e *Engine) Departed() vtime.Time { return vtime.Time(e.pass.Departed) }

// unlessUnfinished returns err if it ends a run.
func unlessUnfinished(err error) error {
	if errors.Is(err, plane.ErrUnfinished) {
		return nil
	}
	return err
}

// unprocessed handles a frame from port p whose pass returned err.
func (w *worker) unprocessed(p *port, f *frame.Frame, err error) error {
	if !errors.Is(err, plane.ErrUnfinished) {
		return err
	}
	w.Hops--
	w.ports[p.peer].arrived--
	w.lostOnWire(p, f, LossDevice)
	return nil
}

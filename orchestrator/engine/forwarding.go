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

// serve sends the next frame of a port that is free, if there is one.
func (l *lane) serve(p *port) error {
	if l.now < p.busyUntil {
		if !p.freeArmed {
			p.freeArmed = true
			l.push(p.busyUntil, eventFree, p.id)
		}
		return nil
	}
	var f *frame.Frame
	var wake vtime.Time
	if p.isSwitch {
		f, wake = l.switches[p.index].Dequeue(l.now, int(p.id))
	} else {
		f, wake = l.pull(p)
	}
	if f == nil {
		if l.countsFrames && l.monitor.tracer != nil {
			l.traceCredits(p)
		}
		if wake < p.wakeAt {
			p.wakeAt = wake
			l.push(wake, eventWake, p.id)
		}
		return nil
	}
	if !f.Control && l.mayNotLeave(p, f) {
		l.fail("no data leaves a paused port", l.plan.Ports[p.id].Name, "a frame of priority %d left", f.Priority)
	}
	n := int(f.Length)
	serialisation := p.serialise(l.plan.Framing.LineBytes(n))
	f.Departed = l.now
	p.busyUntil = l.now + serialisation
	p.busy += serialisation
	p.txFrames++
	p.txBytes[f.Priority] += int64(n)
	if l.waiting(p) && !p.freeArmed {
		p.freeArmed = true
		l.push(p.busyUntil, eventFree, p.id)
	}
	if t := l.monitor.tracer; t != nil {
		t.Departed(l.now, int(p.id), f, serialisation)
	}
	arrival := p.busyUntil + p.delay
	if p.faulty {
		arrival = max(arrival, p.fault.wireEnd)
	}
	if p.wire.count == 0 {
		l.send(p, arrival)
	}
	p.wire.push(f, arrival, &l.stretches)
	if !f.Control {
		l.moved = max(l.moved, l.now)
	}
	if f.Control || l.countsFrames {
		l.flowControl.departed(l, p, f)
	}
	if p.isSwitch {
		return l.freed(l.switches[p.index])
	}
	return nil
}

// freed has flow control do what has become due at a switch as frames have gone from it.
func (l *lane) freed(s *switchagent.Switch) error {
	if len(s.Due()) == 0 {
		return nil
	}
	return l.flowControl.freed(l, s)
}

// waiting says whether anything may want to leave a port as soon as it is free. Without, the port needs no event: what
// comes later finds it busy or free by the time.
func (l *lane) waiting(p *port) bool {
	if p.isSwitch {
		return l.switches[p.index].Port(int(p.id)).Waiting()
	}
	return l.nics[p.index].Waiting() || p.control != nil && p.control.Packets > 0 || p.hostStack != nil &&
		p.hostStack.packets > 0
}

func (p *port) serialise(lineBytes int64) vtime.Time {
	if p.perByte != 0 {
		return p.perByte * vtime.Time(lineBytes)
	}
	return p.rate.TimeFor(lineBytes)
}

// pull asks a host's NIC for its next frame.
func (l *lane) pull(p *port) (*frame.Frame, vtime.Time) {
	registers := &l.state.Ports[p.id]
	if p.faulty && p.fault.down {
		return nil, vtime.Never
	}
	if p.control != nil {
		if f := p.control.Pop(); f != nil {
			return f, 0
		}
	}
	if l.countsFrames && l.nics[p.index].Waiting() {
		// The NIC has not said what it would send next, so that there has to be room for the longest.
		l.flowControl.gate(l, p, 1<<l.hosts.DataPriority|1<<l.hosts.ControlPriority|l.data, l.longest)
	}
	f, wake := l.choose(p, registers)
	if f == nil {
		return nil, wake
	}
	l.Created.add(int(f.Length))
	f.QueueBytes, f.QueuePackets, f.Burst = 0, 0, 0
	f.OnSince = registers.Class[f.Priority].PausedUntil
	return f, 0
}

// choose takes the next frame that the flow control of a host's port lets go.
func (l *lane) choose(p *port, registers *ebpf.Port) (*frame.Frame, vtime.Time) {
	if p.hostStack != nil {
		return l.pullShared(p)
	}
	var off uint8
	ends := vtime.Never
	for _, priority := range [...]uint8{l.hosts.DataPriority, l.hosts.ControlPriority} {
		if until := vtime.Time(registers.Class[priority].PausedUntil); until > l.now {
			off |= 1 << priority
			ends = min(ends, until)
		}
	}
	for more := l.data &^ (1<<l.hosts.DataPriority | 1<<l.hosts.ControlPriority); more != 0; more &= more - 1 {
		priority := bits.TrailingZeros8(more)
		if until := vtime.Time(registers.Class[priority].PausedUntil); until > l.now {
			off |= 1 << priority
			ends = min(ends, until)
		}
	}
	f, wake := l.nics[p.index].Dequeue(l.now, off)
	return f, min(wake, ends)
}

// arrive takes the first frame on the wire from port p to the far end: through p's egress pipeline and the peer's
// ingress pipeline, and to where that sends it.
func (l *lane) arrive(p *port) error {
	if p.faulty {
		if done, err := l.arriveFaulty(p); done || err != nil {
			return err
		}
	}
	f := l.takeOff(p)
	in := &l.ports[p.peer]
	in.arrived++
	l.Hops++
	l.depart(p, f)
	x := l.pass
	x.Trigger = ebpf.TriggerNone
	var before marks
	if l.monitor.tracer != nil {
		l.monitor.tracer.Arrived(l.now, int(p.id), f)
		before = l.monitor.marksOf(p, f)
	}
	if err := l.process(in, f); err != nil {
		return l.unprocessed(p, f, err)
	}
	l.monitor.arrived(p, in, f)
	if l.monitor.tracer != nil {
		l.monitor.traceMark(l.now, p, f, before)
	}
	if f.Control || f.HostStack() {
		l.flowControl.arrived(l, in, f)
		if f.HostStack() && l.forProcessor(f) {
			return l.takeSlowPath(in, f)
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
		l.end(in, f)
	}
	// What the pipeline decided on this frame's arrival is done before the frame can leave again.
	if want != 0 {
		if err := l.follow(in, want, priority, egress, flow); err != nil {
			return err
		}
	}
	if forward {
		return l.enqueue(egress, f, priority)
	}
	return nil
}

// takeOff takes the first frame off the wire from port p, and expects the next.
func (l *lane) takeOff(p *port) *frame.Frame {
	f := p.wire.pop(&l.stretches)
	next := p.wire.next()
	if p.expected = next != vtime.Never; p.expected {
		l.push(next, eventArrival, p.id)
	}
	return f
}

// depart puts a frame's departure record beside the pass.
func (l *lane) depart(p *port, f *frame.Frame) {
	x := l.pass
	x.OutPort = uint32(p.id)
	x.Departed = uint64(f.Departed)
	x.OnSince = f.OnSince
	x.QueueBytes = f.QueueBytes
	x.QueuePackets = f.QueuePackets
	x.Burst = uint32(f.Burst)
}

// process carries a frame into port in at the present time.
func (l *lane) process(in *port, f *frame.Frame) error {
	x := l.pass
	x.Now = uint64(l.now)
	x.InPort = uint32(in.id)
	l.Passes++
	if err := l.passes.Process(int(in.id), f); err != nil {
		return err
	}
	l.regions[in.region].hash.Frame(l.now, x, int(f.Length), l.passes.Header(f))
	return nil
}

// endFrame counts a frame of n bytes that ends.
func (l *lane) endFrame(n int) {
	l.Ended.add(n)
	l.lastEnd = max(l.lastEnd, l.now)
}

// end deals with a frame whose way ends at port in.
func (l *lane) end(in *port, f *frame.Frame) {
	x := l.pass
	if f.HostStack() {
		l.endHostStack(in, f)
		return
	}
	if in.faulty && l.endFaulty(in, f) {
		return
	}
	l.endFrame(int(f.Length))
	switch x.Verdict {
	case ebpf.VerdictHost:
		l.nics[in.index].Receive(l.now, f)
		l.pool.Put(f)
		l.mustServe(in)
		return
	case ebpf.VerdictConsumed:
	case ebpf.VerdictDrop:
		l.Dropped++
		if l.rerouted && (x.Reason == ebpf.ReasonNoRoute || x.Reason == ebpf.ReasonTTL) {
			l.lost[LossRoute].add(int(f.Length))
			l.faultOf(in).lost[LossRoute].add(int(f.Length))
		} else if x.Reason == ebpf.ReasonNoRoute || x.Reason == ebpf.ReasonTTL || x.Reason == ebpf.ReasonMalformed {
			l.fail("pipelines lose nothing", l.plan.Ports[in.id].Name, "a frame was dropped: %s", ebpf.ReasonNames[x.Reason])
		}
	case ebpf.VerdictNone:
		l.fail("every frame is dealt with", l.plan.Ports[in.id].Name, "the ingress pipeline gave no verdict")
	}
	l.pool.Put(f)
}

// mustServe serves a host's port; a host's port makes no pass, so nothing can go wrong.
func (l *lane) mustServe(p *port) {
	if err := l.serve(p); err != nil {
		l.fail("a host's port makes no pass", l.plan.Ports[p.id].Name, "%v", err)
	}
}

// enqueue hands a frame that came out of port out to its switch's traffic manager.
func (l *lane) enqueue(out int32, f *frame.Frame, priority uint8) error {
	p := &l.ports[out]
	f.Priority = priority
	if d := l.switches[p.index].Enqueue(int(out), f); d != switchagent.Admitted {
		l.drop(p, f, d)
		return nil
	}
	if t := l.monitor.tracer; t != nil {
		if cut := l.switches[p.index].TakeTrimmed(); cut.Frame != nil {
			t.Trimmed(l.now, int(out), cut.Frame, cut.Length, cut.Priority,
				p.serialise(l.plan.Framing.LineBytes(int(cut.Frame.Length))))
		}
		t.Enqueued(l.now, int(out), f, p.serialise(l.plan.Framing.LineBytes(int(f.Length))))
	}
	return l.serve(p)
}

// follow does what the result of a pass asks for.
func (l *lane) follow(in *port, want uint32, priority uint8, egress int32, flow uint32) error {
	if want&ebpf.StateChanged != 0 {
		if l.watchdogs != nil {
			l.watchPort(in)
		}
		l.monitor.changed(l.now, in, l.pass.Changed)
		// A pause needs no action: the gate sees it. What came ON may send now; what went OFF is woken when it ends.
		if err := l.serve(in); err != nil {
			return err
		}
	}
	if want&ebpf.WantPause != 0 {
		if err := l.flowControl.pauseWanted(l, in, priority); err != nil {
			return err
		}
	}
	if want&(ebpf.WantWalk|ebpf.WantFlow) == 0 {
		return nil
	}
	for walk := want&ebpf.WantWalk != 0; walk; {
		again, err := l.trigger(&l.ports[egress], ebpf.TriggerWalk, 0)
		if err != nil {
			return err
		}
		walk = again&ebpf.WantWalk != 0
	}
	if want&ebpf.WantFlow != 0 {
		if _, err := l.trigger(&l.ports[egress], ebpf.TriggerFlow, flow); err != nil {
			return err
		}
	}
	l.monitor.builtCNMs(egress, priority)
	return nil
}

// trigger has the ingress pipeline of port in build a packet and queues it, if it does. It says what the pipeline wants
// beside.
func (l *lane) trigger(in *port, kind, argument uint32) (want uint32, err error) {
	f, want, err := l.build(in, kind, argument, 0, ebpf.FrameMin)
	if f == nil {
		return want, err
	}
	return want, l.enqueue(int32(l.pass.Egress), f, uint8(l.pass.OutPriority))
}

// build sends a blank frame of n bytes into port in for the ingress pipeline to build a packet over. The frame is nil
// if it builds none.
func (l *lane) build(in *port, kind, argument uint32, priority uint8, n int) (f *frame.Frame, want uint32, err error) {
	x := l.pass
	x.Trigger = kind
	x.Argument = argument
	x.Priority = uint32(priority)
	x.OutPort = ebpf.NoPort
	f = l.pool.Get(n)
	clear(f.Data())
	l.Triggers++
	if err := l.process(in, f); err != nil {
		l.pool.Put(f)
		return nil, 0, unlessUnfinished(err)
	}
	want = x.Want
	if x.Verdict != ebpf.VerdictForward {
		l.pool.Put(f)
		return nil, want, nil
	}
	l.Created.add(int(f.Length))
	f.InPort, f.Control = -1, false
	if t := l.monitor.tracer; t != nil {
		t.Built(l.now, int(in.id), f)
	}
	return f, want, nil
}

// Departed is when the frame in the present pass left its port; for a Tap.
func (e *Engine) Departed() vtime.Time { return vtime.Time(e.pass.Departed) }

// unlessUnfinished returns err if it ends a run.
func unlessUnfinished(err error) error {
	if errors.Is(err, plane.ErrUnfinished) {
		return nil
	}
	return err
}

// unprocessed handles a frame from port p whose pass returned err.
func (l *lane) unprocessed(p *port, f *frame.Frame, err error) error {
	if !errors.Is(err, plane.ErrUnfinished) {
		return err
	}
	l.Hops--
	l.ports[p.peer].arrived--
	l.lostOnWire(p, f, LossDevice)
	return nil
}

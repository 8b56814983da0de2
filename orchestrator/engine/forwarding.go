package engine

import (
	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// serve sends the next frame of a port that is free, if there is one.
func (e *Engine) serve(p *port) error {
	if e.now < p.busyUntil {
		if !p.freeArmed {
			p.freeArmed = true
			e.push(p.busyUntil, eventFree, p.id)
		}
		return nil
	}
	var f *frame.Frame
	var wake vtime.Time
	if p.isSwitch {
		f, wake = e.switches[p.index].Dequeue(e.now, int(p.id))
	} else {
		f, wake = e.pull(p)
	}
	if f == nil {
		if wake < p.wakeAt {
			p.wakeAt = wake
			e.push(wake, eventWake, p.id)
		}
		return nil
	}
	if !f.Control && e.mayNotLeave(p, f) {
		e.fail("no data leaves a paused port", e.plan.Ports[p.id].Name, "a frame of priority %d left", f.Priority)
	}
	n := int(f.Length)
	serialisation := p.serialise(e.plan.Framing.LineBytes(n))
	f.Departed = e.now
	p.busyUntil = e.now + serialisation
	p.busy += serialisation
	p.txFrames++
	p.txBytes[f.Priority] += int64(n)
	if e.waiting(p) && !p.freeArmed {
		p.freeArmed = true
		e.push(p.busyUntil, eventFree, p.id)
	}
	arrival := p.busyUntil + p.delay
	if p.faulty {
		arrival = max(arrival, p.fault.wireEnd)
	}
	if p.wire.count == 0 {
		e.push(arrival, eventArrival, p.id)
	}
	p.wire.push(f, arrival)
	if !f.Control {
		e.moved = max(e.moved, e.now)
	}
	if f.Control || e.countsFrames {
		e.flowControl.departed(e, p, f)
	}
	if p.isSwitch {
		return e.freed(e.switches[p.index])
	}
	return nil
}

// freed has flow control do what has become due at a switch as frames have gone from it.
func (e *Engine) freed(s *switchagent.Switch) error {
	if len(s.Due()) == 0 {
		return nil
	}
	return e.flowControl.freed(e, s)
}

// waiting says whether anything may want to leave a port as soon as it is free. Without, the port needs no event: what
// comes later finds it busy or free by the time.
func (e *Engine) waiting(p *port) bool {
	if p.isSwitch {
		return e.switches[p.index].Port(int(p.id)).Waiting()
	}
	return e.nics[p.index].Waiting() || p.control != nil && p.control.Packets > 0 || p.hostStack != nil && p.hostStack.packets > 0
}

func (p *port) serialise(lineBytes int64) vtime.Time {
	if p.perByte != 0 {
		return p.perByte * vtime.Time(lineBytes)
	}
	return p.rate.TimeFor(lineBytes)
}

// pull asks a host's NIC for its next frame.
func (e *Engine) pull(p *port) (*frame.Frame, vtime.Time) {
	registers := &e.state.Ports[p.id]
	if p.faulty && p.fault.down {
		return nil, vtime.Never
	}
	if p.control != nil {
		if f := p.control.Pop(); f != nil {
			return f, 0
		}
	}
	if e.countsFrames && e.nics[p.index].Waiting() {
		// The NIC has not said what it would send next, so that there has to be room for the longest.
		e.flowControl.gate(e, p, 1<<e.hosts.DataPriority|1<<e.hosts.ControlPriority, e.longest)
	}
	f, wake := e.choose(p, registers)
	if f == nil {
		return nil, wake
	}
	e.Created.add(int(f.Length))
	f.QueueBytes, f.QueuePackets, f.Burst = 0, 0, 0
	f.OnSince = registers.Class[f.Priority].PausedUntil
	return f, 0
}

// choose takes the next frame that the flow control of a host's port lets go.
func (e *Engine) choose(p *port, registers *ebpf.Port) (*frame.Frame, vtime.Time) {
	if p.hostStack != nil {
		return e.pullShared(p)
	}
	var off uint8
	ends := vtime.Never
	for _, priority := range [...]uint8{e.hosts.DataPriority, e.hosts.ControlPriority} {
		if until := vtime.Time(registers.Class[priority].PausedUntil); until > e.now {
			off |= 1 << priority
			ends = min(ends, until)
		}
	}
	f, wake := e.nics[p.index].Dequeue(e.now, off)
	return f, min(wake, ends)
}

// arrive takes the first frame on the wire from port p to the far end: through p's egress pipeline and the peer's ingress
// pipeline, and to where that sends it.
func (e *Engine) arrive(p *port) error {
	if p.faulty {
		if done, err := e.arriveFaulty(p); done || err != nil {
			return err
		}
	}
	f := p.wire.pop()
	if next := p.wire.next(); next != vtime.Never {
		e.push(next, eventArrival, p.id)
	}
	in := &e.ports[p.peer]
	in.arrived++
	e.Hops++
	e.depart(p, f)
	x := e.pass
	x.Trigger = ebpf.TriggerNone
	if err := e.process(in, f); err != nil {
		return e.unprocessed(p, f, err)
	}
	e.monitor.arrived(p, in, f)
	if f.Control || f.HostStack() {
		e.flowControl.arrived(e, in, f)
	}
	// The pass's results do not survive the next one, a trigger's.
	want, priority := x.Want, uint8(x.OutPriority)
	egress, flow := int32(x.Egress), x.WantFlow
	forward := x.Verdict == ebpf.VerdictForward
	if forward {
		f.InPort = in.id
		f.Entry = x.Flow
	} else {
		e.end(in, f)
	}
	// What the pipeline decided on this frame's arrival is done before the frame can leave again.
	if want != 0 {
		if err := e.follow(in, want, priority, egress, flow); err != nil {
			return err
		}
	}
	if forward {
		return e.enqueue(egress, f, priority)
	}
	return nil
}

// depart puts a frame's departure record beside the pass.
func (e *Engine) depart(p *port, f *frame.Frame) {
	x := e.pass
	x.OutPort = uint32(p.id)
	x.Departed = uint64(f.Departed)
	x.OnSince = f.OnSince
	x.QueueBytes = f.QueueBytes
	x.QueuePackets = f.QueuePackets
	x.Burst = uint32(f.Burst)
}

// process carries a frame into port in at the present time.
func (e *Engine) process(in *port, f *frame.Frame) error {
	x := e.pass
	x.Now = uint64(e.now)
	x.InPort = uint32(in.id)
	e.Passes++
	if err := e.plane.Process(int(in.id), f); err != nil {
		return err
	}
	e.regions[in.region].hash.frame(e.now, x, f)
	return nil
}

// endFrame counts a frame of n bytes that ends.
func (e *Engine) endFrame(n int) {
	e.Ended.add(n)
	e.lastEnd = max(e.lastEnd, e.now)
}

// end deals with a frame whose way ends at port in.
func (e *Engine) end(in *port, f *frame.Frame) {
	x := e.pass
	if f.HostStack() {
		e.endHostStack(in, f)
		return
	}
	if in.faulty && e.endFaulty(in, f) {
		return
	}
	e.endFrame(int(f.Length))
	switch x.Verdict {
	case ebpf.VerdictHost:
		e.nics[in.index].Receive(e.now, f)
		e.pool.Put(f)
		e.mustServe(in)
		return
	case ebpf.VerdictConsumed:
	case ebpf.VerdictDrop:
		e.Dropped++
		if e.rerouted && (x.Reason == ebpf.ReasonNoRoute || x.Reason == ebpf.ReasonTTL) {
			e.lost[LossRoute].add(int(f.Length))
			e.faultOf(in).lost[LossRoute].add(int(f.Length))
		} else if x.Reason == ebpf.ReasonNoRoute || x.Reason == ebpf.ReasonTTL || x.Reason == ebpf.ReasonMalformed {
			e.fail("pipelines lose nothing", e.plan.Ports[in.id].Name, "a frame was dropped: %s", ebpf.ReasonNames[x.Reason])
		}
	case ebpf.VerdictNone:
		e.fail("every frame is dealt with", e.plan.Ports[in.id].Name, "the ingress pipeline gave no verdict")
	}
	e.pool.Put(f)
}

// mustServe serves a host's port; a host's port makes no pass, so nothing can go wrong.
func (e *Engine) mustServe(p *port) {
	if err := e.serve(p); err != nil {
		e.fail("a host's port makes no pass", e.plan.Ports[p.id].Name, "%v", err)
	}
}

// enqueue hands a frame that came out of port out to its switch's traffic manager.
func (e *Engine) enqueue(out int32, f *frame.Frame, priority uint8) error {
	p := &e.ports[out]
	f.Priority = priority
	if d := e.switches[p.index].Enqueue(int(out), f); d != switchagent.Admitted {
		e.drop(p, f, d)
		return nil
	}
	return e.serve(p)
}

// follow does what the result of a pass asks for.
func (e *Engine) follow(in *port, want uint32, priority uint8, egress int32, flow uint32) error {
	if want&ebpf.StateChanged != 0 {
		if e.watchdogs != nil {
			e.watchPort(in)
		}
		e.monitor.changed(e.now, in, e.pass.Changed)
		// A pause needs no action: the gate sees it. What came ON may send now; what went OFF is woken when it ends.
		if err := e.serve(in); err != nil {
			return err
		}
	}
	if want&ebpf.WantPause != 0 {
		if err := e.flowControl.pauseWanted(e, in, priority); err != nil {
			return err
		}
	}
	if want&(ebpf.WantWalk|ebpf.WantFlow) == 0 {
		return nil
	}
	for walk := want&ebpf.WantWalk != 0; walk; {
		again, err := e.trigger(&e.ports[egress], ebpf.TriggerWalk, 0)
		if err != nil {
			return err
		}
		walk = again&ebpf.WantWalk != 0
	}
	if want&ebpf.WantFlow != 0 {
		if _, err := e.trigger(&e.ports[egress], ebpf.TriggerFlow, flow); err != nil {
			return err
		}
	}
	e.monitor.builtCNMs(egress, priority)
	return nil
}

// trigger has the ingress pipeline of port in build a packet and queues it, if it does. It says what the pipeline wants beside.
func (e *Engine) trigger(in *port, kind, argument uint32) (want uint32, err error) {
	f, want, err := e.build(in, kind, argument, 0, ebpf.FrameMin)
	if f == nil {
		return want, err
	}
	return want, e.enqueue(int32(e.pass.Egress), f, uint8(e.pass.OutPriority))
}

// build sends a blank frame of n bytes into port in for the ingress pipeline to build a packet over. The frame is nil if it builds none.
func (e *Engine) build(in *port, kind, argument uint32, priority uint8, n int) (f *frame.Frame, want uint32, err error) {
	x := e.pass
	x.Trigger = kind
	x.Argument = argument
	x.Priority = uint32(priority)
	x.OutPort = ebpf.NoPort
	f = e.pool.Get(n)
	clear(f.Data())
	e.Triggers++
	if err := e.process(in, f); err != nil {
		e.pool.Put(f)
		return nil, 0, unlessUnfinished(err)
	}
	want = x.Want
	if x.Verdict != ebpf.VerdictForward {
		e.pool.Put(f)
		return nil, want, nil
	}
	e.Created.add(int(f.Length))
	f.InPort, f.Control = -1, false
	return f, want, nil
}

// Departed is when the frame in the present pass left its port; for a Tap.
func (e *Engine) Departed() vtime.Time { return vtime.Time(e.pass.Departed) }

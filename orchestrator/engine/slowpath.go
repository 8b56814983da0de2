package engine

import (
	"slices"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// slowPath holds the state of a live fabric's switches for frames that the pipelines do not forward.
type slowPath struct {
	processors []switchagent.Processor // by switch
	trees      [][]int32               // by switch, the ports through which it floods
	nextPorts  map[int][]int32         // by destination switch, then by switch; -1: no path
	querier    bool                    // a host has sent a membership query
}

// isSwitch reports whether an address is in the pipelines' range of switch addresses.
func isSwitch(a wire.Addr) bool { return a[0] == 10 && a[1] == 254 }

// switchOf returns the index of the switch with an address; -1 if no switch has it.
func (w *worker) switchOf(a wire.Addr) int {
	if i := int(a[2])<<8 + int(a[3]) - 1; isSwitch(a) && i >= 0 && i < len(w.switches) {
		return i
	}
	return -1
}

func (e *Engine) newProcessors() {
	known := func(a wire.Addr) bool {
		return e.interfaceOf(a) >= 0 || e.switchOf(a) >= 0 || a == wire.Addr(topologies.Gateway.As4())
	}
	for i := range e.switches {
		e.slowPath.processors = append(e.slowPath.processors,
			switchagent.Processor{Address: e.plan.SwitchAddress(i).As4(), Known: known})
	}
	e.slowPath.findTrees(&e.links)
}

// findTrees computes spanning trees over the links that are up, and forgets the paths to switches.
func (s *slowPath) findTrees(l *links) {
	if s.processors == nil {
		return
	}
	s.nextPorts = map[int][]int32{}
	trees := make([][]int32, len(l.plan.Switch))
	reached := make([]bool, len(l.plan.Switch))
	for root := range l.plan.Switch {
		if reached[root] {
			continue
		}
		reached[root] = true
		for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
			near := queue[0]
			for _, id := range l.switchPorts(near) {
				p := &l.ports[id]
				switch far := &l.ports[p.peer]; {
				case !l.LinkUp(int(id)):
				case !far.isSwitch:
					trees[near] = append(trees[near], p.id)
				case !reached[far.index]:
					reached[far.index] = true
					trees[near] = append(trees[near], p.id)
					trees[far.index] = append(trees[far.index], far.id)
					queue = append(queue, int(far.index))
				}
			}
		}
	}
	s.trees = trees
}

// nextPort returns the port by which one switch reaches another over the fewest links; -1 if there is no path.
func (s *slowPath) nextPort(l *links, from, to int) int32 {
	ports := s.nextPorts[to]
	if ports == nil {
		ports = slices.Repeat([]int32{-1}, len(l.plan.Switch))
		for queue := []int{to}; len(queue) > 0; queue = queue[1:] {
			for _, id := range l.switchPorts(queue[0]) {
				far := &l.ports[l.ports[id].peer]
				if l.LinkUp(int(far.id)) && far.isSwitch && int(far.index) != to && ports[far.index] < 0 {
					ports[far.index] = far.id
					queue = append(queue, int(far.index))
				}
			}
		}
		s.nextPorts[to] = ports
	}
	return ports[from]
}

// forProcessor reports whether the switch's processor must handle a program's frame after its pass.
func (w *worker) forProcessor(f *frame.Frame) bool {
	x := w.pass
	switch x.Verdict {
	case ebpf.VerdictProcessor, ebpf.VerdictFlood:
		return true
	case ebpf.VerdictDrop:
		return x.Reason == ebpf.ReasonTTL || x.Reason == ebpf.ReasonNoRoute
	case ebpf.VerdictForward:
		return int(f.Length) > w.mtuOf(int32(x.Egress))+wire.EthernetLen
	}
	return false
}

// takeSlowPath handles a program's frame that arrived at a switch's port in, and that the pipelines did not forward, or
// forwarded to a port whose MTU it exceeds.
func (w *worker) takeSlowPath(in *port, f *frame.Frame) error {
	x := w.pass
	if x.Verdict != ebpf.VerdictForward && w.punt != nil && w.punt(int(in.id), f.Data()) {
		w.takeFrame(f, w.senderOf(f))
		if w.replies != nil {
			w.replies(int(in.id))
		}
		return nil
	}
	switch x.Verdict {
	case ebpf.VerdictForward:
		egress := int32(x.Egress)
		priority := uint8(x.OutPriority)
		w.state.Release(int(in.id), priority, int(f.Length), x.Flow)
		if switchagent.MayFragment(f.Data()) {
			return w.fragment(egress, f, priority)
		}
		return w.answer(in, f, switchagent.CauseSize, w.mtuOf(egress))
	case ebpf.VerdictFlood:
		return w.flood(in, f, uint8(x.OutPriority))
	case ebpf.VerdictDrop:
		why := switchagent.CauseRoute
		if x.Reason == ebpf.ReasonTTL {
			why = switchagent.CauseTTL
		}
		return w.answer(in, f, why, 0)
	}
	if _, destination := switchagent.Ends(f.Data()); wire.Ethernet(f.Data()).Type() != wire.EtherTypeARP {
		to := w.switchOf(destination)
		if to < 0 && isSwitch(destination) {
			return w.answer(in, f, switchagent.CauseRoute, 0)
		}
		if to >= 0 && to != int(in.index) {
			out := w.slowPath.nextPort(&w.links, int(in.index), to)
			switch {
			case out < 0:
				return w.answer(in, f, switchagent.CauseRoute, 0)
			case !switchagent.Hop(f.Data()):
				return w.answer(in, f, switchagent.CauseTTL, 0)
			}
			wire.Ethernet(f.Data()).SetDst(w.plan.Ports[w.ports[out].peer].MAC)
			wire.Ethernet(f.Data()).SetSrc(w.plan.Ports[out].MAC)
			return w.sendOn(out, f, wire.PriorityOf(f.Data()))
		}
	}
	return w.answer(in, f, switchagent.CauseOwn, 0)
}

// answer lets a switch's processor answer a frame from port in, through the same port. It consumes the frame.
func (w *worker) answer(in *port, f *frame.Frame, why switchagent.Cause, mtu int) error {
	link := &switchagent.Link{Between: wire.Between{From: w.plan.Ports[in.id].MAC, To: w.plan.Ports[in.peer].MAC}}
	if far := &w.ports[in.peer]; !far.isSwitch {
		link.Host = w.plan.Address(topologies.PortID(far.id)).As4()
	}
	processor := &w.slowPath.processors[in.index]
	reply := w.pool.Get(min(switchagent.MostAnswer(int(f.Length)), plane.FrameSize(w.plan)))
	n := processor.Answer(w.now, reply.Data(), f.Data(), link, why, mtu)
	if why == switchagent.CauseOwn {
		w.takeFrame(f, w.senderOf(f))
	} else {
		w.endFrame(int(f.Length))
		w.refuseHostStack(f)
		w.pool.Put(f)
	}
	if n == 0 {
		w.pool.Put(reply)
		return nil
	}
	reply.Length = int32(n)
	reply.MakeHostStack()
	w.Created.add(n)
	w.Built++
	return w.sendOn(in.id, reply, wire.PriorityOf(reply.Data()))
}

// fragment sends a frame that exceeds the MTU of port out through it in fragments. It consumes the frame.
func (w *worker) fragment(out int32, f *frame.Frame, priority uint8) error {
	mtu := w.mtuOf(out)
	for at, more := 0, true; more; {
		part := w.pool.Get(mtu + wire.EthernetLen)
		n, next := switchagent.Fragment(part.Data(), f.Data(), at, mtu)
		if short := ebpf.FrameMin - n; short > 0 {
			clear(part.Data()[n:ebpf.FrameMin])
			n = ebpf.FrameMin
		}
		part.Length = int32(n)
		part.MakeHostStack()
		w.Created.add(n)
		w.Built++
		if err := w.sendOn(out, part, priority); err != nil {
			return err
		}
		at, more = next, next > 0
	}
	w.takeFrame(f, w.senderOf(f))
	return nil
}

// takeFrame ends a program's frame that a switch has accepted. sender is nil if another switch made the frame.
func (w *worker) takeFrame(f *frame.Frame, sender *port) {
	if sender != nil && sender.hostStack != nil {
		sender.hostStack.Taken++
	}
	w.Taken++
	w.endFrame(int(f.Length))
	w.pool.Put(f)
}

// sendOn queues a frame that takes the slow path at port out, or drops it if the queue is full.
func (w *worker) sendOn(out int32, f *frame.Frame, priority uint8) error {
	p := &w.ports[out]
	f.InPort, f.Entry = -1, 0
	s := w.switches[p.index]
	if queued, _ := s.Port(int(out)).Queue(priority); queued+int64(f.Length) > int64(w.settings[p.index].LossyLimit) {
		f.Priority = priority
		w.endFrame(int(f.Length))
		w.refuseHostStack(f)
		w.pool.Put(f)
		return nil
	}
	return w.enqueue(out, f, priority)
}

// emit queues a frame of a switch's control plane at its port out, at a time that may be in the future. The frame
// counts only from then on.
func (e *Engine) emit(out int32, data []byte, at vtime.Time) {
	data = slices.Concat(data, make([]byte, max(0, ebpf.FrameMin-len(data))))
	e.At(at, func(vtime.Time) error {
		f := e.pool.Get(len(data))
		copy(f.Data(), data)
		f.MakeHostStack()
		e.Created.add(len(data))
		e.Built++
		return e.sendOn(out, f, wire.PriorityOf(f.Data()))
	})
}

// flood sends copies of a broadcast or multicast frame from port in along the tree. Switches do not track group
// memberships, because no router queries them: the frames of every group go to all hosts. Once a host sends a query,
// membership reports are flooded too (RFC 4541, section 2.1.1).
func (w *worker) flood(in *port, f *frame.Frame, priority uint8) error {
	switch switchagent.MembershipOf(f.Data()) {
	case switchagent.MembershipLink:
		return w.answer(in, f, switchagent.CauseOwn, 0)
	case switchagent.MembershipReport:
		if !w.slowPath.querier {
			w.takeFrame(f, &w.ports[in.peer])
			return nil
		}
	case switchagent.MembershipQuery:
		w.slowPath.querier = true
	}
	n := int(f.Length)
	for _, id := range w.slowPath.trees[in.index] {
		if id == in.id || n > w.mtuOf(id)+wire.EthernetLen {
			continue
		}
		c := w.pool.Get(n)
		copy(c.Data(), f.Data())
		c.MakeHostStack()
		w.Created.add(n)
		w.Built++
		if err := w.sendOn(id, c, priority); err != nil {
			w.pool.Put(f)
			return err
		}
	}
	w.takeFrame(f, &w.ports[in.peer])
	return nil
}

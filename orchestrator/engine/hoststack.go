package engine

import (
	"encoding/binary"
	"slices"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// Host-stack traffic is what programs send in a host's namespace of a live fabric. It leaves through the NIC's port
// beside RoCE, by the priority of its DSCP, crosses the fabric as any frame, and goes up the kernel's stack at its
// destination. Nothing about such a frame's content can be relied on: what becomes of it is counted, and breaks no
// invariant.
//
// What the pipelines do not forward takes the slow path: the switch's processor answers it, sends it on to another
// switch's, or has it copied along a tree to all hosts. Such frames are in no ingress port's account: queues take them
// up to the limit of lossy priorities.

// hostStackQueueLimit is the most frames that wait in a NIC for one priority, as a Linux interface's txqueuelen.
const hostStackQueueLimit = 1000

// HostStackCounts count the host-stack frames of a host's interface.
type HostStackCounts struct {
	Sent      Amount // left the NIC
	Delivered Amount // went up this host's stack, with copies of what was for all and switches' answers
	HostDrops int64  // found the NIC's queue full
	Unknown   int64  // were neither IP, ARP nor PFC, of another size than the interface's, or tagged
	Refused   int64  // of Sent: the fabric dropped them (no such host, no room in a lossy queue, malformed)
	Taken     int64  // of Sent: switches took them, to answer them or to send copies to all
	RoCE      int64  // came here to UDP port 4791, where no queue pair takes them
	Datagrams int64  // came here for a queue pair of datagrams
}

// Add adds the counts of another interface.
func (c *HostStackCounts) Add(o HostStackCounts) {
	c.Sent.Frames, c.Sent.Bytes = c.Sent.Frames+o.Sent.Frames, c.Sent.Bytes+o.Sent.Bytes
	c.Delivered.Frames, c.Delivered.Bytes = c.Delivered.Frames+o.Delivered.Frames, c.Delivered.Bytes+o.Delivered.Bytes
	c.HostDrops += o.HostDrops
	c.Unknown += o.Unknown
	c.Refused += o.Refused
	c.Taken += o.Taken
	c.RoCE += o.RoCE
	c.Datagrams += o.Datagrams
}

// hostStack is a NIC's side of host-stack traffic.
type hostStack struct {
	HostStackCounts
	to      arrivals
	queues  [switchagent.Priorities]frame.Queue
	packets int32
	waiting uint8    // bit n: queue n has frames
	yield   uint8    // bit n: the last frame of priority n was RoCE's
	forged  [2]int64 // RESUMEs, PAUSEs that a program sent and that arrived
	ended   int64    // frames of control that a program sent and that arrived here
}

// arrivals are frames that have come out of the kernel at a virtual time that the engine has not reached.
type arrivals struct {
	queue frame.Queue
	at    []vtime.Time // of each
	last  vtime.Time
}

// HostStack is what became of the host-stack frames of the interface with this index.
func (e *Engine) HostStack(nic int) HostStackCounts {
	if o := e.hostPort(nic).hostStack; o != nil {
		return o.HostStackCounts
	}
	return HostStackCounts{}
}

// offer takes a frame that a program sent out of a host's port at a virtual time, which may be to come. whole is false
// if data is not all of it.
func (w *worker) offer(p *port, data []byte, whole bool, at vtime.Time) {
	o := p.hostStack
	if !whole || len(data) < wire.EthernetLen || len(data) > w.mtuOf(p.id)+wire.EthernetLen || !w.carries(data) {
		o.Unknown++
		return
	}
	if wire.Ethernet(data).Type() == wire.EtherTypeIPv6 && !w.slowPath.querier &&
		switchagent.MembershipOf(data) == switchagent.MembershipReport {
		return // of the groups of its addresses, the kernel's own: nobody has asked, and hosts at rest send nothing
	}
	priority := wire.PriorityOf(data)
	if o.queues[priority].Packets+o.to.queue.Packets >= hostStackQueueLimit {
		o.HostDrops++
		return
	}
	n := max(len(data), ebpf.FrameMin)
	f := w.pool.Get(n)
	clear(f.Data()[copy(f.Data(), data):])
	f.MakeHostStack()
	f.Priority = priority
	at = max(at, o.to.last, w.now)
	o.to.last = at
	if at <= w.now && o.to.queue.Packets == 0 {
		o.push(f)
		w.mustServe(p)
		return
	}
	if o.to.queue.Packets == 0 {
		w.push(at, eventHostStack, p.id)
	}
	o.to.queue.Push(f)
	o.to.at = append(o.to.at, at)
}

// carries says whether the fabric carries frames of this kind: IP, ARP, and what a link's peer is told by PFC.
func (w *worker) carries(data []byte) bool {
	switch binary.BigEndian.Uint16(data[12:]) {
	case wire.EtherTypeIPv4, wire.EtherTypeIPv6, wire.EtherTypeARP:
		return true
	case uint16(wire.EtherTypeMACControl):
		return w.flowControl.usesPause()
	}
	return false
}

// hostStackDue queues the frames of a host's programs whose time has come.
func (w *worker) hostStackDue(p *port) error {
	o := p.hostStack
	n := 0
	for n < len(o.to.at) && o.to.at[n] <= w.now {
		o.push(o.to.queue.Pop())
		n++
	}
	o.to.at = o.to.at[:copy(o.to.at, o.to.at[n:])]
	if len(o.to.at) > 0 {
		w.push(o.to.at[0], eventHostStack, p.id)
	}
	return w.serve(p)
}

func (o *hostStack) push(f *frame.Frame) {
	o.queues[f.Priority].Push(f)
	o.waiting |= 1 << f.Priority
	o.packets++
}

func (o *hostStack) pop(priority uint8) *frame.Frame {
	f := o.queues[priority].Pop()
	if o.queues[priority].Packets == 0 {
		o.waiting &^= 1 << priority
	}
	o.packets--
	o.Sent.add(int(f.Length))
	return f
}

// pullShared asks a host's NIC for its next frame, RoCE's or a program's: the highest priority first, alternately
// within one.
func (w *worker) pullShared(p *port) (*frame.Frame, vtime.Time) {
	o, nic := p.hostStack, w.nics[p.index]
	registers := &w.state.Ports[p.id]
	roce := uint8(1<<w.hosts.DataPriority|1<<w.hosts.ControlPriority) | w.data
	wake := vtime.Never
	for priority := uint8(switchagent.Priorities); priority > 0; {
		priority--
		bit := uint8(1) << priority
		if (roce|o.waiting)&bit == 0 {
			continue
		}
		if w.countsFrames && o.waiting&bit != 0 {
			w.flowControl.gate(w, p, bit, plane.FrameSize(w.plan))
		}
		if until := vtime.Time(registers.Class[priority].PausedUntil); until > w.now {
			wake = min(wake, until)
			if roce&bit != 0 && w.hosts.ACKsWhenPaused {
				if f, _ := nic.Dequeue(w.now, 0xff); f != nil {
					return f, 0
				}
			}
			continue
		}
		if roce&bit != 0 && (o.waiting&bit == 0 || o.yield&bit == 0) {
			f, next := nic.Dequeue(w.now, ^bit)
			if f != nil {
				o.yield |= bit
				return f, 0
			}
			wake = min(wake, next)
		}
		if o.waiting&bit != 0 {
			o.yield &^= bit
			return o.pop(priority), 0
		}
	}
	return nil, wake
}

// endHostStack deals with a program's frame whose way ends at port in.
func (w *worker) endHostStack(in *port, f *frame.Frame) {
	w.Ended.add(int(f.Length))
	x := w.pass
	verdict := x.Verdict
	switch verdict {
	case ebpf.VerdictStack:
		in.hostStack.Delivered.add(int(f.Length))
	case ebpf.VerdictHost:
		if w.takeDatagram(in, f) {
			in.hostStack.Datagrams++
		} else {
			in.hostStack.RoCE++
		}
	case ebpf.VerdictConsumed:
		w.ports[in.peer].hostStack.ended++
		pfc := wire.PFC(f.Data())
		for i := range uint8(switchagent.Priorities) {
			if pfc.ClassEnable()>>i&1 != 0 {
				k := 0
				if pfc.Time(i) != 0 {
					k = 1
				}
				w.ports[in.peer].hostStack.forged[k]++
			}
		}
	default:
		w.refuseHostStack(f)
	}
	w.pool.Put(f)
	if verdict == ebpf.VerdictStack && w.replies != nil {
		w.replies(int(in.id))
	}
}

// refuseHostStack counts a program's frame that the fabric dropped.
func (w *worker) refuseHostStack(f *frame.Frame) {
	if p := w.senderOf(f); p != nil {
		p.hostStack.Refused++
	}
	w.Totals.Refused++
}

// senderOf is the port of a host that a program's frame says it is from; nil if there is no such address.
func (w *worker) senderOf(f *frame.Frame) *port {
	source, _ := switchagent.Ends(f.Data())
	if nic := w.interfaceOf(source); nic >= 0 {
		return w.hostPort(nic)
	}
	return nil
}

// interfaceOf is the index of a host's interface with an address; -1 if there is none.
func (w *worker) interfaceOf(a wire.Addr) int {
	address := binary.BigEndian.Uint32(a[:])
	if nic := int(address&0xffffff) - 1; address>>24 == 10 && nic >= 0 && nic < len(w.plan.Interfaces) {
		return nic
	}
	return -1
}

// switchOf is the index of the switch with an address; -1 if there is none.
func (w *worker) switchOf(a wire.Addr) int {
	if i := int(a[2])<<8 + int(a[3]) - 1; isSwitch(a) && i >= 0 && i < len(w.switches) {
		return i
	}
	return -1
}

// isSwitch says whether an address is one of those that are switches', as the pipelines know them.
func isSwitch(a wire.Addr) bool { return a[0] == 10 && a[1] == 254 }

// slowPath is what switches need for frames that the pipelines do not forward, on a live fabric.
type slowPath struct {
	processors []switchagent.Processor // by switch
	trees      [][]int32               // by switch, the ports by which what is for all goes on
	ways       map[int][]int32         // to a switch: by switch, the port that is next; -1: there is none
	querier    bool                    // a host has asked who is in a group
}

func (e *Engine) newProcessors() {
	known := func(a wire.Addr) bool {
		return e.interfaceOf(a) >= 0 || e.switchOf(a) >= 0 || a == wire.Addr(topologies.Gateway.As4())
	}
	for i := range e.switches {
		e.slowPath.processors = append(e.slowPath.processors,
			switchagent.Processor{Address: e.plan.SwitchAddress(i).As4(), Known: known})
	}
	e.findTrees()
}

// findTrees spans the switches that links join, by those that are up, and forgets the ways to switches.
func (e *Engine) findTrees() {
	if e.slowPath.processors == nil {
		return
	}
	e.slowPath.ways = map[int][]int32{}
	trees := make([][]int32, len(e.switches))
	reached := make([]bool, len(e.switches))
	for root := range e.switches {
		if reached[root] {
			continue
		}
		reached[root] = true
		for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
			own := queue[0]
			for _, id := range e.switchPorts(own) {
				p := &e.ports[id]
				switch far := &e.ports[p.peer]; {
				case !e.LinkUp(int(id)):
				case !far.isSwitch:
					trees[own] = append(trees[own], p.id)
				case !reached[far.index]:
					reached[far.index] = true
					trees[own] = append(trees[own], p.id)
					trees[far.index] = append(trees[far.index], far.id)
					queue = append(queue, int(far.index))
				}
			}
		}
	}
	e.slowPath.trees = trees
}

// wayTo is the port of a switch by which a frame to another gets there by the fewest links; -1: there is none.
func (w *worker) wayTo(from, to int) int32 {
	ways := w.slowPath.ways[to]
	if ways == nil {
		e := w.firstWorker
		ways = slices.Repeat([]int32{-1}, len(e.switches))
		for queue := []int{to}; len(queue) > 0; queue = queue[1:] {
			for _, id := range w.plan.Nodes[w.plan.Switch[queue[0]]].Ports {
				far := &e.ports[e.ports[id].peer]
				if up := far.fault == nil || !far.fault.down; up && far.isSwitch && int(far.index) != to && ways[far.index] < 0 {
					ways[far.index] = far.id
					queue = append(queue, int(far.index))
				}
			}
		}
		w.slowPath.ways[to] = ways
	}
	return ways[from]
}

// forProcessor says whether the pass of a program's frame has come to what a switch's processor deals with.
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

// mtuOf is the MTU of a port.
func (w *worker) mtuOf(p int32) int { return w.plan.Ports[p].MTU }

// takeSlowPath deals with a program's frame that has come into a switch by port in and that its pipelines have not
// forwarded, or to a port whose MTU it exceeds.
func (w *worker) takeSlowPath(in *port, f *frame.Frame) error {
	x := w.pass
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
			out := w.wayTo(int(in.index), to)
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

// answer has a switch's processor answer a frame that came by port in, which ends, by the same port.
func (w *worker) answer(in *port, f *frame.Frame, why switchagent.Cause, mtu int) error {
	on := &switchagent.Link{Between: wire.Between{From: w.plan.Ports[in.id].MAC, To: w.plan.Ports[in.peer].MAC}}
	if far := &w.ports[in.peer]; !far.isSwitch {
		on.Host = w.plan.Address(topologies.PortID(far.id)).As4()
	}
	processor := &w.slowPath.processors[in.index]
	reply := w.pool.Get(min(switchagent.MostAnswer(int(f.Length)), plane.FrameSize(w.plan)))
	n := processor.Answer(w.now, reply.Data(), f.Data(), on, why, mtu)
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

// fragment sends the fragments of a frame, which ends, by port out, whose MTU it exceeds.
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

// takeFrame ends a program's frame that a switch has taken, of the sender that has sent it, or nil: another switch has
// made it.
func (w *worker) takeFrame(f *frame.Frame, sender *port) {
	if sender != nil && sender.hostStack != nil {
		sender.hostStack.Taken++
	}
	w.Taken++
	w.endFrame(int(f.Length))
	w.pool.Put(f)
}

// sendOn queues a frame that takes the slow path at port out.
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

// flood sends copies of a frame that came by port in, and is for all hosts, along the tree. Who is in a group switches
// are told, and keep to themselves, as no router asks them: every group goes to all. Once a host has asked itself, it
// gets the answers (RFC 4541, section 2.1.1).
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

// checkHostStack: what programs sent, and what switches made of it, has gone up a stack, ended where it was for, or is
// on its way.
func (e *Engine) checkHostStack() {
	if !e.features.Live {
		return
	}
	var sum HostStackCounts
	var left, control int64
	for i := range e.ports {
		if o := e.ports[i].hostStack; o != nil {
			sum.Add(o.HostStackCounts)
			control += o.ended
		}
	}
	e.eachFrame(func(f *frame.Frame) {
		if f.HostStack() {
			left++
		}
	})
	made := sum.Sent.Frames + e.Built
	ended := sum.Delivered.Frames + sum.RoCE + sum.Datagrams + control + e.Refused + e.Taken + e.Missed
	if made != ended+left {
		e.fail("programs' frames are conserved", "fabric",
			"%d sent, %d made by switches; %d delivered, %d for NICs, %d for queue pairs, %d of control, %d refused, %d taken by switches, %d lost by faults, %d on their way",
			sum.Sent.Frames, e.Built, sum.Delivered.Frames, sum.RoCE, sum.Datagrams, control, e.Refused, e.Taken, e.Missed, left)
	}
}

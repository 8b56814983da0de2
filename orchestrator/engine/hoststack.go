package engine

import (
	"encoding/binary"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// Host-stack traffic is what programs send in a host's namespace of a live fabric. It leaves through the NIC's port beside RoCE, by
// the priority of its DSCP, crosses the fabric as any frame, and goes up the kernel's stack at its destination. Nothing about
// such a frame's content can be relied on: what becomes of it is counted, and breaks no invariant.

// hostStackQueueLimit is the most frames that wait in a NIC for one priority, as a Linux interface's txqueuelen.
const hostStackQueueLimit = 1000

// HostStackCounts count the host-stack frames of a host.
type HostStackCounts struct {
	Sent      Amount // left the NIC
	Delivered Amount // went up this host's stack
	HostDrops int64  // found the NIC's queue full
	Unknown   int64  // were neither IPv4 nor PFC, of another size than the interface's, or tagged
	Refused   int64  // of Sent: the fabric dropped them (no such host, no room in a lossy queue, malformed)
	RoCE      int64  // came here to UDP port 4791, where no queue pair takes them
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
}

// arrivals are frames that have come out of the kernel at a virtual time that the engine has not reached.
type arrivals struct {
	queue frame.Queue
	at    []vtime.Time // of each
	last  vtime.Time
}

// HostStack is what became of the host-stack frames of the host with this index.
func (e *Engine) HostStack(host int) HostStackCounts {
	if o := e.hostPort(host).hostStack; o != nil {
		return o.HostStackCounts
	}
	return HostStackCounts{}
}

// offer takes a frame that a program sent out of a host's port at a virtual time, which may be to come. whole is false if data is
// not all of it.
func (e *Engine) offer(p *port, data []byte, whole bool, at vtime.Time) {
	o := p.hostStack
	if !whole || len(data) < wire.EthernetLen || len(data) > InterfaceMTU(e.plan)+wire.EthernetLen || !e.carries(data) {
		o.Unknown++
		return
	}
	priority := uint8(0)
	if wire.Ethernet(data).Type() == wire.EtherTypeIPv4 && len(data) > wire.EthernetLen+1 {
		priority = data[wire.EthernetLen+1] >> 5
	}
	if o.queues[priority].Packets+o.to.queue.Packets >= hostStackQueueLimit {
		o.HostDrops++
		return
	}
	n := max(len(data), ebpf.FrameMin)
	f := e.pool.Get(n)
	clear(f.Data()[copy(f.Data(), data):])
	f.MakeHostStack()
	f.Priority = priority
	at = max(at, o.to.last, e.now)
	o.to.last = at
	if at <= e.now && o.to.queue.Packets == 0 {
		o.push(f)
		e.mustServe(p)
		return
	}
	if o.to.queue.Packets == 0 {
		e.push(at, eventHostStack, p.id)
	}
	o.to.queue.Push(f)
	o.to.at = append(o.to.at, at)
}

// carries says whether the fabric carries frames of this kind: IPv4, and what a link's peer is told by PFC.
func (e *Engine) carries(data []byte) bool {
	switch binary.BigEndian.Uint16(data[12:]) {
	case uint16(wire.EtherTypeIPv4):
		return true
	case uint16(wire.EtherTypeMACControl):
		return e.flowControl.usesPause()
	}
	return false
}

// hostStackDue queues the frames of a host's programs whose time has come.
func (e *Engine) hostStackDue(p *port) error {
	o := p.hostStack
	n := 0
	for n < len(o.to.at) && o.to.at[n] <= e.now {
		o.push(o.to.queue.Pop())
		n++
	}
	o.to.at = o.to.at[:copy(o.to.at, o.to.at[n:])]
	if len(o.to.at) > 0 {
		e.push(o.to.at[0], eventHostStack, p.id)
	}
	return e.serve(p)
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

// pullShared asks a host's NIC for its next frame, RoCE's or a program's: the highest priority first, alternately within one.
func (e *Engine) pullShared(p *port) (*frame.Frame, vtime.Time) {
	o, nic := p.hostStack, e.nics[p.index]
	registers := &e.state.Ports[p.id]
	roce := uint8(1<<e.hosts.DataPriority | 1<<e.hosts.ControlPriority)
	wake := vtime.Never
	for priority := uint8(switchagent.Priorities); priority > 0; {
		priority--
		bit := uint8(1) << priority
		if (roce|o.waiting)&bit == 0 {
			continue
		}
		if e.countsFrames && o.waiting&bit != 0 {
			e.flowControl.gate(e, p, bit, FrameSize(e.plan))
		}
		if until := vtime.Time(registers.Class[priority].PausedUntil); until > e.now {
			wake = min(wake, until)
			if roce&bit != 0 && e.hosts.ACKsWhenPaused {
				if f, _ := nic.Dequeue(e.now, 0xff); f != nil {
					return f, 0
				}
			}
			continue
		}
		if roce&bit != 0 && (o.waiting&bit == 0 || o.yield&bit == 0) {
			f, next := nic.Dequeue(e.now, ^bit)
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
func (e *Engine) endHostStack(in *port, f *frame.Frame) {
	e.Ended.add(int(f.Length))
	x := e.pass
	verdict := x.Verdict
	switch verdict {
	case ebpf.VerdictStack:
		in.hostStack.Delivered.add(int(f.Length))
	case ebpf.VerdictHost:
		in.hostStack.RoCE++
	case ebpf.VerdictConsumed:
		pfc := wire.PFC(f.Data())
		for i := range uint8(switchagent.Priorities) {
			if pfc.ClassEnable()>>i&1 != 0 {
				k := 0
				if pfc.Time(i) != 0 {
					k = 1
				}
				e.ports[in.peer].hostStack.forged[k]++
			}
		}
	default:
		e.refuseHostStack(f)
	}
	e.pool.Put(f)
	if verdict == ebpf.VerdictStack && e.replies != nil {
		e.replies(int(in.id))
	}
}

// refuseHostStack counts a program's frame that the fabric dropped.
func (e *Engine) refuseHostStack(f *frame.Frame) {
	if p := e.senderOf(f); p != nil {
		p.hostStack.Refused++
	}
	e.Totals.Refused++
}

// senderOf is the port of the host that a program's frame says it is from; nil if there is no such host.
func (e *Engine) senderOf(f *frame.Frame) *port {
	if wire.Ethernet(f.Data()).Type() != wire.EtherTypeIPv4 {
		return nil
	}
	source := binary.BigEndian.Uint32(f.Data()[26:])
	host := int(source&0xffffff) - 1
	if source>>24 != 10 || host < 0 || host >= len(e.plan.Hosts) {
		return nil
	}
	return e.hostPort(host)
}

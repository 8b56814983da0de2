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

// HostStackCounts count the host-stack frames of a host's interface.
type HostStackCounts struct {
	Sent      Amount // left the NIC
	Delivered Amount // went up this host's stack
	HostDrops int64  // found the NIC's queue full
	Unknown   int64  // were neither IPv4 nor PFC, of another size than the interface's, or tagged
	Refused   int64  // of Sent: the fabric dropped them (no such host, no room in a lossy queue, malformed)
	RoCE      int64  // came here to UDP port 4791, where no queue pair takes them
}

// Add adds the counts of another interface.
func (c *HostStackCounts) Add(o HostStackCounts) {
	c.Sent.Frames, c.Sent.Bytes = c.Sent.Frames+o.Sent.Frames, c.Sent.Bytes+o.Sent.Bytes
	c.Delivered.Frames, c.Delivered.Bytes = c.Delivered.Frames+o.Delivered.Frames, c.Delivered.Bytes+o.Delivered.Bytes
	c.HostDrops += o.HostDrops
	c.Unknown += o.Unknown
	c.Refused += o.Refused
	c.RoCE += o.RoCE
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

// HostStack is what became of the host-stack frames of the interface with this index.
func (e *Engine) HostStack(nic int) HostStackCounts {
	if o := e.hostPort(nic).hostStack; o != nil {
		return o.HostStackCounts
	}
	return HostStackCounts{}
}

// offer takes a frame that a program sent out of a host's port at a virtual time, which may be to come. whole is false if data is
// not all of it.
func (l *lane) offer(p *port, data []byte, whole bool, at vtime.Time) {
	o := p.hostStack
	if !whole || len(data) < wire.EthernetLen || len(data) > InterfaceMTU(l.plan)+wire.EthernetLen || !l.carries(data) {
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
	f := l.pool.Get(n)
	clear(f.Data()[copy(f.Data(), data):])
	f.MakeHostStack()
	f.Priority = priority
	at = max(at, o.to.last, l.now)
	o.to.last = at
	if at <= l.now && o.to.queue.Packets == 0 {
		o.push(f)
		l.mustServe(p)
		return
	}
	if o.to.queue.Packets == 0 {
		l.push(at, eventHostStack, p.id)
	}
	o.to.queue.Push(f)
	o.to.at = append(o.to.at, at)
}

// carries says whether the fabric carries frames of this kind: IPv4, and what a link's peer is told by PFC.
func (l *lane) carries(data []byte) bool {
	switch binary.BigEndian.Uint16(data[12:]) {
	case uint16(wire.EtherTypeIPv4):
		return true
	case uint16(wire.EtherTypeMACControl):
		return l.flowControl.usesPause()
	}
	return false
}

// hostStackDue queues the frames of a host's programs whose time has come.
func (l *lane) hostStackDue(p *port) error {
	o := p.hostStack
	n := 0
	for n < len(o.to.at) && o.to.at[n] <= l.now {
		o.push(o.to.queue.Pop())
		n++
	}
	o.to.at = o.to.at[:copy(o.to.at, o.to.at[n:])]
	if len(o.to.at) > 0 {
		l.push(o.to.at[0], eventHostStack, p.id)
	}
	return l.serve(p)
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
func (l *lane) pullShared(p *port) (*frame.Frame, vtime.Time) {
	o, nic := p.hostStack, l.nics[p.index]
	registers := &l.state.Ports[p.id]
	roce := uint8(1<<l.hosts.DataPriority | 1<<l.hosts.ControlPriority)
	wake := vtime.Never
	for priority := uint8(switchagent.Priorities); priority > 0; {
		priority--
		bit := uint8(1) << priority
		if (roce|o.waiting)&bit == 0 {
			continue
		}
		if l.countsFrames && o.waiting&bit != 0 {
			l.flowControl.gate(l, p, bit, FrameSize(l.plan))
		}
		if until := vtime.Time(registers.Class[priority].PausedUntil); until > l.now {
			wake = min(wake, until)
			if roce&bit != 0 && l.hosts.ACKsWhenPaused {
				if f, _ := nic.Dequeue(l.now, 0xff); f != nil {
					return f, 0
				}
			}
			continue
		}
		if roce&bit != 0 && (o.waiting&bit == 0 || o.yield&bit == 0) {
			f, next := nic.Dequeue(l.now, ^bit)
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
func (l *lane) endHostStack(in *port, f *frame.Frame) {
	l.Ended.add(int(f.Length))
	x := l.pass
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
				l.ports[in.peer].hostStack.forged[k]++
			}
		}
	default:
		l.refuseHostStack(f)
	}
	l.pool.Put(f)
	if verdict == ebpf.VerdictStack && l.replies != nil {
		l.replies(int(in.id))
	}
}

// refuseHostStack counts a program's frame that the fabric dropped.
func (l *lane) refuseHostStack(f *frame.Frame) {
	if p := l.senderOf(f); p != nil {
		p.hostStack.Refused++
	}
	l.Totals.Refused++
}

// senderOf is the port of a host that a program's frame says it is from; nil if there is no such address.
func (l *lane) senderOf(f *frame.Frame) *port {
	if wire.Ethernet(f.Data()).Type() != wire.EtherTypeIPv4 {
		return nil
	}
	source := binary.BigEndian.Uint32(f.Data()[26:])
	nic := int(source&0xffffff) - 1
	if source>>24 != 10 || nic < 0 || nic >= len(l.plan.Interfaces) {
		return nil
	}
	return l.hostPort(nic)
}

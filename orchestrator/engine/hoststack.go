package engine

import (
	"encoding/binary"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// Host-stack traffic is the traffic of programs in a host's namespace of a live fabric. It leaves through the NIC's
// port beside RoCE, with the priority of its DSCP, crosses the fabric like any frame, and goes up the kernel's stack at
// its destination. Such frames may have any content: the engine counts their outcome, which breaks no invariant.
//
// Frames that the pipelines do not forward take the slow path: the switch's processor answers them, forwards them to
// another switch's processor, or copies them along a tree to all hosts. No ingress port's account contains them: queues
// accept them up to the limit of lossy priorities.

// hostStackQueueLimit limits the frames that wait in a NIC for one priority, like a Linux interface's txqueuelen.
const hostStackQueueLimit = 1000

// HostStackCounts counts the host-stack frames of a host's interface.
type HostStackCounts struct {
	Sent      Amount // left the NIC
	Delivered Amount // went up this host's stack, including copies of broadcasts and switches' answers
	HostDrops int64  // found the NIC's queue full
	Unknown   int64  // neither IP, ARP nor PFC, longer than the interface allows, or tagged
	Refused   int64  // part of Sent: dropped by the fabric (no such host, no room in a lossy queue, malformed)
	Taken     int64  // part of Sent: accepted by switches, to answer them or to send copies to all hosts
	RoCE      int64  // arrived here at UDP port 4791 without a queue pair
	Datagrams int64  // arrived here for a queue pair of datagrams
}

// Add adds the counts of another interface.
func (c *HostStackCounts) Add(o HostStackCounts) {
	c.Sent.plus(o.Sent)
	c.Delivered.plus(o.Delivered)
	c.HostDrops += o.HostDrops
	c.Unknown += o.Unknown
	c.Refused += o.Refused
	c.Taken += o.Taken
	c.RoCE += o.RoCE
	c.Datagrams += o.Datagrams
}

// hostStack holds a NIC's side of host-stack traffic.
type hostStack struct {
	HostStackCounts
	to      arrivals
	queues  [switchagent.Priorities]frame.Queue
	packets int32
	waiting uint8    // bit n: queue n has frames
	yield   uint8    // bit n: the last frame of priority n was a RoCE frame
	forged  [2]int64 // RESUMEs and PAUSEs that a program here sent and that arrived
	ended   int64    // PFC frames that a program here sent and that arrived
}

// arrivals holds frames that left the kernel at a virtual time that the engine has not reached.
type arrivals struct {
	queue frame.Queue
	at    []vtime.Time // time of each frame
	last  vtime.Time
}

// HostStack returns the counts of the host-stack frames of the interface with this index.
func (e *Engine) HostStack(nic int) HostStackCounts {
	if o := e.hostPort(nic).hostStack; o != nil {
		return o.HostStackCounts
	}
	return HostStackCounts{}
}

// offer accepts a frame that a program sent from a host's port at a virtual time, which may be in the future. whole is
// false if data is only a part of it.
func (w *worker) offer(p *port, data []byte, whole bool, at vtime.Time) {
	o := p.hostStack
	if !whole || len(data) < wire.EthernetLen || len(data) > w.mtuOf(p.id)+wire.EthernetLen || !w.carries(data) {
		o.Unknown++
		return
	}
	if wire.Ethernet(data).Type() == wire.EtherTypeIPv6 && !w.slowPath.querier &&
		switchagent.MembershipOf(data) == switchagent.MembershipReport {
		return // the kernel's unsolicited report of its addresses' groups: idle hosts send nothing
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
		w.push(p.partition, at, eventHostStack, p.id)
	}
	o.to.queue.Push(f)
	o.to.at = append(o.to.at, at)
}

// carries reports whether the fabric carries frames of this kind: IP, ARP, and under PFC its control frames.
func (w *worker) carries(data []byte) bool {
	switch binary.BigEndian.Uint16(data[12:]) {
	case wire.EtherTypeIPv4, wire.EtherTypeIPv6, wire.EtherTypeARP:
		return true
	case uint16(wire.EtherTypeMACControl):
		return w.flowControl.usesPause()
	}
	return false
}

// hostStackDue queues the frames of a host's programs that are due.
func (w *worker) hostStackDue(p *port) error {
	o := p.hostStack
	n := 0
	for n < len(o.to.at) && o.to.at[n] <= w.now {
		o.push(o.to.queue.Pop())
		n++
	}
	o.to.at = o.to.at[:copy(o.to.at, o.to.at[n:])]
	if len(o.to.at) > 0 {
		w.push(p.partition, o.to.at[0], eventHostStack, p.id)
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

// pullShared returns the next frame of a host's NIC, from RoCE or a program: the highest priority first, alternately
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

// endHostStack ends a program's frame at port in.
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

// senderOf returns the host's port that a program's frame names as its source; nil if there is no such address.
func (w *worker) senderOf(f *frame.Frame) *port {
	source, _ := switchagent.Ends(f.Data())
	if nic := w.interfaceOf(source); nic >= 0 {
		return w.hostPort(nic)
	}
	return nil
}

// takeDatagram delivers a datagram that reached a host's port to its queue pair. It returns false if this host has
// none.
func (w *worker) takeDatagram(in *port, f *frame.Frame) bool {
	var p wire.Packet
	if !f.Datagram() || wire.Parse(f.Data(), &p) != nil {
		return false
	}
	d := w.datagrams[p.DestQP]
	return d != nil && d.port == in && d.Receive(&p)
}

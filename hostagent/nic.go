package hostagent

import (
	"cmp"
	"slices"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Clock drives a NIC. Package engine implements it; tests do too.
type Clock interface {
	// Arm calls s.OnTimer at the given time. A sender is armed for one time at most: a later Arm replaces it.
	Arm(s *Sender, at vtime.Time)
	// ArmReceiver calls r.OnTimer at the given time, unless r.Armed has changed by then.
	ArmReceiver(r *Receiver, at vtime.Time)
	// Done is called when the last byte of s is acknowledged.
	Done(now vtime.Time, s *Sender)
	// Sent is called when s starts to send its last packet for the first time, if SenderConfig.NotifySent is set.
	Sent(now vtime.Time, s *Sender)
	// Delivered is called when r has received all of its Size bytes.
	Delivered(now vtime.Time, r *Receiver)
	// Worker returns the number, from 0 on, of the worker that drives the NIC now. One worker does one thing at a
	// time.
	Worker() int
	// Frame returns a frame of n bytes for a packet that the NIC builds.
	Frame(n int) *frame.Frame
	// Brief returns a frame of n bytes that holds only a RoCE packet's own fields.
	Brief(n int, form *wire.Form, b wire.Brief) *frame.Frame
}

// NIC represents one host's RDMA NIC. It is a sans-IO state machine: the engine passes it the frames that arrive, and
// takes a frame whenever the port is free, as a NIC's port pulls the next eligible packet.
type NIC struct {
	settings *Settings
	clock    Clock
	mtu      int
	// lineBytes returns a frame's line time in bytes.
	lineBytes func(n int) int64

	control frame.Queue // CNPs, and ACKs and NAKs if they have the control priority
	class               // class of the settings' data priority
	several classes     // classes, if flows have other data priorities

	senders   qpTable[Sender]
	receivers qpTable[Receiver]
	// for CNMs: the first flow with the ID, in the order of their starts; nil before the first CNM
	byFlowID map[uint16]*Sender
	started  int // flows so far

	// calling holds 1 + the flow whose congestion control may be running; 0: none. After a panic it identifies the
	// flow.
	calling int32

	*Scratch

	// HeadersOnly makes frames carry neither payload nor ICRC. Otherwise frames with a wrong ICRC are discarded.
	HeadersOnly bool
	// Brief makes data packets, ACKs and NAKs without telemetry and timestamp carry only their own fields. It requires
	// HeadersOnly, and IPv4.
	Brief bool

	// Rate holds the rate of the NIC's port, at which its receivers grant (Settings.Grants).
	Rate    units.Rate
	turns   *turns // turns of receivers that grant; nil: none yet
	granted int    // number of senders that need grants

	// Recorder receives the reasons why packets leave when they do; nil: none.
	Recorder Recorder

	Counters
}

// Scratch holds what a NIC needs only while it handles a packet. NICs that one worker drives at a time may share it.
type Scratch struct {
	packet wire.Packet   // the current packet; passing it to the Recorder would move it to the heap
	sample cc.Sample     // sample of the current packet
	hops   []wire.INTHop // telemetry of the current packet
}

// Counters holds a NIC's totals over the run.
type Counters struct {
	DataSent, DataReceived         int64 // packets
	AcksSent, AcksReceived         int64
	NaksSent, NaksReceived         int64
	CNPsSent, CNPsReceived         int64
	CNMsReceived                   int64
	CNMsUnknown                    int64 // CNMs for a flow that this host does not send
	Corrupted                      int64 // frames with a wrong ICRC
	Stray                          int64 // frames for no queue pair of this host
	Duplicates, OutOfOrder         int64 // data packets
	Trimmed                        int64 // data packets received without their payload
	BytesDelivered                 int64 // payload, in order or placed, once
	BytesSent                      int64 // payload, retransmissions included
	FramesReceived                 int64
	Marked                         int64 // data packets received with CE
	Undetermined                   int64 // data packets received with UE, under ternary congestion detection
	Timeouts                       int64 // retransmission timeouts
	RNRs                           int64 // RNR NAKs sent
	RateChanges                    int64 // times a flow's controller changed its rate
	WindowChanges                  int64 // times a flow's controller changed its window
	GrantsSent, GrantsReceived     int64
	RequestsSent, RequestsReceived int64 // requests for grants
	BytesGranted                   int64 // payload
}

// NewNIC returns a host's NIC. mtu is the payload of a full packet; lineBytes returns the line time of a frame of n
// bytes, in bytes.
func NewNIC(settings *Settings, clock Clock, mtu int, lineBytes func(n int) int64, scratch *Scratch) *NIC {
	return &NIC{settings: settings, clock: clock, mtu: mtu, lineBytes: lineBytes, Scratch: scratch}
}

// Dequeue returns the next frame that may leave at now, given the priorities that are OFF. Without one it returns the
// time at which one becomes eligible, or vtime.Never if that depends on an event.
func (n *NIC) Dequeue(now vtime.Time, off uint8) (f *frame.Frame, wake vtime.Time) {
	wake = vtime.Never
	stopped := off
	if n.settings.ACKsWhenPaused {
		stopped = 0
	}
	if stopped>>n.settings.ControlPriority&1 == 0 {
		if f := n.control.Pop(); f != nil {
			return f, 0
		}
		if n.turns != nil {
			if f, wake = n.grantNext(now); f != nil {
				return f, 0
			}
		}
	}
	if n.several.all != nil {
		f, at := n.dequeueSeveral(now, off, stopped)
		if f == nil && n.granted > 0 && stopped>>n.settings.ControlPriority&1 == 0 {
			f = n.control.Pop()
		}
		return f, min(wake, at)
	}
	if n.acks.Packets > 0 && stopped>>n.settings.DataPriority&1 == 0 {
		return n.acks.Pop(), 0
	}
	if off>>n.settings.DataPriority&1 != 0 {
		return nil, wake
	}
	refused := false
	for s := n.candidate(&n.class, now); s != nil; s = n.candidate(&n.class, now) {
		if f = s.send(now); f == nil { // the program's memory no longer exists, and its peer may need an answer
			refused = true
			continue
		}
		if t := s.flowTraits(); t != nil {
			n.served(s, t.Weight)
		}
		n.calling = 0
		return f, 0
	}
	n.calling = 0
	if (n.granted > 0 || refused) && stopped>>n.settings.ControlPriority&1 == 0 {
		if f := n.control.Pop(); f != nil { // a flow has requested a grant
			return f, 0
		}
	}
	if n.waiting.len() > 0 {
		wake = min(wake, n.waiting.first().eligible)
	}
	return nil, wake
}

// Backlog returns the number of control frames that wait to be sent: ACKs, NAKs and CNPs.
func (n *NIC) Backlog() (frames int64) {
	n.eachClass(func(c *class) { frames += int64(c.acks.Packets) })
	return frames + int64(n.control.Packets)
}

// EachAnswer calls f with each control frame that waits to be sent.
func (n *NIC) EachAnswer(f func(*frame.Frame)) {
	n.control.Each(f)
	n.eachClass(func(c *class) { c.acks.Each(f) })
}

// BacklogBytes returns the bytes of the control frames that wait to be sent.
func (n *NIC) BacklogBytes() (bytes int64) {
	n.eachClass(func(c *class) { bytes += c.acks.Bytes })
	return bytes + n.control.Bytes
}

// Receive handles a frame that arrived, other than a PAUSE. The frame remains the caller's.
func (n *NIC) Receive(now vtime.Time, f *frame.Frame) {
	n.FramesReceived++
	p := &n.packet
	if err := n.parse(f, p); err != nil {
		n.Stray++
		return
	}
	switch p.Kind {
	case wire.KindCNM, wire.KindOther, wire.KindPFC:
	default:
		if !n.HeadersOnly && !p.ICRCValid() {
			n.Corrupted++
			return
		}
	}
	if n.Recorder == nil {
		n.dispatch(now, f, p)
		return
	}
	n.Recorder.Received(now, f, p)
	n.dispatch(now, f, p)
	n.Recorder.Handled()
}

// dispatch passes a packet to its flow or connection.
func (n *NIC) dispatch(now vtime.Time, f *frame.Frame, p *wire.Packet) {
	switch p.Kind {
	case wire.KindData:
		if r := n.receivers.get(p.DestQP); r != nil {
			r.receive(now, p, int(f.Length))
			return
		}
		if n.toConnection(now, f, p) {
			return
		}
	case wire.KindReadRequest, wire.KindReadResponse, wire.KindAtomic, wire.KindAtomicAck:
		if n.toConnection(now, f, p) {
			return
		}
	case wire.KindAck, wire.KindNak, wire.KindCNP:
		if s := n.senders.get(p.DestQP); s != nil {
			if k := s.connection(); k != nil {
				if k.receive(now, p, int(f.Length)) {
					return
				}
				break
			}
			n.calling = s.caller()
			switch p.Kind {
			case wire.KindAck:
				n.AcksReceived++
				s.onAck(now, p)
			case wire.KindNak:
				n.NaksReceived++
				s.onNak(now, p)
			case wire.KindCNP:
				n.CNPsReceived++
				s.onCNP(now, p)
			}
			n.calling = 0
			return
		}
	case wire.KindGrant:
		if s := n.senders.get(p.DestQP); s != nil {
			n.GrantsReceived++
			n.calling = s.caller()
			s.onGrant(now, p)
			n.calling = 0
			return
		}
	case wire.KindRequest:
		if r := n.receivers.get(p.DestQP); r != nil {
			n.RequestsReceived++
			r.onRequest(now, p)
			return
		}
	case wire.KindCNM:
		cnm := p.CNM()
		n.CNMsReceived++
		first := n.withFlowID(cnm.FlowID())
		if first == nil {
			n.CNMsUnknown++
		}
		// Flows of one host whose CRC-16 IDs collide cannot be distinguished: all are slowed.
		for s := first; s != nil; s = s.nextSameID {
			n.calling = s.caller()
			s.onCNM(now, cnm)
		}
		n.calling = 0
		return
	}
	n.Stray++
}

// toConnection passes a packet to its connection; false if there is none.
func (n *NIC) toConnection(now vtime.Time, f *frame.Frame, p *wire.Packet) bool {
	s := n.senders.get(p.DestQP)
	if s == nil {
		return false
	}
	k := s.connection()
	return k != nil && k.receive(now, p, int(f.Length))
}

// Calling returns the flow whose congestion control was running when it panicked; ok is false if none was.
func (n *NIC) Calling() (flow int, ok bool) { return int(n.calling) - 1, n.calling > 0 }

func (n *NIC) parse(f *frame.Frame, p *wire.Packet) error {
	if n.HeadersOnly {
		return f.ParseHeaders(p)
	}
	return wire.Parse(f.Data(), p)
}

// telemetry returns the telemetry that switches wrote into a packet: the hops in the order of its path, valid until the
// next packet, and the path's ID. Without telemetry it returns nil and 0.
func (n *NIC) telemetry(p *wire.Packet) (hops []wire.INTHop, path uint16) {
	t := p.INT()
	if t == nil {
		return nil, 0
	}
	if n.hops == nil {
		n.hops = make([]wire.INTHop, wire.INTHops)
	}
	hops = n.hops[:t.Hops()]
	for i := range hops {
		hops[i] = t.Hop(i)
	}
	return hops, t.PathID()
}

// Waiting reports whether a frame may be ready as soon as the port is free.
func (n *NIC) Waiting() bool {
	if n.control.Packets > 0 || n.class.waits() || n.turns != nil && len(n.turns.all) > 0 {
		return true
	}
	for _, c := range n.several.all {
		if c.waits() {
			return true
		}
	}
	return false
}

// Pacing reports whether a flow waits only for the departure that its rate gives its next packet, now or later, or for
// a grant, which it will request again.
func (n *NIC) Pacing(now vtime.Time) bool {
	if n.class.pacing(now) {
		return true
	}
	for _, c := range n.several.all {
		if c.pacing(now) {
			return true
		}
	}
	return n.granted > 0 && n.awaitsGrants()
}

// add registers a flow that starts.
func (n *NIC) add(s *Sender) {
	s.order = n.started
	n.started++
	n.senders.put(s.qp, s)
	if n.byFlowID != nil {
		n.index(s)
	}
}

// withFlowID returns the first flow with an ID, in the order of their starts. Most fabrics have no CNMs: the first
// one builds the index.
func (n *NIC) withFlowID(id uint16) *Sender {
	if n.byFlowID == nil {
		n.byFlowID = map[uint16]*Sender{}
		var all []*Sender
		n.senders.each(func(s *Sender) { all = append(all, s) })
		slices.SortFunc(all, func(a, b *Sender) int { return cmp.Compare(a.order, b.order) })
		for _, s := range all {
			n.index(s)
		}
	}
	return n.byFlowID[id]
}

// index adds a flow to the index by ID.
func (n *NIC) index(s *Sender) {
	last := n.byFlowID[s.flowID]
	if last == nil {
		n.byFlowID[s.flowID] = s
		return
	}
	for last.nextSameID != nil {
		last = last.nextSameID
	}
	last.nextSameID = s
}

// remove unregisters a flow that has finished.
func (n *NIC) remove(s *Sender) {
	n.senders.remove(s.qp)
	if n.byFlowID == nil {
		return
	}
	before := n.byFlowID[s.flowID]
	switch {
	case before != s:
		for before.nextSameID != s {
			before = before.nextSameID
		}
		before.nextSameID = s.nextSameID
	case s.nextSameID != nil:
		n.byFlowID[s.flowID] = s.nextSameID
	default:
		delete(n.byFlowID, s.flowID)
	}
	s.nextSameID = nil
}

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

// Clock is what a NIC asks of whoever drives it.
type Clock interface {
	// Arm has s.OnTimer called at the given time; a sender is armed at one time at most, a later Arm replaces it.
	Arm(s *Sender, at vtime.Time)
	// ArmReceiver has r.OnTimer called at the given time, unless r.Armed is another by then.
	ArmReceiver(r *Receiver, at vtime.Time)
	// Done is told that the last byte of s was acknowledged.
	Done(now vtime.Time, s *Sender)
	// Sent is told that s has begun to send its last packet for the first time, if SenderConfig.TellSent asks for it; Delivered, that r has all of
	// its Size bytes.
	Sent(now vtime.Time, s *Sender)
	Delivered(now vtime.Time, r *Receiver)
	// Lane is the number of who drives the NIC now, from 0 on: what is called by one is not called at once.
	Lane() int
	// Frame is a frame of n bytes for a packet that the NIC builds, Brief one that is no more than what a RoCE packet has of its own.
	Frame(n int) *frame.Frame
	Brief(n int, form *wire.Form, b wire.Brief) *frame.Frame
}

// NIC is one host's RDMA NIC. It is a sans-IO state machine: the engine hands it the frames that arrive and takes a frame
// whenever the port is free, as a NIC's port pulls the next eligible packet.
type NIC struct {
	settings *Settings
	clock    Clock
	mtu      int
	// lineBytes is the line time of a frame in bytes.
	lineBytes func(n int) int64

	control frame.Queue // CNP, and ACK and NAK if they have its priority
	class               // of the settings' data priority
	several classes     // and others, if flows have others

	senders   pairs[Sender]
	receivers pairs[Receiver]
	byFlowID  map[uint16]*Sender // for CNMs: the first of those with the id, in the order of starting; nil: none has come
	started   int

	// calling is 1 + the flow whose congestion control may be at work; 0: none is. It stays where that panics, and says whose it was.
	calling int32

	packet wire.Packet   // the present one: on the stack it could not be, as a Recorder is told of it
	sample cc.Sample     // of the present packet
	hops   []wire.INTHop // its
	stage  []byte        // the payload of one that a queue pair sends; nil: there was none

	// HeadersOnly says that frames carry neither payload nor ICRC; otherwise frames with a wrong ICRC are discarded.
	HeadersOnly bool
	// Brief says that those of data, ACK and NAK without telemetry and timestamp carry no more than what such a packet has of its own. It goes
	// with HeadersOnly, and with IPv4.
	Brief bool

	// Rate is that of its port, at which its receivers grant (Settings.Grants).
	Rate    units.Rate
	turns   *turns // of receivers that grant; nil: none has yet
	granted int    // senders that go by grants

	// Recorder is told why packets leave when they do; nil: nobody is.
	Recorder Recorder

	Counters
}

// Counters are a NIC's totals over the run.
type Counters struct {
	DataSent, DataReceived         int64 // packets
	AcksSent, AcksReceived         int64
	NaksSent, NaksReceived         int64
	CNPsSent, CNPsReceived         int64
	CNMsReceived                   int64
	CNMsUnknown                    int64 // CNMs whose flow this host does not send
	Corrupted                      int64 // frames with a wrong ICRC
	Stray                          int64 // frames for no queue pair of this host
	Duplicates, OutOfOrder         int64 // data packets
	Trimmed                        int64 // data packets that came without their payload
	BytesDelivered                 int64 // payload, in order or placed, once
	BytesSent                      int64 // payload, retransmissions included
	FramesReceived                 int64
	Marked                         int64 // data packets received with CE
	Undetermined                   int64 // data packets received with UE, under ternary congestion detection
	Timeouts                       int64 // retransmission timeouts
	RNRs                           int64 // RNR NAKs sent
	RateChanges                    int64 // times a flow's controller changed its rate
	WindowChanges                  int64 // and its window
	GrantsSent, GrantsReceived     int64
	RequestsSent, RequestsReceived int64 // for grants
	BytesGranted                   int64 // payload
}

// NewNIC is a host's NIC. mtu is a full packet's payload; lineBytes gives a frame's line time.
func NewNIC(settings *Settings, clock Clock, mtu int, lineBytes func(int) int64) *NIC {
	return &NIC{
		settings: settings, clock: clock, mtu: mtu, lineBytes: lineBytes,
	}
}

// Dequeue takes the next frame that may leave at now, given the priorities that are OFF. Without one it says when one
// becomes eligible, vtime.Never if only an event can bring one.
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
		if f = s.send(now); f == nil { // a program's memory is gone, which its peer may have to be told
			refused = true
			continue
		}
		if s.traits != nil {
			n.served(s)
		}
		n.calling = 0
		return f, 0
	}
	n.calling = 0
	if (n.granted > 0 || refused) && stopped>>n.settings.ControlPriority&1 == 0 {
		if f := n.control.Pop(); f != nil { // a flow has asked for a grant
			return f, 0
		}
	}
	if n.waiting.len() > 0 {
		wake = min(wake, n.waiting.first().eligible)
	}
	return nil, wake
}

// Backlog is the control frames waiting to be sent: ACK, NAK and CNP.
func (n *NIC) Backlog() (frames int64) {
	n.each(func(c *class) { frames += int64(c.acks.Packets) })
	return frames + int64(n.control.Packets)
}

// EachAnswer calls f with each of them.
func (n *NIC) EachAnswer(f func(*frame.Frame)) {
	n.control.Each(f)
	n.each(func(c *class) { c.acks.Each(f) })
}

// BacklogBytes is the bytes of the control frames waiting to be sent.
func (n *NIC) BacklogBytes() (bytes int64) {
	n.each(func(c *class) { bytes += c.acks.Bytes })
	return bytes + n.control.Bytes
}

// Receive takes a frame that arrived and was not a pause. The frame stays the caller's.
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
		n.deal(now, f, p)
		return
	}
	n.Recorder.Received(now, f, p)
	n.deal(now, f, p)
	n.Recorder.Handled()
}

// deal hands a packet to the flow's half that it is for.
func (n *NIC) deal(now vtime.Time, f *frame.Frame, p *wire.Packet) {
	switch p.Kind {
	case wire.KindData:
		if r := n.receivers.get(p.DestQP); r != nil {
			r.receive(now, p, int(f.Length))
			return
		}
		if n.pair(now, f, p) {
			return
		}
	case wire.KindReadRequest, wire.KindReadResponse, wire.KindAtomic, wire.KindAtomicAck:
		if n.pair(now, f, p) {
			return
		}
	case wire.KindAck, wire.KindNak, wire.KindCNP:
		if s := n.senders.get(p.DestQP); s != nil {
			if s.pair != nil {
				if s.pair.handle(now, p, int(f.Length)) {
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
			r.asked(now, p)
			return
		}
	case wire.KindCNM:
		cnm := p.CNM()
		n.CNMsReceived++
		first := n.withFlowID(cnm.FlowID())
		if first == nil {
			n.CNMsUnknown++
		}
		// Flows of one host whose CRC-16 ids collide cannot be told apart: all are slowed.
		for s := first; s != nil; s = s.collides {
			n.calling = s.caller()
			s.onCNM(now, cnm)
		}
		n.calling = 0
		return
	}
	n.Stray++
}

// pair hands a packet to the queue pair that it is for; false if there is none.
func (n *NIC) pair(now vtime.Time, f *frame.Frame, p *wire.Packet) bool {
	s := n.senders.get(p.DestQP)
	return s != nil && s.pair != nil && s.pair.handle(now, p, int(f.Length))
}

// Calling is the flow whose congestion control was at work as it panicked; ok is false if none was.
func (n *NIC) Calling() (flow int, ok bool) { return int(n.calling) - 1, n.calling > 0 }

func (n *NIC) parse(f *frame.Frame, p *wire.Packet) error {
	if n.HeadersOnly {
		return f.ParseHeaders(p)
	}
	return wire.Parse(f.Data(), p)
}

// telemetry is what the switches wrote into a packet: hops in the order of its way, valid until the next packet, and the
// way's id. Without telemetry it is nil and 0.
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

// Waiting says whether a frame may be ready as soon as the port is free.
func (n *NIC) Waiting() bool {
	if n.control.Packets > 0 || n.class.holds() || n.turns != nil && len(n.turns.all) > 0 {
		return true
	}
	for _, c := range n.several.all {
		if c.holds() {
			return true
		}
	}
	return false
}

// Pacing says whether a flow waits for the time that its rate gives its next packet, now or later, and for nothing else; or for a grant, which it will
// ask for again.
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

// add notes a flow that begins.
func (n *NIC) add(s *Sender) {
	s.start = n.started
	n.started++
	n.senders.put(s.qp, s)
	if n.byFlowID != nil {
		n.index(s)
	}
}

// withFlowID is the first flow with an id, in the order of starting. Most fabrics have no CNMs: the index is made as the first comes.
func (n *NIC) withFlowID(id uint16) *Sender {
	if n.byFlowID == nil {
		n.byFlowID = map[uint16]*Sender{}
		var all []*Sender
		n.senders.all(func(s *Sender) { all = append(all, s) })
		slices.SortFunc(all, func(a, b *Sender) int { return cmp.Compare(a.start, b.start) })
		for _, s := range all {
			n.index(s)
		}
	}
	return n.byFlowID[id]
}

func (n *NIC) index(s *Sender) {
	last := n.byFlowID[s.flowID]
	if last == nil {
		n.byFlowID[s.flowID] = s
		return
	}
	for last.collides != nil {
		last = last.collides
	}
	last.collides = s
}

// remove forgets a flow that has ended.
func (n *NIC) remove(s *Sender) {
	n.senders.remove(s.qp)
	if n.byFlowID == nil {
		return
	}
	before := n.byFlowID[s.flowID]
	switch {
	case before != s:
		for before.collides != s {
			before = before.collides
		}
		before.collides = s.collides
	case s.collides != nil:
		n.byFlowID[s.flowID] = s.collides
	default:
		delete(n.byFlowID, s.flowID)
	}
	s.collides = nil
}

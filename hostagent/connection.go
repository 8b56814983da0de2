package hostagent

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// Messages supplies the packets of a Connection: requests and responses of a queue pair's messages (package qp). The
// NIC calls it.
type Messages interface {
	// Accepts reports whether a packet with the connection's number belongs to it.
	Accepts(p *wire.Packet) bool
	// Receive handles an accepted packet other than a CNP.
	Receive(now vtime.Time, p *wire.Packet)
	// Next reports whether the next packet may leave now. If it returns LeaveAt, the time is the packet's departure.
	Next(now vtime.Time) (Readiness, vtime.Time)
	// Responding reports whether a response waits. The congestion window does not block responses.
	Responding() bool
	// Send builds the next packet and returns it with its payload bytes. It returns nil if there is no packet after
	// all.
	Send(now vtime.Time) (f *frame.Frame, payload int)
	// Pending reports whether anything is left to send.
	Pending() bool
	// Timeout returns the retransmission timeout, given that of the host's settings; 0: none.
	Timeout(host vtime.Time) vtime.Time
	// Expired handles the expiry of the retransmission timer, and reports whether to retransmit.
	Expired(now vtime.Time) bool
}

// Readiness reports whether a connection's next packet may leave.
type Readiness uint8

// Values of Readiness.
const (
	LeaveNow Readiness = iota
	LeaveAt            // a time
	AwaitAnswer
	NothingToSend
)

// Connection carries the messages of a queue pair between two hosts. Its packets leave by a Sender, which has the
// congestion control; its answers, ACKs and NAKs, by a Receiver, which is the notification point. It numbers request
// packets from 0 on. Each counts as a full packet in the Sender's sequence of bytes, whatever its payload.
type Connection struct {
	nic      *NIC
	sender   *Sender
	receiver *Receiver
	messages Messages
}

// ConnectionConfig describes a connection to NIC.Connect.
type ConnectionConfig struct {
	SenderConfig                 // Size and Traits are not used
	Number       uint32          // queue pair number of this end
	MTU          int             // payload bytes of a full packet
	Back         wire.FlowParams // parameters of the answers
	Messages     Messages
}

// Connect returns a new connection that has nothing to send yet.
func (n *NIC) Connect(now vtime.Time, c *ConnectionConfig) (*Connection, error) {
	settings := cmp.Or(c.Settings, n.settings)
	switch {
	case c.MTU < 256 || c.MTU > min(n.mtu, wire.MaxPathMTU) || c.MTU&3 != 0:
		return nil, fmt.Errorf("MTU %d: expected a multiple of 4 from 256 to %d, the fabric's MTU", c.MTU,
			min(n.mtu, wire.MaxPathMTU))
	case settings.Recovery == SelectiveRepeat:
		return nil, errors.New("queue pairs of programs recover only by go-back-N, " +
			"because selective repeat reorders WRITEs (leave recovery: selective out)")
	}
	// the other host may not grant, and no packet requests grants
	if _, granted := c.Controller.(cc.ByGrants); granted && settings.Grants {
		return nil, errors.New("queue pairs of programs send without grants (choose a congestion controller without grants)")
	}
	header, err := wire.NewFlowHeader(c.Wire)
	if err != nil {
		return nil, err
	}
	answers, err := wire.NewFlowHeader(c.Back)
	if err != nil {
		return nil, err
	}
	s := n.newSender(now, &c.SenderConfig, header)
	k := &Connection{nic: n, sender: s, messages: c.Messages, receiver: &Receiver{
		nic: n, settings: settings, acks: &n.classOf(settings.DataPriority).acks, Flow: c.Flow, qp: c.Number, back: answers,
		lastCNP: longAgo,
		lastNak: longAgo, nakFor: -1, origin: vtime.Never, armed: vtime.Never,
	}}
	s.size, s.mtu, s.qp, s.state = 0, int64(c.MTU), c.Number, senderDrained
	s.sent = make([]vtime.Time, 64)
	s.extend().connection = k
	n.add(s)
	n.calling = s.caller()
	s.window = s.controller.Window()
	if s.rate = s.sendable(now); s.rate <= 0 {
		s.eligible, s.stoppedAt = vtime.Never, now
	}
	s.rearm()
	n.calling = 0
	return k, nil
}

// InUse reports whether a flow or connection of the NIC has a queue pair number.
func (n *NIC) InUse(qp uint32) bool { return n.senders.get(qp) != nil || n.receivers.get(qp) != nil }

// Sender returns the connection's sending half.
func (k *Connection) Sender() *Sender { return k.sender }

// Receiver returns the connection's notification point.
func (k *Connection) Receiver() *Receiver { return k.receiver }

// Settings returns the settings of the connection's host.
func (k *Connection) Settings() *Settings { return k.sender.settings }

// Counters returns the NIC's counters, in which the connection's packets are counted.
func (k *Connection) Counters() *Counters { return &k.nic.Counters }

// Header returns the header of the connection's packets.
func (k *Connection) Header() *wire.FlowHeader { return k.sender.header }

// Frame returns a frame of n bytes for a packet of the connection.
func (k *Connection) Frame(n int) *frame.Frame {
	f := k.nic.clock.Frame(n)
	f.Priority = k.sender.settings.DataPriority
	return f
}

// DrawSourcePort sets the source port of the next request in the header, if requests have different ones.
func (k *Connection) DrawSourcePort() {
	if e := k.sender.ext.entropy; e != nil {
		k.sender.header.SetSourcePort(e.next())
	}
}

// receive handles a packet with the connection's number, in a frame of length bytes; false if it does not belong to
// the connection.
func (k *Connection) receive(now vtime.Time, p *wire.Packet, length int) bool {
	if !k.messages.Accepts(p) {
		return false
	}
	n := k.nic
	n.calling = k.sender.caller()
	switch p.Kind {
	case wire.KindAck:
		n.AcksReceived++
	case wire.KindNak:
		n.NaksReceived++
	case wire.KindCNP:
		n.CNPsReceived++
		k.sender.onCNP(now, p)
		n.calling = 0
		return true
	default:
		n.DataReceived++
		k.receiver.notice(now, p, length)
	}
	k.messages.Receive(now, p)
	n.calling = 0
	return true
}

// Answer sends an ACK or NAK about p with a syndrome, PSN and MSN.
func (k *Connection) Answer(now vtime.Time, p *wire.Packet, syndrome uint8, psn, msn uint32) {
	k.receiver.answer(now, p, syndrome, psn, msn)
	if syndrome == wire.SyndromeAck {
		k.nic.AcksSent++
	} else {
		k.nic.NaksSent++
	}
}

// admit reports whether the next packet may leave now. If not, it moves the sender to the queue in which it waits.
func (k *Connection) admit(now vtime.Time) bool {
	s := k.sender
	switch ready, at := k.messages.Next(now); ready {
	case LeaveNow:
		return true
	case LeaveAt:
		s.state, s.eligible = senderWaiting, at
		s.class.waiting.push(s)
	case AwaitAnswer:
		s.state = senderBlocked
	case NothingToSend:
		s.state = senderDrained
	}
	return false
}

// send builds the sender's next packet. It returns nil if there is no packet after all.
func (k *Connection) send(now vtime.Time) *frame.Frame {
	s := k.sender
	f, payload := k.messages.Send(now)
	if f != nil {
		s.lastStart, s.lastLine = now, k.nic.lineBytes(int(f.Length))
		k.nic.DataSent++
		k.nic.BytesSent += int64(payload)
		s.time(now)
	}
	if k.messages.Pending() {
		s.state = senderWaiting
		s.class.waiting.push(s)
	} else {
		s.state = senderDrained
	}
	if f != nil {
		s.controller.OnSent(now, payload)
		s.adjust(now)
	}
	return f
}

// Next returns the number of the next request packet.
func (k *Connection) Next() int64 { return k.sender.next / k.sender.mtu }

// Acked returns how many request packets are acknowledged.
func (k *Connection) Acked() int64 { return k.sender.acked / k.sender.mtu }

// MostSent returns how many request packets have been sent at least once.
func (k *Connection) MostSent() int64 { return k.sender.high / k.sender.mtu }

// End returns the number of request packets that the connection is to send.
func (k *Connection) End() int64 { return k.sender.size / k.sender.mtu }

// SetEnd sets it.
func (k *Connection) SetEnd(packets int64) { k.sender.size = packets * k.sender.mtu }

// Blocked reports whether the window blocks the next request.
func (k *Connection) Blocked(now vtime.Time) bool { return k.sender.blocked(now) }

// WantsAck reports whether request packet number is to request an ACK, as it fills the window or by AckEvery.
func (k *Connection) WantsAck(number int64) bool {
	s := k.sender
	return s.fills(s.mtu) || (number+1)%int64(s.settings.AckEvery) == 0
}

// RecordSent records that a request packet with a payload leaves now, and whether it requests an ACK.
func (k *Connection) RecordSent(now vtime.Time, number int64, payload int, ackRequest bool) {
	s := k.sender
	at := number * s.mtu
	retransmitted := at < s.high
	s.remember(number, now, retransmitted)
	if retransmitted {
		s.Retransmitted += int64(payload)
	}
	s.next = at + s.mtu
	if ackRequest {
		if !s.due() {
			s.moved = now
		}
		s.asked = max(s.asked, s.next)
	}
	s.high = max(s.high, s.next)
}

// NotePath passes the path information in an answer to the flow's congestion control.
func (k *Connection) NotePath(now vtime.Time, p *wire.Packet) { k.sender.notePath(now, p) }

// Acknowledge acknowledges all request packets before number, with the information in p.
func (k *Connection) Acknowledge(now vtime.Time, p *wire.Packet, number int64) {
	k.sender.advance(now, p, number-1, p.Kind == wire.KindAck)
}

// NoteProgress restarts the retransmission timer.
func (k *Connection) NoteProgress(now vtime.Time) { k.sender.moved = now }

// Rewound reports whether the connection has already gone back for the gap that a NAK for a packet reports. If not, it
// records the gap.
func (k *Connection) Rewound(now vtime.Time, number int64) bool { return k.sender.rewound(now, number) }

// GoBack retransmits from a request packet on, unless the connection has gone back further. loss reports a lost packet
// to the congestion control.
func (k *Connection) GoBack(now vtime.Time, number int64, loss bool) {
	s := k.sender
	if number*s.mtu < s.next {
		acked := s.acked
		s.acked = number * s.mtu
		s.goBack(now, false)
		s.acked = acked
	}
	if loss {
		s.controller.OnNak(now)
	}
	s.adjust(now)
}

// WakeIfDrained makes the sender look for packets, if it had sent everything.
func (k *Connection) WakeIfDrained(now vtime.Time) {
	if k.sender.state == senderDrained {
		k.Wake(now)
	}
}

// Wake makes the sender look for packets to send.
func (k *Connection) Wake(now vtime.Time) {
	s := k.sender
	switch s.state {
	case senderDrained:
		s.state = senderWaiting
		s.time(now)
		s.class.waiting.push(s)
	case senderBlocked:
		if k.messages.Responding() {
			s.state = senderWaiting
			s.class.waiting.push(s)
		}
	case senderWaiting:
		s.time(now) // it may wait for a receiver that is not ready
		s.class.waiting.fix(s)
	}
}

// Stop stops all sending.
func (k *Connection) Stop() {
	s := k.sender
	if s.state == senderWaiting {
		s.class.waiting.remove(s)
	}
	if s.state != senderReady { // candidate drops one that is ready, in its turn
		s.state = senderDrained
	}
	s.asked = s.acked
}

// Close ends a connection that has stopped.
func (k *Connection) Close() {
	k.sender.state, k.sender.armed = senderDone, vtime.Never
	k.nic.remove(k.sender)
	k.receiver.armed = vtime.Never
}

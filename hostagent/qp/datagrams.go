package qp

import (
	"errors"

	"github.com/pausenet/pausenet/internal/wire"
)

// Datagrams represents a queue pair of the unreliable datagram service (IBTA volume 1 section 9.8.3). Each message is
// one packet, which is neither acknowledged, paced nor retransmitted; no congestion control applies. Its packets leave
// the NIC beside those of flows, like programs' frames.
type Datagrams struct {
	Config
	state   State
	own     bool // Receives belongs to this queue pair alone
	qkey    uint32
	psn     uint32
	mtu     int // MTU of the interface, in bytes of an IP packet
	current ReceiveRequest
}

// Destination describes the destination of a datagram.
type Destination struct {
	wire.FlowParams // addresses of its packet; DestQP is the other queue pair's
	QKey            uint32
}

// NewDatagrams returns a queue pair in StateReset, whose IP packets have at most mtu bytes.
func NewDatagrams(c Config, mtu int) (*Datagrams, error) {
	if err := c.checkDepths(); err != nil {
		return nil, err
	}
	d := &Datagrams{Config: c, mtu: mtu}
	if d.Receives == nil {
		d.Receives, d.own = NewReceiveQueue(c.ReceiveDepth), true
	}
	return d, nil
}

// maxMessage returns the maximum length of a message over a version of the Internet Protocol.
func (d *Datagrams) maxMessage(v wire.Version) int {
	const headers = wire.IPv4Len + wire.UDPLen + wire.BTHLen + wire.DETHLen + wire.ImmDtLen + wire.ICRCLen
	return min(wire.MaxPathMTU, (d.mtu-headers-v.Extra())&^3)
}

// State returns the state of the queue pair.
func (d *Datagrams) State() State { return d.state }

// SetKey sets the Q_Key that datagrams must have to be accepted.
func (d *Datagrams) SetKey(qkey uint32) { d.qkey = qkey }

// Init allows receive requests to be posted: StateReset becomes StateInit.
func (d *Datagrams) Init() error { return d.step(StateReset, StateInit) }

// Ready starts to receive: StateInit becomes StateRTR.
func (d *Datagrams) Ready() error { return d.step(StateInit, StateRTR) }

// Start allows sending, with PSNs from psn on: StateRTR becomes StateRTS.
func (d *Datagrams) Start(psn uint32) error {
	d.psn = psn & wire.PSNMask
	return d.step(StateRTR, StateRTS)
}

func (d *Datagrams) step(from, to State) error {
	if d.state != from {
		return ErrState
	}
	d.state = to
	return nil
}

// PostSend builds the packet of a work request in the memory that room returns, and completes the work request. There
// is no packet if it returns an error, or in StateError.
func (d *Datagrams) PostSend(w *WorkRequest, to *Destination, room func(n int) []byte) error {
	length, ok := total(w.SGEs)
	if w.Inline != nil {
		length, ok = uint32(min(len(w.Inline), MaxMessage+1)), len(w.Inline) <= MaxMessage
	}
	done := Completion{ID: w.ID, QP: d.Number, Remote: to.DestQP, Op: CompletionSend}
	switch {
	case w.Op != WorkSend && w.Op != WorkSendImm:
		return ErrWork
	case !ok || int(length) > d.maxMessage(to.Version):
		return ErrLength
	case d.state == StateError:
		done.Status = StatusFlushed
		d.Program.Complete(done)
		return nil
	case d.state != StateRTS:
		return ErrState
	}
	header, err := wire.NewFlowHeader(to.FlowParams)
	if err != nil {
		return err
	}
	m := wire.Message{
		Op: wire.OpDatagram, PSN: d.psn, Solicited: w.Solicited, Payload: int(length), Imm: w.Imm, QKey: to.QKey,
		SourceQP: d.Number,
	}
	if w.Op == WorkSendImm {
		m.Op = wire.OpDatagramImm
	}
	payload := make([]byte, length)
	if w.Inline != nil {
		copy(payload, w.Inline)
	} else if err := d.Program.Gather(w.SGEs, 0, payload); err != nil {
		if done.Status = StatusLocalOperation; errors.Is(err, ErrAccess) {
			done.Status = StatusLocalProtection
		}
		d.Program.Complete(done)
		d.Fail()
		return nil
	}
	buf := room(to.Version.MessageLen(m.Op, m.Payload))
	copy(wire.BeginMessage(buf, header, &m), payload)
	wire.EndMessage(buf)
	d.psn = (d.psn + 1) & wire.PSNMask
	if w.Signaled || d.SignalAll {
		d.Program.Complete(done)
	}
	return nil
}

// PostReceive appends a receive request to the queue pair's own queue.
func (d *Datagrams) PostReceive(w *ReceiveRequest) error {
	switch {
	case d.state == StateReset || !d.own:
		return ErrState
	case d.state == StateError:
		d.flush(w.ID)
		return nil
	}
	return d.Receives.Post(w)
}

// Receive handles a packet that arrived, over IPv4 or IPv6; false if it is not for the queue pair. A packet without a
// receive request, or with one that is too short, is dropped silently (IBTA volume 1 section 9.8.3).
func (d *Datagrams) Receive(p *wire.Packet) bool {
	qkey, source, immediate, withImmediate := p.Datagram()
	if p.Kind != wire.KindDatagram || p.DestQP != d.Number || d.state != StateRTR && d.state != StateRTS ||
		qkey != d.qkey || !p.ICRCValid() {
		return false
	}
	room, ok := d.Receives.room()
	if !ok || int(room) < wire.GRHLen+p.Payload {
		return true
	}
	d.Receives.take(&d.current)
	done := Completion{
		ID: d.current.ID, QP: d.Number, Remote: source, Op: CompletionReceive, Length: uint32(wire.GRHLen + p.Payload),
		Imm:     immediate,
		WithImm: withImmediate, Solicited: p.Solicited(), Receive: true, IP: p.Version(),
	}
	header := p.GRH()
	err := d.Program.Scatter(d.current.SGEs, 0, header[:])
	if err == nil {
		err = d.Program.Scatter(d.current.SGEs, wire.GRHLen, p.Data())
	}
	if err != nil {
		if done.Status = StatusLocalOperation; errors.Is(err, ErrAccess) {
			done.Status = StatusLocalProtection
		}
	}
	d.Program.Complete(done)
	if err != nil {
		d.Fail()
	}
	return true
}

func (d *Datagrams) flush(id uint64) {
	d.Program.Complete(Completion{ID: id, QP: d.Number, Status: StatusFlushed, Op: CompletionReceive, Receive: true})
}

// Fail puts the queue pair into StateError. It flushes the queue pair's own receive requests, in the order of
// posting.
func (d *Datagrams) Fail() {
	if d.state == StateError || d.state == StateReset {
		return
	}
	d.state = StateError
	if !d.own {
		d.Program.Event(d.Number, EventLastReceive)
		return
	}
	for d.Receives.take(&d.current) {
		d.flush(d.current.ID)
	}
}

// Reset returns the queue pair to StateReset. Nothing is completed.
func (d *Datagrams) Reset() {
	if d.state = StateReset; d.own {
		d.Receives.head, d.Receives.count = 0, 0
	}
}

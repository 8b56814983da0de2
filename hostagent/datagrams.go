package hostagent

import (
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/internal/wire"
)

// Datagrams is a queue pair of the unreliable datagram service (IBTA volume 1 section 9.8.3). Each message is one packet, which nobody acknowledges,
// paces or repairs: a congestion control has no part in it. What it sends leaves beside the NIC's flows as programs' frames do.
type Datagrams struct {
	PairConfig
	state   PairState
	own     bool // Receives is
	qkey    uint32
	psn     uint32
	mtu     int // of the interface, in bytes of a packet of IP
	current ReceiveRequest
}

// Destination is where a datagram goes.
type Destination struct {
	wire.FlowParams // of its packet; DestQP is the other queue pair's
	QKey            uint32
}

// NewDatagrams is a queue pair in PairReset, whose packets have at most mtu bytes of IP.
func NewDatagrams(c PairConfig, mtu int) (*Datagrams, error) {
	if c.SendDepth < 1 || c.SendDepth > MostDepth || c.ReceiveDepth < 0 || c.ReceiveDepth > MostDepth {
		return nil, fmt.Errorf("queues of %d and %d work requests: 1..%d to send, 0..%d to receive", c.SendDepth, c.ReceiveDepth, MostDepth, MostDepth)
	}
	d := &Datagrams{PairConfig: c, mtu: mtu}
	if d.Receives == nil {
		d.Receives, d.own = NewReceiveQueue(c.ReceiveDepth), true
	}
	return d, nil
}

// most is how many bytes a message over a version of the Internet Protocol has at most.
func (d *Datagrams) most(v wire.Version) int {
	const headers = wire.IPv4Len + wire.UDPLen + wire.BTHLen + wire.DETHLen + wire.ImmDtLen + wire.ICRCLen
	return min(wire.MaxPathMTU, (d.mtu-headers-v.Extra())&^3)
}

// State is the queue pair's.
func (d *Datagrams) State() PairState { return d.state }

// SetKey sets the Q_Key that datagrams must have to be taken.
func (d *Datagrams) SetKey(qkey uint32) { d.qkey = qkey }

// Init lets receive requests be posted: PairReset becomes PairInit.
func (d *Datagrams) Init() error { return d.step(PairReset, PairInit) }

// Ready has it receive: PairInit becomes PairRTR.
func (d *Datagrams) Ready() error { return d.step(PairInit, PairRTR) }

// Start has it send, with PSNs from one on: PairRTR becomes PairRTS.
func (d *Datagrams) Start(psn uint32) error {
	d.psn = psn & wire.PSNMask
	return d.step(PairRTR, PairRTS)
}

func (d *Datagrams) step(from, to PairState) error {
	if d.state != from {
		return ErrState
	}
	d.state = to
	return nil
}

// PostSend makes the packet of a work request, in memory of the length that room is asked for, and completes the work request. Of an error, and in
// PairError, there is no packet.
func (d *Datagrams) PostSend(w *WorkRequest, to *Destination, room func(n int) []byte) error {
	length, ok := total(w.SGEs)
	if w.Inline != nil {
		length, ok = uint32(min(len(w.Inline), MostMessage+1)), len(w.Inline) <= MostMessage
	}
	done := Completion{ID: w.ID, QP: d.Number, Remote: to.DestQP, Op: CompletionSend}
	switch {
	case w.Op != WorkSend && w.Op != WorkSendImm:
		return ErrWork
	case !ok || int(length) > d.most(to.Version):
		return ErrLength
	case d.state == PairError:
		done.Status = StatusFlushed
		d.Program.Complete(done)
		return nil
	case d.state != PairRTS:
		return ErrState
	}
	header, err := wire.NewFlowHeader(to.FlowParams)
	if err != nil {
		return err
	}
	m := wire.Message{Op: wire.OpDatagram, PSN: d.psn, Solicited: w.Solicited, Payload: int(length), Imm: w.Imm, QKey: to.QKey, SourceQP: d.Number}
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

// PostReceive appends a receive request to its own queue.
func (d *Datagrams) PostReceive(w *ReceiveRequest) error {
	switch {
	case d.state == PairReset || !d.own:
		return ErrState
	case d.state == PairError:
		d.flush(w.ID)
		return nil
	}
	return d.Receives.Post(w)
}

// Receive takes a packet that has come, over IPv4 or IPv6; false if it is none for the queue pair. One for which there is no receive request, or too short a one, is
// lost without a word (IBTA volume 1 section 9.8.3).
func (d *Datagrams) Receive(p *wire.Packet) bool {
	qkey, source, immediate, withImmediate := p.Datagram()
	if p.Kind != wire.KindDatagram || p.DestQP != d.Number || d.state != PairRTR && d.state != PairRTS || qkey != d.qkey || !p.ICRCValid() {
		return false
	}
	room, ok := d.Receives.room()
	if !ok || int(room) < wire.GRHLen+p.Payload {
		return true
	}
	d.Receives.take(&d.current)
	done := Completion{
		ID: d.current.ID, QP: d.Number, Remote: source, Op: CompletionReceive, Length: uint32(wire.GRHLen + p.Payload), Imm: immediate, WithImm: withImmediate,
		Solicited: p.Solicited(), Receive: true, IP: p.Version(),
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

// Fail puts it into PairError: receive requests of its own are flushed, in the order of posting.
func (d *Datagrams) Fail() {
	if d.state == PairError || d.state == PairReset {
		return
	}
	d.state = PairError
	if !d.own {
		d.Program.Event(d.Number, EventLastReceive)
		return
	}
	for d.Receives.take(&d.current) {
		d.flush(d.current.ID)
	}
}

// Reset takes it back to PairReset. Nothing is completed.
func (d *Datagrams) Reset() {
	if d.state = PairReset; d.own {
		d.Receives.head, d.Receives.count = 0, 0
	}
}

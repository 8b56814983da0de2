package hostagent

import (
	"cmp"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// Receiver represents the receiving half of a flow, the notification point.
type Receiver struct {
	nic      *NIC
	settings *Settings
	acks     *frame.Queue // priority of answers that do not have the control priority
	Flow     int          // the engine's index of the flow
	qp       uint32
	back     *wire.FlowHeader
	expected int64 // number of the next packet in order
	messages uint32

	echo     wire.ECN // the strongest mark since the last ACK: CE, UE or NotECT
	lastCNP  vtime.Time
	notified wire.ECN // the mark that the last CNP reported, if it was sent less than CNPInterval ago

	// State of a notification point with periods (notify.go).
	origin   vtime.Time // start of the first period, the arrival of the flow's first packet; Never before
	armed    vtime.Time // end of the current period; Never if there will be nothing to report
	arrivals arrivals   // packets in the current period

	lastNak vtime.Time
	nakFor  int64 // packet that the last NAK was for; -1: none yet

	placed  *placement // state of selective repeat; nil: packets are accepted in order only
	granter *granter   // nil: it grants nothing

	Delivered    int64 // payload bytes, in order or placed, once
	Size         int64 // Clock.Delivered is called when Delivered reaches it; 0: never
	Marked       int64 // data packets received with CE
	Undetermined int64 // data packets received with UE (TCD)
}

// Expect returns a flow's receiving half, which receives nothing before Begin. back describes the ACKs, with the
// flow's DestQP. settings are the flow's own; nil: the NIC's.
func (n *NIC) Expect(flow int, back wire.FlowParams, settings *Settings) (*Receiver, error) {
	header, err := wire.NewFlowHeader(back)
	if err != nil {
		return nil, err
	}
	settings = cmp.Or(settings, n.settings)
	r := &Receiver{
		nic: n, settings: settings, acks: &n.classOf(settings.DataPriority).acks, Flow: flow, qp: back.DestQP, back: header,
		lastCNP: longAgo,
		lastNak: longAgo, nakFor: -1, origin: vtime.Never, armed: vtime.Never,
	}
	if r.settings.Recovery == SelectiveRepeat {
		r.placed = &placement{}
	}
	return r, nil
}

// Begin makes the receiver receive the flow's packets.
func (r *Receiver) Begin() { r.nic.receivers.put(r.qp, r) }

// Forget ends the receiving half of a flow.
func (n *NIC) Forget(qp uint32) {
	if r := n.receivers.get(qp); r != nil {
		r.armed = vtime.Never
		r.back = nil
	}
	n.receivers.remove(qp)
}

// receive handles a data packet in a frame of length bytes.
func (r *Receiver) receive(now vtime.Time, p *wire.Packet, length int) {
	n := r.nic
	n.DataReceived++
	r.notice(now, p, length)
	if r.granter != nil {
		r.noteDemand(now, p)
	}
	if r.placed != nil {
		r.place(now, p)
		return
	}
	trimmed := p.Trimmed()
	if trimmed {
		n.Trimmed++
	}
	switch ahead := wire.PSNDiff(p.PSN, uint32(r.expected)&wire.PSNMask); {
	case ahead == 0 && !trimmed:
		r.expected++
		r.Delivered += int64(p.Payload)
		n.BytesDelivered += int64(p.Payload)
		if r.Delivered == r.Size {
			n.clock.Delivered(now, r)
		}
		if op := p.Opcode.Operation(); op == wire.OpWriteLast || op == wire.OpWriteOnly {
			r.messages++
		}
		if p.AckReq {
			r.answer(now, p, wire.SyndromeAck, uint32(r.expected-1), r.messages)
			n.AcksSent++
		}
	case ahead < 0: // the sender missed the ACK
		n.Duplicates++
		r.answer(now, p, wire.SyndromeAck, uint32(r.expected-1), r.messages)
		n.AcksSent++
	default:
		n.OutOfOrder++
		if r.nakFor != r.expected || now-r.lastNak >= r.settings.NakInterval {
			r.nakFor, r.lastNak = r.expected, now
			r.answer(now, p, wire.SyndromeNakSequence, uint32(r.expected), r.messages)
			n.NaksSent++
		}
	}
}

// answer sends an ACK or NAK for packet p, with the telemetry or timestamp that p carried.
func (r *Receiver) answer(now vtime.Time, p *wire.Packet, syndrome uint8, psn, msn uint32) {
	n, telemetry := r.nic, p.INT()
	if r.settings.Entropy != EntropyFlow {
		r.back.SetSourcePort(p.SrcPort)
	}
	var f *frame.Frame
	if p.Retransmitted {
		r.back.SetRetransmitted(true)
	}
	switch at, stamped := p.Timestamp(); {
	case stamped:
		f = n.clock.Frame(wire.AckTimestampLen + r.back.Version().Extra())
		wire.PutAckTimestamp(f.Data(), r.back, syndrome, psn&wire.PSNMask, msn, at)
	case telemetry != nil:
		f = n.clock.Frame(wire.AckINTLen + r.back.Version().Extra())
		wire.PutAckINT(f.Data(), r.back, syndrome, psn&wire.PSNMask, msn, telemetry)
	case n.Brief && r.settings.Entropy == EntropyFlow:
		form := r.back.Form()
		brief := form.BriefAck(syndrome, psn, msn, r.echo)
		if p.Retransmitted {
			brief = brief.Retransmission()
		}
		f = n.clock.Brief(wire.AckLen, form, brief)
	default:
		f = n.clock.Frame(wire.AckLen + r.back.Version().Extra())
		wire.PutAck(f.Data(), r.back, syndrome, psn&wire.PSNMask, msn)
	}
	if f.Form == nil {
		wire.EchoMark(f.Data(), r.echo)
	}
	r.echo = wire.NotECT
	if p.Retransmitted {
		r.back.SetRetransmitted(false)
	}
	f.Priority = r.settings.ACKPriority()
	if n.Recorder != nil {
		n.Recorder.Answered(now, r.Flow, f, wire.KindAck)
	}
	if f.Priority == r.settings.ControlPriority {
		n.control.Push(f)
	} else {
		r.acks.Push(f)
	}
}

// longAgo precedes every event, yet is far enough from the end of the range to subtract from it.
const longAgo = -vtime.Never / 2

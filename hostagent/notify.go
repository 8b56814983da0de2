package hostagent

import (
	"math"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// Notify is what a receiver tells its sender of congestion without being asked: the notification point. What each ACK
// echoes is another matter.
type Notify uint8

const (
	// NotifyCNP is DCQCN's: a CNP at once when a marked packet arrives, unless another went less than CNPInterval ago. With
	// Ternary marks one that tells of CE goes even if the last told of UE alone, so that no UE keeps a CE from being told.
	// (TCD's simulator collects marks for a period, under plain DCQCN too, and tells at its end.)
	NotifyCNP Notify = iota
	// NotifyPCN is PCN's: at the end of each CNPInterval in which packets arrived, a CNP that reports how fast they did
	// and whether nearly all were marked.
	NotifyPCN
	// NotifyNone is nothing.
	NotifyNone
)

// notice takes note of a data packet with a frame of so many bytes, in order or not.
func (r *Receiver) notice(now vtime.Time, p *wire.Packet, length int) {
	n := r.nic
	mark := p.ECN()
	switch {
	case mark == wire.CE:
		n.Marked++
		r.Marked++
	case mark == wire.UE && r.settings.Ternary:
		n.Undetermined++
		r.Undetermined++
	default:
		mark = wire.NotECT
	}
	r.echo = max(r.echo, mark)
	if r.origin == vtime.Never {
		r.origin = now
	}
	switch r.settings.Notify {
	case NotifyCNP:
		if now-r.lastCNP >= r.settings.CNPInterval {
			r.told = wire.NotECT
		}
		if mark > r.told {
			r.told, r.lastCNP = mark, now
			flags := wire.CNPBECN
			if mark == wire.UE {
				flags = wire.CNPFECN
			}
			r.notify(now, flags, nil)
		}
	case NotifyPCN:
		r.arrivals.add(now, mark == wire.CE, n.lineBytes(length), r.settings.CNPInterval)
		r.arm(now)
	}
}

// notify sends a CNP.
func (r *Receiver) notify(now vtime.Time, flags wire.CNPFlags, reserved *[wire.CNPReservedLen]byte) {
	n := r.nic
	f := n.clock.Frame(wire.CNPLen + r.back.Version().Extra())
	if s := r.settings; s.ACKPriority() == s.ControlPriority {
		wire.PutCNP(f.Data(), r.back, flags, reserved)
	} else {
		r.back.SetTOS(wire.ControlTOS(s.ControlPriority))
		wire.PutCNP(f.Data(), r.back, flags, reserved)
		r.back.SetTOS(wire.ControlTOS(s.ACKPriority()))
	}
	f.Priority = r.settings.ControlPriority
	if n.Recorder != nil {
		n.Recorder.Answered(now, r.Flow, f, wire.KindCNP)
	}
	n.control.Push(f)
	n.CNPsSent++
}

// arm has OnTimer called at the end of the present period. Periods follow each other from the flow's first packet on; one
// of which there is nothing to tell has no timer, so that a silent flow costs nothing.
func (r *Receiver) arm(now vtime.Time) {
	if r.armed != vtime.Never {
		return
	}
	interval := r.settings.CNPInterval
	r.armed = r.origin + ((now-r.origin)/interval+1)*interval
	r.nic.clock.ArmReceiver(r, r.armed)
}

// Armed is the time at which OnTimer is due; vtime.Never if it is not.
func (r *Receiver) Armed() vtime.Time { return r.armed }

// OnTimer is called at the time armed: a period ends.
func (r *Receiver) OnTimer(now vtime.Time) {
	r.armed = vtime.Never
	report := r.arrivals.report(r.settings.CNPInterval)
	reserved := report.Bytes()
	flags := wire.CNPFlags(0)
	if report.Congested {
		flags = wire.CNPBECN
	}
	r.notify(now, flags, &reserved)
}

// arrivals are a period's data packets of a flow, for PCN's report.
type arrivals struct {
	packets, marked int64
	bytes           int64 // in line time

	any  bool       // a packet ever came
	last vtime.Time // when the last one did
	gap  float64    // smoothed time between packets, ps
}

// forgetGap is a time without packets after which the smoothed gap says nothing any more (PCN's simulator).
const forgetGap = 10 * vtime.Millisecond

// add counts a packet. The gap starts at a period's length, and takes in half of each new one.
func (a *arrivals) add(now vtime.Time, marked bool, lineBytes int64, period vtime.Time) {
	if gap := now - a.last; !a.any || gap > forgetGap {
		a.gap = float64(period)
	} else {
		a.gap = (a.gap + float64(gap)) / 2
	}
	a.any, a.last = true, now
	a.packets++
	a.bytes += lineBytes
	if marked {
		a.marked++
	}
}

// report ends a period: the rate at which its packets came, in bits per second of line time, and whether 95 % were marked.
// A lone packet's rate is by the smoothed gap: over the period it would be the least that a period can tell.
func (a *arrivals) report(period vtime.Time) wire.PCNReport {
	over := float64(period)
	if a.packets == 1 {
		over = a.gap
	}
	r := wire.PCNReport{
		RateMbps:  uint32(min(math.Round(float64(a.bytes)*8e6/over), math.MaxUint32)),
		Congested: 20*a.marked >= 19*a.packets,
		Packets:   uint16(min(a.packets, math.MaxUint16)),
	}
	a.packets, a.marked, a.bytes = 0, 0, 0
	return r
}

package hostagent

import (
	"math"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// Notify selects how a receiver, the notification point, notifies its sender of congestion. It does not affect the echo
// in ACKs.
type Notify uint8

const (
	// NotifyCNP follows DCQCN: a CNP at once when a marked packet arrives, unless another was sent less than
	// CNPInterval ago. With Ternary marks, a CNP for CE is sent even if the last one reported only UE, so that UE does
	// not suppress CE. (TCD's simulator collects marks for a period, under plain DCQCN too, and reports at its end.)
	NotifyCNP Notify = iota
	// NotifyPCN follows PCN: at the end of each CNPInterval in which packets arrived, a CNP with their rate and whether
	// nearly all were marked.
	NotifyPCN
	// NotifyNone sends no CNPs.
	NotifyNone
)

// notice counts the congestion mark of a data packet, in order or not, for the echo and the next CNP, and may send a
// CNP. length is that of the packet's frame.
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
			r.notified = wire.NotECT
		}
		if mark > r.notified {
			r.notified, r.lastCNP = mark, now
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

// arm sets the timer to the end of the current period. Periods follow each other from the flow's first packet on; one
// without packets has no timer, so that a silent flow costs nothing.
func (r *Receiver) arm(now vtime.Time) {
	if r.armed != vtime.Never {
		return
	}
	interval := r.settings.CNPInterval
	r.armed = r.origin + ((now-r.origin)/interval+1)*interval
	r.nic.clock.ArmReceiver(r, r.armed)
}

// Armed returns the time at which OnTimer is due, or vtime.Never.
func (r *Receiver) Armed() vtime.Time { return r.armed }

// OnTimer handles the timer that is due at Armed: it ends a period.
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

// arrivals counts a flow's data packets of a period for PCN's report.
type arrivals struct {
	packets, marked int64
	bytes           int64 // bytes of line time

	any  bool       // a packet has arrived, in any period
	last vtime.Time // time of the last arrival
	gap  float64    // smoothed time between packets, ps
}

// forgetGap sets the time without packets after which the smoothed gap is discarded (PCN's simulator).
const forgetGap = 10 * vtime.Millisecond

// add counts a packet. The gap starts at a period's length and is averaged with each new one.
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

// report ends a period. It returns the rate at which the packets arrived, in bits per second of line time, and
// whether at least 95 % were marked. It divides a lone packet's bytes by the smoothed gap, because the rate over the
// period would not depend on when packets arrive.
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

package hostagent

import (
	"math"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// granter holds the receiver's side of a flow under grants. Its sums have the units of credit's.
type granter struct {
	*cc.Grants
	demand  int64
	granted int64
	queued  bool // it is in the order of turns
}

// GrantBy makes the receiver grant credit to its flow, with the constants of by. Call it before Begin; without it the
// receiver grants nothing.
func (r *Receiver) GrantBy(by cc.ByGrants) {
	if r.settings.Grants {
		r.granter = &granter{Grants: by.Grants()}
	}
}

// noteDemand records a data packet's demand and mark.
func (r *Receiver) noteDemand(now vtime.Time, p *wire.Packet) {
	sum, ok := p.Demand()
	if !ok {
		return
	}
	t := r.grantTurns()
	t.advance(now)
	t.packets++
	if p.ECN() == wire.CE {
		t.marked++
	}
	r.raiseDemand(now, int64(sum))
}

// raiseDemand records the sum that a flow's grants must reach.
func (r *Receiver) raiseDemand(now vtime.Time, sum int64) {
	g, t := r.granter, r.grantTurns()
	g.demand = max(g.demand, sum)
	if g.demand > g.granted && !g.queued {
		g.queued = true
		if len(t.all) == 0 { // no flow was waiting for the next grant
			t.due = max(t.due, now)
		}
		t.all = append(t.all, r)
	}
}

// onRequest handles a request for grants. A request for bytes that have already been granted means that a grant was
// lost.
func (r *Receiver) onRequest(now vtime.Time, p *wire.Packet) {
	if r.granter == nil {
		return
	}
	r.raiseDemand(now, int64(p.Sum()))
	if !r.granter.queued {
		r.nic.control.Push(r.grant(now))
	}
}

// grant returns a packet with the sum granted so far.
func (r *Receiver) grant(now vtime.Time) *frame.Frame {
	n := r.nic
	f := n.clock.Frame(wire.AckLen + r.back.Version().Extra())
	r.back.SetTOS(wire.ControlTOS(r.settings.ControlPriority))
	wire.PutSum(f.Data(), r.back, wire.SyndromeGrant, uint64(r.granter.granted))
	r.back.SetTOS(wire.ControlTOS(r.settings.ACKPriority()))
	f.Priority = r.settings.ControlPriority
	if n.Recorder != nil {
		n.Recorder.Answered(now, r.Flow, f, wire.KindGrant)
	}
	n.GrantsSent++
	return f
}

// turns orders the grants of a NIC's receivers: one receiver after the other, at the rate of the NIC's port. It follows
// UecPullPacer, without its grants to flows that request nothing (docs/decisions/042-uec.md).
type turns struct {
	all   []*Receiver // receivers in order, from head on
	head  int
	due   vtime.Time // time of the next grant
	by    *cc.Grants
	rate  cc.GrantRate
	until vtime.Time // end of the current period

	packets, marked int64 // number of packets in the current period
}

// grantTurns returns the turns of the receiver's NIC. They use the constants of the flow whose packet arrived first.
func (r *Receiver) grantTurns() *turns {
	n := r.nic
	if n.turns == nil {
		n.turns = &turns{by: r.granter.Grants, rate: cc.NewGrantRate()}
	}
	return n.turns
}

// idlePeriods sets the number of periods without a packet after which any rate has recovered in full.
const idlePeriods = 64

// advance ends the periods that have passed.
func (t *turns) advance(now vtime.Time) {
	for n := 0; t.until <= now; n++ {
		if n == idlePeriods {
			t.rate, t.until = cc.NewGrantRate(), now+t.by.Period
			return
		}
		t.rate.Step(t.by, t.packets, t.marked)
		t.packets, t.marked = 0, 0
		t.until += t.by.Period
	}
}

// next returns the receiver whose turn it is; nil if none has anything to grant. A flow that has finished loses its
// turn.
func (t *turns) next() *Receiver {
	for t.head < len(t.all) {
		r := t.all[t.head]
		if r.back != nil && r.granter.demand > r.granter.granted {
			return r
		}
		r.granter.queued = false
		t.pop()
	}
	return nil
}

// pop removes the first receiver.
func (t *turns) pop() {
	t.all[t.head] = nil
	t.head++
	if t.head == len(t.all) {
		t.all, t.head = t.all[:0], 0
	} else if t.head >= 64 && 2*t.head >= len(t.all) {
		n := copy(t.all, t.all[t.head:])
		clear(t.all[n:])
		t.all, t.head = t.all[:n], 0
	}
}

// grantNext returns the next grant if it is due, and otherwise the time at which it is due. A grant that had to wait
// for the port delays later ones by its own time at most.
func (n *NIC) grantNext(now vtime.Time) (f *frame.Frame, wake vtime.Time) {
	t := n.turns
	r := t.next()
	if r == nil {
		return nil, vtime.Never
	}
	if t.due > now {
		return nil, t.due
	}
	t.advance(now)
	g := r.granter
	amount := min(g.demand-g.granted, g.Each)
	g.granted += amount
	n.BytesGranted += amount
	t.pop()
	if g.queued = g.demand > g.granted; g.queued {
		t.all = append(t.all, r)
	}
	full, version := amount/int64(n.mtu), r.back.Version()
	bytes := full * n.lineBytes(version.DataLen(wire.OpWriteMiddle.WithDemand(), n.mtu))
	if rest := amount % int64(n.mtu); rest > 0 {
		bytes += n.lineBytes(version.DataLen(wire.OpWriteMiddle.WithDemand(), int(rest)))
	}
	gap := vtime.Time(math.Round(float64(bytes) * 8e12 / (float64(n.Rate) * g.Share * t.rate.Share())))
	t.due = max(t.due, now-gap) + gap
	return r.grant(now), 0
}

package headroom

import (
	"context"
	"fmt"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// edge runs traffic that fills more of the computed headroom than the incast does. It is for a port with a static XOFF
// through which one host sends. A continuous stream of equal frames leaves room, because it reaches XOFF in the middle
// of a frame, and PAUSE reaches the host in the middle of another. A continuous stream in the other direction also
// takes line time, by its ACKs. So edge adds three messages of one packet:
//
//   - odd, from the host, leaves the account just below XOFF before a full frame arrives;
//   - back, to the host, begins to leave the port just before XOFF is reached, so that PAUSE waits for all of it;
//   - short, from the host, follows the frame that reaches XOFF. Its length lets the host begin one more frame just
//     before PAUSE arrives.
//
// edge finds the times and lengths from runs. It returns nil if the port is of another kind, or never sends PAUSE.
func (i *Incast) edge(ctx context.Context, s *scenario.Scenario, controller string, k *Kind, load Load) (*Tried,
	error,
) {
	plan := s.Topology
	p := &plan.Ports[i.Port]
	if len(i.Through) != 1 || k.XOFF == 0 || len(i.Back) == 0 || k.Fault >= 0 {
		return nil, nil
	}
	counted := func(op wire.Opcode, payload int) units.Bytes {
		return units.Bytes(plan.Framing.Counted(plan.IP.DataLen(op, payload)))
	}
	full, headers := counted(wire.OpWriteMiddle, plan.MTU), counted(wire.OpWriteOnly, plan.MTU)-units.Bytes(plan.MTU)
	e := &edge{i: i, s: s, controller: controller, k: k, load: load}
	first, err := e.run(ctx)
	if err != nil || !first.Paused {
		return nil, err
	}
	if _, err := e.aim(ctx, first, full, headers); err != nil {
		return nil, err
	}
	best := e.best
	// The frame that PAUSE waits for must reach the port before the frame that reaches XOFF does.
	at := e.paused
	before := vtime.Time(0)
	path := plan.PathVia(i.Back[0], i.Through[0], nil,
		i.pairs(plan, i.Back[0], i.Through[0], p.Node, plan.PeerNode(i.Port).ID)[0])
	for _, id := range path {
		if id == i.Port {
			break
		}
		before += plan.Ports[id].Rate.TimeFor(plan.Framing.LineBytes(plan.IP.DataLen(wire.OpWriteOnly, plan.MTU))) +
			plan.Ports[id].Delay
	}
	var latest vtime.Time
	back := ""
	for early := range int64(4) {
		e.back = e.flow("back", i.Back[0], i.Through[0], units.Bytes(plan.MTU), at-before-p.Rate.TimeFor(16*early))
		if _, err := e.run(ctx); err != nil {
			return nil, err
		}
		if e.paused > latest {
			latest, back = e.paused, e.back
		}
	}
	e.back = back
	// The frame that reached XOFF left the host a frame's time and the delay before.
	start := at - p.Delay - plan.Ports[p.Peer].Rate.TimeFor(plan.Framing.LineBytes(plan.IP.DataLen(wire.OpWriteMiddle,
		plan.MTU)))/2
	uniform := e.best.Most
	for low, high := 0, plan.MTU/4; low < high; { // the longest that still raises the peak
		middle := (low + high + 1) / 2
		e.short = e.flow("short", i.Through[0], i.Receiver, units.Bytes(4*middle), start)
		t, err := e.run(ctx)
		if err != nil {
			return nil, err
		}
		if t.Most > uniform {
			low = middle
		} else {
			high = middle - 1
		}
	}
	if e.best.Most < best.Most {
		e.best = best
	}
	return e.best, nil
}

// edge holds the state of the search that the method edge of Incast makes.
type edge struct {
	i                *Incast
	s                *scenario.Scenario
	controller       string
	k                *Kind
	load             Load
	odd, back, short string // flows; empty: none yet
	paused           vtime.Time
	best             *Tried
}

// aim adds the odd message.
func (e *edge) aim(ctx context.Context, first *Tried, full, headers units.Bytes) (*Tried, error) {
	plan := e.s.Topology
	past := (first.Most-e.k.XOFF-1)%full + 1 // bytes beyond XOFF of the frame that reaches it: all later frames are full
	bytes := (2*full - 1 - past) % full
	if bytes <= headers {
		bytes += full
	}
	if bytes -= headers; bytes > units.Bytes(plan.MTU) {
		return first, nil
	}
	e.odd = e.flow("odd", e.i.Through[0], e.i.Receiver, max(4, bytes&^3), e.paused/2)
	return e.run(ctx)
}

// flow returns a message of one packet.
func (e *edge) flow(tag string, from, to topologies.NodeID, size units.Bytes, start vtime.Time) string {
	plan := e.s.Topology
	own := ""
	if e.controller != "none" {
		own = ", cc: none"
	}
	if n := lossless(e.s); n != e.s.Host.DataPriority {
		own += fmt.Sprintf(", priority: %d", n)
	}
	pair := e.i.pairs(plan, from, to)[0]
	end := func(h topologies.NodeID, position uint8) string {
		if plan.SinglePort() {
			return plan.Nodes[h].Name
		}
		return fmt.Sprintf("%s.%d", plan.Nodes[h].Name, position+1)
	}
	return fmt.Sprintf("{tag: %s, from: %s, to: %s, size: %dB, start: %v, expect_unfinished: true%s}", tag,
		end(from, pair.From),
		end(to, pair.To), size, max(0, start), own)
}

// run runs the incast with these messages in place of its own, until the receiver accepts frames again.
func (e *edge) run(ctx context.Context) (*Tried, error) {
	i := *e.i
	i.Back, i.messages = nil, []string{}
	for _, flow := range []string{e.odd, e.back, e.short} {
		if flow != "" {
			i.messages = append(i.messages, flow)
		}
	}
	sets := i.sets(e.s, e.controller, e.k.Fault, 0)
	t, err := e.i.try(ctx, sets, e.controller, e.k.Ports, e.load)
	if err != nil {
		return nil, err
	}
	if e.paused = t.pausedAt; e.best == nil || t.Most > e.best.Most || t.Dropped > e.best.Dropped {
		e.best = t
	}
	return t, nil
}

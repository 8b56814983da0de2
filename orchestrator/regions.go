package orchestrator

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/vtime"
	"github.com/pausenet/pausenet/topologies"
)

// A region is a part of the fabric that the engine drives for itself for a while: a switch with its hosts. What leaves a
// region needs at least the delay of the shortest link between regions to reach another. So all regions can be driven one
// after the other from one time to that much later (the lookahead of a conservative parallel simulation; Chandy and Misra,
// 1979, Fujimoto, CACM 1990), and a region's ports, queues and frames stay in the processor's cache meanwhile. In a
// large fabric they would not if the events of all ports were taken in turn.
//
// Time is divided into cells of that length. What concerns more than one region is settled at the end of a cell, when all are
// there. An observer's calls, or a run's end, may have the regions meet within a cell; nothing may depend on that.

// region is one part's events, and the hash of what came of them.
type region struct {
	events eventQueue
	ports  []int32
	hash   fingerprint
}

// divide makes the regions of a plan and says to which one each port belongs. lookahead is the time for which they can be
// driven apart; vtime.Never if there is but one.
func divide(plan *topologies.Plan) (ofPort []int32, regions int, lookahead vtime.Time) {
	ofNode := make([]int32, len(plan.Nodes))
	for i, id := range plan.Switch {
		ofNode[id] = int32(i)
	}
	for _, id := range plan.Hosts {
		ofNode[id] = int32(plan.PeerNode(plan.Nodes[id].Ports[0]).Index) // every host is at a switch
	}
	regions = len(plan.Switch)
	lookahead = vtime.Never
	ofPort = make([]int32, len(plan.Ports))
	for i := range plan.Ports {
		p := &plan.Ports[i]
		ofPort[i] = ofNode[p.Node]
		if ofPort[i] != ofNode[plan.Ports[p.Peer].Node] {
			lookahead = min(lookahead, p.Delay)
		}
	}
	if regions == 1 || lookahead == 0 {
		clear(ofPort)
		return ofPort, 1, vtime.Never
	}
	return ofPort, regions, lookahead
}

// push schedules an event in the region where it will happen.
func (e *Engine) push(at vtime.Time, kind eventKind, id int32) {
	var r int32
	switch kind {
	case eventArrival:
		r = e.ports[e.ports[id].peer].region
	case eventFree, eventWake, eventCredit, eventDrain, eventHold, eventFlood, eventOrdinary:
		r = e.ports[id].region
	case eventRefresh, eventWatch:
		r = e.ports[id>>3].region
	case eventTimer, eventStart:
		r = e.ports[e.plan.Nodes[e.flows[id].Source].Ports[0]].region
	case eventReport:
		r = e.ports[e.plan.Nodes[e.flows[id].Destination].Ports[0]].region
	}
	q := &e.regions[r].events
	seq := uint64(id)
	if kind != eventArrival || !e.byPort {
		seq = 1<<32 + q.seq
		q.seq++
	}
	q.push(event{at: at, seq: seq, id: id, kind: kind})
	e.due[r] = min(e.due[r], at)
}

// call is something to be done at a time when all regions are there.
type call struct {
	at vtime.Time
	f  func(now vtime.Time)
}

// Call has f called at the given time, before what happens in the fabric at that time; calls of one time in the order
// given.
func (e *Engine) Call(at vtime.Time, f func(now vtime.Time)) {
	i, _ := slices.BinarySearchFunc(e.calls, at, func(c call, at vtime.Time) int {
		if c.at <= at {
			return -1
		}
		return 1
	})
	e.calls = slices.Insert(e.calls, i, call{at, f})
}

// Progress is told now and then how far the run is.
type Progress func(now vtime.Time, t *Totals)

// eventsPerLook is the events between two looks at the wall clock and the context.
const eventsPerLook = 1 << 14

// leastPatience is for how long at least a draining fabric may move nothing but flow control's own messages. What PAUSE, or a
// want of credits, holds up in a circle is held up for good, and the messages go on.
const leastPatience = 200 * vtime.Millisecond

// patience is that time in a fabric: longer than any of its timers.
func patience(plan *topologies.Plan, hosts *hostagent.Settings, credits *credits) vtime.Time {
	p := max(leastPatience, 4*hosts.RetransmitTimeout, 4*hosts.CNPInterval)
	if credits != nil {
		p = max(p, 4*credits.settings.Period)
	}
	for i := range plan.Ports {
		p = max(p, 4*plan.Ports[i].Delay)
	}
	return p
}

// Run drives the fabric until the given time. With drain it ends as soon as after that time, or before it, all flows with
// a size have ended and no frame is left; and after that time when nothing of the flows has moved for long. A cancelled
// context ends it between two events, with the context's error.
func (e *Engine) Run(ctx context.Context, until vtime.Time, drain bool, progress Progress) error {
	e.start()
	look := &look{ctx: ctx, left: eventsPerLook, next: time.Now(), progress: progress}
	for {
		from := e.earliest()
		if len(e.regions) > 1 && from >= e.cell {
			e.settle(e.cell)
			if drain && e.cell > 0 && e.idle() {
				e.now = e.last
				return nil
			}
			if from = e.earliest(); from != vtime.Never {
				e.cell = (from/e.lookahead + 1) * e.lookahead
			}
		}
		if from == vtime.Never || from > until && (!drain || e.idle() || e.stuck(from)) {
			break
		}
		e.settled = from
		if from >= e.circles.next {
			e.lookForCircles(from)
		}
		if len(e.calls) > 0 && e.calls[0].at == from {
			c := e.calls[0]
			e.calls = slices.Delete(e.calls, 0, 1)
			e.now = from
			e.Events++
			c.f(from)
			e.tell()
			if e.failed != nil {
				return e.failed
			}
			continue
		}
		end := vtime.Never
		if len(e.regions) > 1 {
			end = e.cell
		}
		if len(e.calls) > 0 {
			end = min(end, e.calls[0].at)
		}
		end = min(end, e.circles.next)
		if until >= from {
			end = min(end, until+1)
		} else {
			end = min(end, from+e.patience) // to be asked again whether it is stuck
		}
		if err := e.drive(end, drain, look); err != nil {
			return err
		}
		e.tell()
		if len(e.regions) == 1 && drain && e.idle() {
			return nil
		}
	}
	e.now = max(e.now, until)
	e.seekCircle()
	e.tell()
	return nil
}

// earliest is when the next event or call is; vtime.Never without any.
func (e *Engine) earliest() vtime.Time {
	at := vtime.Never
	for _, due := range e.due {
		at = min(at, due)
	}
	if len(e.calls) > 0 {
		at = min(at, e.calls[0].at)
	}
	return at
}

// stuck says whether nothing of any flow has moved for long, and nothing more is to come: no flow is to start, none waits for its
// pace, and no fault is to come or go.
func (e *Engine) stuck(now vtime.Time) bool {
	if now-e.moved <= e.patience || e.starting > 0 || e.pending > 0 {
		return false
	}
	for _, n := range e.nics {
		if n.Pacing(now) {
			return false
		}
	}
	return true
}

// drive takes every region to the given time, which lies within the lookahead.
func (e *Engine) drive(end vtime.Time, drain bool, look *look) error {
	for i := range e.regions {
		if e.due[i] >= end {
			continue
		}
		events := &e.regions[i].events
		if len(e.regions) > 1 {
			e.warm(e.regions[i].ports, end)
		}
		for events.next() < end {
			if look.left--; look.left == 0 {
				if err := look.around(e); err != nil {
					return err
				}
			}
			ev := events.pop()
			e.now = ev.at
			e.Events++
			if err := e.handle(ev); err != nil {
				return err
			}
			if drain && len(e.regions) == 1 && e.idle() {
				break
			}
		}
		e.due[i] = events.next()
		e.last = max(e.last, e.now)
	}
	e.now = e.last
	return nil
}

// warm reads what a region's ports will need up to the given time, as far as their wires tell. Each load waits for the one
// before only where its address comes from it; in the handlers all would. It changes nothing.
func (e *Engine) warm(ports []int32, end vtime.Time) {
	sum := 0
	data, control := e.hosts.DataPriority, e.hosts.ControlPriority
	for _, id := range ports {
		p := &e.ports[id]
		from := &e.ports[p.peer]
		if registers := &e.state.Ports[id]; from.wire.next() < end {
			sum += int(from.id) + int(e.state.Ports[p.peer].Kind) + int(registers.RxFrames) +
				int(registers.Class[data].Held) + int(registers.Class[control].Held)
		}
		if p.wire.count > 0 { // what left lately will go on
			sum += int(p.txBytes[data])
			if p.isSwitch {
				sum += e.switches[p.index].Port(int(id)).Touch(data)
			}
		}
	}
	for _, id := range ports {
		if from := &e.ports[e.ports[id].peer]; from.wire.next() < end {
			frame.Prefetch(from.wire.first())
		}
	}
	e.warmth = int32(sum)
}

// pfcSeen is a PAUSE or RESUME that left, for the observer.
type pfcSeen struct {
	at       vtime.Time
	port     int32
	priority uint8
	pause    bool
}

// settle does what has waited for all regions to be at the end of a cell.
func (e *Engine) settle(now vtime.Time) {
	for _, f := range e.gone {
		e.forget(f)
	}
	e.gone = e.gone[:0]
	if e.credits != nil && len(e.regions) > 1 {
		e.settleCredits(now)
	}
}

// tell tells the observer what it has not been told of, in the order of time.
func (e *Engine) tell() {
	if e.observer != nil {
		if len(e.regions) > 1 {
			slices.SortFunc(e.ended, func(a, b int32) int {
				return cmp.Or(cmp.Compare(e.flows[a].Finished, e.flows[b].Finished), cmp.Compare(a, b))
			})
			slices.SortStableFunc(e.pfcSeen, func(a, b pfcSeen) int {
				return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.port, b.port))
			})
		}
		for _, p := range e.pfcSeen {
			e.observer.PFC(p.at, int(p.port), p.priority, p.pause)
		}
		for _, f := range e.ended {
			e.observer.FlowDone(e.flows[f].Finished, int(f))
		}
	}
	e.ended, e.pfcSeen = e.ended[:0], e.pfcSeen[:0]
	if len(e.happened) > 0 {
		e.tellFaults()
	}
}

// look is a run's looks at the wall.
type look struct {
	ctx      context.Context
	left     int
	next     time.Time
	progress Progress
}

func (l *look) around(e *Engine) error {
	l.left = eventsPerLook
	if err := l.ctx.Err(); err != nil {
		return err
	}
	if t := time.Now(); l.progress != nil && t.After(l.next) {
		l.next = t.Add(100 * time.Millisecond)
		l.progress(e.now, &e.Totals)
	}
	return nil
}

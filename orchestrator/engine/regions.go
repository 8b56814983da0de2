package engine

import (
	"slices"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// A region is a part of the fabric that the engine drives for itself for a while: a switch with its hosts. What leaves a
// region needs at least the delay of the shortest link between regions to reach another. So all regions can be driven one
// after the other from one time to that much later (the lookahead of a conservative parallel simulation; Chandy and Misra,
// 1979, Fujimoto, CACM 1990), and a region's ports, queues and frames stay in the processor's cache meanwhile. In a
// large fabric they would not if the events of all ports were taken in one order.
//
// Where links join regions of two kinds only, as they do in fat-trees and between leaves and spines, the two kinds are driven in two
// phases: one kind to a lookahead beyond the other, then the other to a lookahead beyond the first. So each phase takes a region two
// lookaheads on, and what its memory costs to be loaded is shared by twice as many frames.
//
// Time is divided into synchronisation windows of some lookaheads. What concerns more than one region is done at the barrier at the end
// of a window, when all regions are there. An observer's calls, or a run's end, may have the regions meet within a window; nothing may
// depend on that.

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

// windowLookaheads is the length of a synchronisation window where nothing that is done at its end can be seen.
const windowLookaheads = 16

// drivingPhases divides the regions into those that can be driven together: into two kinds if every link between regions joins one
// of each, else into one.
func drivingPhases(plan *topologies.Plan, ofPort []int32, regions int) [][]int32 {
	const unknown = -1
	kind := slices.Repeat([]int{unknown}, regions)
	neighbours := make([][]int32, regions)
	for i := range plan.Ports {
		if a, b := ofPort[i], ofPort[plan.Ports[i].Peer]; a != b {
			neighbours[a] = append(neighbours[a], b)
		}
	}
	phases := make([][]int32, 2)
	var all []int32
	for first := range kind {
		if kind[first] != unknown {
			continue
		}
		kind[first] = 0
		for reached := []int32{int32(first)}; len(reached) > 0; reached = reached[1:] {
			for _, b := range neighbours[reached[0]] {
				if kind[b] == unknown {
					kind[b] = 1 - kind[reached[0]]
					reached = append(reached, b)
				} else if kind[b] == kind[reached[0]] {
					phases = nil
				}
			}
		}
	}
	for r, k := range kind {
		all = append(all, int32(r))
		if phases != nil {
			phases[k] = append(phases[k], int32(r))
		}
	}
	if phases == nil {
		return [][]int32{all}
	}
	return phases
}

// push schedules an event in the region where it will happen.
func (e *Engine) push(at vtime.Time, kind eventKind, id int32) {
	var r int32
	//exhaustive:enforce
	switch kind {
	case eventArrival:
		r = e.ports[e.ports[id].peer].region
	case eventFree, eventWake, eventCredit, eventDrain, eventReceiverPause, eventPFCStorm, eventHostStack:
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

// windowLength is the time between two barriers. Where it shows when one was, it is as short as can be: messages of credits rest, and
// receivers' reports end, when a window does.
func (e *Engine) windowLength() vtime.Time {
	if e.flowControl.seesBarriers() || e.hosts.Notify == hostagent.NotifyPCN {
		return e.lookahead
	}
	return windowLookaheads * e.lookahead
}

// drive takes every region from one time, before which nothing is left to happen, to another.
func (e *Engine) drive(from, end vtime.Time, drain bool, poll *poll) error {
	phase := 0
	for at := from; at < end; phase++ {
		if at = end; len(e.regions) > 1 {
			at = min(at, from+vtime.Time(phase+1)*e.lookahead)
		}
		if err := e.driveSome(e.phases[phase%len(e.phases)], at, drain, poll); err != nil {
			return err
		}
	}
	if len(e.phases) > 1 { // the other kind is a lookahead behind
		if err := e.driveSome(e.phases[phase%2], end, drain, poll); err != nil {
			return err
		}
	}
	e.now = e.last
	return nil
}

// driveSome takes some regions to the given time, which no other region may be further behind than the lookahead.
func (e *Engine) driveSome(regions []int32, end vtime.Time, drain bool, poll *poll) error {
	for _, i := range regions {
		if e.due[i] >= end {
			continue
		}
		events := &e.regions[i].events
		if len(e.regions) > 1 {
			e.warm(e.regions[i].ports, end)
		}
		for events.next() < end {
			if poll.left--; poll.left == 0 {
				if err := poll.call(e); err != nil {
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
				int(registers.Class[data].Buffered) + int(registers.Class[control].Buffered)
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

package engine

import (
	"slices"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/orchestrator/engine/calendar"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// A region is a part of the fabric that the engine drives for itself for a while: a switch with its hosts, or the
// switches that hosts of several ports join, with these. What leaves a region needs at least the delay of the shortest
// link between regions to reach another. So all regions can be driven one after the other from one time to that much
// later (the lookahead of a conservative parallel simulation; Chandy and Misra, 1979, Fujimoto, CACM 1990), and a
// region's ports, queues and frames stay in the processor's cache meanwhile. In a large fabric they would not if the
// events of all ports were taken in one order.
//
// Where links join regions of two kinds only, as they do in fat-trees and between leaves and spines, the two kinds are
// driven in two phases: one kind to a lookahead beyond the other, then the other to a lookahead beyond the first. So
// each phase takes a region two lookaheads on, and what its memory costs to be loaded is shared by twice as many
// frames.
//
// Time is divided into synchronisation windows of some lookaheads. What concerns more than one region is done at the
// barrier at the end of a window, when all regions are there. An observer's calls, or a run's end, may have the regions
// meet within a window; nothing may depend on that.

// region is one part's events, and the hash of what came of them.
type region struct {
	lane      *lane // that drives it
	events    calendar.Queue
	scheduled uint64 // events so far
	ports     []int32
	hash      fingerprint

	overruns map[overrun]*Violation
	_        [4]int64 // so that no two are in one cache line
}

// divide makes the regions of a plan and says to which one each port belongs. lookahead is the time for which they can
// be driven apart; vtime.Never if there is but one.
func divide(plan *topologies.Plan) (ofPort []int32, regions int, lookahead vtime.Time) {
	ofSwitch, regions := switchRegions(plan)
	ofNode := make([]int32, len(plan.Nodes))
	for i, id := range plan.Switch {
		ofNode[id] = ofSwitch[i]
	}
	for _, id := range plan.Hosts {
		ofNode[id] = ofSwitch[plan.PeerNode(plan.Nodes[id].Ports[0]).Index] // every host is at a switch
	}
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

// switchRegions is the region of each switch, by index. Switches with a host in common share theirs: what a host does
// at one of its ports may follow from what comes by another.
func switchRegions(plan *topologies.Plan) (of []int32, regions int) {
	of = make([]int32, len(plan.Switch)) // at first the least switch that is known to be in the region
	for i := range of {
		of[i] = int32(i)
	}
	least := func(sw int32) int32 {
		for of[sw] != sw {
			sw = of[sw]
		}
		return sw
	}
	for _, id := range plan.Hosts {
		ports := plan.Nodes[id].Ports
		a := least(int32(plan.PeerNode(ports[0]).Index))
		for _, port := range ports[1:] {
			b := least(int32(plan.PeerNode(port).Index))
			of[max(a, b)] = min(a, b)
			a = min(a, b)
		}
	}
	for i := range of {
		if of[i] == int32(i) {
			of[i] = int32(regions)
			regions++
		} else {
			of[i] = of[of[i]]
		}
	}
	return of, regions
}

// windowLookaheads is the length of a synchronisation window where nothing that is done at its end can be seen.
const windowLookaheads = 16

// drivingPhases divides the regions into those that can be driven together: no link joins two of one phase. There are
// two phases if regions are of two kinds of which every link joins both.
func drivingPhases(plan *topologies.Plan, ofPort []int32, regions int) (phases [][]int32) {
	neighbours := make([][]int32, regions)
	for i := range plan.Ports {
		if a, b := ofPort[i], ofPort[plan.Ports[i].Peer]; a != b {
			neighbours[a] = append(neighbours[a], b)
		}
	}
	phaseOf := slices.Repeat([]int{none}, regions)
	// the first of which no neighbour is; in the order of breadth-first search, two suffice where they can
	choose := func(r int32) {
		for phaseOf[r] = 0; slices.ContainsFunc(neighbours[r],
			func(n int32) bool { return phaseOf[n] == phaseOf[r] }); phaseOf[r]++ {
		}
	}
	for first := range int32(regions) {
		if phaseOf[first] != none {
			continue
		}
		choose(first)
		for reached := []int32{first}; len(reached) > 0; reached = reached[1:] {
			for _, n := range neighbours[reached[0]] {
				if phaseOf[n] == none {
					choose(n)
					reached = append(reached, n)
				}
			}
		}
	}
	phases = make([][]int32, slices.Max(phaseOf)+1)
	for r, p := range phaseOf {
		phases[p] = append(phases[p], int32(r))
	}
	return phases
}

// send has a frame that leaves a port for a wire with nothing on it arrive. Another region expects it from when that is
// driven on: its queue is out of the processor's cache now, and may have other regions beside it.
func (l *lane) send(p *port, arrival vtime.Time) {
	far := l.ports[p.peer].region
	switch {
	case far == p.region:
		l.push(arrival, eventArrival, p.id)
	case l.shared:
		l.awaited = append(l.awaited, awaited{far, arrival})
	case arrival < l.due[far]:
		l.due[far] = arrival
	}
}

// windowLength is the time between two barriers. Where it shows when one was, it is as short as can be: messages of
// credits rest, and receivers' reports and grants end, when a window does.
func (e *Engine) windowLength() vtime.Time {
	if e.flowControl.seesBarriers() || e.hosts.Notify == hostagent.NotifyPCN || e.hosts.Grants || e.reports {
		return e.lookahead
	}
	return windowLookaheads * e.lookahead
}

// drive takes every region from one time, before which nothing is left to happen, to another.
func (e *Engine) drive(from, end vtime.Time, drain bool, poll *poll) error {
	if len(e.regions) == 1 {
		return e.driveAlone(end, drain, poll)
	}
	defer e.gather()
	if err := e.drivePhases(from, end, poll); err != nil {
		return err
	}
	e.gather()
	e.now = e.last
	return nil
}

// drivePhases is drive where there are several regions.
func (e *Engine) drivePhases(from, end vtime.Time, poll *poll) error {
	if len(e.phases) == 2 {
		return e.driveInTurns(from, end, poll)
	}
	for at := from; at < end; {
		at = min(at+e.lookahead, end)
		for phase := range e.phases {
			if err := e.drivePhase(phase, at, poll); err != nil {
				return err
			}
		}
	}
	return nil
}

// driveInTurns is drivePhases for two: each goes two lookaheads on, while the other is one behind.
func (e *Engine) driveInTurns(from, end vtime.Time, poll *poll) error {
	turn := 0
	for at := from; at < end; turn++ {
		at = min(from+vtime.Time(turn+1)*e.lookahead, end)
		if err := e.drivePhase(turn%2, at, poll); err != nil {
			return err
		}
	}
	return e.drivePhase(turn%2, end, poll)
}

// driveAlone is drive where there is one region.
func (e *Engine) driveAlone(end vtime.Time, drain bool, poll *poll) error {
	events := &e.regions[0].events
	for events.Next() < end {
		if err := poll.counts(1, e); err != nil {
			return err
		}
		ev := events.Pop()
		e.now = ev.At
		e.Events++
		if err := e.handle(ev); err != nil {
			return err
		}
		if drain && e.idle() {
			break
		}
	}
	e.due[0] = events.Next()
	e.last = max(e.last, e.now)
	e.now = e.last
	return nil
}

// drivePhase takes the regions of a phase to the given time, which no other region may be further behind than the
// lookahead.
func (e *Engine) drivePhase(phase int, end vtime.Time, poll *poll) error {
	if e.together != nil {
		if lanes := e.together.lanesFor(e.phases[phase], e.due, end); lanes > 1 {
			return e.driveTogether(phase, lanes, end, poll)
		}
	}
	sum := int64(0)
	for _, i := range e.phases[phase] {
		if e.due[i] >= end {
			continue
		}
		n, err := e.driveOne(i, end)
		if err != nil {
			return err
		}
		if e.together != nil {
			e.together.count(i, n)
		}
		if err := poll.counts(n, e); err != nil {
			return err
		}
		sum += n
	}
	if e.together != nil {
		e.together.crew.Driven(sum)
	}
	return nil
}

// driveOne takes a region of several to the given time. It says how many events that took.
func (l *lane) driveOne(i int32, end vtime.Time) (n int64, err error) {
	r := l.regions[i]
	l.meet(r, end)
	before := l.Events
	for r.events.Next() < end {
		ev := r.events.Pop()
		l.now = ev.At
		l.Events++
		if err := l.handle(ev); err != nil {
			return l.Events - before, err
		}
	}
	l.due[i] = r.events.Next()
	l.last = max(l.last, l.now)
	return l.Events - before, nil
}

// meet has a region expect what other regions have sent it, and reads what its ports will need up to the given time, as
// far as their wires tell. Each load waits for the one before only where its address comes from it; in the handlers all
// would.
func (l *lane) meet(r *region, end vtime.Time) {
	sum := 0
	data, control := l.hosts.DataPriority, l.hosts.ControlPriority
	for _, id := range r.ports {
		p := &l.ports[id]
		from := &l.ports[p.peer]
		next := from.wire.next()
		if next != vtime.Never && !from.expected && from.region != p.region {
			from.expected = true
			l.push(next, eventArrival, from.id)
		}
		if registers := &l.state.Ports[id]; next < end {
			sum += int(l.state.Ports[p.peer].Kind) + int(registers.RxFrames) +
				int(registers.Class[data].Buffered) + int(registers.Class[control].Buffered)
		}
		if p.wire.count > 0 { // what left lately will go on
			sum += int(p.txBytes[data])
			if p.isSwitch {
				sum += l.switches[p.index].Port(int(id)).Touch(data)
			}
		}
	}
	for _, id := range r.ports {
		if from := &l.ports[l.ports[id].peer]; from.wire.next() < end {
			frame.Prefetch(from.wire.first())
		}
	}
	l.warmth = int32(sum)
}

package engine

import (
	"cmp"
	"slices"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/orchestrator/engine/partition"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/vtime"
)

// Several lanes drive the regions of a phase at once: no link joins two of them, so that none touches what another does
// but for what is handed over when all have been driven. The order in which that is done depends on regions and not on
// lanes, and so nothing else does.

// Crew is who drives lanes: goroutines, which this package has none of.
type Crew interface {
	// Size is how many lanes there can be.
	Size() int
	// Lanes is how many are worth the while for a phase of so many events, by what there was to do of late, the most of
	// them in one region. It is asked before each phase.
	Lanes(events, most int) int
	// Driven says that the phase is over, and how many events it had.
	Driven(events int64)
	// Do has so many lanes, the caller the first of them, call drive with each of the regions in shares, and returns when
	// all have been driven. A lane begins with its own share, in order, and goes on with what is left of others'. If drive
	// panics, so does Do, when all else has been driven.
	Do(lanes int, shares [][]int32, drive func(lane int, region int32))
}

// together is what it takes.
type together struct {
	crew   Crew
	lanes  []*lane
	pools  []*frame.Pool
	drive  func(lane int, region int32)
	end    vtime.Time // of the present phase
	shares *partition.Shares
}

// addLanes makes as many lanes as the crew and the plane let it. What a frame costs depends on it, and nothing else.
func (e *Engine) addLanes() error {
	t := e.together
	if t == nil || t.lanes != nil {
		return nil
	}
	parallel, ok := e.plane.(plane.Parallel)
	if !ok {
		e.together = nil
		return nil
	}
	t.lanes, t.pools = []*lane{&e.lane}, []*frame.Pool{e.pool}
	for len(t.lanes) < min(t.crew.Size(), partition.Widest(e.phases)) {
		passes, pass, err := parallel.NewPasses()
		if err != nil {
			return err
		}
		if passes == nil {
			break
		}
		l := e.lane
		l.index, l.passes, l.pass, l.pool = len(t.lanes), passes, pass, frame.NewPool(plane.FrameSize(e.plan))
		l.open, l.starting, l.lost, l.Totals, l.handed, l.stretches = 0, 0, [Losses]Amount{}, Totals{}, handed{}, nil
		l.ended, l.gone, l.credits = nil, nil, creditCounts{}
		l.undone, l.begun, l.points = 0, nil, nil
		l.monitor.pass, l.monitor.seen, l.monitor.came, l.monitor.happened = pass, nil, nil, nil
		e.keepHeaders(l.pool)
		t.lanes, t.pools = append(t.lanes, &l), append(t.pools, l.pool)
	}
	if len(t.lanes) == 1 {
		e.together = nil
		return nil
	}
	t.shares = partition.NewShares(len(t.lanes), e.phases)
	t.drive = func(lane int, region int32) { t.driveShared(t.lanes[lane], region) }
	return nil
}

// lanesFor returns how many lanes are to drive a phase up to a time.
func (t *together) lanesFor(phase int, due []vtime.Time, end vtime.Time) int {
	events, largest, regions := t.shares.Load(phase, due, end)
	return min(t.crew.Lanes(events, largest), len(t.lanes), regions)
}

// driveTogether is drivePhase by several lanes.
func (e *Engine) driveTogether(phase, lanes int, end vtime.Time, poll *poll) error {
	t := e.together
	t.end = end
	e.fabric.shared = true
	defer e.handOver(len(e.broken))
	t.crew.Do(lanes, t.shares.Next(phase), t.drive)
	if c := e.firstCut(); c != nil {
		return c.err
	}
	n := int64(0)
	for _, l := range t.lanes {
		n += l.events
		l.events = 0
	}
	t.crew.Driven(n)
	return poll.counts(n, e)
}

// driveShared takes a region to the end of the phase, if there is anything to do.
func (t *together) driveShared(l *lane, region int32) {
	if l.due[region] >= t.end {
		return
	}
	r, whole := l.regions[region], false
	r.lane, l.driving, l.most = l, region, len(l.broken)+maxViolations
	defer func() {
		r.lane, l.driving = l.first, none
		if !whole { // a panic goes through here
			l.cut = append(l.cut, cut{region: region, at: l.now, making: l.making})
			l.making = 0
		}
	}()
	n, err := l.driveOne(region, t.end)
	t.shares.Count(region, n)
	l.events += n
	if whole = true; err != nil {
		l.cut = append(l.cut, cut{region: region, err: err})
	}
}

// firstCut is what one lane would have ended with; nil: nothing.
func (e *Engine) firstCut() (first *cut) {
	if e.together == nil {
		return nil
	}
	for _, l := range e.together.lanes {
		for i := range l.cut {
			if c := &l.cut[i]; first == nil || c.region < first.region {
				first = c
			}
		}
	}
	return first
}

// handOver has other regions know what a phase's have sent them, and puts the invariants that were broken in it, of
// which so many were before, in the order in which one lane would have found them.
func (e *Engine) handOver(before int) {
	e.fabric.shared, e.most = false, maxViolations
	for i, l := range e.together.lanes {
		for _, a := range l.awaited {
			e.due[a.region] = min(e.due[a.region], a.at)
		}
		for _, r := range l.receivers {
			r.Begin()
		}
		if i > 0 {
			e.broken = append(e.broken, l.broken...)
			l.broken = l.broken[:0]
		}
		l.awaited, l.receivers = l.awaited[:0], l.receivers[:0]
	}
	if len(e.broken) > before {
		slices.SortStableFunc(e.broken[before:], func(a, b broken) int { return cmp.Compare(a.region, b.region) })
		e.broken = e.broken[:min(len(e.broken), max(before, maxViolations))]
	}
}

// gather puts together what all lanes have counted.
func (e *Engine) gather() {
	if e.together == nil {
		return
	}
	for _, l := range e.together.lanes[1:] {
		e.stretches.takeHalf(&l.stretches)
		l.stretches.takeHalf(&e.stretches)
		e.Totals.take(&l.Totals)
		e.credits.take(&l.credits)
		e.monitor.take(&l.monitor)
		e.open, l.open = e.open+l.open, 0
		e.starting, l.starting = e.starting+l.starting, 0
		e.undone, l.undone = e.undone+l.undone, 0
		e.begun, l.begun = append(e.begun, l.begun...), l.begun[:0]
		e.ended, l.ended = append(e.ended, l.ended...), l.ended[:0]
		e.gone, l.gone = append(e.gone, l.gone...), l.gone[:0]
		e.last, e.lastEnd, e.moved = max(e.last, l.last), max(e.lastEnd, l.lastEnd), max(e.moved, l.moved)
		for why := range l.lost {
			e.lost[why].take(&l.lost[why])
		}
	}
	frame.Level(e.together.pools)
}

// take takes over what another has counted.
func (t *Totals) take(o *Totals) {
	t.Events += o.Events
	t.Passes += o.Passes
	t.Hops += o.Hops
	t.Triggers += o.Triggers
	t.Created.take(&o.Created)
	t.Ended.take(&o.Ended)
	t.Dropped += o.Dropped
	t.LossLost += o.LossLost
	t.Refused += o.Refused
	t.Taken += o.Taken
	t.Missed += o.Missed
	t.Built += o.Built
	*o = Totals{}
}

func (a *Amount) take(o *Amount) {
	a.Frames += o.Frames
	a.Bytes += o.Bytes
	*o = Amount{}
}

func (c *creditCounts) take(o *creditCounts) {
	c.alive += o.alive
	c.sent += o.sent
	c.spent += o.spent
	c.resting = c.resting || o.resting
	*o = creditCounts{}
}

package engine

import (
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/vtime"
)

// A partition is a part of the fabric that the engine drives by itself for a while (package partition).
//
// Time is divided into synchronisation windows of some lookaheads. Work that concerns more than one partition is done
// at the barrier at the end of a window, which all partitions reach. Calls, or a run's end, may synchronise the
// partitions within a window too; no result may depend on that.

// windowLookaheads sets the length of a synchronisation window, in lookaheads, if no result depends on barriers.
const windowLookaheads = 16

// windowLength returns the time between two barriers. It is as short as possible if results depend on it: credit
// messages come to rest, and receivers' reports and grants end, at a barrier.
func (e *Engine) windowLength() vtime.Time {
	if e.flowControl.seesBarriers() || e.hosts.Notify == hostagent.NotifyPCN || e.hosts.Grants || e.flowsReport {
		return e.lookahead
	}
	return windowLookaheads * e.lookahead
}

// drive drives every partition from one time, before which no event is left, to another.
func (e *Engine) drive(from, end vtime.Time, drain bool, poll *poll) error {
	if !e.divided() {
		return e.driveAlone(end, drain, poll)
	}
	defer e.mergeCounts()
	if err := e.drivePhases(from, end, poll); err != nil {
		return err
	}
	e.mergeCounts()
	e.now = e.lastEvent
	return nil
}

// drivePhases implements drive for several partitions.
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

// driveInTurns implements drivePhases for two phases: each advances two lookaheads at a time, while the other is one
// behind.
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

// driveAlone implements drive for one partition.
func (e *Engine) driveAlone(end vtime.Time, drain bool, poll *poll) error {
	events := &e.partitions[0].events
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
	e.lastEvent = max(e.lastEvent, e.now)
	e.now = e.lastEvent
	return nil
}

// drivePhase drives the partitions of a phase to the given time. No other partition may be further behind than the
// lookahead.
func (e *Engine) drivePhase(phase int, end vtime.Time, poll *poll) error {
	if e.workers != nil {
		if workers := e.workers.workersFor(phase, e.due, end); workers > 1 {
			return e.driveConcurrently(phase, workers, end, poll)
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
		if e.workers != nil {
			e.workers.shares.Count(i, n)
		}
		if err := poll.counts(n, e); err != nil {
			return err
		}
		sum += n
	}
	if e.workers != nil {
		e.workers.pool.PhaseDone(sum)
	}
	return nil
}

// Fingerprint returns the hash of every frame event so far: it combines the hashes of all partitions.
func (e *Engine) Fingerprint() string {
	all := e.partitions[0].hash
	for _, r := range e.partitions[1:] {
		all.Add(&r.hash)
	}
	return all.String()
}

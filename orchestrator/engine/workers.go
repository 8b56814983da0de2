package engine

import (
	"cmp"
	"slices"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/orchestrator/engine/partition"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/vtime"
)

// Several workers drive the partitions of a phase at once. No link joins two of them, so workers share no data within a
// phase. Their output for other partitions (phaseOutput) is merged when all workers have finished, in the order of
// partitions. So no result depends on the number of workers.

// WorkerPool runs workers on goroutines. The engine starts none itself.
type WorkerPool interface {
	// Size returns the maximum number of workers.
	Size() int
	// Useful returns how many workers are worth using for the next phase, which has about this many events, most of
	// them in one partition. The engine calls it before each phase.
	Useful(events, most int) int
	// PhaseDone is called after each phase with the number of its events.
	PhaseDone(events int64)
	// Do lets the first workers, of which the caller is one, call drive with each of the partitions in shares, and
	// returns when all calls have returned. A worker starts with its own share, in order, and continues with the rest of
	// other shares. If drive panics, Do panics too, after all other calls have returned.
	Do(workers int, shares [][]int32, drive func(worker int, partition int32))
}

// workerGroup holds the workers of an engine that has several.
type workerGroup struct {
	pool       WorkerPool
	all        []*worker     // first the engine's own
	framePools []*frame.Pool // frame pools of all workers
	drive      func(worker int, partition int32)
	end        vtime.Time // end of the present phase
	shares     *partition.Shares
}

// addWorkers makes as many workers as the pool and the plane allow. Later calls do nothing.
func (e *Engine) addWorkers() error {
	t := e.workers
	if t == nil || t.all != nil {
		return nil
	}
	parallel, ok := e.plane.(plane.Parallel)
	if !ok {
		e.workers = nil
		return nil
	}
	t.all, t.framePools = []*worker{&e.worker}, []*frame.Pool{e.pool}
	for len(t.all) < min(t.pool.Size(), partition.Widest(e.phases)) {
		passes, pass, err := parallel.NewPasses()
		if err != nil {
			return err
		}
		if passes == nil {
			break
		}
		w := e.worker
		w.index, w.passes, w.pass, w.pool = len(t.all), passes, pass, frame.NewPool(plane.FrameSize(e.plan))
		w.openFlows, w.scheduledStarts, w.lost, w.Totals, w.phaseOutput, w.freeChunks =
			0, 0, [Losses]Amount{}, Totals{}, phaseOutput{}, nil
		w.finishedFlows, w.receiversToEnd, w.credits = nil, nil, creditCounts{}
		w.openOperations, w.startedFlows, w.occurrences = 0, nil, nil
		w.monitor.pass, w.monitor.pfcDepartures, w.monitor.pfcArrivals, w.monitor.faultEvents = pass, nil, nil, nil
		e.keepHeaders(w.pool)
		t.all, t.framePools = append(t.all, &w), append(t.framePools, w.pool)
	}
	if len(t.all) == 1 {
		e.workers = nil
		return nil
	}
	t.shares = partition.NewShares(len(t.all), e.phases)
	t.drive = func(worker int, partition int32) { t.driveClaimed(t.all[worker], partition) }
	return nil
}

// workersFor returns how many workers to use for a phase up to a time.
func (t *workerGroup) workersFor(phase int, due []vtime.Time, end vtime.Time) int {
	events, largest, partitions := t.shares.Load(phase, due, end)
	return min(t.pool.Useful(events, largest), len(t.all), partitions)
}

// driveConcurrently implements drivePhase with several workers.
func (e *Engine) driveConcurrently(phase, workers int, end vtime.Time, poll *poll) error {
	t := e.workers
	t.end = end
	e.fabric.concurrent = true
	defer e.mergePhase(len(e.broken))
	t.pool.Do(workers, t.shares.Next(phase), t.drive)
	if c := e.firstInterruption(); c != nil {
		return c.err
	}
	n := int64(0)
	for _, w := range t.all {
		n += w.events
		w.events = 0
	}
	t.pool.PhaseDone(n)
	return poll.counts(n, e)
}

// driveClaimed drives a partition to the end of the phase, if it has events.
func (t *workerGroup) driveClaimed(w *worker, partition int32) {
	if w.due[partition] >= t.end {
		return
	}
	r, whole := w.partitions[partition], false
	r.worker, w.drivenPartition, w.maxBroken = w, partition, len(w.broken)+maxViolations
	defer func() {
		r.worker, w.drivenPartition = w.firstWorker, noPartition
		if !whole { // a panic goes through here
			w.interruptions = append(w.interruptions, interruption{
				partition: partition, at: w.now, constructing: w.constructing,
			})
			w.constructing = 0
		}
	}()
	n, err := w.driveOne(partition, t.end)
	t.shares.Count(partition, n)
	w.events += n
	if whole = true; err != nil {
		w.interruptions = append(w.interruptions, interruption{partition: partition, err: err})
	}
}

// firstInterruption returns the interruption that a single worker would have met; nil without one.
func (e *Engine) firstInterruption() (first *interruption) {
	if e.workers == nil {
		return nil
	}
	for _, w := range e.workers.all {
		for i := range w.interruptions {
			if c := &w.interruptions[i]; first == nil || c.partition < first.partition {
				first = c
			}
		}
	}
	return first
}

// mergePhase delivers the output of a phase's partitions to others. It sorts the invariants broken in the phase, which
// follow the first before ones, into the order of a single worker.
func (e *Engine) mergePhase(before int) {
	e.fabric.concurrent, e.maxBroken = false, maxViolations
	for i, w := range e.workers.all {
		for _, a := range w.remoteArrivals {
			e.due[a.partition] = min(e.due[a.partition], a.at)
		}
		for _, r := range w.receivers {
			r.Begin()
		}
		if i > 0 {
			e.broken = append(e.broken, w.broken...)
			w.broken = w.broken[:0]
		}
		w.remoteArrivals, w.receivers = w.remoteArrivals[:0], w.receivers[:0]
	}
	if len(e.broken) > before {
		slices.SortStableFunc(e.broken[before:], func(a, b brokenInvariant) int {
			return cmp.Compare(a.partition, b.partition)
		})
		e.broken = e.broken[:min(len(e.broken), max(before, maxViolations))]
	}
}

// mergeCounts sums the counts of all workers.
func (e *Engine) mergeCounts() {
	if e.workers == nil {
		return
	}
	for _, w := range e.workers.all[1:] {
		e.freeChunks.balance(&w.freeChunks)
		w.freeChunks.balance(&e.freeChunks)
		e.Totals.takeFrom(&w.Totals)
		e.credits.takeFrom(&w.credits)
		e.monitor.takeFrom(&w.monitor)
		e.openFlows, w.openFlows = e.openFlows+w.openFlows, 0
		e.scheduledStarts, w.scheduledStarts = e.scheduledStarts+w.scheduledStarts, 0
		e.openOperations, w.openOperations = e.openOperations+w.openOperations, 0
		e.startedFlows, w.startedFlows = append(e.startedFlows, w.startedFlows...), w.startedFlows[:0]
		e.finishedFlows, w.finishedFlows = append(e.finishedFlows, w.finishedFlows...), w.finishedFlows[:0]
		e.receiversToEnd, w.receiversToEnd = append(e.receiversToEnd, w.receiversToEnd...), w.receiversToEnd[:0]
		e.lastEvent = max(e.lastEvent, w.lastEvent)
		e.lastFrameEnd = max(e.lastFrameEnd, w.lastFrameEnd)
		e.lastProgress = max(e.lastProgress, w.lastProgress)
		for why := range w.lost {
			e.lost[why].takeFrom(&w.lost[why])
		}
	}
	frame.Level(e.workers.framePools)
}

func (c *creditCounts) takeFrom(o *creditCounts) {
	c.alive += o.alive
	c.sent += o.sent
	c.spent += o.spent
	c.resting = c.resting || o.resting
	*o = creditCounts{}
}

// Trim frees memory kept for future frames. Call it when the run, or nearly all of its frames, has ended.
func (e *Engine) Trim() {
	workers := []*worker{&e.worker}
	if e.workers != nil {
		workers = e.workers.all
	}
	for _, w := range workers {
		w.pool.Trim()
		w.freeChunks = nil
	}
}

// poll counts down the events to the next call of a run's Watch.
type poll struct {
	left  int64
	watch Watch
}

// counts adds n events, and calls the Watch when it is due.
func (p *poll) counts(n int64, e *Engine) error {
	if p.left -= n; p.left > 0 {
		return nil
	}
	p.left = eventsPerPoll
	if p.watch == nil {
		return nil
	}
	e.mergeCounts()
	return p.watch(e.now, &e.Totals)
}

// Watch is called now and then between two events, with the progress of the run. If it returns an error, the run ends
// with that error.
type Watch func(now vtime.Time, t *Totals) error

// eventsPerPoll sets the number of events between two calls of Watch.
const eventsPerPoll = 1 << 14

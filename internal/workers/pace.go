package workers

import "time"

// pace measures whether several workers are faster than one. This depends on the amount of parallel work, on how soon
// the system schedules a worker, and on the processors' other load, so pace measures it repeatedly. It measures only
// phases with enough work for several workers.
//
// The cost of several workers is the elapsed time. The cost of one worker is the time that it would take with a
// processor to itself. On a machine with other load both are slow at random times, and several workers must be faster
// than one at its best. There a pool gets no more processor time than one worker does, and also waits for its preempted
// workers.
type pace struct {
	several  bool          // several workers are used now
	better   bool          // several workers are faster, according to the last trial
	timing   bool          // a measured phase has started
	started  time.Duration // start of the measured phase
	now      sample        // sample of the current number of workers
	since    reading       // reading at the start of now
	late     [2]sample     // recent samples of one worker, and of several
	all      sample        // samples of the better choice since it became that
	tried    time.Duration // end of the last trial
	interval time.Duration // time from the last trial to the next
	penalty  time.Duration // a wrong change delays the next trial by this many times its cost
	used     func() time.Duration
}

// sample holds the duration and events of some phases.
type sample struct {
	took   time.Duration
	events float64
	phases int
}

// reading holds a time, and this process's processor time at it.
type reading struct{ at, used time.Duration }

const (
	least  = 32  // events, of some 200 ns each, that justify another worker
	beside = 128 // events beside the largest item that justify several: below, moving data between caches costs more

	chunk  = 3 * time.Millisecond // minimum duration of a sample
	phases = 4                    // minimum phases of a sample, because kinds of phases differ in the cost of an event

	shortestInterval = 10 * time.Millisecond
	longestInterval  = 250 * time.Millisecond
	frugality        = 50 // an interval is at least this many times the cost of the last trial
	leastPenalty     = 10
	mostPenalty      = 100
	worthwhile       = 0.97 // maximum relative cost that justifies a change
)

var start = time.Now()

// Useful returns how many workers are worth using for a phase with this many events, most of them in one item. The
// caller calls PhaseDone at the end of the phase.
func (c *Pool) Useful(events, most int) int {
	workers := min(c.size, events/least)
	if workers < 2 || events-most < beside {
		return 1
	}
	c.pace.timing, c.pace.started = true, time.Since(start)
	if !c.pace.several {
		return 1
	}
	return workers
}

// PhaseDone ends the phase of the last call of Useful, which had this many events.
func (c *Pool) PhaseDone(events int64) {
	if c.pace.timing {
		c.pace.timing = false
		c.pace.measure(c.pace.started, time.Since(start), events)
	}
}

// newPace returns a pace that starts with several workers: with enough work they are usually faster.
func newPace(used func() time.Duration) pace {
	return pace{several: true, better: true, interval: shortestInterval, penalty: leastPenalty, used: used}
}

// measure records a phase, and decides how to drive the next one.
func (p *pace) measure(started, now time.Duration, events int64) {
	p.now.add(sample{now - started, float64(events), 1})
	trial, lost := p.several != p.better, time.Duration(0)
	known := &p.late[index(p.better)]
	if trial {
		lost = p.now.beyond(known.perEvent())
	}
	if lost < chunk && (p.now.took < chunk || p.now.phases < phases || p.now.phases%2 > 0) {
		return
	}
	s, before := p.now, p.since
	p.now, p.since = sample{}, reading{now, p.used()}
	p.all.add(s)
	if !p.several {
		s.alone(float64(p.since.used-before.used) / float64(p.since.at-before.at))
	}
	switch {
	case !trial:
		known.follow(s)
		if other := &p.late[index(!p.better)]; now-p.tried >= p.interval ||
			p.better && other.phases > 0 && known.perEvent() > other.perEvent() && now-p.tried >= shortestInterval {
			p.several = !p.better
		}
		return
	case s.perEvent() < worthwhile*known.perEvent():
		p.interval = max(shortestInterval, p.penalty*p.all.beyond(s.perEvent()))
		p.penalty = min(2*p.penalty, mostPenalty)
		p.better, p.all = p.several, sample{}
	default:
		p.interval = max(min(2*p.interval, longestInterval), frugality*lost)
	}
	p.late[index(p.several)] = s
	p.several, p.tried = p.better, now
}

func (s *sample) perEvent() float64 { return float64(s.took) / max(s.events, 1) }

// beyond returns how much longer the sample took than at perEvent ns per event.
func (s *sample) beyond(perEvent float64) time.Duration {
	return s.took - time.Duration(s.events*perEvent)
}

func (s *sample) add(o sample) {
	s.took += o.took
	s.events += o.events
	s.phases += o.phases
}

// follow adds a sample, and reduces the weight of earlier ones.
func (s *sample) follow(o sample) {
	s.took = s.took * 2 / 3
	s.events = s.events * 2 / 3
	s.add(o)
}

// alone scales the duration to that of a worker with a processor to itself. share is the share of a processor that it
// had; 0: unknown.
func (s *sample) alone(share float64) {
	if 0 < share && share < 1 {
		s.took = time.Duration(float64(s.took) * share)
	}
}

func index(several bool) int {
	if several {
		return 1
	}
	return 0
}

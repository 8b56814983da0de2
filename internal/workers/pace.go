package workers

import "time"

// pace finds out whether several workers are quicker than one. That depends on how much there is to do at once, on how
// soon the system lets a worker work that has something to do, and on what else the processors have to do: so it is
// measured, again and again. Only phases with enough to do for several are.
//
// What several take is what the clock says. What one takes is what the clock would say if it had a processor to itself:
// on a machine with other work, where both are slow now and then by chance, several have to be quicker than one ever
// is. There a pool gets no more of the processors than one worker does, and waits besides for those of it that are put
// aside.
type pace struct {
	several  bool // are at work now
	better   bool // several are, as far as is known
	timing   bool // a phase that has begun
	begun    time.Duration
	now      sample        // of the way that is taken now
	since    reading       // as it began
	late     [2]sample     // of one worker and of several, of late
	all      sample        // of the better way since it was found to be
	tried    time.Duration // when the last trial ended
	interval time.Duration // from then to the next
	penalty  time.Duration // how many times its cost a change that was a mistake puts off the next trial
	used     func() time.Duration
}

// sample holds the duration and events of some phases.
type sample struct {
	took   time.Duration
	events float64
	phases int
}

// reading holds a time, and this process's processor time then.
type reading struct{ at, used time.Duration }

const (
	least = 32 // events, of some 200 ns each, that are worth another worker

	chunk  = 3 * time.Millisecond // a sample, at least
	phases = 4                    // in it, at least: they are of several kinds, which differ in what an event costs

	shortestInterval = 10 * time.Millisecond
	longestInterval  = 250 * time.Millisecond
	frugality        = 50 // an interval is so many times what the last trial has cost
	leastPenalty     = 10
	mostPenalty      = 100
	worthwhile       = 0.97 // of the cost, to change over
)

var start = time.Now()

// Useful returns how many workers are worth using for a phase with this many events, most of them in one item. The
// caller calls PhaseDone at the end of the phase.
func (c *Pool) Useful(events, most int) int {
	workers := min(c.size, events/least)
	if workers < 2 || events-most < least { // what is left beside the largest item is not worth it
		return 1
	}
	c.pace.timing, c.pace.begun = true, time.Since(start)
	if !c.pace.several {
		return 1
	}
	return workers
}

// PhaseDone ends the phase of the last call of Useful, which had this many events.
func (c *Pool) PhaseDone(events int64) {
	if c.pace.timing {
		c.pace.timing = false
		c.pace.measure(c.pace.begun, time.Since(start), events)
	}
}

// newPace begins with several workers: where there is enough to do for them they are quicker more often than not.
func newPace(used func() time.Duration) pace {
	return pace{several: true, better: true, interval: shortestInterval, penalty: leastPenalty, used: used}
}

// measure records a phase, and decides how to drive the next one.
func (p *pace) measure(begun, now time.Duration, events int64) {
	p.now.add(sample{now - begun, float64(events), 1})
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

// beyond returns how much longer the sample took than at perEvent ns an event.
func (s *sample) beyond(perEvent float64) time.Duration {
	return s.took - time.Duration(s.events*perEvent)
}

func (s *sample) add(o sample) {
	s.took += o.took
	s.events += o.events
	s.phases += o.phases
}

// follow adds a sample, and counts those before for less.
func (s *sample) follow(o sample) {
	s.took = s.took * 2 / 3
	s.events = s.events * 2 / 3
	s.add(o)
}

// alone makes it what it had been if the one worker had had a processor to itself, of which it had a share; 0: nobody
// knows.
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

package provenance

import (
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/vtime"
)

// priorities counts the priorities of PFC.
const priorities = 8

// control numbers the class of all frames except data.
const control = 0

// line records for how long a port has sent frames of each class, and when it was paused. It belongs to the port's
// partition.
type line struct {
	total     vtime.Time   // time spent on frames whose transmission has started
	classes   []vtime.Time // the same by class
	busyUntil vtime.Time
	last      int16 // class of the last frame

	// Of a switch's egress.
	queued  vtime.Time // time to send the frames in the queue
	virtual vtime.Time // time at which the queue would be empty if the port had never been paused
	bytes   []int64    // in the queue, by class
	blamed  []int64    // sum of bytes at the PAUSEs whose root was this queue; nil: it never was one

	holds    []hold
	active   [priorities]int32 // number of the current hold, by priority; 0: none
	first    map[uint64]int32  // by chain, the number of its first hold
	received bearing           // from the last received control frame

	accounts [priorities][]int64 // of a switch's ingress: waiting bytes, by egress; nil: there never were any
	pausings []pausing           // PAUSEs that the port has built
	latest   bearing             // the last of them with data's priority

	log []sent // of a host's port: as far back as a flow may need it
	cut int    // length of log at which it is next shortened
}

// sent represents a frame that a host's port has started to send.
type sent struct {
	from, to vtime.Time
	class    int16
}

// hold represents an interval during which one PAUSE stopped a port. A PAUSE that renews it starts another hold.
type hold struct {
	from, to vtime.Time // to: when it expires, unless it ends earlier
	sentAt   vtime.Time // time at which the PAUSE left the far end
	// The line's total at both ends of the interval; after is set once it has ended.
	before, after vtime.Time
	priority      uint8
	over          bool
	by            int32  // number, from 1, of the far end's pausing that caused it; 0: unknown so far
	chain         uint64 // of that pausing; 0: unknown
	firstSame     int32  // number of the port's first hold with the same chain
}

// bearing identifies the last PAUSE of data's priority that the sender of a control frame has built. It travels with
// the frame, because only a port's own partition may read the records of the port.
type bearing struct {
	by    int32
	chain uint64
}

// mix returns a hash of a chain of causes, from the hash of the rest of the chain.
func mix(h uint64, values ...uint64) uint64 {
	for _, v := range values {
		h = splitmix.At(h, v)
	}
	return max(h, 1)
}

// sentBy returns the time that the port has spent sending until t, not before its last frame started.
func (l *line) sentBy(t vtime.Time) vtime.Time { return l.total - max(0, l.busyUntil-t) }

// expire ends holds that have expired by now. It is called before anything else happens to a port.
func (l *line) expire(now vtime.Time) {
	for p, n := range l.active {
		if n == 0 {
			continue
		}
		if h := &l.holds[n-1]; h.to <= now {
			h.over, h.after, l.active[p] = true, l.sentBy(h.to), 0
		}
	}
}

// hold starts a hold, unless one without an end exists already: for lack of credits.
func (l *line) hold(now vtime.Time, priority uint8, until, sentAt vtime.Time, by bearing) {
	if n := l.active[priority]; n != 0 && l.holds[n-1].to == until {
		return
	}
	l.free(now, priority)
	n := int32(len(l.holds) + 1)
	h := hold{
		from: now, to: until, sentAt: sentAt, before: l.sentBy(now), priority: priority, by: by.by, chain: by.chain,
		firstSame: n,
	}
	if h.chain != 0 {
		if first, known := l.first[h.chain]; known {
			h.firstSame = first
		} else {
			if l.first == nil {
				l.first = map[uint64]int32{}
			}
			l.first[h.chain] = n
		}
	}
	l.holds = append(l.holds, h)
	l.active[priority] = n
}

func (l *line) free(now vtime.Time, priority uint8) {
	l.expire(now)
	if n := l.active[priority]; n != 0 {
		l.holds[n-1].to = now
		l.expire(now)
	}
}

// begin takes note of a frame that the port begins to send.
func (l *line) begin(now vtime.Time, serialisation vtime.Time, class int16) {
	l.total += serialisation
	l.classes[class] += serialisation
	l.busyUntil, l.last = now+serialisation, class
}

// queueCause returns the hold that caused the queue of a switch's port: without it, and with the same arrivals, more
// than half of the queue would be gone. 0: the port was congested.
func (l *line) queueCause(now vtime.Time, priority uint8) int32 {
	queue, anyway := l.queued+max(0, l.busyUntil-now), max(0, l.virtual-now)
	if queue <= 2*anyway {
		return 0
	}
	if n := l.present(priority); n != 0 {
		return n
	}
	for n := len(l.holds); n > 0; n-- {
		if h := &l.holds[n-1]; h.priority == priority {
			return h.firstSame
		}
	}
	return 0
}

// present returns the first hold with the chain of a port's current hold; 0: the port is not paused.
func (l *line) present(priority uint8) int32 {
	n := l.active[priority]
	if n == 0 {
		return 0
	}
	return l.holds[n-1].firstSame
}

// pausedFor calls f for each hold of a priority that overlaps from..now, the last first, with the first hold of the
// same chain, and with the time for which the port was stopped. sentFrom and sentNow are the line's totals at both
// times.
func (l *line) pausedFor(from, now, sentFrom, sentNow vtime.Time, priority uint8, f func(n int32, t vtime.Time)) {
	for n := len(l.holds); n > 0; n-- {
		h := &l.holds[n-1]
		if h.priority != priority {
			continue
		}
		if h.over && h.to <= from {
			return
		}
		a, sentA := from, sentFrom
		if h.from > from {
			a, sentA = h.from, h.before
		}
		b, sentB := now, sentNow
		if h.over && h.to < now {
			b, sentB = h.to, h.after
		}
		if t := b - a - (sentB - sentA); t > 0 {
			f(h.firstSame, t)
		}
	}
}

// account adds bytes of a frame to the account of an ingress port for an egress port, of a switch with so many ports.
func (l *line) account(priority uint8, egress, ports int, bytes int64) {
	if l.accounts[priority] == nil {
		l.accounts[priority] = make([]int64, ports)
	}
	l.accounts[priority][egress] += bytes
}

// journey records a frame's path and times, in the frame's note.
type journey struct {
	flow   int32
	class  int16
	answer bool       // of an ACK or NAK: its steps start with those of the packet that it answers
	at     vtime.Time // end of the time covered by steps
	steps  []step
	signal Signal // of data: its mark; otherwise the signal that it carries
	bears  bearing
	// State when it joined the queue in which it waits.
	serialisation vtime.Time
	total         vtime.Time
	classes       []vtime.Time
	hold          int32
}

func journeyOf(f *frame.Frame) *journey {
	note := f.Note()
	j, ok := (*note).(*journey)
	if !ok {
		j = &journey{}
		*note = j
	}
	return j
}

// begin forgets the frame that had the note before.
func (j *journey) begin(now vtime.Time, flow int, class int16) {
	j.flow, j.class, j.answer, j.at, j.steps, j.signal = int32(flow), class, false, now, j.steps[:0], Signal{}
}

func (j *journey) add(s step) {
	if s.time == 0 {
		return
	}
	s.answer = j.answer
	if s.what == Paused && len(j.steps) > 0 {
		if last := &j.steps[len(j.steps)-1]; last.what == Paused && last.port == s.port && last.hold == s.hold &&
			last.answer == s.answer {
			last.time += s.time
			return
		}
	}
	j.steps = append(j.steps, s)
}

// join notes how things stand at a port as the frame begins to wait there.
func (j *journey) join(now vtime.Time, l *line) {
	j.total = l.sentBy(now)
	j.classes = append(j.classes[:0], l.classes...)
	j.classes[l.last] -= max(0, l.busyUntil-now)
}

// leave adds the frame's waiting time at a port that it now leaves.
func (j *journey) leave(now vtime.Time, port int32, l *line, priority uint8) {
	rest := now - j.at
	if rest == 0 {
		return
	}
	for class, before := range j.classes {
		if t := l.classes[class] - before; t > 0 {
			j.add(step{what: Queued, port: port, class: int16(class), hold: j.hold, time: t})
			rest -= t
		}
	}
	l.pausedFor(j.at, now, j.total, l.total, priority, func(n int32, t vtime.Time) {
		j.add(step{what: Paused, port: port, hold: n, time: t})
		rest -= t
	})
	j.add(step{what: Stopped, port: port, time: rest})
	j.at = now
}

// worst returns the port at which the frame waited longest on its path to the receiver, and the hold that caused the
// wait; port -1: it has not waited anywhere.
func (j *journey) worst() (port, hold int32) {
	port = -1
	var most, here, longest vtime.Time
	var at, owed int32 = -1, 0
	for i := range j.steps {
		s := &j.steps[i]
		if s.what != Queued && s.what != Paused || s.answer {
			continue
		}
		if s.port != at {
			at, here, longest = s.port, 0, 0
		}
		here += s.time
		if s.time > longest {
			longest, owed = s.time, s.hold
		}
		if here > most {
			most, port, hold = here, at, owed
		}
	}
	return port, hold
}

package provenance

import (
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/vtime"
)

// priorities is how many PFC has.
const priorities = 8

// control is the class of all frames but data.
const control = 0

// line is what is known of a port: for how long it has been sending whose frames, and when it was paused. It belongs to
// the port's partition.
type line struct {
	total     vtime.Time   // serialising, of frames begun
	classes   []vtime.Time // of it, by class
	busyUntil vtime.Time
	last      int16 // class of the last frame

	// Of a switch's egress.
	queued  vtime.Time // to serialise what is in the queue
	virtual vtime.Time // when the queue would be empty had the port never been paused
	bytes   []int64    // in the queue, by class
	owed    []int64    // at each PAUSE of which this queue was the root, the same, added up; nil: it never was

	holds  []hold
	active [priorities]int32 // number of the present hold, by priority; 0: none
	first  map[uint64]int32  // by chain, the number of the first hold that has it
	came   bearing           // of the last control frame that has come

	accounts [priorities][]int64 // of a switch's ingress: bytes that wait, by egress; nil: there never were any
	pausings []pausing           // PAUSEs that the port has had built
	latest   bearing             // the last of them, of data's priority

	log []sent // of a host's port: for as long as a flow may have to know
	cut int    // length of log at which it is cut next
}

// sent is a frame that a host's port has begun to send.
type sent struct {
	from, to vtime.Time
	class    int16
}

// hold is a time for which a port was paused, by one PAUSE: one that renews it begins another.
type hold struct {
	from, to vtime.Time // to: when it runs out, unless it is ended before
	told     vtime.Time // when what began it left the far end
	// The line's total at both; after is known once it has ended.
	before, after vtime.Time
	priority      uint8
	over          bool
	by            int32  // number, from 1, of the far end's pausing that began it; 0: it is to be looked for
	chain         uint64 // of that; 0: not known
	alike         int32  // number of the first hold of the port because of the same chain
}

// bearing is what a control frame bears of the PAUSE of data's priority that its port had built last. It travels with
// the frame, for what is known of a port is its partition's alone.
type bearing struct {
	by    int32
	chain uint64
}

// mix returns a hash of a chain of causes, by that of what it is because of.
func mix(h uint64, values ...uint64) uint64 {
	for _, v := range values {
		h = splitmix.At(h, v)
	}
	return max(h, 1)
}

// sentBy returns the time for which the port has been sending by t, not before its last frame began.
func (l *line) sentBy(t vtime.Time) vtime.Time { return l.total - max(0, l.busyUntil-t) }

// expire ends holds that have run out by now. It comes before anything else happens to a port.
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

// hold begins one, unless it is that without an end which there is: for want of credits.
func (l *line) hold(now vtime.Time, priority uint8, until, told vtime.Time, by bearing) {
	if n := l.active[priority]; n != 0 && l.holds[n-1].to == until {
		return
	}
	l.free(now, priority)
	n := int32(len(l.holds) + 1)
	h := hold{
		from: now, to: until, told: told, before: l.sentBy(now), priority: priority, by: by.by, chain: by.chain,
		alike: n,
	}
	if h.chain != 0 {
		if first, known := l.first[h.chain]; known {
			h.alike = first
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

// owedTo returns the hold to which the queue of a switch's port is owed: more than half of it would not be there had
// the port never been paused while as much came. 0: the port was congested.
func (l *line) owedTo(now vtime.Time, priority uint8) int32 {
	queue, anyway := l.queued+max(0, l.busyUntil-now), max(0, l.virtual-now)
	if queue <= 2*anyway {
		return 0
	}
	if n := l.present(priority); n != 0 {
		return n
	}
	for n := len(l.holds); n > 0; n-- {
		if h := &l.holds[n-1]; h.priority == priority {
			return h.alike
		}
	}
	return 0
}

// present returns the hold that a port is in, or the first that is like it; 0: it is in none.
func (l *line) present(priority uint8) int32 {
	n := l.active[priority]
	if n == 0 {
		return 0
	}
	return l.holds[n-1].alike
}

// pausedFor calls f with each hold of a priority that overlaps from..now, or the first that is like it, the last first,
// and for how long the port stood still in it. sentBy are the line's totals at both.
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
			f(h.alike, t)
		}
	}
}

// account adds bytes of a frame to what an ingress port holds for an egress, of so many that the switch has.
func (l *line) account(priority uint8, egress, ports int, bytes int64) {
	if l.accounts[priority] == nil {
		l.accounts[priority] = make([]int64, ports)
	}
	l.accounts[priority][egress] += bytes
}

// journey is what is known of a frame's way, in its note.
type journey struct {
	flow   int32
	class  int16
	answer bool       // of an ACK or NAK: its steps begin with the packet's that it answers
	at     vtime.Time // up to which its time is in steps
	steps  []step
	signal Signal // of data: the mark that it got; else what it tells
	bears  bearing
	// As it joined the queue that it waits in.
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

// leave adds what the frame has waited for at a port that it now leaves.
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

// worst returns the port at which the frame has waited longest on its way to the receiver, and the hold that this
// was owed to; port -1: it has not waited anywhere.
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

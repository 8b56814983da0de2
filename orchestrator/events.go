package orchestrator

import "github.com/pausenet/pausenet/internal/vtime"

// eventKind says what happens.
type eventKind uint8

const (
	eventArrival eventKind = iota // the first frame on the wire from port id reaches the far end
	eventFree                     // port id has serialised its frame
	eventWake                     // port id asked to be looked at again
	eventTimer                    // flow id's controller timer
	eventStart                    // flow id starts
	eventRefresh                  // PAUSE of (port, priority) id is to be sent again
	eventCall                     // call number id
)

// event is one entry of the event queue. Events are ordered by time, and those of one time by the order in which they
// were scheduled: a total order that depends on nothing but the scenario.
type event struct {
	at   vtime.Time
	seq  uint64
	id   int32
	kind eventKind
}

// eventQueue is a 4-ary heap: shallower than a binary one, and the four children share a cache line or two.
type eventQueue struct {
	heap []event
	seq  uint64
}

func (q *eventQueue) empty() bool { return len(q.heap) == 0 }

// next is the time of the first event; vtime.Never if there is none.
func (q *eventQueue) next() vtime.Time {
	if len(q.heap) == 0 {
		return vtime.Never
	}
	return q.heap[0].at
}

func (q *eventQueue) push(at vtime.Time, kind eventKind, id int32) {
	e := event{at: at, seq: q.seq, id: id, kind: kind}
	q.seq++
	q.heap = append(q.heap, e)
	h := q.heap
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if h[parent].at <= at { // an equal time was scheduled earlier: it stays first
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
}

func (q *eventQueue) pop() event {
	h := q.heap
	first := h[0]
	n := len(h) - 1
	e := h[n]
	q.heap = h[:n]
	h = q.heap
	i := 0
	for {
		child := 4*i + 1
		if child >= n {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, n); c++ {
			if h[c].before(&h[least]) {
				least = c
			}
		}
		if e.before(&h[least]) {
			break
		}
		h[i] = h[least]
		i = least
	}
	if n > 0 {
		h[i] = e
	}
	return first
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

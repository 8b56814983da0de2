// Package calendar implements the event queue of a discrete event simulation: a calendar queue (Brown, CACM 1988)
// with a total order.
package calendar

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/pausenet/pausenet/vtime"
)

// Event describes an entry of a Queue. Events are ordered by At and then by Seq.
type Event struct {
	At   vtime.Time
	Seq  uint64 // unique among the events of one time
	ID   int32  // flow, port or other object that the event concerns
	Kind uint8  // action of the event
}

// before reports whether e comes before o.
func (e *Event) before(o *Event) bool { return e.At < o.At || e.At == o.At && e.Seq < o.Seq }

// Queue holds events to come. Nearly all events of a fabric are due within a few microseconds, so they go into a ring
// of narrow buckets, which are sorted one at a time when their time comes. Later events wait in a heap. The cost of
// an event does not grow with the number of events. A bucket is a list in a common store, so that little memory is
// touched.
type Queue struct {
	shift  uint     // a bucket is 1<<shift picoseconds wide
	bucket int64    // the current bucket's number: time >> shift
	now    []Event  // the current bucket, sorted
	head   int      // index in now of the first event
	ring   []int32  // the list of each later bucket
	used   []uint64 // one bit for each bucket of the ring: it has events
	near   int      // events in the ring
	store  store
	far    eventHeap
}

// New returns an empty queue for a given rate of events, per second. A bucket then holds a few, and the ring reaches
// somewhat further than ahead.
func New(rate float64, ahead vtime.Time) Queue {
	const perBucket = 8
	shift := min(max(uint(bits.Len64(uint64(perBucket*float64(vtime.Second)/rate))), 10), 22)
	n := 1 << min(max(bits.Len64(uint64(ahead+ahead/2)>>shift), 6), 16)
	return Queue{shift: shift, ring: make([]int32, n), used: make([]uint64, n/64)}
}

// Next returns the time of the first event; vtime.Never if there is none.
func (q *Queue) Next() vtime.Time {
	if q.head == len(q.now) && !q.advance() {
		return vtime.Never
	}
	return q.now[q.head].At
}

// Pop removes and returns the first event. The queue must not be empty.
func (q *Queue) Pop() Event {
	if q.head == len(q.now) {
		q.advance()
	}
	e := q.now[q.head]
	q.head++
	return e
}

// Push adds an event. It must not be earlier than the last event that Pop returned.
func (q *Queue) Push(e Event) {
	b := int64(e.At) >> q.shift
	switch {
	case b <= q.bucket:
		q.insert(e)
	case b < q.bucket+int64(len(q.ring)):
		q.put(b, e)
	default:
		q.far.push(e)
	}
}

// slot returns a bucket's index in the ring.
func (q *Queue) slot(bucket int64) int { return int(bucket) & (len(q.ring) - 1) }

// insert adds an event to the current bucket.
func (q *Queue) insert(e Event) {
	i := len(q.now)
	q.now = append(q.now, e)
	for i > q.head && e.before(&q.now[i-1]) {
		q.now[i] = q.now[i-1]
		i--
	}
	q.now[i] = e
}

// put adds an event to a later bucket.
func (q *Queue) put(bucket int64, e Event) {
	slot := q.slot(bucket)
	q.ring[slot] = q.store.add(q.ring[slot], e)
	q.used[slot>>6] |= 1 << (slot & 63)
	q.near++
}

// advance makes the next bucket with events the current one; false if there is none.
func (q *Queue) advance() bool {
	switch {
	case q.near > 0:
		q.bucket = q.nextUsed()
	case len(q.far) > 0:
		q.bucket = int64(q.far[0].At) >> q.shift
	default:
		return false
	}
	// The ring has moved: events that it now reaches leave the heap.
	for len(q.far) > 0 && int64(q.far[0].At)>>q.shift < q.bucket+int64(len(q.ring)) {
		e := q.far.pop()
		q.put(int64(e.At)>>q.shift, e)
	}
	slot := q.slot(q.bucket)
	q.now, q.ring[slot] = q.store.take(q.ring[slot], q.now[:0]), 0
	q.used[slot>>6] &^= 1 << (slot & 63)
	q.near -= len(q.now)
	q.head = 0
	sortEvents(q.now)
	return true
}

// nextUsed returns the number of the first bucket of the ring with events.
func (q *Queue) nextUsed() int64 {
	start := q.slot(q.bucket + 1)
	word := start >> 6
	w := q.used[word] &^ (1<<(start&63) - 1)
	for w == 0 {
		word = (word + 1) & (len(q.used) - 1)
		w = q.used[word]
	}
	slot := word<<6 + bits.TrailingZeros64(w)
	return q.bucket + 1 + int64((slot-start)&(len(q.ring)-1))
}

func sortEvents(events []Event) {
	if len(events) > 24 {
		slices.SortFunc(events, func(a, b Event) int {
			if a.At != b.At {
				return cmp.Compare(a.At, b.At)
			}
			return cmp.Compare(a.Seq, b.Seq)
		})
		return
	}
	for i := 1; i < len(events); i++ {
		e := events[i]
		k := i
		for k > 0 && e.before(&events[k-1]) {
			events[k] = events[k-1]
			k--
		}
		events[k] = e
	}
}

// store holds the events of later buckets. The zero store is ready.
type store struct {
	nodes []node // number 0 is none
	free  int32  // the first free node
}

type node struct {
	Event
	next int32
}

// add prepends an event to a list, and returns the list.
func (s *store) add(list int32, e Event) int32 {
	n := s.free
	if n == 0 {
		if len(s.nodes) == 0 {
			s.nodes = append(s.nodes, node{})
		}
		n = int32(len(s.nodes))
		s.nodes = append(s.nodes, node{})
	} else {
		s.free = s.nodes[n].next
	}
	s.nodes[n] = node{e, list}
	return n
}

// take frees a list and appends its events to events, the oldest first.
func (s *store) take(list int32, events []Event) []Event {
	from := len(events)
	for n := list; n != 0; {
		node := &s.nodes[n]
		events = append(events, node.Event)
		next := node.next
		node.next = s.free
		s.free = n
		n = next
	}
	slices.Reverse(events[from:])
	return events
}

// eventHeap implements a binary heap of events.
type eventHeap []Event

func (h *eventHeap) push(e Event) {
	s := append(*h, e)
	i := len(s) - 1
	for i > 0 && e.before(&s[(i-1)/2]) {
		s[i] = s[(i-1)/2]
		i = (i - 1) / 2
	}
	s[i] = e
	*h = s
}

func (h *eventHeap) pop() Event {
	s := *h
	first, n := s[0], len(s)-1
	e := s[n]
	s = s[:n]
	i := 0
	for {
		least := 2*i + 1
		if least >= n {
			break
		}
		if least+1 < n && s[least+1].before(&s[least]) {
			least++
		}
		if e.before(&s[least]) {
			break
		}
		s[i] = s[least]
		i = least
	}
	if n > 0 {
		s[i] = e
	}
	*h = s
	return first
}

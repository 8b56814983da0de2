package engine

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// eventKind says what happens.
type eventKind uint8

const (
	eventArrival       eventKind = iota // the first frame on the wire from port id reaches the far end
	eventFree                           // port id has serialised its frame and more is waiting
	eventWake                           // port id asked to be served again
	eventTimer                          // flow id's controller timer
	eventReport                         // flow id's receiver's timer
	eventStart                          // flow id starts
	eventRefresh                        // PAUSE of (port, priority) id is to be sent again
	eventCredit                         // port id's credit messages are due
	eventWatch                          // the watchdog's timer of the queue (port, priority) id
	eventDrain                          // the slow receiver at port id has taken its first frame
	eventReceiverPause                  // the slow receiver's PAUSE is to be sent again
	eventPFCStorm                       // port id sends the next PAUSEs of an injected PFC storm
	eventHostStack                      // a host stack's frame reaches the NIC at port id
	eventOperation                      // operation id, which computes, ends
)

// event is one entry of the event queue. Events are ordered by time, and those of one time by the order in which they
// were scheduled; but where there are several regions, which may schedule arrivals in any order, arrivals come first, in the
// order of their ports. It is a total order that depends on nothing but the scenario.
type event struct {
	at   vtime.Time
	seq  uint64
	id   int32
	kind eventKind
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// eventQueue is a calendar queue (Brown, CACM 1988): nearly all events of a fabric are due within a few microseconds, so
// they go into a ring of narrow buckets, which are sorted one at a time as they come up. Later events wait in a heap. The
// cost of an event does not grow with the number of ports. A bucket is a list; what one gives back the next takes, so that
// little memory is touched.
type eventQueue struct {
	seq    uint64
	shift  uint     // a bucket is 1<<shift picoseconds wide
	bucket int64    // the present bucket's number: time >> shift
	now    []event  // the present bucket, sorted
	head   int      // of now: what comes before it has happened
	ring   []int32  // the list of each bucket to come
	used   []uint64 // a bit a bucket of the ring
	near   int      // events in the ring
	store  eventStore
	far    eventHeap
}

// eventStore holds the events of buckets to come. The zero eventStore is ready.
type eventStore struct {
	nodes []eventNode // number 0 is none
	free  int32       // the first of those given back
}

type eventNode struct {
	event
	next int32
}

// add puts an event before a list.
func (s *eventStore) add(list int32, e event) int32 {
	n := s.free
	if n == 0 {
		if len(s.nodes) == 0 {
			s.nodes = append(s.nodes, eventNode{})
		}
		n = int32(len(s.nodes))
		s.nodes = append(s.nodes, eventNode{})
	} else {
		s.free = s.nodes[n].next
	}
	s.nodes[n] = eventNode{e, list}
	return n
}

// take gives a list's events back and appends them to some, the oldest first.
func (s *eventStore) take(list int32, events []event) []event {
	from := len(events)
	for n := list; n != 0; {
		node := &s.nodes[n]
		events = append(events, node.event)
		next := node.next
		node.next = s.free
		s.free = n
		n = next
	}
	slices.Reverse(events[from:])
	return events
}

// newEventQueue is an empty queue that suits the rate of events at some of a plan's ports: a bucket holds a few when all of
// them send at line rate, and the ring reaches beyond the longest link.
func newEventQueue(plan *topologies.Plan, of func(port int) bool) eventQueue {
	const perBucket = 8
	perSecond, longest := 1.0, vtime.Time(0)
	line := plan.Framing.LineBytes(plan.MTU + 58)
	for i := range plan.Ports {
		if !of(i) {
			continue
		}
		p := &plan.Ports[i]
		perSecond += 2 * float64(p.Rate) / 8 / float64(line) // at most two events a packet and port
		longest = max(longest, p.Delay+p.Rate.TimeFor(line))
	}
	shift := min(max(uint(bits.Len64(uint64(perBucket*float64(vtime.Second)/perSecond))), 10), 22)
	n := 1 << min(max(bits.Len64(uint64(longest+longest/2)>>shift), 6), 16)
	return eventQueue{shift: shift, ring: make([]int32, n), used: make([]uint64, n/64)}
}

// slot is a bucket's place in the ring.
func (q *eventQueue) slot(bucket int64) int { return int(bucket) & (len(q.ring) - 1) }

// next is the time of the first event; vtime.Never if there is none.
func (q *eventQueue) next() vtime.Time {
	if q.head == len(q.now) && !q.advance() {
		return vtime.Never
	}
	return q.now[q.head].at
}

// pop takes the first event; the queue must not be empty.
func (q *eventQueue) pop() event {
	if q.head == len(q.now) {
		q.advance()
	}
	e := q.now[q.head]
	q.head++
	return e
}

func (q *eventQueue) push(e event) {
	b := int64(e.at) >> q.shift
	switch {
	case b <= q.bucket:
		q.insert(e)
	case b < q.bucket+int64(len(q.ring)):
		q.put(b, e)
	default:
		q.far.push(e)
	}
}

// insert puts an event into the present bucket.
func (q *eventQueue) insert(e event) {
	i := len(q.now)
	q.now = append(q.now, e)
	for i > q.head && e.before(&q.now[i-1]) {
		q.now[i] = q.now[i-1]
		i--
	}
	q.now[i] = e
}

func (q *eventQueue) put(bucket int64, e event) {
	slot := q.slot(bucket)
	q.ring[slot] = q.store.add(q.ring[slot], e)
	q.used[slot>>6] |= 1 << (slot & 63)
	q.near++
}

// advance makes the next bucket with events the present one; false if there is none.
func (q *eventQueue) advance() bool {
	switch {
	case q.near > 0:
		q.bucket = q.nextUsed()
	case len(q.far) > 0:
		q.bucket = int64(q.far[0].at) >> q.shift
	default:
		return false
	}
	// The ring has moved on: what has come within its reach leaves the heap.
	for len(q.far) > 0 && int64(q.far[0].at)>>q.shift < q.bucket+int64(len(q.ring)) {
		e := q.far.pop()
		q.put(int64(e.at)>>q.shift, e)
	}
	slot := q.slot(q.bucket)
	q.now, q.ring[slot] = q.store.take(q.ring[slot], q.now[:0]), 0
	q.used[slot>>6] &^= 1 << (slot & 63)
	q.near -= len(q.now)
	q.head = 0
	sortEvents(q.now)
	return true
}

// nextUsed is the number of the first bucket of the ring with events.
func (q *eventQueue) nextUsed() int64 {
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

func sortEvents(events []event) {
	if len(events) > 24 {
		slices.SortFunc(events, func(a, b event) int {
			if a.at != b.at {
				return cmp.Compare(a.at, b.at)
			}
			return cmp.Compare(a.seq, b.seq)
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

// eventHeap is a binary heap of events.
type eventHeap []event

func (h *eventHeap) push(e event) {
	s := append(*h, e)
	i := len(s) - 1
	for i > 0 && e.before(&s[(i-1)/2]) {
		s[i] = s[(i-1)/2]
		i = (i - 1) / 2
	}
	s[i] = e
	*h = s
}

func (h *eventHeap) pop() event {
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

// Package steps represents graphs of operations: sends, receives and computes of ranks, each of which waits for events
// of others of the same rank, as in GOAL (Hoefler, Siebert and Lumsdaine, "Group Operation Assembly Language", ICPP
// 2009). It reads such graphs from GOAL files, as text or binary. It is pure.
package steps

import (
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/pausenet/pausenet/vtime"
)

// Kind selects the kind of an operation.
type Kind uint8

// Kinds of operations.
const (
	Compute Kind = iota // takes its duration; without one it joins operations
	Send                // ends when the last byte of its message has been acknowledged
	Receive             // ends when its message has been delivered, and the operations that it waits for have happened
)

func (k Kind) String() string { return [...]string{"compute", "send", "receive"}[k] }

// Until selects the event of an operation that another waits for.
type Until uint8

// Events of an operation.
const (
	Ended Until = iota
	Sent        // of a send: its last packet has started to leave
	Started
)

// Wait represents a dependency of an operation: an event of another operation of its rank.
type Wait struct {
	Operation int32
	Until     Until
}

// Operation represents a step of a rank.
type Operation struct {
	Rank    int32
	Kind    Kind
	Unit    int32 // of a compute: a rank's computes on one unit above 0 run one after the other
	Message int32 // of a send or receive: index of its message
	// Duration holds the time of a compute.
	Duration vtime.Time
}

// operation holds an operation of a graph in 16 bytes, as graphs have millions.
type operation struct {
	rank  int32
	of    int32 // index in messages; of a compute, index in computes, or -1: it takes no time on no unit
	first int32 // index of its first dependency; -1: it has none
	kind  Kind
}

// compute holds what a compute has beyond other operations.
type compute struct {
	duration vtime.Time
	unit     int32
}

// Message represents a message between two ranks: Size bytes of payload, at least 1.
type Message struct {
	Send, Receive int32 // operations
	Size          int64
}

// Graph holds the operations of some ranks. The zero Graph with a number of ranks is ready to use.
type Graph struct {
	Ranks    int
	Messages []Message
	// Collectives lists the collectives among the operations.
	Collectives []Collective
	// Rings holds the collectives whose messages follow a rule: these messages are not in Messages, and have no
	// operations. ByRule allows rings.
	Rings  []Ring
	ByRule bool

	operations []operation
	computes   []compute
	waits      []wait
}

// wait holds a dependency: the operation times 8, 4 if it is the last one of its list, and the event.
type wait uint32

const lastWait wait = 4

// Ring represents the messages of a collective on a ring: each of its ranks sends some to the next. A rank sends its
// first message after the collective's Enter operation, and each other one when the last packet of the one before has
// started to leave, and the message Chunks earlier has arrived from the previous rank.
type Ring struct {
	Collective    int // index in Collectives
	Message       int // number of its first message; by step, then by rank, then by chunk
	Ranks         int
	Steps, Chunks int
	Size          func(rank, message int) int64 // of a rank's message, in the order in which the rank sends
}

// AddRing adds a ring for the next collective.
func (g *Graph) AddRing(ranks, steps, chunks int, size func(rank, message int) int64) {
	g.Rings = append(g.Rings, Ring{len(g.Collectives), g.MessageCount(), ranks, steps, chunks, size})
}

// Messages returns the number of messages that each rank sends.
func (r *Ring) Messages() int { return r.Steps * r.Chunks }

// Position returns the sending rank of the message with a number, and which of the rank's messages it is.
func (r *Ring) Position(number int) (rank, message int) {
	i := number - r.Message
	turn := i / r.Chunks
	return turn % r.Ranks, turn/r.Ranks*r.Chunks + i%r.Chunks
}

// RingOf returns the ring that has the message with a number; nil: it is one of Messages.
func (g *Graph) RingOf(message int) *Ring {
	if at := g.RingAt(message); at >= 0 {
		return &g.Rings[at]
	}
	return nil
}

// RingAt returns the index of the ring that has the message with a number; -1: it is one of Messages.
func (g *Graph) RingAt(message int) int {
	return sort.Search(len(g.Rings), func(i int) bool { return g.Rings[i].Message > message }) - 1
}

// SizeOf returns the size of the message with a number.
func (g *Graph) SizeOf(message int) int64 {
	if r := g.RingOf(message); r != nil {
		return r.Size(r.Position(message))
	}
	return g.Messages[message].Size
}

// MessageCount returns the number of messages, including those of rings.
func (g *Graph) MessageCount() int {
	n := len(g.Messages)
	for i := range g.Rings {
		n += g.Rings[i].Ranks * g.Rings[i].Messages()
	}
	return n
}

// OperationCount returns the number of operations, including the sends and receives of rings.
func (g *Graph) OperationCount() int {
	return len(g.operations) + 2*(g.MessageCount()-len(g.Messages))
}

// Collective represents a collective operation of a graph.
type Collective struct {
	Kind, Algorithm string
	Size            int64 // as defined by nccl-tests: see package collective
	// Factor converts the algorithm bandwidth to the bus bandwidth (nccl-tests, doc/PERFORMANCE.md); 0: the collective
	// has no bandwidth.
	Factor float64
	// Ranks lists the participants. Enter and Leave hold, for each of Ranks, the operations that join those that the
	// rank waits for before the collective, and its operations in it.
	Ranks        []int32
	Enter, Leave []int32
	// First holds the index of its first operation, End that after the last.
	First, End int32
	// Iteration holds the job's iteration, from 0; -1 without a job.
	Iteration int
}

// Add adds an operation and returns its number. It may wait for operations that are added later.
func (g *Graph) Add(o Operation, after ...Wait) int32 {
	of := int32(-1)
	if o.Duration > 0 || o.Unit > 0 {
		of = int32(len(g.computes))
		g.computes = append(g.computes, compute{o.Duration, o.Unit})
	}
	g.operations = append(g.operations, operation{rank: o.Rank, of: of, kind: o.Kind})
	id := int32(len(g.operations) - 1)
	g.SetWaits(id, after...)
	return id
}

// Added returns the number of operations that have been added. They do not include those of rings.
func (g *Graph) Added() int32 { return int32(len(g.operations)) }

// Operation returns the operation with a number.
func (g *Graph) Operation(id int32) Operation {
	o := &g.operations[id]
	of := Operation{Rank: o.rank, Kind: o.kind, Message: o.of}
	if o.kind == Compute && o.of >= 0 {
		of.Duration, of.Unit, of.Message = g.computes[o.of].duration, g.computes[o.of].unit, -1
	}
	return of
}

// Join adds an operation of a rank that takes no time.
func (g *Graph) Join(rank int32, after ...Wait) int32 { return g.Add(Operation{Rank: rank}, after...) }

// Message adds a message: the operations of its sender and its receiver.
func (g *Graph) Message(from, to int32, size int64, send, receive []Wait) (s, r int32) {
	s = g.Add(Operation{Rank: from, Kind: Send}, send...)
	r = g.Add(Operation{Rank: to, Kind: Receive}, receive...)
	g.Pair(s, r, size)
	return s, r
}

// Pair makes a message of a send and a receive.
func (g *Graph) Pair(send, receive int32, size int64) {
	n := int32(len(g.Messages))
	g.operations[send].of, g.operations[receive].of = n, n
	g.Messages = append(g.Messages, Message{send, receive, size})
}

// Reserve makes room for this many more messages, and operations besides those of messages.
func (g *Graph) Reserve(messages, operations int) {
	g.operations = slices.Grow(g.operations, 2*messages+operations)
	g.Messages = slices.Grow(g.Messages, messages)
}

// Pairs numbers the pairs of ranks between which messages go, in the order of their first messages. It returns the pair
// of each message, and the number of pairs.
func (g *Graph) Pairs() (of []int32, count int) {
	of, known := make([]int32, len(g.Messages)), map[[2]int32]int32{}
	for i := range g.Messages {
		m := &g.Messages[i]
		ends := [2]int32{g.operations[m.Send].rank, g.operations[m.Receive].rank}
		pair, is := known[ends]
		if !is {
			pair = int32(len(known))
			known[ends] = pair
		}
		of[i] = pair
	}
	return of, len(known)
}

// Waits iterates over the dependencies of an operation.
func (g *Graph) Waits(operation int32) iter.Seq[Wait] {
	return func(yield func(Wait) bool) {
		at := g.operations[operation].first
		if at < 0 {
			return
		}
		for _, w := range g.waits[at:] {
			if !yield(Wait{int32(w >> 3), Until(w & 3)}) || w&lastWait != 0 {
				return
			}
		}
	}
}

// WaitCount returns the number of dependencies of all operations.
func (g *Graph) WaitCount() int { return len(g.waits) }

// InOrder reports whether the numbers of operations are an order as Order returns it.
func (g *Graph) InOrder() bool {
	for id := range g.Added() {
		for w := range g.Waits(id) {
			if w.Operation >= id {
				return false
			}
			if o := &g.operations[w.Operation]; o.kind == Receive && w.Until == Ended && g.Messages[o.of].Send >= id {
				return false
			}
		}
	}
	return true
}

// Order returns the operations in an order in which each follows those that must start before it: its dependencies,
// and, if it depends on a message's end, the message's send. If there is no such order, cycle holds operations that
// wait for each other: each for the next, and the last for the first.
func (g *Graph) Order() (order, cycle []int32) {
	n := len(g.operations)
	needs := make([]int32, n) // what an operation still waits for
	first := make([]int32, n+1)
	each := func(f func(before, after int32)) {
		for i := range g.operations {
			for w := range g.Waits(int32(i)) {
				f(w.Operation, int32(i))
				if o := &g.operations[w.Operation]; o.kind == Receive && w.Until == Ended {
					f(g.Messages[o.of].Send, int32(i))
				}
			}
		}
	}
	each(func(before, after int32) {
		needs[after]++
		first[before+1]++
	})
	for i := range n {
		first[i+1] += first[i]
	}
	followers, filled := make([]int32, first[n]), make([]int32, n)
	each(func(before, after int32) {
		followers[first[before]+filled[before]] = after
		filled[before]++
	})
	order = make([]int32, 0, n)
	for i := range n {
		if needs[i] == 0 {
			order = append(order, int32(i))
		}
	}
	for at := 0; at < len(order); at++ {
		for _, f := range followers[first[order[at]]:first[order[at]+1]] {
			if needs[f]--; needs[f] == 0 {
				order = append(order, f)
			}
		}
	}
	if len(order) == n {
		return order, nil
	}
	return nil, g.cycle(needs)
}

// cycle returns operations that wait for each other, among those with unmet dependencies.
func (g *Graph) cycle(needs []int32) []int32 {
	at := int32(0)
	for needs[at] == 0 {
		at++
	}
	place := map[int32]int{}
	var way []int32
	for {
		if from, again := place[at]; again {
			return way[from:]
		}
		place[at] = len(way)
		way = append(way, at)
		at = g.before(at, needs)
	}
}

// before returns a dependency of an operation that has unmet dependencies itself.
func (g *Graph) before(at int32, needs []int32) int32 {
	for w := range g.Waits(at) {
		if needs[w.Operation] > 0 {
			return w.Operation
		}
		if o := &g.operations[w.Operation]; o.kind == Receive && w.Until == Ended {
			if send := g.Messages[o.of].Send; needs[send] > 0 {
				return send
			}
		}
	}
	return at // none: an operation that waits has one
}

// Describe describes an operation for people: "operation 7 (rank 2 sends 64KB to rank 3)".
func (g *Graph) Describe(operation int32) string { return g.DescribeAs(operation, int(operation)) }

// DescribeAs describes an operation under another number.
func (g *Graph) DescribeAs(operation int32, number int) string {
	o := g.Operation(operation)
	switch {
	case o.Kind == Compute && o.Duration == 0:
		return fmt.Sprintf("operation %d (rank %d waits)", number, o.Rank)
	case o.Kind == Compute:
		return fmt.Sprintf("operation %d (rank %d computes %v)", number, o.Rank, o.Duration)
	}
	m := &g.Messages[o.Message]
	other := m.Send
	if o.Kind == Send {
		other = m.Receive
	}
	return DescribeMessage(number, o.Kind, o.Rank, g.operations[other].rank, m.Size)
}

// DescribeMessage describes a send or receive of a rank for people.
func DescribeMessage(operation int, kind Kind, rank, other int32, size int64) string {
	if kind == Send {
		return fmt.Sprintf("operation %d (rank %d sends %d bytes to rank %d)", operation, rank, size, other)
	}
	return fmt.Sprintf("operation %d (rank %d receives %d bytes from rank %d)", operation, rank, size, other)
}

// mostDescribed limits the operations of a cycle that are named.
const mostDescribed = 8

// DescribeCycle describes a cycle for people.
func (g *Graph) DescribeCycle(cycle []int32) string {
	var b strings.Builder
	for i, o := range cycle[:min(len(cycle), mostDescribed)] {
		if i > 0 {
			b.WriteString(", which waits for ")
		}
		b.WriteString(g.Describe(o))
	}
	if more := len(cycle) - mostDescribed; more > 0 {
		fmt.Fprintf(&b, ", which waits for %d more", more)
	}
	b.WriteString(", which waits for the first")
	return b.String()
}

// SetWaits sets the dependencies of an operation.
func (g *Graph) SetWaits(operation int32, after ...Wait) {
	g.operations[operation].first = -1
	if len(after) == 0 {
		return
	}
	g.operations[operation].first = int32(len(g.waits))
	for _, w := range after {
		g.waits = append(g.waits, wait(w.Operation)<<3|wait(w.Until))
	}
	g.waits[len(g.waits)-1] |= lastWait
}

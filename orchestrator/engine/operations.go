package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// Operations are dependent traffic: a host starts an operation when other events have happened at this host. An
// operation and all that it waits for belong to one host, as in GOAL (Hoefler, Siebert and Lumsdaine, "Group Operation
// Assembly Language", ICPP 2009). So they belong to one partition, and partitions are driven apart as without
// operations.

// OperationKind selects the kind of an operation.
type OperationKind uint8

// Kinds of operations.
const (
	// OperationCompute lasts for its duration. With a duration of 0 it only joins the operations that it waits for.
	OperationCompute OperationKind = iota
	// OperationSend starts its flows, and ends when the last byte of each has been acknowledged.
	OperationSend
	// OperationReceive ends when all of its flows have been delivered, from any sender, and all its Waits have
	// happened.
	OperationReceive
)

// Until selects an event of an operation that others can wait for.
type Until uint8

// Events of an operation.
const (
	UntilEnded Until = iota
	UntilSent        // of a send: the last packet of each of its flows has started to leave, for the first time
	UntilStarted
)

// Wait names an event of another operation of the same host to wait for.
type Wait struct {
	Operation int
	Until     Until
}

// OperationConfig describes an operation.
type OperationConfig struct {
	Host topologies.NodeID
	Kind OperationKind
	// Duration holds the time for which an operation computes.
	Duration vtime.Time
	// Unit selects the compute unit. A host's operations of one unit above 0 run one after the other, in the order in
	// which they become ready. Those of unit 0 wait only for their Waits.
	Unit int
}

// operation holds an operation of a run.
type operation struct {
	duration     vtime.Time
	began, ended vtime.Time // vtime.Never until it happens
	port         int32      // port of the host
	follow       int32      // index of its first follower in steps.followers
	followers    int32      // number of followers
	flow         int32      // first flow of a send
	ring, rank   int32      // 1 + the ring whose rank starts when the operation has ended, and the rank; 0: none
	waits        int32      // number of events that it still waits for
	left         int32      // flows that have not been acknowledged, or delivered
	unsent       int32      // flows whose last packet has not left
	unit         int32      // index in units; -1: none
	kind         OperationKind
}

// steps holds the operations of a fabric. Only the worker that drives its host's partition changes an operation.
type steps struct {
	operations []operation
	followers  []follower
	more       map[int32][]int32 // the other flows of a send that has several
	units      []unit
	unitOf     map[unitName]int32
	edges      []edge // only before the run
	rings      []*ring
}

// edge represents a wait of one operation for another.
type edge struct {
	operation, by int32
	until         Until
}

// follower represents an operation that waits for an event of another.
type follower struct {
	operation int32
	until     Until
}

type unitName struct {
	host topologies.NodeID
	unit int
}

// unit runs operations one after the other.
type unit struct {
	busy  bool
	queue []int32 // operations that are ready
}

// occurrence represents an event of an operation that has not been passed to its followers.
type occurrence struct {
	operation int32
	until     Until
}

// AddOperation adds an operation, which starts when all its Waits have happened, and returns its number. It may wait
// for operations that are added later. Operations that wait for each other in a cycle never start; AddOperation does
// not check this. Call it before the run.
func (e *Engine) AddOperation(c OperationConfig, after ...Wait) (id int) {
	id = len(e.operations)
	o := operation{
		duration: c.Duration, began: vtime.Never, ended: vtime.Never, port: int32(e.plan.Nodes[c.Host].Ports[0]), unit: -1,
		kind:  c.Kind,
		waits: int32(len(after)),
	}
	if c.Unit > 0 {
		name := unitName{c.Host, c.Unit}
		of, known := e.unitOf[name]
		if !known {
			if e.unitOf == nil {
				e.fabric.unitOf = map[unitName]int32{}
			}
			of = int32(len(e.units))
			e.unitOf[name] = of
			e.fabric.units = append(e.units, unit{})
		}
		o.unit = of
	}
	e.fabric.operations = append(e.operations, o)
	for _, w := range after {
		e.fabric.edges = append(e.edges, edge{int32(id), int32(w.Operation), w.Until})
	}
	e.openOperations++
	return id
}

// assignToOperations gives a flow that has been added to the operations that send and receive it.
func (e *Engine) assignToOperations(id int) {
	f := &e.flows[id]
	host := func(operation int32, at topologies.NodeID, kind OperationKind) *operation {
		o := &e.operations[operation-1]
		if o.kind != kind || o.port != int32(e.plan.Nodes[at].Ports[0]) || f.Size == 0 {
			panic(fmt.Sprintf("flow %d: operation %d cannot send or receive it", id, operation-1))
		}
		o.left++
		return o
	}
	if f.Send > 0 {
		f.Start = vtime.Never
		o := host(f.Send, f.Source, OperationSend)
		if o.unsent++; o.unsent == 1 {
			o.flow = int32(id)
		} else {
			if e.more == nil {
				e.fabric.more = map[int32][]int32{}
			}
			e.more[f.Send-1] = append(e.more[f.Send-1], int32(id))
		}
	}
	if f.Receive > 0 {
		host(f.Receive, f.Destination, OperationReceive)
	}
}

// startOperations starts the operations that wait for nothing, at the start of the run.
func (e *Engine) startOperations() {
	if len(e.operations) == 0 {
		return
	}
	for _, w := range e.edges {
		e.operations[w.by].followers++
	}
	next := int32(0)
	for i := range e.operations {
		o := &e.operations[i]
		o.follow, next, o.followers = next, next+o.followers, 0
	}
	e.fabric.followers = make([]follower, next)
	for _, w := range e.edges {
		o := &e.operations[w.by]
		e.followers[o.follow+o.followers] = follower{w.operation, w.until}
		o.followers++
	}
	e.fabric.edges, e.fabric.unitOf = nil, nil
	var first []int32
	for i := range e.operations {
		if e.operations[i].waits == 0 {
			first = append(first, int32(i))
		}
	}
	for _, id := range first {
		e.beginOperation(id)
		e.notifyFollowers()
	}
}

// beginOperation starts an operation that is ready, or queues it for its unit.
func (w *worker) beginOperation(id int32) {
	o := &w.operations[id]
	if o.unit >= 0 {
		u := &w.units[o.unit]
		if u.busy {
			u.queue = append(u.queue, id)
			return
		}
		u.busy = true
	}
	o.began = w.now
	w.lastProgress = max(w.lastProgress, w.now)
	w.occurrences = append(w.occurrences, occurrence{id, UntilStarted})
	switch {
	case o.kind == OperationCompute && o.duration > 0:
		w.scheduledStarts++
		w.push(w.ports[o.port].partition, w.now+o.duration, eventOperation, id)
	case o.kind == OperationSend && o.left > 0:
		w.scheduledStarts++
		w.push(w.ports[o.port].partition, w.now, eventStart, o.flow)
		for _, f := range w.more[id] {
			w.scheduledStarts++
			w.push(w.ports[o.port].partition, w.now, eventStart, f)
		}
	case o.left == 0:
		if o.kind == OperationSend {
			w.occurrences = append(w.occurrences, occurrence{id, UntilSent})
		}
		w.occurrences = append(w.occurrences, occurrence{id, UntilEnded})
	}
}

// operationReached records an event of an operation, and starts the operations that waited for nothing else.
func (w *worker) operationReached(id int32, what Until) {
	w.occurrences = append(w.occurrences, occurrence{id, what})
	w.notifyFollowers()
}

// notifyFollowers passes all events to followers, including events that these cause immediately.
func (w *worker) notifyFollowers() {
	for i := 0; i < len(w.occurrences); i++ {
		p := w.occurrences[i]
		o := &w.operations[p.operation]
		if p.until == UntilEnded {
			w.endOperation(o)
			if o.ring > 0 {
				w.enterRing(w.rings[o.ring-1], int(o.rank))
			}
		}
		for _, f := range w.followers[o.follow:][:o.followers] {
			if f.until != p.until {
				continue
			}
			next := &w.operations[f.operation]
			if next.waits--; next.waits == 0 {
				w.beginOperation(f.operation)
			}
		}
	}
	w.occurrences = w.occurrences[:0]
}

// operationsEnded counts operations that end now.
func (w *worker) operationsEnded(n int) {
	w.openOperations -= n
	w.lastProgress, w.lastFrameEnd = max(w.lastProgress, w.now), max(w.lastFrameEnd, w.now)
}

// endOperation records an operation's end, and starts the next one of its unit.
func (w *worker) endOperation(o *operation) {
	o.ended = w.now
	w.operationsEnded(1)
	if o.unit < 0 {
		return
	}
	u := &w.units[o.unit]
	u.busy = false
	if len(u.queue) > 0 {
		next := u.queue[0]
		u.queue = u.queue[1:]
		w.beginOperation(next)
	}
}

// acknowledged records the end of a flow of a send.
func (w *worker) acknowledged(send int32) {
	o := &w.operations[send]
	if o.left--; o.left == 0 {
		w.operationReached(send, UntilEnded)
	}
}

// Sent records that a flow's last packet has started to leave.
func (r *partitionState) Sent(_ vtime.Time, s *hostagent.Sender) {
	w := r.worker
	f := w.flow(s.Flow)
	if f.Send < 0 {
		w.messageSent(f)
		return
	}
	send := f.Send - 1
	o := &w.operations[send]
	if o.unsent--; o.unsent == 0 {
		w.operationReached(send, UntilSent)
	}
}

// Delivered records that a flow has arrived completely.
func (r *partitionState) Delivered(_ vtime.Time, x *hostagent.Receiver) {
	w := r.worker
	f := w.flow(x.Flow)
	if f.Receive < 0 {
		w.messageDelivered(f)
		return
	}
	receive := f.Receive - 1
	o := &w.operations[receive]
	if o.left--; o.left == 0 && o.began != vtime.Never {
		w.operationReached(receive, UntilEnded)
	}
}

// notifyStarts passes flows that operations have started to the observer, in the order of time.
func (e *Engine) notifyStarts() {
	if len(e.startedFlows) == 0 {
		return
	}
	if o, ok := e.monitor.observer.(StartObserver); ok {
		if e.divided() {
			slices.SortFunc(e.startedFlows, func(a, b int32) int {
				return cmp.Or(cmp.Compare(e.flow(int(a)).Start, e.flow(int(b)).Start),
					cmp.Compare(e.nameOf(int(a)), e.nameOf(int(b))))
			})
		}
		for _, f := range e.startedFlows {
			o.FlowStarted(e.flow(int(f)).Start, e.nameOf(int(f)))
		}
	}
	e.startedFlows = e.startedFlows[:0]
}

// Operation returns the times at which an operation started and ended, or vtime.Never. Call it between two events.
func (e *Engine) Operation(id int) (began, ended vtime.Time) {
	return e.operations[id].began, e.operations[id].ended
}

// OpenOperations returns the number of operations that have not ended.
func (e *Engine) OpenOperations() int { return e.openOperations }

// Pending returns the number of flows scheduled to start, plus the number of operations that compute.
func (e *Engine) Pending() int { return e.scheduledStarts }

package engine

import (
	"cmp"
	"fmt"
	"math"
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
	// OperationSend starts its flows, at most 255, and ends when the last byte of each has been acknowledged.
	OperationSend
	// OperationReceive ends when all of its flows, at most 255, have been delivered, and all its Waits have
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

// operation holds an operation of a run, in 32 bytes, as jobs have millions.
type operation struct {
	began, ended vtime.Time // vtime.Never until it happens
	follow       int32      // index of its first follower in steps.followers
	flow         int32      // of a send: its first flow, or ^ the number of its message. Of a compute: index in computes
	waits        int32      // number of events that it still waits for
	kind         OperationKind
	left         uint8 // flows that have not been acknowledged, or delivered
	unsent       uint8 // flows whose last packet has not left
}

// mostFlows limits the flows of a send or receive.
const mostFlows = math.MaxUint8

// compute holds what a compute has beyond other operations.
type compute struct {
	duration vtime.Time
	port     int32 // of the host
	unit     int32 // index in units; -1: none
}

// steps holds the operations of a fabric. Only the worker that drives its host's partition changes an operation.
type steps struct {
	operations     []operation
	computes       []compute
	followers      []follower
	more           map[int32][]int32 // the other flows of a send that has several
	units          []unit
	unitOf         map[unitName]int32
	operationHosts []topologies.NodeID // only before the run, like edges
	edges          []edge
	rings          []*ring
	entered        map[int32]ringEntry // by operation
}

// edge represents a wait of an operation: it is a follower of another.
type edge struct {
	follower
	by int32
}

// follower represents an operation that waits for an event of another: the operation's number times 4, and the event.
type follower uint32

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
		began: vtime.Never, ended: vtime.Never, kind: c.Kind, waits: int32(len(after)),
	}
	if c.Kind == OperationCompute {
		o.flow = int32(len(e.computes))
		e.fabric.computes = append(e.computes, compute{
			c.Duration, int32(e.plan.Nodes[c.Host].Ports[0]), e.unitAt(c.Host, c.Unit),
		})
	}
	e.fabric.operations, e.fabric.operationHosts = append(e.operations, o), append(e.operationHosts, c.Host)
	for _, w := range after {
		e.fabric.edges = append(e.edges, edge{follower(id)<<2 | follower(w.Until), int32(w.Operation)})
	}
	e.openOperations++
	return id
}

// ReserveOperations makes room for this many more operations with this many Waits in all.
func (e *Engine) ReserveOperations(operations, waits int) {
	e.fabric.operations = slices.Grow(e.operations, operations)
	e.fabric.operationHosts, e.fabric.edges = slices.Grow(e.operationHosts, operations), slices.Grow(e.edges, waits)
}

// unitAt returns the index of a host's unit; -1 for unit 0.
func (e *Engine) unitAt(host topologies.NodeID, number int) int32 {
	if number == 0 {
		return -1
	}
	name := unitName{host, number}
	of, known := e.unitOf[name]
	if !known {
		if e.unitOf == nil {
			e.fabric.unitOf = map[unitName]int32{}
		}
		of = int32(len(e.units))
		e.unitOf[name] = of
		e.fabric.units = append(e.units, unit{})
	}
	return of
}

// assignToOperations gives a flow that has been added to the operations that send and receive it.
func (e *Engine) assignToOperations(id int) {
	f := &e.flows[id]
	if f.Send > 0 {
		f.Start = vtime.Never
		o := e.operationOf(id, &f.FlowConfig, f.Send, f.Source, OperationSend)
		if o.unsent == 1 {
			o.flow = int32(id)
		} else {
			if e.more == nil {
				e.fabric.more = map[int32][]int32{}
			}
			e.more[f.Send-1] = append(e.more[f.Send-1], int32(id))
		}
	}
	if f.Receive > 0 {
		e.operationOf(id, &f.FlowConfig, f.Receive, f.Destination, OperationReceive)
	}
}

// operationOf gives a flow to the operation at a host that sends or receives it, and returns that operation.
func (e *Engine) operationOf(flow int, f *FlowConfig, operation int32, at topologies.NodeID,
	kind OperationKind,
) *operation {
	o := &e.operations[operation-1]
	if o.kind != kind || e.operationHosts[operation-1] != at || f.Size == 0 || o.left == mostFlows {
		panic(fmt.Sprintf("flow %d: operation %d cannot send or receive it", flow, operation-1))
	}
	o.left++
	if kind == OperationSend {
		o.unsent++
	}
	return o
}

// startOperations starts the operations that wait for nothing, at the start of the run.
func (e *Engine) startOperations() {
	if len(e.operations) == 0 {
		return
	}
	for _, w := range e.edges {
		e.operations[w.by].follow++
	}
	next := int32(0)
	for i := range e.operations { // to the end of its followers, from which each follower takes it back by one
		next += e.operations[i].follow
		e.operations[i].follow = next
	}
	e.fabric.followers = make([]follower, next)
	for _, w := range slices.Backward(e.edges) {
		o := &e.operations[w.by]
		o.follow--
		e.followers[o.follow] = w.follower
	}
	e.fabric.operationHosts, e.fabric.edges, e.fabric.unitOf = nil, nil, nil
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
	if u := w.runs(o); u != nil {
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
	case o.kind == OperationCompute && w.computes[o.flow].duration > 0:
		w.scheduledStarts++
		c := &w.computes[o.flow]
		w.push(w.ports[c.port].partition, w.now+c.duration, eventOperation, id)
	case o.kind == OperationSend && o.flow < 0:
		w.openMessage(int(^o.flow))
	case o.kind == OperationSend && o.left > 0:
		of := w.ports[w.flows[o.flow].sourcePort(w.plan)].partition
		w.scheduledStarts++
		w.push(of, w.now, eventStart, o.flow)
		for _, f := range w.more[id] {
			w.scheduledStarts++
			w.push(of, w.now, eventStart, f)
		}
	case o.left == 0:
		if o.kind == OperationSend {
			w.occurrences = append(w.occurrences, occurrence{id, UntilSent})
		}
		w.occurrences = append(w.occurrences, occurrence{id, UntilEnded})
	}
}

// runs returns the unit that an operation computes on; nil: none.
func (s *steps) runs(o *operation) *unit {
	if o.kind != OperationCompute || s.computes[o.flow].unit < 0 {
		return nil
	}
	return &s.units[s.computes[o.flow].unit]
}

// followersOf returns the followers of an operation.
func (s *steps) followersOf(operation int32) []follower {
	own := s.followers[s.operations[operation].follow:]
	if next := int(operation) + 1; next < len(s.operations) {
		return own[:s.operations[next].follow-s.operations[operation].follow]
	}
	return own
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
			if at, enters := w.entered[p.operation]; enters {
				w.enterRing(at.ring, at.rank)
			}
		}
		for _, f := range w.followersOf(p.operation) {
			if Until(f&3) != p.until {
				continue
			}
			next := &w.operations[f>>2]
			if next.waits--; next.waits == 0 {
				w.beginOperation(int32(f >> 2))
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
	u := w.runs(o)
	if u == nil {
		return
	}
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

// AddMessages adds messages between operations, which have the next numbers. Call it before the run, after all
// operations and flows have been added.
func (e *Engine) AddMessages(c MessagesConfig) {
	first := e.added
	e.addTable(c.Count, c.Flow, c.LastRTT)
	for number := first; number < first+c.Count; number++ {
		f := c.Flow(number)
		e.noteHosts(f.Hosts)
		e.messages.sent[e.ports[f.sourcePort(e.plan)].partition]++
		e.operationOf(number, &f, f.Send, f.Source, OperationSend).flow = ^int32(number)
		e.operationOf(number, &f, f.Receive, f.Destination, OperationReceive)
	}
	e.makeChunks()
}

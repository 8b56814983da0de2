package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/hostagent/qp"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// FlowConfig is a flow to be run.
type FlowConfig struct {
	Source, Destination topologies.NodeID
	Size                int64       // payload bytes; 0: unbounded
	Start               vtime.Time  // of a flow that an operation sends: set when it does
	Ports               paths.Ports // with the addresses they decide the path (ECMP)
	// seeds the draws of source ports, where hosts draw them (hostagent.EntropyRandom, EntropyREPS)
	Entropy uint64
	// Hosts are the settings that its two ends go by, as its congestion control needs them; nil: those of all hosts.
	// Flows may share them.
	Hosts  *hostagent.Settings
	Traits *hostagent.Traits // nil: none
	// NewController makes the congestion control of the flow of an index, as the flow starts; Controller is what it is
	// called in messages. Millions of flows may share it.
	NewController func(flow int) (cc.Controller, error)
	Controller    string
	// RTT is, likewise, who is told of the flow's RTT samples; nil: nobody.
	RTT func(flow int) hostagent.RTTCounter
	// Send is 1 + the operation that starts the flow, at its source; Receive 1 + the one that waits for it, at its
	// destination. 0: none does, and a flow without Send starts at Start.
	Send, Receive int32
}

// sourcePort is the port of the source that the flow leaves by, destinationPort that of the destination that it comes
// to.
func (c *FlowConfig) sourcePort(plan *topologies.Plan) topologies.PortID {
	return plan.Nodes[c.Source].Ports[c.Ports.From]
}

func (c *FlowConfig) destinationPort(plan *topologies.Plan) topologies.PortID {
	return plan.Nodes[c.Destination].Ports[c.Ports.To]
}

// Flow is a flow of a run.
type Flow struct {
	FlowConfig
	Number   int                 // how many were added before it
	Sender   *hostagent.Sender   // nil before the start, and after the end
	Receiver *hostagent.Receiver // likewise
	Pair     *qp.QueuePair       // what it is of, while that is connected: it has no Receiver then; nil: it is a flow
	Finished vtime.Time          // when its last byte was acknowledged; vtime.Never before
	timerAt  vtime.Time          // of its earliest timer event
	past     flowOutcome         // once it has ended
}

// flowOutcome is what is kept of a flow that has ended. A run may have millions of them: their senders and receivers
// take 0.5 KB each.
type flowOutcome struct {
	delivered, retransmitted int64 // payload bytes
	marked, undetermined     uint32
	lastRTT                  vtime.Time
	recovery                 *FlowRecovery // nil: nothing to tell
}

// FlowRecovery is what selective repeat has met in a flow, in packets; of another it is zero.
type FlowRecovery struct {
	hostagent.PlacementCounts
	Spurious int64 // sent again, and had arrived before, as far as the sender was told
}

// Started says whether the flow has begun, be it that it has ended.
func (f *Flow) Started() bool { return f.Sender != nil || f.Finished != vtime.Never }

// Delivered is the payload bytes that have arrived in order, once.
func (f *Flow) Delivered() int64 {
	if f.Pair != nil {
		return f.Pair.Delivered()
	}
	if f.Receiver != nil {
		return f.Receiver.Delivered
	}
	return f.past.delivered
}

// Retransmitted is the payload bytes that were sent again.
func (f *Flow) Retransmitted() int64 {
	if f.Sender != nil {
		return f.Sender.Retransmitted
	}
	return f.past.retransmitted
}

// Marked are the data packets that arrived with CE and, undetermined, with UE (TCD).
func (f *Flow) Marked() (congested, undetermined int64) {
	if f.Receiver != nil {
		return f.Receiver.Marked, f.Receiver.Undetermined
	}
	return int64(f.past.marked), int64(f.past.undetermined)
}

// Recovery is what selective repeat has met.
func (f *Flow) Recovery() FlowRecovery {
	switch {
	case f.Sender != nil && f.Receiver != nil:
		return FlowRecovery{f.Receiver.Placed(), f.Sender.Spurious()}
	case f.past.recovery != nil:
		return *f.past.recovery
	}
	return FlowRecovery{}
}

// LastRTT is the last RTT that the sender has measured; 0 before the first.
func (f *Flow) LastRTT() vtime.Time {
	if f.Sender != nil {
		return f.Sender.LastRTT
	}
	return f.past.lastRTT
}

// end lets go of the halves of a flow that has ended, and keeps what they came to. They stay if the congestion control
// said what cannot be done, which is to be told at the end of the run, or if a count does not fit.
func (f *Flow) end(now vtime.Time) {
	s, r := f.Sender, f.Receiver
	if s.ControlError(now, f.Start) != nil || max(r.Marked, r.Undetermined) > math.MaxUint32 {
		return
	}
	f.past = flowOutcome{r.Delivered, s.Retransmitted, uint32(r.Marked), uint32(r.Undetermined), s.LastRTT, nil}
	if met := f.Recovery(); met != (FlowRecovery{}) {
		f.past.recovery = &met
	}
	f.Sender, f.Receiver, f.timerAt = nil, nil, vtime.Never
}

// Reserve makes room for so many flows more.
func (e *Engine) Reserve(flows int) { e.flows = slices.Grow(e.flows, flows) }

// AddFlow adds a flow and returns its index in Flows: its number, but that in a live fabric those that have ended make
// room for others.
func (e *Engine) AddFlow(c FlowConfig) (id int) {
	id = e.addFlowSlot(c)
	if c.Size > 0 || c.Traits != nil && c.Traits.Stop > 0 {
		e.openFlows++
	}
	if c.Send > 0 || c.Receive > 0 {
		e.assignToOperations(id)
	}
	if c.Send == 0 {
		e.scheduledStarts++
		e.push(e.ports[c.sourcePort(e.plan)].partition, c.Start, eventStart, int32(id))
	}
	return id
}

// addFlowSlot numbers a flow and gives it a place.
func (e *Engine) addFlowSlot(c FlowConfig) (id int) {
	f := Flow{FlowConfig: c, Number: e.added, Finished: vtime.Never, timerAt: vtime.Never}
	e.added++
	if h := c.Hosts; h != nil {
		e.flowsReport = e.flowsReport || h.Notify == hostagent.NotifyPCN || h.Grants
		e.data |= 1 << h.DataPriority
	}
	if n := len(e.freeFlowSlots); n > 0 {
		id = int(e.freeFlowSlots[n-1])
		e.freeFlowSlots = e.freeFlowSlots[:n-1]
		e.flows[id] = f
	} else {
		id = len(e.flows)
		e.flows = append(e.flows, f)
	}
	return id
}

// Flows are the flows: all, by number, or of a live fabric those that have not ended, in any order, among places that
// are free; whose start and end is vtime.Never.
func (e *Engine) Flows() []Flow { return e.flows }

// AddedFlows is how many flows there have been so far.
func (e *Engine) AddedFlows() int { return e.added }

// freeFlow gives the place of a flow that has ended, and of which all have been told, to the next.
func (e *Engine) freeFlow(id int32) {
	e.checkFlow(&e.flows[id])
	if m := e.controlErrorOf(&e.flows[id]); m != nil && len(e.pastControlErrors) < maxViolations {
		e.pastControlErrors = append(e.pastControlErrors, *m)
	}
	e.flows[id] = Flow{FlowConfig: FlowConfig{Start: vtime.Never}, Finished: vtime.Never, timerAt: vtime.Never}
	e.freeFlowSlots = append(e.freeFlowSlots, id)
}

// firstQueuePair is the first flow's queue pair number, of 24 bits. 0 and 1 are for management (InfiniBand Architecture
// Specification, volume 1: subnet management and general services), and whoever decodes a capture takes what goes there
// for that.
const firstQueuePair = 0x11

// queuePair is the queue pair number of both ends of the flow of a number.
func queuePair(flow int) uint32 { return uint32(firstQueuePair + flow%(1<<24-firstQueuePair)) }

// queuePair is that of the flow of a number, beside those of programs.
func (f *fabric) queuePair(flow int) uint32 {
	if f.features.Live {
		flow %= firstPair - firstQueuePair
	}
	return queuePair(flow)
}

func (w *worker) startFlow(id int) error {
	f := &w.flows[id]
	w.scheduledStarts--
	w.lastProgress = max(w.lastProgress, w.now)
	if f.Send > 0 {
		f.Start = w.now
		w.startedFlows = append(w.startedFlows, int32(id))
	}
	port, back := &w.plan.Ports[f.sourcePort(w.plan)], &w.plan.Ports[f.destinationPort(w.plan)]
	p := &w.ports[port.ID]
	hosts := cmp.Or(f.Hosts, w.hosts)
	forward := wire.FlowParams{
		SrcMAC: port.MAC, DstMAC: w.plan.Ports[port.Peer].MAC,
		Version: w.plan.IP, Src: w.plan.Address(port.ID).As4(), Dst: w.plan.Address(back.ID).As4(),
		SrcPort: f.Ports.Source, ID: f.Ports.Destination, DestQP: w.queuePair(f.Number), MTU: w.plan.MTU,
		TOS: hosts.DataTOS(), HeadersOnly: !w.plane.CarriesPayload(),
	}
	answers := forward.Reverse(w.queuePair(f.Number), wire.ControlTOS(hosts.ACKPriority()))
	answersBy := f.Ports.Back(w.plan)
	answers.SrcPort, answers.ID = answersBy.Source, answersBy.Destination
	answers.SrcMAC, answers.DstMAC = back.MAC, w.plan.Ports[back.Peer].MAC
	w.constructing = int32(id) + 1
	controller, err := f.NewController(id)
	w.constructing = 0
	if err != nil {
		return fmt.Errorf("flow %d: %w", f.Number, err)
	}
	if f.Receiver, err = w.nics[back.Interface].Expect(id, answers, f.Hosts); err != nil {
		return fmt.Errorf("flow %d: %w", f.Number, err)
	}
	if f.Receive > 0 {
		f.Receiver.Size = f.Size
	}
	if by, ok := controller.(cc.ByGrants); ok {
		f.Receiver.GrantBy(by)
	}
	if p.partition == w.ports[back.ID].partition || !w.concurrent {
		f.Receiver.Begin()
	} else {
		w.receivers = append(w.receivers, f.Receiver)
	}
	f.Sender, err = w.nics[port.Interface].Start(w.now, hostagent.SenderConfig{
		Flow: id, Size: f.Size, Controller: controller, Wire: forward, Settings: f.Hosts, Traits: f.Traits,
		NotifySent: f.Send > 0, Entropy: f.Entropy,
	})
	if err != nil {
		return fmt.Errorf("flow %d: %w", f.Number, err)
	}
	if f.RTT != nil {
		f.Sender.RTT = f.RTT(id)
	}
	f.NewController, f.RTT = nil, nil // they have done, and may hold what they made these from
	return w.serve(p)
}

// flowTimer serves a flow's timer event. Timers that were put off in the meantime are pushed again.
func (w *worker) flowTimer(id int) error {
	f := &w.flows[id]
	if f.timerAt != w.now {
		return nil
	}
	f.timerAt = vtime.Never
	at := f.Sender.Armed()
	if at == vtime.Never {
		return nil
	}
	if at > w.now {
		w.armFlow(id, at)
		return nil
	}
	f.Sender.OnTimer(w.now)
	return w.serve(&w.ports[f.sourcePort(w.plan)])
}

// reportTimer serves the timer of a flow's receiver, unless it was put off or was that of a flow before it in its
// place.
func (w *worker) reportTimer(id int) error {
	f := &w.flows[id]
	if f.Pair != nil {
		return w.reportOfPair(f)
	}
	if f.Receiver == nil || f.Receiver.Armed() != w.now {
		return nil
	}
	f.Receiver.OnTimer(w.now)
	return w.serve(&w.ports[f.destinationPort(w.plan)])
}

func (w *worker) armFlow(id int, at vtime.Time) {
	f := &w.flows[id]
	if at < f.timerAt {
		f.timerAt = at
		w.push(w.ports[f.sourcePort(w.plan)].partition, at, eventTimer, int32(id))
	}
}

// Arm has the sender's timer run out at a time. A partition is the clock of its NICs, as the worker that drives it is
// now.
func (r *partitionState) Arm(s *hostagent.Sender, at vtime.Time) {
	r.worker.armFlow(s.Flow, max(at, r.worker.now))
}

// ArmReceiver has the receiver's timer run out at a time.
func (r *partitionState) ArmReceiver(x *hostagent.Receiver, at vtime.Time) {
	w := r.worker
	w.push(w.ports[w.flows[x.Flow].destinationPort(w.plan)].partition, at, eventReport, int32(x.Flow))
}

// Worker is the number of the worker.
func (r *partitionState) Worker() int { return r.worker.index }

// Frame is a frame of n bytes.
func (r *partitionState) Frame(n int) *frame.Frame { return r.worker.pool.Get(n) }

// Brief is a frame of n bytes that is no more than what a packet has of its own.
func (r *partitionState) Brief(n int, form *wire.Form, b wire.Brief) *frame.Frame {
	return r.worker.pool.GetBrief(n, form, b)
}

// Done ends a flow.
func (r *partitionState) Done(now vtime.Time, s *hostagent.Sender) {
	w := r.worker
	f := &w.flows[s.Flow]
	f.Finished = now
	if s.Halted() {
		f.Size = s.Acked()
	}
	w.openFlows--
	w.finishedFlows = append(w.finishedFlows, int32(s.Flow))
	if len(w.partitions) == 1 {
		w.endReceiver(int32(s.Flow))
	} else { // the receiver may be ahead of us, or behind
		w.receiversToEnd = append(w.receiversToEnd, int32(s.Flow))
	}
	if send := f.Send; send > 0 {
		w.acknowledged(send - 1)
	}
}

// ShortenFlow has a flow end with its next packet, unless it has sent its last: its Size becomes what it then comes to.
// One that has not started yet ends with its first packet. It is for live fabrics, where nothing waits for a flow.
func (e *Engine) ShortenFlow(id int) {
	f := &e.flows[id]
	if f.Pair != nil || f.Finished != vtime.Never {
		return
	}
	if f.Size == 0 && (f.Traits == nil || f.Traits.Stop == 0) {
		e.openFlows++ // it had no end
	}
	if f.Sender != nil {
		f.Size = f.Sender.Shorten()
		return
	}
	first := int64(e.plan.MTU)
	if f.Size == 0 || f.Size > first {
		f.Size = first
	}
}

// endReceiver ends the receiving half of a flow that has ended, and keeps what the flow came to.
func (w *worker) endReceiver(flow int32) {
	f := &w.flows[flow]
	if g, ok := f.Sender.GrantCounts(f.Receiver); ok {
		w.checkGrants(f, g)
		w.pastGrants = w.pastGrants.Plus(g)
	}
	w.nics[w.plan.Ports[f.destinationPort(w.plan)].Interface].Forget(w.queuePair(f.Number))
	f.end(w.now)
}

// StoppedFlows are the flows, by number, that have started, have not ended and never will: the sender waits for an
// answer, no timer of its own will have it send again, and nothing of the flow is anywhere that could bring one. It is
// to be asked between two events.
func (e *Engine) StoppedFlows() []int {
	waiting := map[uint32]bool{} // by queue pair: nothing of the flow has been found
	for i := range e.flows {
		if f := &e.flows[i]; f.Sender != nil && f.Finished == vtime.Never && f.Sender.Waits() {
			waiting[queuePair(i)] = true
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	e.eachFrame(func(f *frame.Frame) {
		var p wire.Packet
		if f.HostStack() || f.ParseHeaders(&p) != nil {
			return
		}
		switch p.Kind {
		case wire.KindData, wire.KindAck, wire.KindNak: // a CNP brings no answer
			delete(waiting, p.DestQP)
		}
	})
	var stopped []int
	for i := range e.flows {
		if f := &e.flows[i]; waiting[queuePair(i)] && f.Sender != nil && f.Finished == vtime.Never {
			stopped = append(stopped, i)
		}
	}
	return stopped
}

// EachQueued calls f with every frame that waits in a switch's queue, and the number of the port. It is to be asked
// between two events.
func (e *Engine) EachQueued(f func(port int, f *frame.Frame)) {
	for i := range e.ports {
		if p := &e.ports[i]; p.isSwitch {
			e.switches[p.index].Port(i).Each(func(x *frame.Frame) { f(i, x) })
		}
	}
}

// eachFrame calls f with every frame of the RDMA NICs that is in the fabric: on a wire, in a switch, or at a host's
// port.
func (e *Engine) eachFrame(f func(*frame.Frame)) {
	for i := range e.ports {
		p := &e.ports[i]
		p.wire.each(f)
		if r := p.receiver(); r != nil {
			r.queue.Each(f)
		}
		if p.isSwitch {
			e.switches[p.index].Port(i).Each(f)
		}
	}
	for _, n := range e.nics {
		n.EachAnswer(f)
	}
}

package engine

import (
	"cmp"
	"fmt"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// AddFlow adds a flow and returns its index in Flows. That is its number, except in a live fabric, where it reuses the
// slots of flows that have ended.
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

// freeFlow frees the slot of a flow that has ended. Call it after all observers have been notified of the end.
func (e *Engine) freeFlow(id int32) {
	e.checkFlow(&e.flows[id])
	e.keepControlError(&e.flows[id])
	e.freeSlot(id)
}

// firstQueuePair starts the flows' queue pair numbers, of 24 bits. 0 and 1 are reserved for management (InfiniBand
// Architecture Specification, volume 1: subnet management and general services), and capture decoders interpret packets
// to them as such.
const firstQueuePair = 0x11

// queuePair returns the queue pair number of both ends of the flow with this number. No queue pair of a program has it.
func (f *fabric) queuePair(flow int) uint32 {
	end := 1 << 24
	if f.features.Live {
		end = firstPair
	}
	return uint32(firstQueuePair + flow%(end-firstQueuePair))
}

func (w *worker) startFlow(id int) error {
	f, name := w.flow(id), w.nameOf(id)
	w.scheduledStarts--
	w.lastProgress = max(w.lastProgress, w.now)
	if f.Send != 0 {
		f.Start = w.now
		if id >= len(w.flows) {
			w.messageStarted(f)
		}
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
	controller, err := f.NewController(name)
	w.constructing = 0
	if err != nil {
		return fmt.Errorf("flow %d: %w", f.Number, err)
	}
	if f.Receiver, err = w.nics[back.Interface].Expect(id, answers, f.Hosts); err != nil {
		return fmt.Errorf("flow %d: %w", f.Number, err)
	}
	if f.Receive != 0 {
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
		NotifySent: f.Send != 0, Entropy: f.Entropy,
	})
	if err != nil {
		return fmt.Errorf("flow %d: %w", f.Number, err)
	}
	if f.RTT != nil {
		f.Sender.RTT = f.RTT(name)
	}
	f.NewController, f.RTT = nil, nil // not needed any more, and may hold memory
	return w.serve(p)
}

// flowTimer serves a flow's timer event. If the timer was postponed in the meantime, it is scheduled again.
func (w *worker) flowTimer(id int) error {
	f := w.flow(id)
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

// reportTimer serves the timer of a flow's receiver, unless it was postponed or belonged to an earlier flow of the
// slot.
func (w *worker) reportTimer(id int) error {
	f := w.flow(id)
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
	f := w.flow(id)
	if at < f.timerAt {
		f.timerAt = at
		w.push(w.ports[f.sourcePort(w.plan)].partition, at, eventTimer, int32(id))
	}
}

// Arm sets the sender's timer. A partition is the clock of its NICs, at the time of the worker that drives it.
func (r *partitionState) Arm(s *hostagent.Sender, at vtime.Time) {
	r.worker.armFlow(s.Flow, max(at, r.worker.now))
}

// ArmReceiver sets the receiver's timer.
func (r *partitionState) ArmReceiver(x *hostagent.Receiver, at vtime.Time) {
	w := r.worker
	w.push(w.ports[w.flow(x.Flow).destinationPort(w.plan)].partition, at, eventReport, int32(x.Flow))
}

// Worker returns the number of the worker that drives the partition.
func (r *partitionState) Worker() int { return r.worker.index }

// Frame returns a new frame of n bytes.
func (r *partitionState) Frame(n int) *frame.Frame { return r.worker.pool.Get(n) }

// Brief returns a new frame of n bytes that holds only the packet's own fields.
func (r *partitionState) Brief(n int, form *wire.Form, b wire.Brief) *frame.Frame {
	return r.worker.pool.GetBrief(n, form, b)
}

// Done ends a flow.
func (r *partitionState) Done(now vtime.Time, s *hostagent.Sender) {
	w := r.worker
	f := w.flow(s.Flow)
	f.Finished = now
	if s.Halted() {
		f.Size = s.Acked()
	}
	w.openFlows--
	w.finishedFlows = append(w.finishedFlows, int32(s.Flow))
	if !w.divided() {
		w.endReceiver(int32(s.Flow))
	} else { // the receiver's partition may be ahead, or behind
		w.receiversToEnd = append(w.receiversToEnd, int32(s.Flow))
	}
	switch send := f.Send; {
	case send > 0:
		w.acknowledged(send - 1)
	case send < 0:
		w.messageAcknowledged(f)
	}
}

// ShortenFlow ends a flow with its next packet, unless it has sent its last, and sets its Size to match. A flow that
// has not started ends with its first packet. It is for live fabrics, where nothing waits for a flow.
func (e *Engine) ShortenFlow(id int) {
	f := &e.flows[id]
	if f.Pair != nil || f.Finished != vtime.Never {
		return
	}
	if f.Size == 0 && (f.Traits == nil || f.Traits.Stop == 0) {
		e.openFlows++ // it was unbounded
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

// endReceiver frees the receiver of a flow that has ended, and keeps the flow's results.
func (w *worker) endReceiver(flow int32) {
	f := w.flow(int(flow))
	if g, ok := f.Sender.GrantCounts(f.Receiver); ok {
		w.checkGrants(f, g)
		w.pastGrants = w.pastGrants.Plus(g)
	}
	w.nics[w.plan.Ports[f.destinationPort(w.plan)].Interface].Forget(w.queuePair(f.Number))
	f.end(w.now)
}

// StoppedFlows returns the flows, by number, that have started and can never end: the sender waits for an answer, none
// of its timers will retransmit, and no frame is left that could bring an answer. Call it between two events.
func (e *Engine) StoppedFlows() []int {
	waiting := map[uint32]bool{} // by queue pair: no frame that could bring an answer has been found
	for _, f := range e.EachFlow() {
		if f.Sender != nil && f.Finished == vtime.Never && f.Sender.Waits() {
			waiting[e.queuePair(f.Number)] = true
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
	for _, f := range e.EachFlow() {
		if f.Sender != nil && f.Finished == vtime.Never && waiting[e.queuePair(f.Number)] {
			stopped = append(stopped, f.Number)
		}
	}
	return stopped
}

// EachQueued calls f with every frame that waits in a switch's queue, and the number of the port. Call it between two
// events.
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

// reportOfPair serves the timer of the notification point of a queue pair.
func (w *worker) reportOfPair(f *Flow) error {
	r := f.Pair.Receiver()
	if r == nil || r.Armed() != w.now {
		return nil
	}
	r.OnTimer(w.now)
	return w.serve(&w.ports[f.sourcePort(w.plan)])
}

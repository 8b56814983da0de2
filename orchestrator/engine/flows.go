package engine

import (
	"fmt"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// FlowConfig is a flow to be run.
type FlowConfig struct {
	Source, Destination topologies.NodeID
	Size                int64 // payload bytes; 0: unbounded
	Start               vtime.Time
	Ports               Ports // with the addresses they decide the path (ECMP)
	// NewController makes the flow's congestion control, as the flow starts; Controller is what it is called in messages.
	NewController func() (cc.Controller, error)
	Controller    string
	// RTT is told of the flow's RTT samples; nil: nobody.
	RTT hostagent.RTTCounter
}

// Flow is a flow of a run.
type Flow struct {
	FlowConfig
	Number   int                 // how many were added before it
	Sender   *hostagent.Sender   // nil before the start
	Receiver *hostagent.Receiver // nil before the start
	Finished vtime.Time          // when its last byte was acknowledged; vtime.Never before
	timerAt  vtime.Time          // of its earliest timer event
}

// AddFlow adds a flow and returns its index in Flows: its number, but that in a live fabric those that have ended make room for others.
func (e *Engine) AddFlow(c FlowConfig) (id int) {
	f := Flow{FlowConfig: c, Number: e.added, Finished: vtime.Never, timerAt: vtime.Never}
	e.added++
	if n := len(e.vacant); n > 0 {
		id = int(e.vacant[n-1])
		e.vacant = e.vacant[:n-1]
		e.flows[id] = f
	} else {
		id = len(e.flows)
		e.flows = append(e.flows, f)
	}
	if c.Size > 0 {
		e.open++
	}
	e.starting++
	e.push(c.Start, eventStart, int32(id))
	return id
}

// Flows are the flows: all, by number, or of a live fabric those that have not ended, in any order, among places that are free; whose
// start and end is vtime.Never.
func (e *Engine) Flows() []Flow { return e.flows }

// AddedFlows is how many flows there have been so far.
func (e *Engine) AddedFlows() int { return e.added }

// free gives the place of a flow that has ended, and of which all have been told, to the next.
func (e *Engine) free(id int32) {
	e.checkFlow(&e.flows[id])
	if m := e.misled(&e.flows[id]); m != nil && len(e.misledBefore) < maxViolations {
		e.misledBefore = append(e.misledBefore, *m)
	}
	e.flows[id] = Flow{FlowConfig: FlowConfig{Start: vtime.Never}, Finished: vtime.Never, timerAt: vtime.Never}
	e.vacant = append(e.vacant, id)
}

// firstQueuePair is the first flow's queue pair number, of 24 bits. 0 and 1 are for management (InfiniBand Architecture Specification, volume 1:
// subnet management and general services), and whoever decodes a capture takes what goes there for that.
const firstQueuePair = 0x11

// queuePair is the queue pair number of both ends of the flow of a number.
func queuePair(flow int) uint32 { return uint32(firstQueuePair + flow%(1<<24-firstQueuePair)) }

func (e *Engine) startFlow(id int) error {
	f := &e.flows[id]
	e.starting--
	e.moved = max(e.moved, e.now)
	source, destination := &e.plan.Nodes[f.Source], &e.plan.Nodes[f.Destination]
	port := &e.plan.Ports[source.Ports[0]]
	back := &e.plan.Ports[destination.Ports[0]]
	forward := wire.FlowParams{
		SrcMAC: port.MAC, DstMAC: e.plan.Ports[port.Peer].MAC,
		Src: source.Addr.As4(), Dst: destination.Addr.As4(),
		SrcPort: f.Ports.Source, ID: f.Ports.Destination, DestQP: queuePair(f.Number), MTU: e.plan.MTU,
		TOS: e.hosts.DataTOS(), HeadersOnly: !e.plane.CarriesPayload(),
	}
	answers := forward.Reverse(queuePair(f.Number), wire.ControlTOS(e.hosts.ACKPriority()))
	answersBy := f.Ports.back(e.plan)
	answers.SrcPort, answers.ID = answersBy.Source, answersBy.Destination
	answers.SrcMAC, answers.DstMAC = back.MAC, e.plan.Ports[back.Peer].MAC
	e.making = int32(id) + 1
	controller, err := f.NewController()
	e.making = 0
	if err != nil {
		return fmt.Errorf("flow %d: %w", f.Number, err)
	}
	if f.Receiver, err = e.nics[destination.Index].Expect(id, answers); err != nil {
		return fmt.Errorf("flow %d: %w", f.Number, err)
	}
	f.Sender, err = e.nics[source.Index].Start(e.now, hostagent.SenderConfig{
		Flow: id, Size: f.Size, Controller: controller, Wire: forward,
	})
	if err != nil {
		return fmt.Errorf("flow %d: %w", f.Number, err)
	}
	f.Sender.RTT = f.RTT
	f.NewController = nil // it has done, and holds what it was made from
	return e.serve(&e.ports[port.ID])
}

// flowTimer serves a flow's timer event. Timers that were put off in the meantime are pushed again.
func (e *Engine) flowTimer(id int) error {
	f := &e.flows[id]
	if f.timerAt != e.now {
		return nil
	}
	f.timerAt = vtime.Never
	at := f.Sender.Armed()
	if at == vtime.Never {
		return nil
	}
	if at > e.now {
		e.armFlow(id, at)
		return nil
	}
	f.Sender.OnTimer(e.now)
	return e.serve(&e.ports[e.plan.Nodes[f.Source].Ports[0]])
}

// reportTimer serves the timer of a flow's receiver, unless it was put off or was that of a flow before it in its place.
func (e *Engine) reportTimer(id int) error {
	f := &e.flows[id]
	if f.Receiver == nil || f.Receiver.Armed() != e.now {
		return nil
	}
	f.Receiver.OnTimer(e.now)
	return e.serve(&e.ports[e.plan.Nodes[f.Destination].Ports[0]])
}

func (e *Engine) armFlow(id int, at vtime.Time) {
	f := &e.flows[id]
	if at < f.timerAt {
		f.timerAt = at
		e.push(at, eventTimer, int32(id))
	}
}

// clock is the engine as its NICs see it.
type clock struct{ e *Engine }

func (c clock) Arm(s *hostagent.Sender, at vtime.Time) { c.e.armFlow(s.Flow, max(at, c.e.now)) }

func (c clock) ArmReceiver(r *hostagent.Receiver, at vtime.Time) {
	c.e.push(at, eventReport, int32(r.Flow))
}

func (c clock) Done(now vtime.Time, s *hostagent.Sender) {
	f := &c.e.flows[s.Flow]
	f.Finished = now
	c.e.open--
	c.e.ended = append(c.e.ended, int32(s.Flow))
	if len(c.e.regions) == 1 {
		c.e.forget(int32(s.Flow))
	} else { // the receiver may be ahead of us, or behind
		c.e.gone = append(c.e.gone, int32(s.Flow))
	}
}

// forget ends the receiving half of a flow that has ended.
func (e *Engine) forget(flow int32) {
	e.nics[e.plan.Nodes[e.flows[flow].Destination].Index].Forget(queuePair(e.flows[flow].Number))
}

// StoppedFlows are the flows, by number, that have started, have not ended and never will: the sender waits for an answer, no
// timer of its own will have it send again, and nothing of the flow is anywhere that could bring one. It is to be asked between
// two events.
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
		if f.HostStack() || wire.ParseHeaders(f.Data(), int(f.Length), &p) != nil {
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

// eachFrame calls f with every frame of the RDMA NICs that is in the fabric: on a wire, in a switch, or at a host's port.
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

package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// Check makes the final check: it compares the counts of the engine, the traffic managers, the NICs, the pipelines and
// the plane. It returns every invariant that does not hold, and those broken during the run.
func (e *Engine) Check() []Violation {
	finalCheck{e}.run()
	return e.Broken()
}

// finalCheck performs an engine's final check. It changes only the engine's violations.
type finalCheck struct{ *Engine }

func (e finalCheck) run() {
	e.checkFrames()
	e.checkHostStack()
	e.checkAccounts()
	e.checkPorts()
	e.flowControl.check(e.Engine)
	e.checkFlows()
	e.checkGranted()
	e.checkControllers()
	e.checkLosses()
	e.checkDrops()
	for _, problem := range e.plane.Check() {
		e.fail("the plane's counts agree", "plane", "%s", problem)
	}
}

// checkFrames checks that every frame made has ended, is queued or is on a wire.
func (e finalCheck) checkFrames() {
	var left Amount
	for i := range e.ports {
		p := &e.ports[i]
		left.plus(Amount{int64(p.wire.count), p.wire.bytes})
		if p.control != nil {
			left.plus(Amount{int64(p.control.Packets), p.control.Bytes})
		}
		if r := p.receiver(); r != nil {
			left.plus(Amount{int64(r.queue.Packets), r.queue.Bytes})
		}
	}
	var queued int64
	for _, n := range e.nics {
		queued += n.Backlog()
	}
	for i := range e.ports {
		if o := e.ports[i].hostStack; o != nil {
			queued += int64(o.packets + o.to.queue.Packets)
		}
	}
	var cut int64     // bytes cut off trimmed frames
	waiting := queued // a host's frames are made as they leave the NIC, but for flow control's own
	for i, s := range e.switches {
		for _, id := range e.switchPorts(i) {
			p := s.Port(int(id))
			n, bytes := p.Backlog()
			queued += n
			left.plus(Amount{n, bytes})
			cut += p.TrimmedBytes
			if kept := p.EnqueuedBytes - p.TxBytes; kept != p.QueuedBytes() {
				e.fail("bytes are conserved", e.plan.Ports[id].Name, "%d bytes came and did not go, %d are queued", kept,
					p.QueuedBytes())
			}
		}
	}
	if e.Created.Frames != e.Ended.Frames+left.Frames || e.Created.Bytes != e.Ended.Bytes+left.Bytes+cut {
		e.fail("bytes are conserved", "fabric", "%+v made, %+v ended, %+v left, %d bytes trimmed", e.Created, e.Ended, left,
			cut)
	}
	if out := int64(e.pool.Out()); out != left.Frames+waiting {
		e.fail("frames are conserved", "fabric", "%d frames are in use, %d can be found", out, left.Frames+waiting)
	}
}

// checkAccounts checks that a switch's account of each ingress port equals the bytes in its queues, and is zero when
// these are empty.
func (e finalCheck) checkAccounts() {
	buffered := make([][switchagent.Priorities]uint64, len(e.ports))
	for i, s := range e.switches {
		t := &e.state.Switches[i]
		name := e.plan.Nodes[e.plan.Switch[i]].Name
		var used, headroom uint64
		for _, id := range e.switchPorts(i) {
			s.Port(int(id)).Each(func(f *frame.Frame) {
				if f.InPort >= 0 {
					size := t.Counted(int(f.Length))
					buffered[f.InPort][f.Priority] += size
					used += size
				}
			})
		}
		if t.Used != used {
			e.fail("accounts are the queues", name, "shared buffer account %d, queued %d", t.Used, used)
		}
		for _, id := range e.switchPorts(i) {
			r, x := &e.state.Ports[id], &e.state.Extras[id]
			for priority, n := range x.HeadroomBuffered {
				headroom += uint64(n)
				if uint64(n) > buffered[id][priority] {
					e.fail("accounts are the queues", e.plan.Ports[id].Name, "headroom account of priority %d is %d, queued %d",
						priority, n, buffered[id][priority])
				}
			}
			for priority := range buffered[id] {
				if uint64(r.Class[priority].Buffered) != buffered[id][priority] {
					e.fail("accounts are the queues", e.plan.Ports[id].Name, "ingress account of priority %d is %d, queued %d",
						priority, r.Class[priority].Buffered, buffered[id][priority])
				}
				if queued, _ := s.Port(int(id)).Queue(uint8(priority)); int64(r.Class[priority].QueueBytes) != queued {
					e.fail("accounts are the queues", e.plan.Ports[id].Name, "queue register of priority %d is %d, queued %d",
						priority, r.Class[priority].QueueBytes, queued)
				}
			}
			if used == 0 && (x.Flows != 0 || x.FlowHead != 0) {
				e.fail("accounts are the queues", e.plan.Ports[id].Name, "%d flows are counted in an empty switch", x.Flows)
			}
		}
		if t.HeadroomUsed != headroom {
			e.fail("accounts are the queues", name, "headroom account %d, the ports' %d", t.HeadroomUsed, headroom)
		}
	}
}

// checkPorts checks that the pipelines saw each frame sent, and that pauses by priority add up to the port's.
func (e finalCheck) checkPorts() {
	for i := range e.ports {
		p, r, x := &e.ports[i], &e.state.Ports[i], &e.state.Extras[i]
		name := e.plan.Ports[i].Name
		peer := &e.ports[p.peer]
		var lost int64
		if f := peer.fault; f != nil {
			lost = f.lost[LossLink].Frames + f.lost[LossWire].Frames + f.lost[LossFCS].Frames + f.lost[LossDevice].Frames
		}
		if r.RxFrames != uint64(p.arrived) || p.arrived != peer.txFrames-int64(peer.wire.count)-lost {
			e.fail("every frame sent arrives", name,
				"%d sent, %d on the wire, %d lost by faults, %d arrived, the pipeline saw %d",
				peer.txFrames, peer.wire.count, lost, p.arrived, r.RxFrames)
		}
		if x.IdleTriggers != 0 {
			e.fail("pipelines and traffic managers agree", name, "%d triggers built nothing", x.IdleTriggers)
		}
		if e.monitor.pauses != nil {
			var sent, received uint64
			for k := range uint8(switchagent.Priorities) {
				s, r := e.Pauses(i, k)
				sent, received = sent+s, received+r
			}
			if sent != x.PausesSent || received != x.PausesReceived {
				e.fail("pauses of all priorities are the port's", name, "%d built and %d received by priority, %d and %d by port",
					sent, received, x.PausesSent, x.PausesReceived)
			}
		}
	}
}

// checkFlows checks each flow, and that no packet arrived twice without a reason.
func (e finalCheck) checkFlows() {
	for _, f := range e.EachFlow() {
		e.checkFlow(f)
	}
	for _, number := range slices.Sorted(maps.Keys(e.pairs.open)) {
		e.checkPair(e.pairs.open[number])
	}
	var timeouts int64 // a timeout below the round-trip time retransmits packets that were not lost
	for _, n := range e.nics {
		timeouts += n.Timeouts
	}
	trimmed := e.trimmedFrames()
	for i, n := range e.nics {
		port := &e.plan.Ports[e.plan.Interfaces[i]]
		name := e.plan.EndName(port.Node, uint8(port.Number-1))
		if e.Dropped == 0 && timeouts == 0 && trimmed == 0 && !e.rerouted && !e.plan.Moving() &&
			(n.Duplicates != 0 || n.OutOfOrder != 0) {
			e.fail("flows arrive in order, exactly once", name, "%d packets came twice, %d out of order", n.Duplicates,
				n.OutOfOrder)
		}
		if n.Corrupted != 0 {
			e.fail("frames arrive as they were sent", name, "%d frames had a wrong ICRC", n.Corrupted)
		}
	}
}

// trimmedFrames returns the number of frames that switches have cut to their headers. A NIC counts one when it arrives:
// packets that were sent later may have arrived before.
func (e *Engine) trimmedFrames() (n int64) {
	for i, id := range e.plan.Switch {
		for _, port := range e.plan.Nodes[id].Ports {
			n += e.switches[i].Port(int(port)).TrimmedFrames
		}
	}
	return n
}

// checkGranted checks that the bytes granted by NICs equal those granted to flows. It also checks that a flow that has
// not received all of its grant still can: a grant is on its way, unless frames were dropped.
func (e finalCheck) checkGranted() {
	flows, awaited := e.pastGrants.Granted, map[uint32]*Flow{}
	for _, f := range e.EachFlow() {
		if f.Sender == nil || f.Receiver == nil {
			continue
		}
		g, ok := f.Sender.GrantCounts(f.Receiver)
		if !ok {
			continue
		}
		if flows += g.Granted; f.Finished == vtime.Never {
			e.checkGrants(f, g)
			if g.Received < g.Granted {
				awaited[e.queuePair(f.Number)] = f
			}
		}
	}
	var granted int64
	for _, n := range e.nics {
		granted += n.BytesGranted
	}
	if granted != flows {
		e.fail(grantInvariant, "fabric", "%d bytes were granted, %d to flows", granted, flows)
	}
	if len(awaited) == 0 || e.Dropped > 0 {
		return
	}
	e.eachFrame(func(f *frame.Frame) {
		var p wire.Packet
		if !f.HostStack() && f.ParseHeaders(&p) == nil && p.Kind == wire.KindGrant {
			if of := awaited[p.DestQP]; of != nil {
				if g, _ := of.Sender.GrantCounts(of.Receiver); int64(p.Sum()) == g.Granted {
					delete(awaited, p.DestQP)
				}
			}
		}
	})
	for _, f := range e.EachFlow() {
		if awaited[e.queuePair(f.Number)] == f {
			e.fail(grantInvariant, fmt.Sprintf("flow %d", f.Number), "the last grant is neither there nor on its way")
		}
	}
}

// checkLosses checks that the losses by faults are the sum over all ports.
func (e finalCheck) checkLosses() {
	var sum [Losses]Amount
	for i := range e.ports {
		for why, n := range e.LostAt(i) {
			sum[why].plus(n)
		}
	}
	if sum != e.lost {
		e.fail("bytes are conserved", "fabric", "faults cost %+v, the ports' %+v", e.lost, sum)
	}
}

// checkDrops checks that every dropped frame is counted at a port, by cause: by a traffic manager, a pipeline or a
// fault. It does not apply to live fabrics, whose programs have frames outside of flows.
func (e finalCheck) checkDrops() {
	if e.features.Live {
		return
	}
	var refused, ended, faults int64
	for i := range e.ports {
		for reason, n := range e.state.Extras[i].Dropped {
			if uint32(reason) != ebpf.ReasonNone {
				ended += int64(n)
			}
		}
		if !e.ports[i].isSwitch {
			continue
		}
		for why, n := range e.switches[e.ports[i].index].Port(i).DroppedFrames {
			if switchagent.Drop(why) != switchagent.DropDiscard {
				refused += n
			}
		}
	}
	for why, n := range e.lost {
		// Traffic managers count frames that a lost PAUSE cost, and pipelines those without a route.
		if Loss(why) != LossPause && Loss(why) != LossRoute {
			faults += n.Frames
		}
	}
	if e.Dropped != refused+ended+faults {
		e.fail("drops are counted by cause", "fabric", "%d frames were dropped: %d by traffic managers, %d by pipelines, "+
			"%d by faults", e.Dropped, refused, ended, faults)
	}
}

// sendableInvariant names the invariant that a congestion control breaks with an impossible rate or window.
const sendableInvariant = "controllers say what can be sent"

// maxNamedControlErrors limits how many of the flows that broke it a violation names.
const maxNamedControlErrors = 3

// checkControllers checks that congestion controls returned possible values. It names the first flows for which they
// did not.
func (e finalCheck) checkControllers() {
	all := slices.Clone(e.pastControlErrors)
	for _, f := range e.EachFlow() {
		if m := e.controlErrorOf(f); m != nil {
			all = append(all, *m)
		}
	}
	slices.SortFunc(all, func(a, b controlError) int {
		return cmp.Or(cmp.Compare(a.broken.At, b.broken.At), cmp.Compare(a.flow, b.flow))
	})
	for i := range all[:min(len(all), maxNamedControlErrors)] {
		m := &all[i]
		detail := m.broken.String()
		if more := len(all) - maxNamedControlErrors; more > 0 && i == maxNamedControlErrors-1 {
			detail += fmt.Sprintf("; and of %d more", more)
		}
		v := &Violation{Invariant: sendableInvariant, Location: m.location, Time: m.broken.At, Detail: detail}
		e.broken = append(e.broken, brokenInvariant{noPartition, v})
	}
}

// checkHostStack checks that frames of programs, and the frames that switches made of them, have been delivered to a
// stack, have ended at their destination, or are on their way.
func (e finalCheck) checkHostStack() {
	if !e.features.Live {
		return
	}
	var sum HostStackCounts
	var left, control int64
	for i := range e.ports {
		if o := e.ports[i].hostStack; o != nil {
			sum.Add(o.HostStackCounts)
			control += o.ended
		}
	}
	e.eachFrame(func(f *frame.Frame) {
		if f.HostStack() {
			left++
		}
	})
	made := sum.Sent.Frames + e.Built
	ended := sum.Delivered.Frames + sum.RoCE + sum.Datagrams + control + e.Refused + e.Taken + e.Missed
	if made != ended+left {
		e.fail("programs' frames are conserved", "fabric",
			"%d sent, %d made by switches; %d delivered, %d for NICs, %d for queue pairs, %d of control, %d refused, "+
				"%d taken by switches, %d lost by faults, %d on their way",
			sum.Sent.Frames, e.Built, sum.Delivered.Frames, sum.RoCE, sum.Datagrams, control, e.Refused, e.Taken, e.Missed, left)
	}
}

package engine

import (
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

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

package engine

import (
	"math/bits"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
)

// Counts are what befell the frames of one port and priority. They are kept in live fabrics: the pipelines count by port alone, and to
// whom it happened is known as they return.
type Counts struct {
	CE, UE uint64 // packets marked congestion experienced, and undetermined, as they left or, by a step, joined the queue
	// CNMs are the messages built for a burst in the queue of the priority; they themselves are of another.
	CNMs uint64
	// Lost are frames that faults cost, but what overran a port or found no route; a PFC frame is of the priority that it is about.
	Lost    [Losses]uint64
	Refused [switchagent.Drops]uint64 // by the traffic manager, but what it discarded for a fault
	Dropped [ebpf.Reasons]uint64      // by the pipeline that they came in by
}

// portCounts are a port's, with what its registers had when they were last read.
type portCounts struct {
	ce, ue uint64
	of     [switchagent.Priorities]Counts
}

// countsOf is a port's record, made as the first thing is to be counted; e.counts must not be nil.
func (e *Engine) countsOf(p int32) *portCounts {
	if e.counts[p] == nil {
		e.counts[p] = &portCounts{}
	}
	return e.counts[p]
}

// Counted says whether anything has been counted at port p.
func (e *Engine) Counted(p int) bool { return e.counts != nil && e.counts[p] != nil }

// Counts are those of port p and a priority; zero but in a live fabric.
func (e *Engine) Counts(p int, priority uint8) Counts {
	if !e.Counted(p) {
		return Counts{}
	}
	return e.counts[p].of[priority]
}

// noteMark counts the mark that the frame which has crossed may have got as it left port p, or as it goes into p's queue.
func (e *Engine) noteMark(p int32, priority uint8) {
	r := &e.state.Ports[p]
	if r.EcnMarked+r.UeMarked == 0 {
		return
	}
	c := e.countsOf(p)
	c.of[priority].CE += r.EcnMarked - c.ce
	c.of[priority].UE += r.UeMarked - c.ue
	c.ce, c.ue = r.EcnMarked, r.UeMarked
}

// noteCNMs counts the CNMs that have been built for a burst in a queue since the port had built so many.
func (e *Engine) noteCNMs(egress int32, priority uint8, before uint64) {
	if built := e.state.Ports[egress].CnmsSent - before; e.counts != nil && built > 0 {
		e.countsOf(egress).of[priority].CNMs += built
	}
}

// noteLost counts a frame that a fault cost at port p.
func (e *Engine) noteLost(p *port, why Loss, f *frame.Frame) {
	if e.counts == nil || why == LossPause || why == LossRoute {
		return
	}
	priority := f.Priority
	if f.Control && e.credits == nil {
		priority = uint8(bits.TrailingZeros8(wire.PFC(f.Data()).ClassEnable()))
	}
	e.countsOf(p.id).of[priority].Lost[why]++
}

// noteRefused counts one that the traffic manager did not take at port p.
func (e *Engine) noteRefused(p *port, why switchagent.Drop, f *frame.Frame) {
	if e.counts != nil && why != switchagent.DropDiscard {
		e.countsOf(p.id).of[f.Priority].Refused[why]++
	}
}

// noteDropped counts one that the pipeline dropped that it came in by.
func (e *Engine) noteDropped(in *port, f *frame.Frame) {
	if x := e.pass; e.counts != nil && x.Verdict == ebpf.VerdictDrop && x.Reason < ebpf.Reasons {
		e.countsOf(in.id).of[f.Priority].Dropped[x.Reason]++
	}
}

package engine

import (
	"math/bits"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// The monitor's records by port and priority: how long flow control has paused a queue, and in a live fabric the marks
// and losses of frames.

// pauseRecord holds how long the egress queue of a port and a priority has been paused, by PAUSE or for lack of
// credits, and counts PAUSEs. It exists in live fabrics and under credits. It costs data frames nothing, as only
// control frames change it.
type pauseRecord struct {
	total        vtime.Time // paused time of all periods except the last
	since, until vtime.Time // start and end of the last period
	over         bool       // the last period has ended, whatever the registers say
	sent         uint64     // PAUSEs that the port has built
	received     uint64     // PAUSEs that it has received
}

// follow updates the last period from the registers.
func (r *pauseRecord) follow(c *ebpf.PortClass) {
	since, until := vtime.Time(c.OffSince), vtime.Time(c.PausedUntil)
	if since != r.since {
		r.total += max(0, min(r.until, since)-r.since)
		r.since, r.over = since, false
	}
	if !r.over {
		r.until = until
	}
}

func (m *monitor) keepPauses() {
	m.pauses = make([]pauseRecord, len(m.state.Ports)*switchagent.Priorities)
}

func (m *monitor) pausesAt(port int, priority uint8) *pauseRecord {
	return &m.pauses[port*switchagent.Priorities+int(priority)]
}

// changed records the priorities of a port that a control frame has switched ON or OFF. A priority that is OFF now was
// paused by that frame: a credit message only switches ON.
func (m *monitor) changed(now vtime.Time, p *port, priorities uint32) {
	if m.tracer != nil {
		m.traceHolds(now, p, priorities)
	}
	if m.pauses == nil {
		return
	}
	for left := uint8(priorities); left != 0; left &= left - 1 {
		i := uint8(bits.TrailingZeros8(left))
		r := m.pausesAt(int(p.id), i)
		r.follow(&m.state.Ports[p.id].Class[i])
		if m.state.Paused(int(p.id), i, now) {
			r.received++
		}
	}
}

// linkDown ends the pauses of a port whose link has gone down: from now on its queues wait for the link instead.
func (m *monitor) linkDown(now vtime.Time, p *port) {
	if m.tracer != nil {
		for i := range uint8(switchagent.Priorities) {
			m.tracer.Freed(now, int(p.id), i)
		}
	}
	if m.pauses == nil {
		return
	}
	for i := range uint8(switchagent.Priorities) {
		r := m.pausesAt(int(p.id), i)
		r.follow(&m.state.Ports[p.id].Class[i])
		r.until, r.over = min(r.until, now), true
	}
}

// built counts a PAUSE that a port is about to send.
func (m *monitor) built(now vtime.Time, p *port, priority uint8, why PauseCause) {
	if m.tracer != nil {
		m.tracer.Pausing(now, int(p.id), priority, why)
	}
	if m.pauses != nil {
		m.pausesAt(int(p.id), priority).sent++
	}
}

// PausedTime returns how long flow control has paused the queue of port p and a priority up to now, by PAUSE or for
// lack of credits. Under PFC it is 0 except in live fabrics.
func (e *Engine) PausedTime(p int, priority uint8) vtime.Time {
	if e.monitor.pauses == nil {
		return 0
	}
	r := *e.monitor.pausesAt(p, priority)
	r.follow(&e.state.Ports[p].Class[priority])
	return r.total + max(0, min(r.until, e.now)-r.since)
}

// Pauses returns how many PAUSEs of a priority port p of a live fabric has built and received.
func (e *Engine) Pauses(p int, priority uint8) (sent, received uint64) {
	if e.monitor.pauses == nil {
		return 0, 0
	}
	r := e.monitor.pausesAt(p, priority)
	return r.sent, r.received
}

// Counts holds the marks and losses of one port and priority. Only live fabrics have them: pipelines count by port, and
// the engine attributes each frame as its pass returns.
type Counts struct {
	CE, UE uint64 // packets marked CE, and UE (undetermined), as they left or joined the queue
	// CNMs counts the CNMs built for a burst in this priority's queue. The CNMs themselves have another priority.
	CNMs uint64
	// Lost counts frames lost to faults, except LossPause and LossRoute. A PFC frame counts for the priority that it
	// pauses or resumes.
	Lost    [Losses]uint64
	Refused [switchagent.Drops]uint64 // by the traffic manager, except frames that it discarded for a fault
	Dropped [ebpf.Reasons]uint64      // by the ingress pipeline
}

// portCounts holds the counts of a port, and the register values of the last read.
type portCounts struct {
	ce, ue, cnms uint64
	of           [switchagent.Priorities]Counts
}

// countsOf returns a port's record. It creates the record on first use. m.counts must not be nil.
func (m *monitor) countsOf(p int32) *portCounts {
	if m.counts[p] == nil {
		m.counts[p] = &portCounts{}
	}
	return m.counts[p]
}

// Counted reports whether port p has a record.
func (e *Engine) Counted(p int) bool { return e.monitor.counts != nil && e.monitor.counts[p] != nil }

// Counts returns the counts of port p and a priority; zero except in a live fabric.
func (e *Engine) Counts(p int, priority uint8) Counts {
	if !e.Counted(p) {
		return Counts{}
	}
	return e.monitor.counts[p].of[priority]
}

// countPass counts the marks and the verdict of the pass of a frame from port p into port in.
func (m *monitor) countPass(p, in *port, f *frame.Frame) {
	m.countMark(p.id, f.Priority)
	switch x := m.pass; {
	case x.Verdict == ebpf.VerdictForward:
		m.countMark(int32(x.Egress), uint8(x.OutPriority))
	case x.Verdict == ebpf.VerdictDrop && x.Reason < ebpf.Reasons:
		m.countsOf(in.id).of[f.Priority].Dropped[x.Reason]++
	}
}

// countMark counts the mark, if any, that a frame got in its pass: on leaving port p, or on joining p's queue.
func (m *monitor) countMark(p int32, priority uint8) {
	ce, ue := m.state.Ports[p].EcnMarked, m.state.Extras[p].UeMarked
	if ce+ue == 0 {
		return
	}
	c := m.countsOf(p)
	c.of[priority].CE += ce - c.ce
	c.of[priority].UE += ue - c.ue
	c.ce, c.ue = ce, ue
}

// builtCNMs counts the CNMs that a port has built for a burst in one of its queues.
func (m *monitor) builtCNMs(p int32, priority uint8) {
	if built := m.state.Extras[p].CnmsSent; m.counts != nil && built > 0 {
		c := m.countsOf(p)
		c.of[priority].CNMs += built - c.cnms
		c.cnms = built
	}
}

// lost counts a frame lost to a fault at port p. If the frame was on the wire, the egress pipeline may have marked it.
func (m *monitor) lost(p *port, why Loss, f *frame.Frame) {
	if m.counts == nil {
		return
	}
	m.countMark(p.id, f.Priority)
	if why == LossPause || why == LossRoute {
		return
	}
	priority := f.Priority
	if f.Control {
		priority = m.flowControl.priorityOf(f)
	}
	m.countsOf(p.id).of[priority].Lost[why]++
}

// dropped counts a frame that the traffic manager refused at port p.
func (m *monitor) dropped(p *port, why switchagent.Drop, f *frame.Frame) {
	if m.counts != nil && why != switchagent.DropDiscard {
		m.countsOf(p.id).of[f.Priority].Refused[why]++
	}
}

// arrived records a frame that has left port p and passed into port in.
func (m *monitor) arrived(p, in *port, f *frame.Frame) {
	if m.counts != nil {
		m.countPass(p, in, f)
	}
}

package provenance

import (
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// Recorder records where the time of a run's flows goes. It is the engine's Tracer.
type Recorder struct {
	plan      *topologies.Plan
	priority  uint8   // of data
	classOf   []int16 // by flow
	classes   int
	lines     []line // by port
	senders   []sender
	receivers []receiver
}

var _ engine.Tracer = (*Recorder)(nil)

// New returns a recorder. classOf holds the class of each flow, from 1 to classes; class 0 covers all frames except
// data. Waiting time in a queue is assigned to the classes of the frames ahead. priority is that of data.
func New(plan *topologies.Plan, priority uint8, classOf []int16, classes int) *Recorder {
	r := &Recorder{
		plan: plan, priority: priority, classOf: classOf, classes: classes + 1,
		lines: make([]line, len(plan.Ports)), senders: make([]sender, len(classOf)),
		receivers: make([]receiver, len(classOf)),
	}
	for i := range r.lines {
		r.lines[i].classes = make([]vtime.Time, r.classes)
		if r.isSwitch(i) {
			r.lines[i].bytes = make([]int64, r.classes)
		}
	}
	return r
}

func (r *Recorder) isSwitch(port int) bool {
	return r.plan.Nodes[r.plan.Ports[port].Node].Kind == topologies.Switch
}

// NIC returns the recorder of the flows of a host's interface.
func (r *Recorder) NIC(index int) hostagent.Recorder {
	port := r.plan.Interfaces[index]
	return &nic{Recorder: r, port: int32(port), line: &r.lines[port]}
}

// Built records a frame that a switch's pipeline has built. A frame that is not flow control is a CNM of the queue at
// which it was built.
func (r *Recorder) Built(now vtime.Time, port int, f *frame.Frame) {
	l := &r.lines[port]
	l.expire(now)
	j := journeyOf(f)
	j.begin(now, -1, control)
	j.signal = Signal{CNM, l.queueCause(now, r.priority), int32(port)}
}

// Enqueued records a frame that joins a switch's queue.
func (r *Recorder) Enqueued(now vtime.Time, port int, f *frame.Frame, serialisation vtime.Time) {
	if f.Control {
		return
	}
	l, j := &r.lines[port], journeyOf(f)
	l.expire(now)
	j.join(now, l)
	j.hold, j.serialisation, j.at = l.queueCause(now, f.Priority), serialisation, now
	l.queued += serialisation
	l.virtual = max(now, l.virtual) + serialisation
	l.bytes[j.class] += int64(f.Length)
	if f.InPort >= 0 {
		node := &r.plan.Nodes[r.plan.Ports[port].Node]
		r.lines[f.InPort].account(f.Priority, port-int(node.Ports[0]), len(node.Ports), int64(f.Length))
	}
}

// Trimmed replaces a queued frame by its headers in the accounts of its ports.
func (r *Recorder) Trimmed(_ vtime.Time, port int, f *frame.Frame, length int32, priority uint8,
	serialisation vtime.Time,
) {
	l, j := &r.lines[port], journeyOf(f)
	saved := j.serialisation - serialisation
	j.serialisation = serialisation
	l.queued -= saved
	l.virtual -= saved
	l.bytes[j.class] -= int64(length - f.Length)
	if f.InPort >= 0 {
		node, in := &r.plan.Nodes[r.plan.Ports[port].Node], &r.lines[f.InPort]
		at, ports := port-int(node.Ports[0]), len(node.Ports)
		in.account(priority, at, ports, -int64(length))
		in.account(f.Priority, at, ports, int64(f.Length))
	}
}

// Departed records a frame that starts to leave a port.
func (r *Recorder) Departed(now vtime.Time, port int, f *frame.Frame, serialisation vtime.Time) {
	l := &r.lines[port]
	l.expire(now)
	if f.Control {
		l.virtual = max(now, l.virtual) + serialisation
		l.sends(now, serialisation, control)
		journeyOf(f).bears = l.latest
		return
	}
	j := journeyOf(f)
	switch {
	case l.bytes != nil: // a switch's port
		j.leave(now, int32(port), l, f.Priority)
		l.queued -= j.serialisation
		l.bytes[j.class] -= int64(f.Length)
		if f.InPort >= 0 {
			node := &r.plan.Nodes[r.plan.Ports[port].Node]
			r.lines[f.InPort].account(f.Priority, port-int(node.Ports[0]), len(node.Ports), -int64(f.Length))
		}
	case j.answer: // an ACK or NAK of a host
		j.leave(now, int32(port), l, f.Priority)
	case j.flow >= 0 && j.class != control:
		r.senders[j.flow].own = now + serialisation
	}
	l.sends(now, serialisation, j.class)
	j.hold = l.queueCause(now, f.Priority)
	j.add(step{what: Serialising, port: int32(port), time: serialisation})
	j.at = now + serialisation
}

// sends accounts for a frame that starts to leave the port.
func (l *line) sends(now, serialisation vtime.Time, class int16) {
	l.begin(now, serialisation, class)
	if l.bytes == nil {
		l.log = append(l.log, sent{now, now + serialisation, class})
	}
}

// Arrived records a frame that has arrived over the link from a port.
func (r *Recorder) Arrived(now vtime.Time, port int, f *frame.Frame) {
	j := journeyOf(f)
	if f.Control {
		r.lines[r.plan.Ports[port].Peer].received = j.bears
		return
	}
	j.add(step{what: Propagating, port: int32(port), time: now - j.at})
	j.at = now
}

// Marked records a frame that got an ECN mark, when it left a port (left) or before it joined the port's queue.
func (r *Recorder) Marked(now vtime.Time, port int, f *frame.Frame, left bool) {
	j := journeyOf(f)
	hold := j.hold
	if !left {
		hold = r.lines[port].queueCause(now, f.Priority)
	}
	j.signal = Signal{Echo, hold, int32(port)}
}

// Paused records that a port may not send frames of a priority.
func (r *Recorder) Paused(now vtime.Time, port int, priority uint8, until, sentAt vtime.Time) {
	l, by := &r.lines[port], bearing{}
	if priority == r.priority && until != vtime.Never { // no message has stopped a port that lacks credits
		by = l.received
	}
	l.hold(now, priority, until, sentAt, by)
}

// Freed records that the port may send frames of the priority again.
func (r *Recorder) Freed(now vtime.Time, port int, priority uint8) {
	r.lines[port].free(now, priority)
}

// Pausing records that a port has built a PAUSE or a message of credits. The root of a switch's PAUSE is the egress
// port for which most bytes of the ingress account wait.
func (r *Recorder) Pausing(now vtime.Time, port int, priority uint8, why engine.PauseCause) {
	l := &r.lines[port]
	p := pausing{at: now, priority: priority, why: why, egress: -1}
	if why == engine.PauseAccount {
		most := int64(0)
		for i, n := range l.accounts[priority] {
			if n > most {
				most, p.egress = n, int32(r.plan.Nodes[r.plan.Ports[port].Node].Ports[i])
			}
		}
		if p.egress >= 0 {
			e := &r.lines[p.egress]
			e.expire(now)
			if p.hold = e.present(priority); p.hold == 0 {
				p.hold = e.queueCause(now, priority)
			}
			if p.hold == 0 {
				e.blame()
			}
		}
	}
	if n := len(l.pausings); n > 0 { // skip a repetition: messages of credits are frequent
		if last := l.pausings[n-1]; last.priority == priority && last.why == why && last.egress == p.egress &&
			last.hold == p.hold {
			return
		}
	}
	l.pausings = append(l.pausings, p)
	if priority == r.priority {
		l.latest = bearing{int32(len(l.pausings)), r.chain(port, &p)}
	}
}

// chain returns a hash of the causes of a PAUSE, up to the root: equal causes have equal chains.
func (r *Recorder) chain(port int, p *pausing) uint64 {
	h := mix(uint64(p.why), uint64(port), uint64(p.egress))
	if p.egress < 0 || p.hold == 0 {
		return h
	}
	before := &r.lines[p.egress].holds[p.hold-1]
	if before.chain == 0 {
		return mix(h, uint64(p.egress), uint64(p.hold))
	}
	return mix(h, before.chain)
}

// blame adds the bytes of each class in the queue, which is the root of a PAUSE.
func (l *line) blame() {
	if l.blamed == nil {
		l.blamed = make([]int64, len(l.bytes))
	}
	for class, n := range l.bytes {
		l.blamed[class] += n
	}
}

package engine

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// monitor records what happens in a run, and does not change it. The engine calls its hooks:
//
//	departed     a PFC frame starts to leave a port
//	arrived      a frame has made its pass, which has had no effect yet
//	consumedPFC  a PFC frame has made its pass
//	built        a pipeline or a host has built a PAUSE; builtCNMs: CNMs
//	changed      a control frame has switched priorities of a port ON or OFF; linkDown: its link has gone down
//	dropped      a traffic manager has refused a frame; lost: a fault has cost one
//
// It keeps events for an Observer, and counts by port and priority (counts.go). Except in a live fabric it costs a data
// frame one comparison. The watchdog is not part of it, because it acts on queues; neither is the search for deadlocks,
// which needs no hook.
type monitor struct {
	state       *ebpf.State
	pass        *ebpf.Pass
	switches    []*switchagent.Switch
	observer    Observer // nil: none
	tracer      Tracer   // nil: none
	flowControl flowControl

	// Events that the observer has not received.
	pfcDepartures []pfcDeparture
	pfcArrivals   []PFCArrival
	faultEvents   []FaultEvent

	pauses []pauseRecord // by port and priority; nil: not kept
	counts []*portCounts // by port; nil: not kept
}

// pfcDeparture records a PAUSE or RESUME that left a port.
type pfcDeparture struct {
	at       vtime.Time
	port     int32
	priority uint8
	pause    bool
}

// marks holds what decides whether a pass marks a frame: its ECN field, and the number of marks of the port that it
// left.
type marks struct {
	ecn   wire.ECN
	count uint64
}

func (m *monitor) marksOf(p *port, f *frame.Frame) marks {
	return marks{f.ECN(), m.state.Ports[p.id].EcnMarked + m.state.Extras[p.id].UeMarked}
}

// traceMark passes a mark that a frame from port p got in its last pass to the tracer.
func (m *monitor) traceMark(now vtime.Time, p *port, f *frame.Frame, before marks) {
	after := m.marksOf(p, f)
	switch {
	case f.Control || after.ecn == before.ecn:
	case after.count != before.count:
		m.tracer.Marked(now, int(p.id), f, true)
	case m.pass.Verdict == ebpf.VerdictForward:
		m.tracer.Marked(now, int(m.pass.Egress), f, false)
	}
}

// traceHolds passes the priorities of a port that a control frame has switched ON or OFF to the tracer.
func (m *monitor) traceHolds(now vtime.Time, p *port, priorities uint32) {
	for left := uint8(priorities); left != 0; left &= left - 1 {
		i := uint8(bits.TrailingZeros8(left))
		if until := vtime.Time(m.state.Ports[p.id].Class[i].PausedUntil); until > now {
			m.tracer.Paused(now, int(p.id), i, until, vtime.Time(m.pass.Departed))
		} else {
			m.tracer.Freed(now, int(p.id), i)
		}
	}
}

// traceCredits passes the priorities of a port that wait for credits to the tracer. Its peer's last message is a
// cable's delay old.
func (w *worker) traceCredits(p *port) {
	for i := range uint8(switchagent.Priorities) {
		if until := vtime.Time(w.state.Ports[p.id].Class[i].PausedUntil); until > w.now {
			w.monitor.tracer.Paused(w.now, int(p.id), i, until, w.now-w.ports[p.peer].delay)
		}
	}
}

// departed records a PFC frame that leaves a port.
func (m *monitor) departed(now vtime.Time, p *port, f *frame.Frame) {
	if m.observer == nil {
		return
	}
	pfc := wire.PFC(f.Data())
	for i := range uint8(switchagent.Priorities) {
		if pfc.ClassEnable()>>i&1 == 0 {
			continue
		}
		m.pfcDepartures = append(m.pfcDepartures, pfcDeparture{now, p.id, i, pfc.Time(i) != 0})
	}
}

// consumedPFC records a PFC frame that a switch's port in has consumed.
func (m *monitor) consumedPFC(now vtime.Time, in *port, f *frame.Frame) {
	if m.observer == nil || !in.isSwitch || m.pass.Verdict != ebpf.VerdictConsumed {
		return
	}
	queues := m.switches[in.index].Port(int(in.id))
	pfc := wire.PFC(f.Data())
	for i := range uint8(switchagent.Priorities) {
		if pfc.ClassEnable()>>i&1 != 0 {
			m.pfcArrivals = append(m.pfcArrivals, PFCArrival{
				At: now, Port: int(in.id), Priority: i, Pause: pfc.Time(i) != 0,
				Until: vtime.Time(m.state.Ports[in.id].Class[i].PausedUntil),
				Peak:  queues.TakePeak(), Queued: queues.QueuedBytes(), XOFF: m.state.Threshold(int(in.id)),
			})
		}
	}
}

// takeFrom moves the records of another worker's monitor to this one.
func (m *monitor) takeFrom(o *monitor) {
	m.pfcDepartures, o.pfcDepartures = append(m.pfcDepartures, o.pfcDepartures...), o.pfcDepartures[:0]
	m.pfcArrivals, o.pfcArrivals = append(m.pfcArrivals, o.pfcArrivals...), o.pfcArrivals[:0]
	m.faultEvents, o.faultEvents = append(m.faultEvents, o.faultEvents...), o.faultEvents[:0]
}

// notifyPFC passes PFC frames to the observer, in the order of time. divided is true for several partitions, of which
// some are ahead of others.
func (m *monitor) notifyPFC(divided bool) {
	if m.observer != nil {
		if divided {
			slices.SortStableFunc(m.pfcDepartures, func(a, b pfcDeparture) int {
				return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.port, b.port))
			})
		}
		slices.SortStableFunc(m.pfcArrivals, func(a, b PFCArrival) int {
			return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Port, b.Port))
		})
		arrivals := m.pfcArrivals
		for _, p := range m.pfcDepartures { // merged with the arrivals
			for ; len(arrivals) > 0 && arrivals[0].At <= p.at; arrivals = arrivals[1:] {
				m.observer.PFCReceived(arrivals[0])
			}
			m.observer.PFC(p.at, int(p.port), p.priority, p.pause)
		}
		for _, c := range arrivals {
			m.observer.PFCReceived(c)
		}
	}
	m.pfcDepartures, m.pfcArrivals = m.pfcDepartures[:0], m.pfcArrivals[:0]
}

// notifyFaults passes fault events to the observer, in the order of time.
func (m *monitor) notifyFaults() {
	if len(m.faultEvents) == 0 {
		return
	}
	slices.SortStableFunc(m.faultEvents, func(a, b FaultEvent) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Port, b.Port))
	})
	if o, ok := m.observer.(EventObserver); ok {
		for _, h := range m.faultEvents {
			o.FaultEvent(h)
		}
	}
	m.faultEvents = m.faultEvents[:0]
}

// pauseIndex returns 1 for a PAUSE and 0 for a RESUME. The frame names one priority, as pipelines and hosts build them.
func pauseIndex(f *frame.Frame) int {
	if pausedBy(f) != 0 {
		return 1
	}
	return 0
}

// pausedBy returns the priorities that a PFC frame pauses.
func pausedBy(f *frame.Frame) (priorities uint8) {
	pfc := wire.PFC(f.Data())
	for i := range uint8(switchagent.Priorities) {
		if pfc.ClassEnable()>>i&1 != 0 && pfc.Time(i) != 0 {
			priorities |= 1 << i
		}
	}
	return priorities
}

package engine

import (
	"cmp"
	"slices"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// monitor watches a run and changes nothing of it. The engine tells it what happens by its hooks:
//
//	departed   a PFC frame begins to leave a port
//	arrived    a frame has made its pass, and what becomes of it has not happened yet
//	took       a PFC frame has made its pass
//	built      a pipeline or a host has built a PAUSE; builtCNMs: CNMs
//	changed    a control frame has switched priorities of a port ON or OFF; linkDown: its link has gone down
//	dropped    a traffic manager has refused a frame; lost: a fault has cost one
//
// It keeps what an Observer is to be told (tell), and what befell ports by priority (counts.go). It costs a data frame one comparison
// but in a live fabric. The watchdog acts on what it sees, and so is no part of it; nor is the search for deadlocks, which nobody has to
// tell anything.
type monitor struct {
	state       *ebpf.State
	switches    []*switchagent.Switch
	observer    Observer // nil: nobody
	flowControl flowControl
	apart       bool // there are several regions, of which some are ahead of others

	// What the observer has not been told of.
	seen     []pfcSeen
	came     []PFCArrival
	happened []FaultEvent

	pauses []pauseRecord // by port and priority; nil: not kept
	counts []*portCounts // by port; nil: not kept
}

// pfcSeen is a PAUSE or RESUME that left, for the observer.
type pfcSeen struct {
	at       vtime.Time
	port     int32
	priority uint8
	pause    bool
}

// departed takes note of a PFC frame as it leaves a port.
func (m *monitor) departed(now vtime.Time, p *port, f *frame.Frame) {
	pfc := wire.PFC(f.Data())
	for i := range uint8(switchagent.Priorities) {
		if pfc.ClassEnable()>>i&1 == 0 {
			continue
		}
		p.pfcSent[pauseIndex(f)]++
		if m.observer != nil {
			m.seen = append(m.seen, pfcSeen{now, p.id, i, pfc.Time(i) != 0})
		}
	}
}

// arrived takes note of a frame that has left port p and made its pass into port in.
func (m *monitor) arrived(p, in *port, f *frame.Frame) {
	if m.counts != nil {
		m.countPass(p, in, f)
	}
}

// took takes note of a PFC frame that has arrived at port in, if that is a switch's and has taken it.
func (m *monitor) took(now vtime.Time, in *port, f *frame.Frame) {
	if m.observer == nil || !in.isSwitch || m.state.Pass.Verdict != ebpf.VerdictConsumed {
		return
	}
	queues := m.switches[in.index].Port(int(in.id))
	pfc := wire.PFC(f.Data())
	for i := range uint8(switchagent.Priorities) {
		if pfc.ClassEnable()>>i&1 != 0 {
			m.came = append(m.came, PFCArrival{
				At: now, Port: int(in.id), Priority: i, Pause: pfc.Time(i) != 0,
				Until: vtime.Time(m.state.Ports[in.id].Class[i].PausedUntil),
				Peak:  queues.TakePeak(), Queued: queues.QueuedBytes(), XOFF: m.state.Threshold(int(in.id)),
			})
		}
	}
}

// tellPFC tells the observer of PFC frames in the order of time.
func (m *monitor) tellPFC() {
	if m.observer != nil {
		if m.apart {
			slices.SortStableFunc(m.seen, func(a, b pfcSeen) int {
				return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.port, b.port))
			})
		}
		slices.SortStableFunc(m.came, func(a, b PFCArrival) int {
			return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Port, b.Port))
		})
		came := m.came
		for _, p := range m.seen { // in one order with those that came
			for ; len(came) > 0 && came[0].At <= p.at; came = came[1:] {
				m.observer.PFCCame(came[0])
			}
			m.observer.PFC(p.at, int(p.port), p.priority, p.pause)
		}
		for _, c := range came {
			m.observer.PFCCame(c)
		}
	}
	m.seen, m.came = m.seen[:0], m.came[:0]
}

// tellFaults tells the observer what happened to the fabric, in the order of time.
func (m *monitor) tellFaults() {
	if len(m.happened) == 0 {
		return
	}
	slices.SortStableFunc(m.happened, func(a, b FaultEvent) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Port, b.Port))
	})
	if o, ok := m.observer.(EventObserver); ok {
		for _, h := range m.happened {
			o.FaultEvent(h)
		}
	}
	m.happened = m.happened[:0]
}

// pauseIndex is 1 for a PAUSE and 0 for a RESUME: frames that speak of one priority, as pipelines and hosts build them.
func pauseIndex(f *frame.Frame) int {
	if pausedBy(f) != 0 {
		return 1
	}
	return 0
}

// pausedBy is the priorities that a PFC frame pauses.
func pausedBy(f *frame.Frame) (priorities uint8) {
	pfc := wire.PFC(f.Data())
	for i := range uint8(switchagent.Priorities) {
		if pfc.ClassEnable()>>i&1 != 0 && pfc.Time(i) != 0 {
			priorities |= 1 << i
		}
	}
	return priorities
}

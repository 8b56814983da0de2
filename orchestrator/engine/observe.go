package engine

import (
	"cmp"
	"slices"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// pfcSeen is a PAUSE or RESUME that left, for the observer.
type pfcSeen struct {
	at       vtime.Time
	port     int32
	priority uint8
	pause    bool
}

// tell tells the observer what it has not been told of, in the order of time.
func (e *Engine) tell() {
	if e.observer != nil {
		if len(e.regions) > 1 {
			slices.SortFunc(e.ended, func(a, b int32) int {
				return cmp.Or(cmp.Compare(e.flows[a].Finished, e.flows[b].Finished), cmp.Compare(a, b))
			})
			slices.SortStableFunc(e.pfcSeen, func(a, b pfcSeen) int {
				return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.port, b.port))
			})
		}
		slices.SortStableFunc(e.pfcCame, func(a, b PFCArrival) int {
			return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Port, b.Port))
		})
		came := e.pfcCame
		for _, p := range e.pfcSeen { // in one order with those that came
			for ; len(came) > 0 && came[0].At <= p.at; came = came[1:] {
				e.observer.PFCCame(came[0])
			}
			e.observer.PFC(p.at, int(p.port), p.priority, p.pause)
		}
		for _, c := range came {
			e.observer.PFCCame(c)
		}
		for _, f := range e.ended {
			e.observer.FlowDone(e.flows[f].Finished, int(f))
		}
	}
	if e.features.Live {
		for _, f := range e.ended {
			e.free(f)
		}
	}
	e.ended, e.pfcSeen, e.pfcCame = e.ended[:0], e.pfcSeen[:0], e.pfcCame[:0]
	if len(e.happened) > 0 {
		e.tellFaults()
	}
}

// observePFC notes a PFC frame as it leaves.
func (e *Engine) observePFC(p *port, f *frame.Frame) {
	if e.credits != nil { // all control frames are credit messages then
		e.credits.sent++
		return
	}
	pfc := wire.PFC(f.Data())
	for i := range uint8(switchagent.Priorities) {
		if pfc.ClassEnable()>>i&1 == 0 {
			continue
		}
		pause := pfc.Time(i) != 0
		p.pfcSent[pauseIndex(f)]++
		if e.observer != nil {
			e.pfcSeen = append(e.pfcSeen, pfcSeen{e.now, p.id, i, pause})
		}
	}
}

// observeArrival notes a PFC frame that a switch's port has taken.
func (e *Engine) observeArrival(in *port, f *frame.Frame) {
	queues := e.switches[in.index].Port(int(in.id))
	pfc := wire.PFC(f.Data())
	for i := range uint8(switchagent.Priorities) {
		if pfc.ClassEnable()>>i&1 != 0 {
			e.pfcCame = append(e.pfcCame, PFCArrival{
				At: e.now, Port: int(in.id), Priority: i, Pause: pfc.Time(i) != 0,
				Until: vtime.Time(e.state.Ports[in.id].Class[i].PausedUntil),
				Peak:  queues.TakePeak(), Queued: queues.QueuedBytes(), XOFF: e.state.Threshold(int(in.id)),
			})
		}
	}
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

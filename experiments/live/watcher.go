//go:build linux

package live

import (
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// watcher receives events from the engine and forwards them to readers. It runs only on the engine's goroutine.
// Without a reader it does nothing.
type watcher struct {
	plan    *topologies.Plan
	ends    map[int]func(now vtime.Time) // by flow
	open    []int                        // unfinished flows, oldest first
	flows   func() []engine.Flow
	readers []*reader
	// linkChanged receives a value when a link may have gone down or come up; nil without a control plane.
	linkChanged chan<- struct{}
}

func newWatcher(plan *topologies.Plan) *watcher {
	return &watcher{plan: plan, ends: map[int]func(vtime.Time){}}
}

// flowAdded registers a flow, and a function to call at its end.
func (w *watcher) flowAdded(flow int, ended func(now vtime.Time)) {
	w.ends[flow] = ended
	w.open = append(w.open, flow)
}

// flowStarted records a flow's start, which may be long after flowAdded.
func (w *watcher) flowStarted(now vtime.Time, flow int) {
	if len(w.readers) > 0 {
		w.tell(w.flowEvent(now, EventFlowStart, flow))
	}
}

// FlowStarted implements engine.StartObserver. The engine calls it only for queue pairs of programs.
func (w *watcher) FlowStarted(now vtime.Time, flow int) {
	w.open = append(w.open, flow)
	w.flowStarted(now, flow)
}

// FlowDone implements engine.Observer.
func (w *watcher) FlowDone(now vtime.Time, flow int) {
	if i := slices.Index(w.open, flow); i >= 0 {
		w.open = slices.Delete(w.open, i, i+1)
	}
	if len(w.readers) > 0 {
		e := w.flowEvent(now, EventFlowEnd, flow)
		e.FCTNS = (now - w.flows()[flow].Start).Nanoseconds()
		w.tell(e)
	}
	if f := w.ends[flow]; f != nil {
		delete(w.ends, flow)
		f(now)
	}
}

func (w *watcher) flowEvent(now vtime.Time, kind string, flow int) Event {
	e := w.eventAt(now, kind, -1)
	f := &w.flows()[flow]
	e.Node, e.Peer = w.plan.EndName(f.Source, f.Ports.From), w.plan.EndName(f.Destination, f.Ports.To)
	number := f.Number
	e.Flow, e.SizeBytes = &number, f.Size
	if p := f.Pair; p != nil {
		e.QueuePair = p.Number
	}
	return e
}

// PFCReceived implements engine.Observer.
func (w *watcher) PFCReceived(engine.PFCArrival) {}

// PFC implements engine.Observer.
func (w *watcher) PFC(now vtime.Time, port int, priority uint8, pause bool) {
	kind := EventResume
	if pause {
		kind = EventPause
	}
	if !w.wanted(kind) { // there may be a hundred thousand a second
		return
	}
	e := w.eventAt(now, kind, port)
	e.Priority = &priority
	w.tell(e)
}

// slowed records that the slow-down was raised.
func (w *watcher) slowed(now vtime.Time, from, to float64, why string) {
	if len(w.readers) > 0 {
		e := w.eventAt(now, EventSlowdown, -1)
		e.Detail = fmt.Sprintf("raised the slow-down from %g to %g: %s", from, to, why)
		w.tell(e)
	}
}

// FaultEvent implements engine.EventObserver.
func (w *watcher) FaultEvent(h engine.FaultEvent) {
	if h.Kind == engine.EventLinkDown || h.Kind == engine.EventLinkUp {
		select {
		case w.linkChanged <- struct{}{}:
		default: // no control plane, or a value waits already
		}
	}
	if len(w.readers) == 0 {
		return
	}
	e := w.eventAt(h.At, h.Kind, h.Port)
	e.Detail = h.Detail
	w.tell(e)
}

// wanted reports whether any reader receives events of a kind.
func (w *watcher) wanted(kind string) bool {
	return slices.ContainsFunc(w.readers, func(r *reader) bool { return r.wants(kind) })
}

func (w *watcher) tell(e Event) {
	for _, r := range w.readers {
		r.offer(e)
	}
}

// percent formats a share.
func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

//go:build linux

package live

import (
	"fmt"
	"slices"
	"time"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/vtime"
)

// Event represents an event in a live fabric. Clients receive it as a line of JSON.
type Event struct {
	TimeNS int64     `json:"time_ns"` // virtual
	Wall   time.Time `json:"wall"`
	Kind   string    `json:"kind"` // one of the kinds below, or an engine's kind of fault
	// Node and Peer locate the event: for PFC the frame's sender, for a flow the hosts of its sender and receiver.
	Node     string `json:"node,omitempty"`
	Port     string `json:"port,omitempty"`
	Peer     string `json:"peer,omitempty"`
	Priority *uint8 `json:"priority,omitempty"`
	Detail   string `json:"detail,omitempty"`
	// For flows.
	Flow      *int   `json:"flow,omitempty"`
	SizeBytes int64  `json:"size_bytes,omitempty"` // at the end of a queue pair: the bytes that it sent
	QueuePair uint32 `json:"queue_pair,omitempty"` // number of a program's queue pair
	FCTNS     int64  `json:"fct_ns,omitempty"`
	// Count holds the number of frames or events, for drops and missed.
	Count int64 `json:"count,omitempty"`
	// For the verdict.
	Verdict *Verdict `json:"verdict,omitempty"`
}

// Kinds of Event, besides those of the engine's faults.
const (
	EventPause     = "pause"
	EventResume    = "resume"
	EventFlowStart = "flow_start"
	EventFlowEnd   = "flow_end"
	EventDrops     = "drops"    // frames dropped at a position for one cause, since the last such event
	EventMissed    = "missed"   // events that the reader was too slow for
	EventSlowdown  = "slowdown" // the slow-down was raised because the machine is busy
	EventVerdict   = "verdict"
)

// TroubleKinds lists the kinds that a prompt prints at any time.
var TroubleKinds = []string{
	EventSlowdown, engine.EventStorm, engine.EventStormEnd, engine.EventDeadlock,
	engine.EventDeadlockEnd,
}

// String returns the event as a line of text.
func (e *Event) String() string {
	s := fmt.Sprintf("%v %s", virtualNS(e.TimeNS), e.Kind)
	switch {
	case e.Port != "":
		s += fmt.Sprintf(" %s (to %s)", e.Port, e.Peer)
	case e.Node != "" && e.Peer != "":
		s += fmt.Sprintf(" %s -> %s", e.Node, e.Peer)
	case e.Node != "":
		s += " " + e.Node
	}
	if e.Priority != nil {
		s += fmt.Sprintf(" priority %d", *e.Priority)
	}
	if e.Flow != nil {
		s += fmt.Sprintf(" flow %d, %d bytes", *e.Flow, e.SizeBytes)
		if e.QueuePair != 0 {
			s += fmt.Sprintf(" (queue pair %#x)", e.QueuePair)
		}
	}
	if e.FCTNS > 0 {
		s += fmt.Sprintf(", FCT %v", virtualNS(e.FCTNS))
	}
	if e.Count > 0 {
		s += fmt.Sprintf(" %d", e.Count)
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// eventAt returns an event at a port; -1 means the whole fabric.
func (w *watcher) eventAt(at vtime.Time, kind string, port int) Event {
	e := Event{TimeNS: at.Nanoseconds(), Wall: time.Now(), Kind: kind}
	if port >= 0 {
		p := &w.plan.Ports[port]
		e.Node, e.Port, e.Peer = w.plan.Nodes[p.Node].Name, p.Name, w.plan.PeerNode(p.ID).Name
	}
	return e
}

// verdictEvent returns the last event.
func verdictEvent(v Verdict) Event {
	e := Event{TimeNS: v.Clock.VirtualNS, Wall: time.Now(), Kind: EventVerdict, Detail: string(v.Status), Verdict: &v}
	if v.Status != measure.Pass && len(v.Reasons) > 0 {
		e.Detail += ": " + v.Reasons[0]
	}
	return e
}

// EventKinds lists all kinds of Event.
var EventKinds = append([]string{
	EventPause, EventResume, EventFlowStart, EventFlowEnd, EventDrops, EventMissed, EventSlowdown, EventVerdict,
}, engine.EventKinds...)

// oldKinds maps old names of kinds to current ones.
var oldKinds = map[string]string{"pause_flood": engine.EventPFCStorm}

// presentKinds replaces old names of kinds by current ones.
func presentKinds(kinds []string) []string {
	kinds = slices.Clone(kinds)
	for i, kind := range kinds {
		if now, old := oldKinds[kind]; old {
			kinds[i] = now
		}
	}
	return kinds
}

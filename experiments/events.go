package experiments

import (
	"strings"

	"github.com/pausenet/pausenet/orchestrator"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// FaultSummary is what went wrong in a run, and what it cost.
type FaultSummary struct {
	// Events are those of events.csv, by kind.
	Events map[string]int `json:"events"`
	// Lost are the frames that faults cost, by cause; every other frame arrived or was dropped by a switch.
	Lost      map[string]Lost   `json:"lost"`
	Deadlocks []DeadlockSummary `json:"deadlocks"`
}

// Lost counts frames.
type Lost struct {
	Frames int64 `json:"frames"`
	Bytes  int64 `json:"bytes"`
}

// DeadlockSummary is a circle of queues of which each waited for the next.
type DeadlockSummary struct {
	SinceNS int64        `json:"since_ns"` // when the last of them was held
	SeenNS  int64        `json:"seen_ns"`
	EndedNS int64        `json:"ended_ns,omitempty"` // absent: it lasted until the run's end
	Cycle   []CycleQueue `json:"cycle"`
}

// CycleQueue is one of the queues.
type CycleQueue struct {
	Node     string `json:"node"`
	Port     string `json:"port"`
	Peer     string `json:"peer"`
	Priority uint8  `json:"priority"`
}

// FaultEvent is told by the engine.
func (r *recorder) FaultEvent(ev orchestrator.FaultEvent) {
	r.events[ev.Kind]++
	plan := r.scenario.Topology
	r.spread.anyWay = r.spread.anyWay || ev.Kind == orchestrator.EventReroute
	node, port, peer := "", "", ""
	if ev.Port >= 0 {
		p := &plan.Ports[ev.Port]
		node, port, peer = plan.Nodes[p.Node].Name, p.Name, plan.PeerNode(topologies.PortID(ev.Port)).Name
		if ev.Kind == orchestrator.EventLinkDown { // neither end is held any more
			for priority := range uint8(8) {
				r.letGo(ev.At, p.ID, priority)
				r.letGo(ev.At, p.Peer, priority)
			}
			r.congestion.linkDown(ev.At, p.ID)
			r.congestion.linkDown(ev.At, p.Peer)
		}
	}
	r.keep(r.out.event(ev.At, node, port, peer, ev.Kind, ev.Detail))
}

const eventsHeader = "time_ns,node,port,peer,event,detail"

// event writes a row of events.csv.
func (o *output) event(now vtime.Time, node, port, peer, event, detail string) error {
	c := &o.events
	c.begin(now)
	c.text(node)
	c.text(port)
	c.text(peer)
	c.text(event)
	if strings.ContainsAny(detail, ",\"\n") {
		detail = `"` + strings.ReplaceAll(detail, `"`, `""`) + `"`
	}
	c.text(detail)
	return c.end()
}

// summariseFaults is nil for a run in which nothing went wrong and nothing was to.
func (r *runner) summariseFaults() *FaultSummary {
	e, plan := r.engine, r.scenario.Topology
	s := &FaultSummary{Events: r.recorder.events, Lost: map[string]Lost{}, Deadlocks: []DeadlockSummary{}}
	for why, n := range e.Lost() {
		if n.Frames > 0 {
			s.Lost[orchestrator.LossNames[why]] = Lost{n.Frames, n.Bytes}
		}
	}
	for _, d := range e.Deadlocks() {
		row := DeadlockSummary{SinceNS: wholeNanoseconds(d.Since), SeenNS: wholeNanoseconds(d.Seen)}
		if d.Ended != vtime.Never {
			row.EndedNS = wholeNanoseconds(d.Ended)
		}
		for _, h := range d.Cycle {
			p := &plan.Ports[h.Port]
			row.Cycle = append(row.Cycle, CycleQueue{plan.Nodes[p.Node].Name, p.Name, plan.PeerNode(p.ID).Name, h.Priority})
		}
		s.Deadlocks = append(s.Deadlocks, row)
	}
	if len(s.Events)+len(s.Lost)+len(s.Deadlocks)+len(r.scenario.Faults) == 0 {
		return nil
	}
	return s
}

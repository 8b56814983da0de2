package counters

import (
	"fmt"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// Recorder counts the PAUSE frames and storms of a run, which only a live fabric's engine counts itself.
type Recorder struct {
	plan   *topologies.Plan
	engine *engine.Engine
	ports  []recordedPort
}

// recordedPort holds a port's PAUSE frames, storms and pauses, by priority.
type recordedPort struct {
	sent, storms [Priorities]uint64
	total        [Priorities]vtime.Time // of pauses that have ended
	since        [Priorities]vtime.Time // start of the present pause
	paused       [Priorities]bool
}

// Observe returns an observer that passes the counters of a run to keep when the run has ended.
func Observe(keep func(*Fabric)) runner.NewObserver {
	return func(s *scenario.Setup) (*runner.Observer, error) {
		r := &Recorder{plan: s.Scenario.Topology, ports: make([]recordedPort, len(s.Scenario.Topology.Ports))}
		return &runner.Observer{
			Start: func(o *runner.Observed) error {
				r.engine = o.Engine
				return nil
			},
			PFC: func(_ vtime.Time, port topologies.PortID, priority uint8, pause bool) {
				if pause {
					r.ports[port].sent[priority]++
				}
			},
			Paused:  func(h *runner.Hold) { r.ports[h.Port].begin(h) },
			Resumed: func(h *runner.Hold) { r.ports[h.Port].end(h) },
			Fault:   r.fault,
			End:     func() { keep(Of(s.Scenario.Name, r.engine, r)) },
		}, nil
	}
}

func (p *recordedPort) begin(h *runner.Hold) {
	if !p.paused[h.Priority] {
		p.paused[h.Priority], p.since[h.Priority] = true, h.From
	}
}

func (p *recordedPort) end(h *runner.Hold) {
	if p.paused[h.Priority] {
		p.paused[h.Priority] = false
		p.total[h.Priority] += max(0, h.To-p.since[h.Priority])
	}
}

func (r *Recorder) fault(f *engine.FaultEvent) {
	var priority uint8
	if n, _ := fmt.Sscanf(f.Detail, "priority %d:", &priority); f.Kind == engine.EventStorm && n == 1 &&
		priority < Priorities && f.Port >= 0 {
		r.ports[f.Port].storms[priority]++
	}
}

// Pauses implements Pauses. All PAUSE frames that the peer sent count as received, even if a fault lost some, unless
// the peer has sent PAUSE for this priority only.
func (r *Recorder) Pauses(port int, priority uint8) (sent, received uint64) {
	peer := &r.ports[r.plan.Ports[port].Peer]
	received = peer.sent[priority]
	all := uint64(0)
	for _, n := range peer.sent {
		all += n
	}
	if all == received {
		received = min(received, r.engine.State().Extras[port].PausesReceived)
	}
	return r.ports[port].sent[priority], received
}

// PausedTime implements Pauses.
func (r *Recorder) PausedTime(port int, priority uint8) vtime.Time {
	p := &r.ports[port]
	t := p.total[priority]
	if p.paused[priority] {
		t += max(0, r.engine.Now()-p.since[priority])
	}
	return t
}

// Storms implements Storms.
func (r *Recorder) Storms(port int, priority uint8) uint64 { return r.ports[port].storms[priority] }

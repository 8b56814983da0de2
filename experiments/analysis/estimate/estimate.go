// Package estimate predicts the cost of a scenario's runs before they start: packet-hops, memory, files and processor
// time. It simulates no queue and no congestion control, so it is a rough upper estimate: it assumes that a flow sends
// at line rate, shared with the other flows of its two hosts.
package estimate

import (
	"math"
	"math/bits"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Run holds the expected cost of one run.
type Run struct {
	Controller string `json:"controller"` // or a variant
	Packets    int64  `json:"packets"`    // of data
	Hops       int64  `json:"hops"`       // frames over links, data and ACKs
	Memory     int64  `json:"memory_bytes"`
	// PortsTable holds the size of ports.csv, usually the largest file, if the run lasts for the scenario's duration.
	PortsTable int64 `json:"ports_csv_bytes"`
	// Seconds holds the processor time; 0 until SetTime has set it.
	Seconds float64 `json:"processor_seconds,omitempty"`
	ports   int
	flows   int
	rows    int64 // of ports.csv that cost time
}

// Memory of a process in bytes, fitted to the peaks of whole runs with 1024 to 131072 hosts (docs/performance.md). The
// estimates are within 25 % of the table there; a run whose hosts all send much at once can take twice as much.
const (
	processMemory = 40 << 20
	portMemory    = 3900 // each end of a link: plan, pipelines' tables, engine, frames on the wire, results
	manyMemory    = 2300 // the same with ManyPorts
	valuesMemory  = 45   // the statistics' other values of the first messages
	values        = 4 << 20
)

// ManyPorts sets the number of ports from which their data dominate a run's memory, and run collects garbage more
// often.
const ManyPorts = 200_000

// rowBytes estimates the length of a row of ports.csv with short names.
const rowBytes = 45

// Of returns the expected cost of a run under a controller or variant. The scenario's flows must be drawn.
func Of(s *scenario.Scenario, controller string) (*Run, error) {
	s, name, spec, err := s.Under(controller)
	if err != nil {
		return nil, err
	}
	plan := s.Topology
	r := &Run{Controller: name, ports: len(plan.Ports), flows: s.FlowCount()}
	perACK := float64(scenario.HostSettings(s, spec.Needs).AckEvery)
	shares := newShares(plan)
	for f, times := range s.AlikeFlows() {
		shares.add(f, most(s, f)*float64(times))
	}
	shares.limit(s.Duration + s.DrainTime())
	links := map[[2]topologies.NodeID]int{} // on the path between two leaf switches
	for f, times := range s.AlikeFlows() {
		packets := math.Ceil(most(s, f) * shares.of(f) / float64(plan.MTU))
		from, to := plan.PeerNode(plan.Nodes[f.Source].Ports[f.Pair.From]).ID, plan.Nodes[f.Destination].Ports[f.Pair.To]
		key := [2]topologies.NodeID{from, plan.PeerNode(to).ID}
		n, known := links[key]
		if !known {
			n = 1 + max(0, plan.Hops(from, plan.Ports[to].Interface))
			links[key] = n
		}
		r.Packets += int64(packets) * int64(times)
		r.Hops += int64(packets*float64(n)+math.Ceil(packets/perACK)*float64(n)) * int64(times)
	}
	r.PortsTable = rows(s) * rowBytes
	if !s.Drain { // a run that drains ends with its flows, which is usually much earlier
		r.rows = rows(s)
	}
	r.Memory = Memory(s)
	return r, nil
}

// Memory returns the expected peak of a process that runs a scenario once, in bytes. It needs no drawn flows.
func Memory(s *scenario.Scenario) int64 {
	ring, stream := s.ByRule()
	ports, each := int64(len(s.Topology.Ports)), int64(portMemory)
	if ports >= ManyPorts {
		each = manyMemory
	}
	bytes := processMemory + ports*each + int64(s.FlowCount()-ring-stream)*scenario.FlowMemory +
		int64(stream)*scenario.StreamMemory + int64(ring)*scenario.RingMemory + int64(min(ring, values))*valuesMemory
	for i := range s.Workloads {
		if g := s.Workloads[i].Graph; g != nil && !s.Workloads[i].Streams() {
			bytes += int64(len(g.Messages)) * (scenario.MessageMemory - scenario.FlowMemory)
		}
	}
	return bytes
}

// rows returns the number of rows of ports.csv, up to the scenario's duration.
func rows(s *scenario.Scenario) int64 {
	if s.Sample.Interval == 0 {
		return 0
	}
	return (int64(s.Duration/s.Sample.Interval) + 1) * int64(len(s.SampledPorts())) * int64(
		bits.OnesCount8(s.DataPriorities()))
}

// most returns the payload bytes that a flow sends if it has its path to itself.
func most(s *scenario.Scenario, f *scenario.Flow) float64 {
	end := s.Duration + s.DrainTime()
	extra := f.Extra()
	if extra.Stop > 0 {
		end = min(end, extra.Stop)
	}
	start := f.Start
	if f.Waits() {
		start = 0
	}
	rate := payloadRate(s.Topology, f.Source, f.Pair.From)
	if extra.ConstantRate > 0 {
		rate = min(rate, float64(extra.ConstantRate)/8)
	}
	bytes := max(0, end-start).Seconds() * rate
	if f.Size > 0 {
		bytes = min(bytes, float64(f.Size))
	}
	return bytes
}

// payloadRate returns the payload bytes per second that fit through a host's port.
func payloadRate(plan *topologies.Plan, host topologies.NodeID, position uint8) float64 {
	return payload(plan, plan.Ports[plan.Nodes[host].Ports[position]].Rate)
}

func payload(plan *topologies.Plan, rate units.Rate) float64 {
	return float64(rate) / 8 * float64(plan.MTU) / float64(plan.Framing.LineBytes(measure.FullFrame(plan)))
}

// shares holds, for each host, what its flows want to send and receive, and later the part of it that fits.
type shares struct {
	plan     *topologies.Plan
	out, in  []float64 // by node
	earliest vtime.Time
}

func newShares(plan *topologies.Plan) *shares {
	return &shares{
		plan: plan, out: make([]float64, len(plan.Nodes)), in: make([]float64, len(plan.Nodes)), earliest: vtime.Never,
	}
}

func (s *shares) add(f *scenario.Flow, bytes float64) {
	s.out[f.Source] += bytes
	s.in[f.Destination] += bytes
	if f.Waits() {
		s.earliest = 0
	}
	s.earliest = min(s.earliest, f.Start)
}

// limit turns bytes into the part that a host's line rate lets through from the first flow's start until the end.
func (s *shares) limit(end vtime.Time) {
	for _, host := range s.plan.Hosts {
		capacity := payload(s.plan, s.plan.HostRate(host)) * max(0, end-s.earliest).Seconds()
		s.out[host], s.in[host] = min(1, capacity/s.out[host]), min(1, capacity/s.in[host])
	}
}

// of returns the part of its bytes that a flow can send.
func (s *shares) of(f *scenario.Flow) float64 { return min(s.out[f.Source], s.in[f.Destination]) }

// Processor time beside the hops, of whole runs on the machine of docs/performance.md.
const (
	startSeconds = 0.02
	portSeconds  = 40e-6 // reading, planning, tables, links.csv, report
	flowSeconds  = 3e-6
	rowSeconds   = 60e-9
	smallest     = 100.0 // ports of the fabric by which a hop is timed
	// a hop is slower by this part in a fabric with ten times as many ports: its memory is further away
	slower = 0.18
)

// SetTime sets the processor time, from the time of a hop in a small fabric (Hop).
func (r *Run) SetTime(hop float64) {
	larger := 1 + slower*math.Log10(max(1, float64(r.ports)/smallest))
	r.Seconds = startSeconds + float64(r.Hops)*hop*larger + float64(r.ports)*portSeconds + float64(r.flows)*flowSeconds +
		float64(r.rows)*rowSeconds
}

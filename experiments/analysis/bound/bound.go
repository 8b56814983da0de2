// Package bound computes what the links of a scenario's fabric allow its flows under any control.
package bound

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/analysis/fluid"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Bound holds the limits that the links of a scenario's fabric set to its flows, under any control. Each flow is a
// fluid on the path that its packets take in a run. The difference between its ideal FCT and the time of the fluid
// alone is added, so that a flow alone takes its ideal FCT. ACKs and other control frames take no line time, and no
// packet carries telemetry.
type Bound struct {
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	// Disciplines holds the results for each way to share links.
	Disciplines []Discipline `json:"disciplines"`
	// Sized counts the flows with a size.
	Sized int `json:"flows_with_size"`
	// MeanFCT holds a proven lower bound of the mean FCT, in ns, under any controller that finishes all flows with a
	// size; 0 if no flow has a size. See fluid.LowerBound.
	MeanFCT float64 `json:"mean_fct_bound_ns"`
	// Jobs and Collectives hold lower bounds of the times of workloads of dependent flows and their collectives: see
	// measure.StepsLimit. All other fields cover flows with a start time.
	Jobs        []JobLimit        `json:"jobs,omitempty"`
	Collectives []CollectiveLimit `json:"collectives,omitempty"`
	// Notes lists parts of the scenario that the bound ignores.
	Notes []string `json:"notes,omitempty"`

	scenario *scenario.Scenario
}

// JobLimit holds a lower bound of a job's time under any control.
type JobLimit struct {
	Tag   string `json:"tag"`
	Ranks int    `json:"ranks"`
	JCT   int64  `json:"jct_ns"`
}

// CollectiveLimit holds a lower bound, under any control, of the time of Count equal collectives; the bandwidths follow
// from it.
type CollectiveLimit struct {
	Tag         string  `json:"tag"`
	Kind        string  `json:"kind"`
	Algorithm   string  `json:"algorithm"`
	Size        int64   `json:"size_bytes"`
	Ranks       int     `json:"ranks"`
	Count       int     `json:"count"`
	Time        int64   `json:"time_ns"`
	Algorithmic float64 `json:"algbw_bps"`
	Bus         float64 `json:"busbw_bps"`
}

// Discipline holds the results of the flows as fluids under a discipline, in the form of a run's FlowStatistics.
type Discipline struct {
	Name      string            `json:"name"` // the name of the fluid.Discipline
	Count     int               `json:"count"`
	Completed int               `json:"completed"`
	FCT       measure.Quantiles `json:"fct_ns"`
	Slowdown  measure.Quantiles `json:"slowdown"`

	flows measure.Records // as in a run's results
}

// Find computes the scenario's bound under its seed. It fails if the scenario has a mistake.
func Find(s *scenario.Scenario) (*Bound, error) {
	if err := s.BoundFits(); err != nil {
		return nil, err
	}
	s, err := s.Unrolled()
	if err != nil {
		return nil, err
	}
	m := &fluidModel{s: s, flows: make([]fluidFlow, len(s.Flows))}
	portsOf := s.QPPortsOf(s.Seed)
	for i := range m.flows {
		if err := m.flows[i].trace(s, portsOf, i); err != nil {
			return nil, err
		}
	}
	b := &Bound{Scenario: s.Name, Seed: s.Seed, scenario: s}
	waits := 0
	for i := range s.Flows {
		switch f := &s.Flows[i]; {
		case f.Waits():
			waits++
		case f.Size > 0:
			b.Sized++
		}
	}
	if waits > 0 {
		b.Notes = append(b.Notes, fmt.Sprintf("%d flows wait for others: only the bounds of jobs and collectives cover them",
			waits))
		m.limits(b)
	}
	if b.Sized > 0 {
		b.MeanFCT = m.leastSumOfAny() / float64(b.Sized) / float64(vtime.Nanosecond)
	}
	if left := m.leftOut(); left != "" {
		b.Notes = append(b.Notes, "the shares ignore flows' "+left+"; the lower bound holds for any order of service")
	}
	if n := len(s.Faults); n > 0 {
		b.Notes = append(b.Notes, fmt.Sprintf("computed without faults: %s ignored", topologies.Plural(n, "fault")))
	}
	if shorter := shorterPackets(s); len(shorter) > 0 {
		b.Notes = append(b.Notes, fmt.Sprintf("the bound is for packets over IPv6 (host.ip); over IPv4, as in %s, they are "+
			"shorter (try --set host.ip=ipv4)", strings.Join(shorter, ", ")))
	}
	for _, d := range []fluid.Discipline{fluid.MaxMin, fluid.ShortestFirst} {
		b.Disciplines = append(b.Disciplines, m.under(d))
	}
	return b, nil
}

// Write writes DIR/<scenario>/<way>/flows.csv, and returns the paths. Without force it returns a rundir.OverwriteError
// if a file exists with other contents.
func (b *Bound) Write(directory string, force bool) ([]string, error) {
	tables := make([][]byte, len(b.Disciplines))
	var other rundir.OverwriteError
	for i := range b.Disciplines {
		d := &b.Disciplines[i]
		var text bytes.Buffer
		if err := rundir.Flows.WriteAll(&text, rundir.FlowRows(b.scenario, d.flows)); err != nil {
			return nil, err
		}
		tables[i] = text.Bytes()
		if force {
			continue
		}
		switch before, err := files.Read(filepath.Join(directory, b.Scenario, d.Name, rundir.Flows.Name), rundir.CSVFile); {
		case err == nil && !bytes.Equal(before, tables[i]):
			other.Add(filepath.Join(directory, b.Scenario), d.Name,
				[]string{rundir.Flows.Name + " has other flows, or other times"})
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	if err := other.OrNil(); err != nil {
		return nil, err
	}
	var paths []string
	for i := range b.Disciplines {
		folder, err := files.OpenFolder(directory, filepath.Join(directory, b.Scenario, b.Disciplines[i].Name))
		if err != nil {
			return paths, err
		}
		if err = errors.Join(folder.Write(rundir.Flows.Name, tables[i]), folder.Close()); err != nil {
			return paths, err
		}
		paths = append(paths, filepath.Join(folder.Path(), rundir.Flows.Name))
	}
	return paths, nil
}

// fluidModel represents a scenario's flows as fluids. A link in one direction is represented by its sending port.
type fluidModel struct {
	s     *scenario.Scenario
	flows []fluidFlow
}

// leftOut returns the names of flows' settings that only change the order of service.
func (m *fluidModel) leftOut() string {
	weights, priorities := false, false
	for i := range m.s.Flows {
		own := m.s.Flows[i].Extra().Own
		weights, priorities = weights || own.Weight > 0, priorities || own.Priority > 0
	}
	switch {
	case weights && priorities:
		return "weights and priorities"
	case weights:
		return "weights"
	case priorities:
		return "priorities"
	}
	return ""
}

// shorterPackets returns the scenario's variants whose packets have a shorter header than the scenario's.
func shorterPackets(s *scenario.Scenario) (names []string) {
	for i := range s.Variants {
		if v := &s.Variants[i]; v.Host != nil && v.Host.IP.Extra() < s.Host.IP.Extra() {
			names = append(names, v.Name)
		}
	}
	return names
}

// fluidFlow represents a flow and its path; for a flow with several QPs, its first QP. A flow without a size has no
// times.
type fluidFlow struct {
	size        units.Bytes
	path, back  []topologies.PortID
	ack         vtime.Time  // on the path back
	first, last int         // frames
	line        int64       // bytes of line time
	latency     float64     // ps by which the ideal FCT exceeds the fluid's time alone; with several QPs see joint
	paced       float64     // ps that pacing at a constant rate adds after the last packet; the flow ends without them
	more        []fluidFlow // the other QPs
}

// qps returns all QPs of the flow.
func (f *fluidFlow) qps() []fluidFlow {
	if f.more == nil {
		return []fluidFlow{*f}
	}
	return append([]fluidFlow{*f}, f.more...)
}

// trace finds the path of the flow and of its QPs in a run.
func (f *fluidFlow) trace(s *scenario.Scenario, portsOf func(flow, qp int) (paths.Ports, error), number int) error {
	given := &s.Flows[number]
	qps := given.Extra().QPs
	shares := qps.Split(given.Size, s.Topology.MTU)
	for k, size := range shares {
		own := f
		if k > 0 {
			f.more = append(f.more, fluidFlow{})
			own = &f.more[k-1]
		}
		ports, err := portsOf(number, k)
		if err != nil {
			return err
		}
		own.follow(s, given, ports, size, len(shares))
	}
	return nil
}

// follow finds the path of one of a flow's n QPs, which carries size bytes.
func (f *fluidFlow) follow(s *scenario.Scenario, given *scenario.Flow, ports paths.Ports, size units.Bytes, n int) {
	plan := s.Topology
	f.size = size
	f.path = paths.Forward(plan, given.Source, given.Destination, ports)
	if given.Size == 0 {
		return
	}
	f.back = paths.Back(plan, given.Source, given.Destination, ports)
	if given.Waits() {
		return
	}
	f.ack = measure.OneWay(plan, f.back, measure.ACKFrame(plan))
	f.first, f.last, f.line = measure.FramesOf(plan, int64(size))
	slowest := plan.Ports[f.path[0]].Rate
	for _, id := range f.path {
		slowest = min(slowest, plan.Ports[id].Rate)
	}
	f.latency = float64(measure.IdealFCT(plan, f.path, f.back, int64(size))) - alone(f.line, slowest)
	// pacing decides when packets leave; the last one is as fast as any
	if rate := given.Extra().ConstantRate / units.Rate(n); rate > 0 && rate < slowest {
		last := plan.Framing.LineBytes(f.last)
		f.paced = alone(last, rate) - alone(last, slowest)
		f.latency -= f.paced
	}
}

// alone returns the time, in ps, of a fluid that has a link to itself.
func alone(line int64, rate units.Rate) float64 {
	return float64(line) * 8 * float64(vtime.Second) / float64(rate)
}

// fluid returns the QP as a fluid of a flow with n QPs.
func (f *fluidFlow) fluid(given *scenario.Flow, n int) fluid.Flow {
	of := fluid.Flow{Start: given.Start, Work: f.line, Cap: given.Extra().ConstantRate / units.Rate(n)}
	for _, id := range f.path {
		of.Path = append(of.Path, int(id))
	}
	return of
}

// joint returns the ps by which the ideal FCT of a flow with several QPs exceeds the time of its fluids alone in the
// fabric, and the ideal FCT.
func (f *fluidFlow) joint(plan *topologies.Plan, given *scenario.Flow,
	d fluid.Discipline,
) (latency float64, ideal vtime.Time) {
	var rates []units.Rate // of the links on their paths only
	at := map[int]int{}
	var fluids []fluid.Flow
	var paths []measure.QPPath
	qps, paced := f.qps(), 0.0
	for k := range qps {
		q := &qps[k]
		of := q.fluid(given, len(qps))
		of.Start, of.Cap = 0, 0 // as for the ideal FCT
		paced = max(paced, q.paced)
		for i, link := range of.Path {
			own, known := at[link]
			if !known {
				own = len(rates)
				at[link] = own
				rates = append(rates, plan.Ports[link].Rate)
			}
			of.Path[i] = own
		}
		fluids = append(fluids, of)
		paths = append(paths, measure.QPPath{Path: q.path, Back: q.back, Size: int64(q.size)})
	}
	ideal = measure.IdealOfQPs(plan, paths)
	return float64(ideal) - slices.Max(fluid.Run(rates, fluids, d, vtime.Never)) - paced, ideal
}

// under runs the fluids under a discipline.
func (m *fluidModel) under(d fluid.Discipline) Discipline {
	plan := m.s.Topology
	rates := make([]units.Rate, len(plan.Ports))
	for i := range rates {
		rates[i] = plan.Ports[i].Rate
	}
	var fluids []fluid.Flow
	var numbers []int // of the flows of these QPs, only those that start without waiting
	latency, ideal := make([]float64, len(m.flows)), map[int]vtime.Time{}
	for i := range m.flows {
		given, own := &m.s.Flows[i], &m.flows[i]
		if given.Waits() {
			continue
		}
		if latency[i] = own.latency; own.more != nil && given.Size > 0 {
			latency[i], ideal[i] = own.joint(plan, given, d)
		}
		qps := own.qps()
		for k := range qps {
			fluids, numbers = append(fluids, qps[k].fluid(given, len(qps))), append(numbers, i)
		}
	}
	until := vtime.Never
	if !m.s.Drain {
		until = m.s.Duration
	}
	stop := until // the time after which no flow can end in time
	for i := range m.flows {
		if late := vtime.Time(max(0, -latency[i])); until != vtime.Never {
			stop = max(stop, until+late)
		}
	}
	result := Discipline{Name: d.String(), flows: make(measure.Records, len(m.flows))}
	for i := range m.flows {
		result.flows[i] = measure.FlowRecord{Size: int64(m.s.Flows[i].Size), End: vtime.Never}
	}
	took := make([]float64, len(m.flows)) // until its last QP ends
	for k, own := range fluid.Run(rates, fluids, d, stop) {
		took[numbers[k]] = max(took[numbers[k]], own)
	}
	timed := make(measure.Records, 0, len(numbers))
	for i := range m.flows {
		given, own := &m.s.Flows[i], &m.flows[i]
		if given.Waits() {
			continue
		}
		f := measure.FlowRecord{Size: int64(given.Size), Start: given.Start, End: vtime.Never}
		if fct := math.Round(took[i] + latency[i]); fct <= float64(until-given.Start) && fct < float64(vtime.Never) {
			f.End, f.Ended = given.Start+vtime.Time(fct), true
			f.Times = measure.TimesOf(plan, own.path, own.back, f.Size, vtime.Time(fct))
			if alone, several := ideal[i]; several {
				f.Times.Ideal = alone
			}
		}
		result.flows[i] = f
		timed = append(timed, f)
	}
	sum := measure.StatisticsOf(timed, 0)
	result.Count, result.Completed, result.FCT, result.Slowdown = sum.Count, sum.Completed, sum.FCT, sum.Slowdown
	return result
}

// limits adds the bounds of workloads of dependent flows.
func (m *fluidModel) limits(b *Bound) {
	plan := m.s.Topology
	for i := range m.s.Workloads {
		w := &m.s.Workloads[i]
		if w.Graph == nil {
			continue
		}
		parts := func(message int32) []measure.Part {
			flow := w.First() + int(message)
			all := []measure.Part{}
			qps := m.flows[flow].qps()
			for k := range qps {
				all = append(all, measure.Part{Size: int64(qps[k].size), Path: qps[k].path, Back: qps[k].back})
			}
			return all
		}
		order, _ := w.Graph.Order()
		whole := measure.StepsLimit(plan, w.Graph, order, 0, w.Graph.Added(), parts)
		b.Jobs = append(b.Jobs, JobLimit{Tag: w.Tag, Ranks: w.Graph.Ranks, JCT: max(0, whole-w.Delay()).RoundNanoseconds()})
		alike := map[CollectiveLimit]int{} // complete except for the times
		for k := range w.Graph.Collectives {
			c := &w.Graph.Collectives[k]
			key := CollectiveLimit{Tag: w.Tag, Kind: c.Kind, Algorithm: c.Algorithm, Size: c.Size, Ranks: len(c.Ranks)}
			at, known := alike[key]
			if !known {
				at = len(b.Collectives)
				alike[key] = at
				run := measure.CollectiveRun{
					Size: c.Size, Factor: c.Factor,
					Time: measure.StepsLimit(plan, w.Graph, nil, c.First, c.End, parts),
				}
				key.Time, key.Algorithmic, key.Bus = run.Time.RoundNanoseconds(), run.Algorithmic(), run.Bus()
				b.Collectives = append(b.Collectives, key)
			}
			b.Collectives[at].Count++
		}
	}
}

// leastSumOfAny returns the best of three bounds: with each flow assigned to the first link of its path, to the last,
// or to the busiest.
func (m *fluidModel) leastSumOfAny() float64 {
	return max(
		m.leastSum(func([]topologies.PortID) int { return 0 }),
		m.leastSum(func(path []topologies.PortID) int { return len(path) - 1 }),
		m.leastSum(m.busiest()),
	)
}

// busiest returns a function that returns the position of the busiest link on a path.
func (m *fluidModel) busiest() func(path []topologies.PortID) int {
	busy := make([]float64, len(m.s.Topology.Ports))
	for i := range m.flows {
		qps := m.flows[i].qps()
		for k := range qps {
			for _, id := range qps[k].path {
				busy[id] += alone(qps[k].line, m.s.Topology.Ports[id].Rate)
			}
		}
	}
	return func(path []topologies.PortID) (at int) {
		for i, id := range path {
			if busy[id] > busy[path[at]] {
				at = i
			}
		}
		return at
	}
}

// together returns the load of a flow's QPs on the first link of their paths, or the last: the bytes, and the least
// time of a frame before and after that link.
func (f *fluidFlow) together(plan *topologies.Plan, last bool) (work int64, before, after vtime.Time) {
	before, after = vtime.Never, vtime.Never
	qps := f.qps()
	for k := range qps {
		q := &qps[k]
		at := 0
		if last {
			at = len(q.path) - 1
		}
		work += q.line
		before = min(before, measure.OneWay(plan, q.path[:at], q.first))
		after = min(after, plan.Ports[q.path[at]].Delay+measure.OneWay(plan, q.path[at+1:], q.last)+q.ack)
	}
	return work, before, after
}

// leastSum returns a lower bound, in ps, of the summed FCTs of the flows with a size. Each takes its time at the link
// of its path that choose selects, plus the time of its first frame before that link and of its last frame after it.
func (m *fluidModel) leastSum(choose func(path []topologies.PortID) int) float64 {
	plan := m.s.Topology
	jobs := make([][]fluid.Job, len(plan.Ports))
	sum := 0.0
	for i := range m.flows {
		f := &m.flows[i]
		if f.line == 0 {
			continue
		}
		at := choose(f.path)
		if f.more != nil { // all QPs use the first link, and the last
			work, before, after := f.together(plan, at > 0)
			link := &plan.Ports[f.path[0]]
			if at > 0 {
				link = &plan.Ports[f.path[len(f.path)-1]]
			}
			jobs[link.ID] = append(jobs[link.ID], fluid.Job{
				Release: float64(m.s.Flows[i].Start + before),
				Work:    alone(work, link.Rate),
			})
			sum += float64(before + after)
			continue
		}
		link, job, others := m.jobAt(i, choose)
		jobs[link] = append(jobs[link], job)
		sum += float64(others)
	}
	for _, own := range jobs {
		sum += fluid.LowerBound(own)
	}
	return sum
}

// jobAt returns a flow of one QP as a job at the link of its path that choose selects, and the least time of its first
// frame before that link and of its last frame after it.
func (m *fluidModel) jobAt(flow int, choose func(path []topologies.PortID) int) (
	link topologies.PortID, job fluid.Job, others vtime.Time,
) {
	f, plan := &m.flows[flow], m.s.Topology
	at := choose(f.path)
	port := &plan.Ports[f.path[at]]
	before := measure.OneWay(plan, f.path[:at], f.first)
	after := port.Delay + measure.OneWay(plan, f.path[at+1:], f.last) + f.ack
	return port.ID, fluid.Job{
		Release: float64(m.s.Flows[flow].Start + before), Work: alone(f.line, port.Rate),
	}, before + after
}

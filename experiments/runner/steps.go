package runner

import (
	"cmp"
	"fmt"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/traffic/steps"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/table"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/vtime"
)

// Operations holds the operations of a scenario's dependent flows in an engine.
type Operations struct {
	s    *scenario.Scenario
	base []int // by workload: the engine's number of its first operation
}

// AddOperations adds a scenario's operations to an engine, before its flows.
func AddOperations(e *engine.Engine, s *scenario.Scenario) Operations {
	all := Operations{s: s}
	n := 0
	units := map[[2]int]int{}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		all.base = append(all.base, n)
		if w.Graph == nil {
			continue
		}
		e.ReserveOperations(int(w.Graph.Added()), w.Graph.WaitCount())
		var after []engine.Wait
		for id := range w.Graph.Added() {
			o := w.Graph.Operation(id)
			after = after[:0]
			for wait := range w.Graph.Waits(id) {
				after = append(after, engine.Wait{Operation: n + int(wait.Operation), Until: engine.Until(wait.Until)})
			}
			c := engine.OperationConfig{Host: w.Hosts[o.Rank], Kind: engine.OperationKind(o.Kind), Duration: o.Duration}
			if o.Unit > 0 { // workloads share none
				of := [2]int{i, int(o.Unit)}
				units[of] = cmp.Or(units[of], len(units)+1)
				c.Unit = units[of]
			}
			e.AddOperation(c, after...)
		}
		n += int(w.Graph.Added())
	}
	return all
}

// Of returns the engine's numbers, plus 1, of the operations that send and receive a flow of the scenario; 0 for a
// flow with a start time.
func (o *Operations) Of(flow int) (send, receive int32) {
	entry := o.s.Entry(flow)
	if !o.s.Flows[entry].Waits() {
		return 0, 0
	}
	i := o.s.WorkloadOf(entry)
	w := &o.s.Workloads[i]
	m := &w.Graph.Messages[flow-w.First()]
	return int32(o.base[i]) + m.Send + 1, int32(o.base[i]) + m.Receive + 1
}

// addMessages adds the messages of workloads that keep no flow for each, after all other flows.
func (r *runner) addMessages(entropy func(flow, qp int) uint64) {
	lastRTT := !r.Scenario.Sample.NoFlows
	for i := range r.Scenario.Workloads {
		w := &r.Scenario.Workloads[i]
		if w.Graph == nil {
			continue
		}
		if w.Streams() {
			r.engine.AddMessages(engine.MessagesConfig{
				Count: len(w.Graph.Messages), LastRTT: lastRTT,
				Flow: func(number int) engine.FlowConfig {
					c := r.flowConfig(r.Scenario.Entry(number))
					c.Size, c.Entropy = w.Graph.Messages[number-w.First()].Size, entropy(number, 0)
					c.Send, c.Receive = r.operations.Of(number)
					return c
				},
			})
		}
		for k := range w.Graph.Rings {
			ring := &w.Graph.Rings[k]
			of := &w.Graph.Collectives[ring.Collective]
			c := engine.RingConfig{
				Steps: ring.Steps, Chunks: ring.Chunks, Size: ring.Size, LastRTT: lastRTT,
				Entropy: func(number int) uint64 { return entropy(number, 0) },
			}
			for rank := range of.Ranks {
				c.Enter = append(c.Enter, r.operations.base[i]+int(of.Enter[rank]))
				c.Leave = append(c.Leave, r.operations.base[i]+int(of.Leave[rank]))
				c.Flows = append(c.Flows, r.flowConfig(r.Scenario.Entry(w.First()+ring.Message+rank*ring.Chunks)))
			}
			r.engine.AddRing(c)
		}
	}
}

// graphRun holds the results of a workload of dependent flows.
type graphRun struct {
	*runner
	w     *scenario.Workload
	base  int
	limit map[string]vtime.Time // of equal collectives
}

func (g *graphRun) times(operation int32) (began, ended vtime.Time) {
	return g.engine.Operation(g.base + int(operation))
}

func (g *graphRun) host(rank int32) string { return g.Scenario.Topology.Nodes[g.w.Hosts[rank]].Name }

// parts returns the parts of a message, by QP.
func (g *graphRun) parts(message int32) (parts []measure.Part) {
	flow, plan := g.w.First()+int(message), g.Scenario.Topology
	flows := g.flows()
	for _, q := range append([]int32{int32(flow)}, flows.others(flow)...) {
		f := flows.qp(int(q))
		parts = append(parts, measure.Part{
			Size: f.Size, Path: paths.Forward(plan, f.Source, f.Destination, f.Ports),
			Back: paths.Back(plan, f.Source, f.Destination, f.Ports),
		})
	}
	return parts
}

// summariseSteps adds the jobs and collectives to the summary.
func (r *runner) summariseSteps(sum *measure.Summary) {
	for i := range r.Scenario.Workloads {
		w := &r.Scenario.Workloads[i]
		if w.Graph == nil {
			continue
		}
		g := &graphRun{runner: r, w: w, base: r.operations.base[i], limit: map[string]vtime.Time{}}
		sum.Jobs = append(sum.Jobs, g.job())
		byRanks := map[int][]measure.CollectiveRun{}
		var order []int
		for k := range w.Graph.Collectives {
			c := g.collective(&w.Graph.Collectives[k])
			ranks := len(w.Graph.Collectives[k].Ranks)
			r.collectives = append(r.collectives, collectiveRun{w.Tag, ranks, c})
			if byRanks[ranks] == nil {
				order = append(order, ranks)
			}
			byRanks[ranks] = append(byRanks[ranks], c)
		}
		for _, ranks := range order {
			sum.Collectives = append(sum.Collectives, measure.SummariseCollectives(w.Tag, ranks, byRanks[ranks])...)
		}
	}
}

// collectiveRun holds the results of a collective operation of a workload.
type collectiveRun struct {
	tag   string
	ranks int
	measure.CollectiveRun
}

// row returns the row of collectives.csv.
func (c *collectiveRun) row(number int) rundir.CollectiveRow {
	row := rundir.CollectiveRow{
		Number: number, Tag: c.tag, Kind: c.Kind, Algorithm: c.Algorithm, Ranks: c.ranks, Size: c.Size,
		Iteration: c.Iteration,
		Begin:     -1, Completion: -1, Limit: -1, AlgBW: -1, BusBW: -1, Skew: -1, Late: -1,
	}
	if c.Ended {
		row.Begin, row.Completion, row.Limit =
			c.Start.RoundNanoseconds(), c.Time.RoundNanoseconds(), c.Limit.RoundNanoseconds()
		row.AlgBW, row.BusBW = int64(c.Algorithmic()+0.5), int64(c.Bus()+0.5)
		row.Skew, row.Straggler, row.Late = c.Skew.RoundNanoseconds(), c.Straggler, c.Late.RoundNanoseconds()
	}
	return row
}

// writeCollectives writes collectives.csv, if there are any.
func writeCollectives(folder *files.Folder, all []collectiveRun) error {
	if len(all) == 0 {
		return nil
	}
	rows := make([]rundir.CollectiveRow, len(all))
	for i := range all {
		rows[i] = all[i].row(i)
	}
	return rundir.Write(folder, rundir.Collectives, table.Rows(rows))
}

// collective returns the results of a collective.
func (g *graphRun) collective(c *steps.Collective) measure.CollectiveRun {
	run := measure.CollectiveRun{
		Kind: c.Kind, Algorithm: c.Algorithm, Size: c.Size, Factor: c.Factor, Iteration: max(c.Iteration, 0), Ended: true,
		Start: vtime.Never,
	}
	last := vtime.Time(0)
	left := make([]vtime.Time, len(c.Ranks))
	for place := range c.Ranks {
		_, entered := g.times(c.Enter[place])
		_, left[place] = g.times(c.Leave[place])
		if left[place] == vtime.Never {
			run.Ended = false
			return run
		}
		run.Start, last = min(run.Start, entered), max(last, entered)
	}
	latest, late := measure.LateOf(left)
	run.Skew, run.Time = last-run.Start, left[latest]-run.Start
	run.Straggler, run.Late = g.host(c.Ranks[latest]), late
	alike := fmt.Sprint(c.Kind, c.Algorithm, c.Size, c.End-c.First, c.Ranks)
	limit, known := g.limit[alike]
	if !known {
		limit = measure.StepsLimit(g.Scenario.Topology, g.w.Graph, nil, c.First, c.End, g.parts)
		g.limit[alike] = limit
	}
	run.Limit = limit
	return run
}

// job returns the results of the workload as a whole.
func (g *graphRun) job() measure.JobSummary {
	graph := g.w.Graph
	j := measure.JobSummary{Tag: g.w.Tag, Ranks: graph.Ranks, Operations: graph.OperationCount()}
	start, open := g.rings()
	j.Unfinished = open
	ends, computes := make([]vtime.Time, graph.Ranks), make([]vtime.Time, graph.Ranks)
	for id := range graph.Added() {
		o := graph.Operation(id)
		began, ended := g.times(id)
		if ended == vtime.Never {
			j.Unfinished++
			continue
		}
		ends[o.Rank] = max(ends[o.Rank], ended)
		if o.Kind == steps.Compute && o.Unit > 0 {
			computes[o.Rank] += ended - began
		}
		if o.Kind != steps.Compute || o.Unit > 0 { // not the delay before it
			start = min(start, began)
		}
	}
	if start == vtime.Never {
		return j
	}
	j.Start = start.RoundNanoseconds()
	if j.Unfinished > 0 {
		return j
	}
	latest, late := measure.LateOf(ends)
	j.Straggler, j.Late = g.host(int32(latest)), late.RoundNanoseconds()
	jct := ends[latest] - start
	compute, exposed, most := vtime.Time(0), vtime.Time(0), vtime.Time(0)
	for rank := range ends {
		own := max(0, ends[rank]-start-computes[rank])
		compute, exposed, most = compute+computes[rank], exposed+own, max(most, own)
	}
	n := vtime.Time(max(graph.Ranks, 1))
	j.JCT, j.Compute, j.Exposed, j.MostExposed =
		jct.RoundNanoseconds(), (compute / n).RoundNanoseconds(), (exposed / n).RoundNanoseconds(), most.RoundNanoseconds()
	if jct > 0 {
		j.ExposedShare = float64(exposed/n) / float64(jct)
	}
	var order []int32
	if !graph.InOrder() {
		order, _ = graph.Order()
	}
	limit := measure.StepsLimit(g.Scenario.Topology, graph, order, 0, graph.Added(), g.parts)
	j.Limit = max(0, limit-g.w.Delay()).RoundNanoseconds()
	return j
}

// rings returns when the first rank of a ring that has done something entered it, and the number of sends and receives
// that have not ended.
func (g *graphRun) rings() (start vtime.Time, open int) {
	start = vtime.Never
	for k := range g.w.Graph.Rings {
		r := &g.w.Graph.Rings[k]
		c := &g.w.Graph.Collectives[r.Collective]
		for rank := range r.Ranks {
			acknowledged, received := g.ringProgress(k, rank)
			open += 2*r.Messages() - acknowledged - received
			if acknowledged+received > 0 {
				_, entered := g.times(c.Enter[rank])
				start = min(start, entered)
			}
		}
	}
	return start, open
}

// ringProgress returns how many sends and receives of a rank of a ring have ended.
func (g *graphRun) ringProgress(ring, rank int) (acknowledged, received int) {
	before := 0 // rings of other workloads
	for i := range g.Scenario.Workloads {
		w := &g.Scenario.Workloads[i]
		if w == g.w {
			break
		}
		if w.Graph != nil {
			before += len(w.Graph.Rings)
		}
	}
	acknowledged, received, entered := g.engine.RingProgress(before+ring, rank)
	if !entered {
		received = 0 // its receives have not begun
	}
	return acknowledged, received
}

// judgeOperations reports operations that wait forever, or for which the run was too short.
func (r *runner) judgeOperations(v *measure.Verdict) {
	open := r.engine.OpenOperations()
	if open == 0 {
		return
	}
	status, text := measure.Warn, "are unfinished"
	if r.Scenario.Drain {
		status, text = measure.Fail, "did not finish"
	}
	for i := range r.Scenario.Workloads {
		w := &r.Scenario.Workloads[i]
		if w.Graph == nil || w.View.Unfinished {
			continue
		}
		g := &graphRun{runner: r, w: w, base: r.operations.base[i]}
		if n, first := g.open(); n > 0 {
			v.Worsen(status, "%d of %d operations of %s %s: the first started operation that did not finish is %s", n,
				w.Graph.OperationCount(), w.Tag, text, first)
		}
	}
}

// open returns the number of operations that have not ended, and the first of them that has started, in words.
func (g *graphRun) open() (n int, first string) {
	if len(g.w.Graph.Rings) > 0 {
		return g.openRings()
	}
	for id := range g.w.Graph.Added() {
		began, ended := g.times(id)
		if ended != vtime.Never {
			continue
		}
		n++
		if began != vtime.Never && first == "" {
			first = fmt.Sprintf("%s, at %s", g.w.Graph.Describe(id), g.host(g.w.Graph.Operation(id).Rank))
		}
	}
	return n, first
}

// openRings implements open for a workload of rings, whose messages' operations have the numbers that they would have
// in the graph.
func (g *graphRun) openRings() (n int, first string) {
	graph, ring, number := g.w.Graph, 0, 0
	_, n = g.rings()
	for id := range graph.Added() {
		if ring < len(graph.Rings) && id == graph.Collective(ring).Leave[0] {
			r := &graph.Rings[ring]
			for m := r.Message; m < r.Message+r.Ranks*r.Messages(); m++ {
				if first == "" {
					first = g.openMessage(ring, m, number)
				}
				number += 2
			}
			ring++
		}
		if began, ended := g.times(id); ended == vtime.Never {
			n++
			if began != vtime.Never && first == "" {
				first = fmt.Sprintf("%s, at %s", graph.DescribeAs(id, number), g.host(graph.Operation(id).Rank))
			}
		}
		number++
	}
	return n, first
}

// openMessage describes the send of a ring's message with an operation's number, or its receive after it, if it has
// started and not ended; empty: neither has.
func (g *graphRun) openMessage(ring, message, operation int) string {
	r, c := &g.w.Graph.Rings[ring], g.w.Graph.Collective(ring)
	rank, m := r.Position(message)
	from, to := c.Ranks[rank], c.Ranks[(rank+1)%r.Ranks]
	flows := g.flows()
	f := flows.qp(g.w.First() + message)
	_, entered := g.times(c.Enter[(rank+1)%r.Ranks])
	switch {
	case f.Finished != vtime.Never:
	case f.Started():
		return fmt.Sprintf("%s, at %s", steps.DescribeMessage(operation, steps.Send, from, to, r.Size(rank, m)), g.host(from))
	case entered != vtime.Never:
		return fmt.Sprintf("%s, at %s", steps.DescribeMessage(operation+1, steps.Receive, to, from, r.Size(rank, m)),
			g.host(to))
	}
	return ""
}

// flowConfig returns the engine's configuration of flows with an entry, as far as they have it in common.
func (r *runner) flowConfig(entry int) engine.FlowConfig {
	f, own := &r.Scenario.Flows[entry], &r.Flows[entry]
	name := r.Name
	if own.CC != r.CC {
		name = own.CC.Name
	}
	return engine.FlowConfig{
		Source: f.Source, Destination: f.Destination, Ports: own.Ports, Hosts: own.Hosts, Traits: own.Traits, RTT: r.rtt,
		Controller: name, NewController: r.newController,
	}
}

package scenario

import (
	"cmp"
	"slices"

	"github.com/pausenet/pausenet/experiments/traffic/collective"
	"github.com/pausenet/pausenet/experiments/traffic/steps"
	"github.com/pausenet/pausenet/experiments/traffic/workload"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
)

// placements lists the ways to assign ranks to hosts: as listed, rack by rack, each in another rack than the previous,
// or at random by the seed.
var placements = []string{"given", "packed", "across-racks", "random"}

// ranks reads the hosts of the ranks of a workload of dependent flows, and assigns the ranks to them.
func (d *decoder) ranks(m *yamlspec.Mapping, w *Workload) (hosts []int) {
	at := m.Get("ranks")
	hosts = d.hostSet(at, &w.View.Ranks)
	seen := map[string]bool{}
	for _, n := range at.Names() {
		if seen[n.Text] {
			n.At.Errorf("%s is already a rank, and a host can be only one rank of a workload: list it once, or put its other "+
				"rank in another workload", n.Text)
		}
		seen[n.Text] = true
	}
	w.View.Placement = cmp.Or(w.View.Placement, placements[0])
	if hosts == nil {
		return nil
	}
	plan, placement := d.s.Topology, w.View.Placement
	w.place = func(random workload.Stream) []topologies.NodeID {
		order := placed(hosts, racks(plan), placement, random)
		return lists.Map(order, func(h int) topologies.NodeID { return plan.Hosts[h] })
	}
	return hosts
}

// placed returns hosts, by their index, in the order of a placement.
func placed(hosts []int, racks []int32, placement string, random workload.Stream) []int {
	order := slices.Clone(hosts)
	switch placement {
	case "packed":
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(racks[a], racks[b]) })
	case "across-racks":
		turn, seen := map[int]int{}, map[int32]int{}
		for _, h := range order {
			turn[h] = seen[racks[h]]
			seen[racks[h]]++
		}
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(turn[a], turn[b]), cmp.Compare(racks[a], racks[b]))
		})
	case "random":
		for i := len(order) - 1; i > 0; i-- {
			k := random.Below(uint64(i), i+1)
			order[i], order[k] = order[k], order[i]
		}
	}
	return order
}

// step represents a step before ranks are assigned to hosts.
type step struct {
	collective.Step
	root topologies.NodeID // of a broadcast
	slow []topologies.NodeID
	of   []topologies.NodeID // participants; nil: all
}

// at returns the step for ranks at hosts.
func (s *step) at(hosts []topologies.NodeID) collective.Step {
	own := s.Step
	members := hosts
	if s.of != nil {
		members, own.Ranks = s.of, make([]int32, len(s.of))
		for i, h := range s.of {
			own.Ranks[i] = int32(slices.Index(hosts, h))
		}
	}
	if c := own.Collective; c != nil && c.Kind == collective.Broadcast {
		spec := *c
		spec.Root = slices.Index(members, s.root)
		own.Collective = &spec
	}
	if c := own.Compute; c != nil && len(s.slow) > 0 {
		compute := *c
		compute.Slow = map[int]bool{}
		for _, h := range s.slow {
			compute.Slow[slices.Index(hosts, h)] = true
		}
		own.Compute = &compute
	}
	return own
}

// collective reads a workload that is one collective.
func (d *decoder) collective(v *yamlspec.Value, m *yamlspec.Mapping, e *workloadEntry) bool {
	hosts := d.ranks(m, e.Workload)
	d.startOf(m, e)
	s := d.collectiveStep(v, m, e, &e.collective, hosts, e.View.Placement)
	if s == nil {
		return false
	}
	e.job(collective.Job{Iterations: 1, Start: e.clock.Start}, []*step{s})
	return d.fewEnough(v, e, hosts, []*step{s})
}

// startOf checks the start of a workload of dependent flows.
func (d *decoder) startOf(m *yamlspec.Mapping, e *workloadEntry) {
	if start := e.clock.Start; d.s.Duration > 0 && start >= d.s.Duration {
		m.Get("start").Errorf("start %v must be before the end of the run (duration %v)", start, d.s.Duration)
	}
	e.View.Start = nanoseconds(e.clock.Start)
}

func (w *Workload) job(job collective.Job, own []*step) {
	w.ringsOnly = !slices.ContainsFunc(own, func(s *step) bool {
		return s.Barrier || s.Collective != nil && !s.Collective.ByRule()
	})
	w.build = func(random workload.Stream, hosts []topologies.NodeID, byRule bool) (*steps.Graph, error) {
		j := job
		for _, s := range own {
			j.Steps = append(j.Steps, s.at(hosts))
		}
		g := &steps.Graph{Ranks: len(hosts), ByRule: byRule}
		j.Expand(g, len(hosts), random.Uniform)
		return g, nil
	}
}

// fewEnough reports a workload with more messages than a scenario may have flows, before it creates them.
func (d *decoder) fewEnough(v *yamlspec.Value, w *workloadEntry, hosts []int, own []*step) bool {
	w.View.Iterations = w.iterations
	job := collective.Job{Iterations: w.iterations}
	for _, s := range own {
		counted := s.Step
		if s.of != nil {
			counted.Ranks = make([]int32, len(s.of))
		}
		job.Steps = append(job.Steps, counted)
	}
	each := w.messageMemory()
	if w.messages = job.Messages(len(hosts)); w.messages > d.s.mostMessages(each) {
		v.Errorf("%s", d.s.tooMany(float64(w.messages), each))
		return false
	}
	return true
}

// defaultAlgorithm returns the algorithm of a collective that names none.
func defaultAlgorithm(kind string) string {
	switch kind {
	case collective.AllToAll:
		return collective.Direct
	case collective.Broadcast:
		return collective.Tree
	}
	return collective.Ring
}

// collectiveStep returns a complete collective, or nil if that is impossible.
func (d *decoder) collectiveStep(v *yamlspec.Value, m *yamlspec.Mapping, w *workloadEntry, c *collectiveEntry,
	hosts []int, placement string,
) *step {
	spec := &c.Spec
	s := &step{Step: collective.Step{Collective: spec, Overlap: c.overlap}}
	before := v.Report().Count()
	spec.Algorithm, spec.Size = cmp.Or(spec.Algorithm, defaultAlgorithm(spec.Kind)), int64(c.size)
	group, root := m.Get("group"), m.Get("root")
	if group != nil && spec.Algorithm != collective.Hierarchical {
		m.Key("group").Errorf("algorithm %s ignores group: remove it", spec.Algorithm)
	}
	if hosts == nil || v.Report().Count() != before {
		return nil
	}
	if spec.Algorithm == collective.Hierarchical && group == nil {
		if spec.Group = d.rackGroup(hosts, placement); spec.Group == 0 {
			v.Errorf("cannot derive group, because the ranks are not listed rack by rack with equally many in each: set " +
				"it, such as group: 4")
			return nil
		}
	}
	s.root = d.s.Topology.Hosts[hosts[0]]
	if root != nil {
		s.root = d.rootOf(m, root, spec.Kind, hosts)
	}
	if err := spec.Check(len(hosts)); err != nil {
		v.Errorf("%v", err)
	}
	if v.Report().Count() != before {
		return nil
	}
	view := StepView{
		Collective: spec.Kind, Algorithm: spec.Algorithm, Size: c.size, Chunks: spec.Parts(len(hosts)),
		Group: spec.Group, Overlap: c.overlap,
	}
	if spec.Kind == collective.Broadcast {
		view.Root = d.s.Topology.Nodes[s.root].Name
	}
	w.View.Steps = append(w.View.Steps, view)
	return s
}

// rootOf returns the host with the data of a broadcast.
func (d *decoder) rootOf(m *yamlspec.Mapping, v *yamlspec.Value, kind string, hosts []int) (root topologies.NodeID) {
	if kind != collective.Broadcast {
		m.Key("root").Errorf("root applies to a broadcast only, and this is %s: remove it", kind)
		return root
	}
	found := d.members(v, hosts)
	if len(found) > 1 {
		v.Errorf("a broadcast has one root, but root names %d hosts", len(found))
	}
	if len(found) > 0 {
		root = found[0]
	}
	return root
}

// members returns the hosts that v names, which must be among the ranks.
func (d *decoder) members(v *yamlspec.Value, hosts []int) (found []topologies.NodeID) {
	nodes, at := d.find(v)
	for i, id := range d.hosts(nodes, at) {
		if !slices.Contains(hosts, d.s.Topology.Nodes[id].Index) {
			at[min(i, len(at)-1)].Errorf("%s is not one of the ranks", d.s.Topology.Nodes[id].Name)
			continue
		}
		found = append(found, id)
	}
	return found
}

// someRanks returns the ranks of a job that take part in one of its collectives, in the listed order: the indexes of
// their hosts, and their nodes; nil: all.
func (d *decoder) someRanks(m *yamlspec.Mapping, hosts []int,
	placement string,
) (members []int, of []topologies.NodeID, as string) {
	at := m.Get("ranks")
	if at == nil || hosts == nil {
		return hosts, nil, placement
	}
	before := at.Report().Count()
	of = d.members(at, hosts)
	for i, id := range of {
		if slices.Contains(of[:i], id) {
			at.Errorf("%s is listed twice: list it once", d.s.Topology.Nodes[id].Name)
		}
		members = append(members, d.s.Topology.Nodes[id].Index)
	}
	if at.Report().Count() != before {
		return nil, nil, ""
	}
	return members, of, placements[0]
}

// rackGroup returns the number of ranks in each rack, if they are listed rack by rack with equally many in each; 0
// otherwise.
func (d *decoder) rackGroup(hosts []int, placement string) int {
	if placement == "random" || placement == "across-racks" {
		return 0
	}
	of := racks(d.s.Topology)
	order := placed(hosts, of, placement, 0)
	size := 1
	for size < len(order) && of[order[size]] == of[order[0]] {
		size++
	}
	seen := map[int32]bool{}
	for i := 0; i < len(order); i += size {
		rack := of[order[i]]
		if seen[rack] || i+size > len(order) || slices.ContainsFunc(order[i:i+size],
			func(h int) bool { return of[h] != rack }) {
			return 0
		}
		seen[rack] = true
	}
	return size
}

// job reads a workload of iterations of steps.
func (d *decoder) job(v *yamlspec.Value, m *yamlspec.Mapping, e *workloadEntry) bool {
	hosts := d.ranks(m, e.Workload)
	d.startOf(m, e)
	before := v.Report().Count()
	var own []*step
	const example = "a step must be a mapping such as {compute: 1ms} or {collective: {kind: allreduce, size: 64MB}}"
	for _, item := range m.Get("steps").Mappings(example) {
		if s := d.step(item, e, hosts); s != nil {
			own = append(own, s)
		}
	}
	if hosts == nil || v.Report().Count() != before {
		return false
	}
	if len(own) == 0 {
		v.Errorf("a job needs at least one step, such as {collective: {kind: allreduce, size: 64MB}}")
		return false
	}
	if len(hosts) < 2 && slices.ContainsFunc(own, func(s *step) bool { return s.Barrier }) {
		v.Errorf("a barrier needs at least two ranks")
		return false
	}
	e.job(collective.Job{Iterations: e.iterations, Start: e.clock.Start}, own)
	return d.fewEnough(v, e, hosts, own)
}

// step reads one step of a job; nil if it cannot be used.
func (d *decoder) step(v *yamlspec.Value, w *workloadEntry, hosts []int) (s *step) {
	e := &stepEntry{compute: collective.Compute{Factor: 1}}
	m := e.keys().Decode(v)
	n := 0
	for _, kind := range []string{"compute", "collective", "barrier"} {
		if m.Get(kind) != nil {
			n++
		}
	}
	if n != 1 {
		v.Errorf("a step needs exactly one of compute, collective and barrier")
	}
	if !m.Sound() {
		return nil
	}
	if compute := m.Get("compute"); compute != nil {
		return d.compute(compute, w, e.compute, hosts)
	}
	if barrier := m.Get("barrier"); barrier != nil {
		if !e.barrier {
			barrier.Errorf("barrier: false does nothing: remove this step")
		}
		w.View.Steps = append(w.View.Steps, StepView{Barrier: true})
		return &step{Step: collective.Step{Barrier: true}}
	}
	of := m.Get("collective")
	parts := of.Mapping()
	members, own, placement := d.someRanks(parts, hosts, w.View.Placement)
	if s = d.collectiveStep(of, parts, w, &e.collective, members, placement); s != nil {
		s.of = own
		w.View.Steps[len(w.View.Steps)-1].Ranks = d.s.Topology.NamesOf(own)
	}
	return s
}

// compute completes a step in which each rank computes.
func (d *decoder) compute(v *yamlspec.Value, w *workloadEntry, c collective.Compute, hosts []int) *step {
	s := &step{Step: collective.Step{Compute: &c}}
	before := v.Report().Count()
	if v.IsMapping() {
		m := v.Mapping()
		slow, factor := m.Get("slow"), m.Get("factor")
		if !(c.Factor > 0 && c.Factor <= 1e6) {
			factor.Errorf("factor %g must be above 0 and at most 1000000", c.Factor)
		}
		if (slow == nil) != (factor == nil) {
			v.Errorf("slow (the ranks that take longer) and factor (how much longer) go together, such as slow: h3 and " +
				"factor: 1.5: give both")
		}
		if hosts != nil {
			s.slow = d.members(slow, hosts)
		}
	}
	if v.Report().Count() != before {
		return nil
	}
	if longest := float64(c.Time+c.Jitter) * c.Factor; longest > float64(maxDuration) {
		v.Errorf("compute exceeds the maximum of %v", maxDuration)
		return nil
	}
	view := StepView{Compute: nanoseconds(c.Time), Jitter: nanoseconds(c.Jitter), Slow: d.s.Topology.NamesOf(s.slow)}
	if len(s.slow) > 0 {
		view.Factor = c.Factor
	}
	w.View.Steps = append(w.View.Steps, view)
	return s
}

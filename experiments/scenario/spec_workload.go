package scenario

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/experiments/traffic/workload"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/vtime"
)

// workloadKind describes a key that sets the kind of a workload.
type workloadKind struct {
	key, doc string
	// keys returns the keys of the mapping, and example shows one. nil: the value names a file.
	keys    func(*workloadEntry) keys.Table
	example string
	// read reads the rest of the mapping, if its keys have no mistakes, and reports whether the workload is usable.
	read func(d *decoder, v *yamlspec.Value, m *yamlspec.Mapping, e *workloadEntry) bool
}

var workloadKinds = []workloadKind{
	{
		"poisson", "at random independent times, between random pairs of hosts", (*workloadEntry).poissonKeys,
		"{sizes: websearch, load: 50%, of: core}", (*decoder).poisson,
	},
	{
		"incast", "`degree` hosts send to one at once, repeatedly", (*workloadEntry).incastKeys,
		"{degree: 8, size: 64KB, interval: 200us}", (*decoder).incast,
	},
	{"all-to-all", "each host sends to each other", (*workloadEntry).allToAllKeys, "{size: 64KB}", (*decoder).allToAll},
	{
		"permutation", "each host sends to one random host and receives from one", (*workloadEntry).permutationKeys,
		"{size: 1MB}", (*decoder).permutation,
	},
	{"csv", "a file of flows", nil, "", (*decoder).flowTable},
	{"hpcc", "a flow file of HPCC's simulator", nil, "", (*decoder).hpccFlows},
	{
		"collective", "an all-reduce or another collective, whose flows wait for each other " +
			"([collectives.md](collectives.md))", (*workloadEntry).collectiveKeys,
		"{kind: allreduce, size: 16MB}", (*decoder).collective,
	},
	{
		"job", "iterations of compute and collectives ([collectives.md](collectives.md#job))", (*workloadEntry).jobKeys,
		"{steps: [{compute: 1ms}, {collective: {kind: allreduce, size: 16MB}}]}", (*decoder).job,
	},
	{
		"goal", "a schedule in GOAL, as text or binary ([collectives.md](collectives.md#from-files))",
		(*workloadEntry).goalKeys, "{file: trace.goal}", (*decoder).goal,
	},
	{
		"chakra", "Chakra's execution traces ([collectives.md](collectives.md#from-files))", (*workloadEntry).chakraKeys,
		"{files: trace.%d.et}", (*decoder).chakra,
	},
	{
		"messages", "a file of messages that wait for each other ([collectives.md](collectives.md#from-files))", nil, "",
		(*decoder).messages,
	},
}

// kindOf returns the key that sets a workload's kind; "" if it has neither that nor a tag.
func kindOf(v *yamlspec.Value) string {
	for _, kind := range workloadKinds {
		if v.IsMapping() && v.Has(kind.key) {
			return kind.key
		}
	}
	return ""
}

// workloads reads the workloads and draws their flows, after the listed flows.
func (d *decoder) workloads(v *yamlspec.Value) {
	const example = "a workload must be a mapping such as {tag: search, poisson: {sizes: websearch, load: 0.8, of: core}}"
	for _, item := range v.Mappings(example) {
		d.workload(item)
	}
	if d.s.Topology != nil {
		if err := d.s.draw(d.count); err != nil {
			v.Errorf("%v", err)
		}
	}
}

// workload reads one item: a tag, and the key of its kind with its settings.
func (d *decoder) workload(v *yamlspec.Value) {
	e := newWorkloadEntry()
	w := e.Workload
	m := e.keys().Decode(v)
	d.defaultTag = m.Get("tag") == nil
	usable, kinds := false, []string{}
	for i := range workloadKinds {
		kind := &workloadKinds[i]
		kinds = append(kinds, kind.key)
		part := m.Get(kind.key)
		switch {
		case part == nil:
			continue
		case w.View.Kind != "":
			m.Key(kind.key).Errorf("a workload has one kind, and this one already has %s: make it a workload of its own",
				w.View.Kind)
			continue
		}
		w.View.Kind = kind.key
		w.Tag = cmp.Or(w.Tag, kind.key)
		usable = d.kind(part, kind, e)
	}
	d.own(m, &w.own)
	if qps := m.Get("qps"); qps.IsMapping() && qps.Has("via") {
		qps.Mapping().Key("via").Errorf("qps.via is for listed flows only: ECMP chooses the paths of a workload's QPs")
	}
	w.View.OwnView = w.own.view()
	if w.build != nil && w.own.Stop > 0 {
		m.Get("stop").Errorf("the operations that wait for a stopped flow would never start: remove stop")
	}
	if w.View.Kind == "" {
		v.Errorf("a workload needs one of these keys, which sets its kind: %s", strings.Join(kinds, ", "))
	}
	if !usable {
		return
	}
	w.View.Tag = w.Tag
	same := 0
	for i := range d.s.Workloads {
		if d.s.Workloads[i].Tag == w.Tag {
			same++
		}
	}
	w.purpose = fmt.Sprintf("workload %s %d", w.Tag, same)
	d.s.Workloads = append(d.s.Workloads, *w)
}

// kind reads a workload of a kind, and reports whether it is usable.
func (d *decoder) kind(v *yamlspec.Value, kind *workloadKind, e *workloadEntry) bool {
	before := v.Report().Count()
	if kind.keys == nil {
		return e.file != "" && kind.read(d, v, nil, e)
	}
	if !v.IsMapping() {
		v.Errorf("expected a mapping such as %s", kind.example)
		return false
	}
	m := kind.keys(e).Decode(v)
	return m.Sound() && d.s.Topology != nil && kind.read(d, v, m, e) && v.Report().Count() == before
}

func (d *decoder) poisson(v *yamlspec.Value, m *yamlspec.Mapping, e *workloadEntry) bool {
	p := &workload.Poisson{Sizes: d.sizes(v, m, e)}
	from, to := d.hostSet(m.Get("from"), &e.View.From), d.hostSet(m.Get("to"), &e.View.To)
	clock := d.readClock(m, e)
	rate := d.readLoad(v, m, e)
	if p.Sizes == nil || len(from) == 0 || len(to) == 0 || rate == nil || !clock {
		return false
	}
	p.Clock, p.Random = e.clock, true
	p.Pairs = workload.NewPairs(from, to, racks(d.s.Topology), e.relation())
	if p.Pairs.Len() == 0 {
		v.Errorf("no sender has a receiver for pairs: %s", e.View.Pairs)
		return false
	}
	senders := make([]int, p.Pairs.Len())
	for i := range senders {
		senders[i] = p.Pairs.First(i)
	}
	p.Every = rate(senders, p.Sizes.Mean(), p.Pairs.AcrossPart())
	e.View.Interval = p.Every / float64(vtime.Nanosecond)
	return d.bounded(v, e, p, p.Every)
}

func (d *decoder) incast(v *yamlspec.Value, m *yamlspec.Mapping, e *workloadEntry) bool {
	p := &workload.Incast{Sizes: d.sizes(v, m, e), Degree: e.View.Degree}
	from, to := d.hostSet(m.Get("from"), &e.View.From), d.hostSet(m.Get("to"), &e.View.To)
	e.View.Arrivals = cmp.Or(e.View.Arrivals, "periodic")
	clock := d.readClock(m, e)
	rate := d.readLoad(v, m, e)
	if p.Sizes == nil || len(from) == 0 || len(to) == 0 || rate == nil || !clock {
		return false
	}
	p.Clock, p.Random = e.clock, e.View.Arrivals == "poisson"
	p.Pairs = workload.NewPairs(to, from, racks(d.s.Topology), e.relation())
	if p.Pairs.Len() == 0 {
		v.Errorf("no receiver has a sender for pairs: %s", e.View.Pairs)
		return false
	}
	for i := range p.Pairs.Len() {
		if n := p.Pairs.Choices(p.Pairs.First(i)); n < p.Degree {
			m.Get("degree").Errorf("degree: %s can receive from at most %d hosts, not from %d", d.host(p.Pairs.First(i)), n,
				p.Degree)
			return false
		}
	}
	p.Every = rate(from, p.Sizes.Mean()*float64(p.Degree), p.Pairs.AcrossPart())
	e.View.Interval = p.Every / float64(vtime.Nanosecond)
	return d.bounded(v, e, p, p.Every)
}

func (d *decoder) allToAll(v *yamlspec.Value, m *yamlspec.Mapping, e *workloadEntry) bool {
	p := &workload.AllToAll{Sizes: d.sizes(v, m, e)}
	from, to := d.hostSet(m.Get("from"), &e.View.From), d.hostSet(m.Get("to"), &e.View.To)
	if !d.readRounds(m, e) || p.Sizes == nil || len(from) == 0 || len(to) == 0 {
		return false
	}
	p.Clock = e.clock
	p.Pairs = workload.NewPairs(from, to, racks(d.s.Topology), e.relation())
	if p.Pairs.Len() == 0 {
		v.Errorf("no sender has a receiver for pairs: %s", e.View.Pairs)
		return false
	}
	return d.bounded(v, e, p, p.Every)
}

func (d *decoder) permutation(v *yamlspec.Value, m *yamlspec.Mapping, e *workloadEntry) bool {
	p := &workload.Permutation{Sizes: d.sizes(v, m, e), Hosts: d.hostSet(m.Get("hosts"), &e.View.From)}
	if !d.readRounds(m, e) || p.Sizes == nil {
		return false
	}
	if len(p.Hosts) < 2 {
		v.Errorf("a permutation needs at least two hosts")
		return false
	}
	p.Clock = e.clock
	return d.bounded(v, e, p, p.Every)
}

// bounded sets a workload's rule. It reports a rule with too many flows, in total or at a time.
func (d *decoder) bounded(v *yamlspec.Value, e *workloadEntry, r rule, every float64) bool {
	e.rule = r
	switch flows := r.Expected() * float64(r.PerEvent()); {
	case flows+float64(len(d.s.Flows)) > float64(d.s.mostFlows()):
		v.Errorf("%s", d.s.tooMany(flows+float64(len(d.s.Flows)), FlowMemory))
	case every < 1 && flows > 1:
		v.Errorf("the workload starts a flow every picosecond or faster: lower the load or raise the flows' size")
	default:
		return true
	}
	return false
}

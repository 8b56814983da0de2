package scenario

import (
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/experiments/workload"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// workloadKinds are the keys that say what a workload is, one to an item, and what reads them. A reader leaves what it
// reads in the workload and says whether it can be used.
var workloadKinds = []struct {
	key  string
	read func(*decoder, *yamlspec.Value, *yamlspec.Mapping, *Workload) bool
	// example is of the mapping that a rule is; of what may be a name alone there is none.
	example string
}{
	{"poisson", (*decoder).poisson, "{sizes: websearch, load: 50%, of: core}"},
	{"incast", (*decoder).incast, "{degree: 8, size: 64KB, interval: 200us}"},
	{"all-to-all", (*decoder).allToAll, "{size: 64KB}"},
	{"permutation", (*decoder).permutation, "{size: 1MB}"},
	{"csv", (*decoder).flowTable, ""},
	{"hpcc", (*decoder).hpccFlows, ""},
	{"collective", (*decoder).collective, "{kind: allreduce, size: 16MB}"},
	{"job", (*decoder).job, "{steps: [{compute: 1ms}, {collective: {kind: allreduce, size: 16MB}}]}"},
	{"goal", (*decoder).goal, "{file: trace.goal}"},
	{"chakra", (*decoder).chakra, "{files: trace.%d.et}"},
	{"messages", (*decoder).messages, ""},
}

// workloadKind is the key that says what a workload is, "" if there is none: its tag if it has no other.
func workloadKind(v *yamlspec.Value) string {
	for _, kind := range workloadKinds {
		if v.IsMapping() && v.Has(kind.key) {
			return kind.key
		}
	}
	return ""
}

// workloads reads the workloads and draws their flows. It comes after the listed flows.
func (d *decoder) workloads(v *yamlspec.Value) {
	for _, item := range v.Items() {
		d.workload(item)
	}
	if d.s.Topology != nil {
		if err := d.s.draw(d.count); err != nil {
			v.Errorf("%v", err)
		}
	}
}

// workload reads one item: a tag, and the key of its kind with what belongs to it.
func (d *decoder) workload(v *yamlspec.Value) {
	if !v.IsMapping() {
		v.Errorf("a workload must be a mapping such as {tag: search, poisson: {sizes: websearch, load: 0.8, of: core}}")
		return
	}
	m := v.Mapping()
	w := Workload{}
	tag := m.Get("tag")
	d.defaultTag = tag == nil
	if tag.String(&w.Tag) && !tagName.MatchString(w.Tag) {
		tag.Errorf("tag %q: use only letters, digits and _ . + / -", w.Tag)
	}
	usable, kinds := false, []string{}
	for _, kind := range workloadKinds {
		kinds = append(kinds, kind.key)
		part := m.Get(kind.key)
		switch {
		case part == nil:
		case w.View.Kind != "":
			m.Key(kind.key).Errorf("a workload has one kind, and this one already has %s: make it a workload of its own", w.View.Kind)
		case kind.example != "" && !part.IsMapping():
			w.View.Kind = kind.key
			part.Errorf("expected a mapping such as %s", kind.example)
		default:
			w.View.Kind = kind.key
			if w.Tag == "" {
				w.Tag = kind.key
			}
			usable = kind.read(d, part, m, &w)
		}
	}
	m.Get("expect_unfinished").Bool(&w.View.Unfinished)
	w.own.Keys().Read(m)
	d.own(m, &w.own)
	if qps := m.Get("qps"); qps.IsMapping() && qps.Has("via") {
		qps.Mapping().Key("via").Errorf("qps.via is for listed flows only: ECMP chooses the paths of a workload's QPs")
	}
	w.View.OwnView = w.own.view()
	if w.build != nil && w.own.Stop > 0 {
		m.Get("stop").Errorf("the operations that wait for a stopped flow would never start: remove stop")
	}
	m.Done()
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
	d.s.Workloads = append(d.s.Workloads, w)
}

func (d *decoder) poisson(v *yamlspec.Value, _ *yamlspec.Mapping, w *Workload) bool {
	p := &workload.Poisson{Clock: workload.Clock{Random: true}}
	return d.rule(v, func(m *yamlspec.Mapping) bool {
		p.Sizes = d.sizes(m, w)
		from, to := d.hostSet(m.Get("from"), &w.View.From), d.hostSet(m.Get("to"), &w.View.To)
		relation := d.relation(m, w)
		clock := d.readClock(m, &p.Clock, "flows", w)
		rate := d.readLoad(m, w)
		if p.Sizes == nil || from == nil || to == nil || rate == nil || !clock {
			return false
		}
		p.Pairs = workload.NewPairs(from, to, racks(d.s.Topology), relation)
		if p.Pairs.Len() == 0 {
			v.Errorf("no sender has a receiver for pairs: %s", w.View.Pairs)
			return false
		}
		senders := make([]int, p.Pairs.Len())
		for i := range senders {
			senders[i] = p.Pairs.First(i)
		}
		p.Every = rate(senders, p.Sizes.Mean(), p.Pairs.AcrossPart())
		w.View.Interval = p.Every / float64(vtime.Nanosecond)
		w.rule = p
		return d.bounded(v, p.Every, p.Expected()*float64(p.PerEvent()))
	})
}

func (d *decoder) incast(v *yamlspec.Value, _ *yamlspec.Mapping, w *Workload) bool {
	p := &workload.Incast{}
	return d.rule(v, func(m *yamlspec.Mapping) bool {
		p.Sizes = d.sizes(m, w)
		from, to := d.hostSet(m.Get("from"), &w.View.From), d.hostSet(m.Get("to"), &w.View.To)
		relation := d.relation(m, w)
		arrivals := "periodic"
		m.Get("arrivals").Choice(&arrivals, "periodic", "poisson")
		p.Random = arrivals == "poisson"
		w.View.Arrivals = arrivals
		clock := d.readClock(m, &p.Clock, "events", w)
		rate := d.readLoad(m, w)
		degree := m.Need("degree")
		if !degree.Int(&p.Degree, 1, topologies.MaxHosts) || p.Sizes == nil || from == nil || to == nil || rate == nil ||
			!clock {
			return false
		}
		w.View.Degree = p.Degree
		p.Pairs = workload.NewPairs(to, from, racks(d.s.Topology), relation)
		if p.Pairs.Len() == 0 {
			v.Errorf("no receiver has a sender for pairs: %s", w.View.Pairs)
			return false
		}
		for i := range p.Pairs.Len() {
			if n := p.Pairs.Choices(p.Pairs.First(i)); n < p.Degree {
				degree.Errorf("degree: %s can receive from at most %d hosts, not from %d", d.host(p.Pairs.First(i)), n, p.Degree)
				return false
			}
		}
		p.Every = rate(from, p.Sizes.Mean()*float64(p.Degree), p.Pairs.AcrossPart())
		w.View.Interval = p.Every / float64(vtime.Nanosecond)
		w.rule = p
		return d.bounded(v, p.Every, p.Expected()*float64(p.PerEvent()))
	})
}

func (d *decoder) allToAll(v *yamlspec.Value, _ *yamlspec.Mapping, w *Workload) bool {
	p := &workload.AllToAll{}
	return d.rule(v, func(m *yamlspec.Mapping) bool {
		p.Sizes = d.sizes(m, w)
		from, to := d.hostSet(m.Get("from"), &w.View.From), d.hostSet(m.Get("to"), &w.View.To)
		relation := d.relation(m, w)
		if !d.readRounds(m, &p.Clock, w) || p.Sizes == nil || from == nil || to == nil {
			return false
		}
		p.Pairs = workload.NewPairs(from, to, racks(d.s.Topology), relation)
		if p.Pairs.Len() == 0 {
			v.Errorf("no sender has a receiver for pairs: %s", w.View.Pairs)
			return false
		}
		w.rule = p
		return d.bounded(v, p.Every, p.Expected()*float64(p.PerEvent()))
	})
}

func (d *decoder) permutation(v *yamlspec.Value, _ *yamlspec.Mapping, w *Workload) bool {
	p := &workload.Permutation{}
	return d.rule(v, func(m *yamlspec.Mapping) bool {
		p.Sizes = d.sizes(m, w)
		p.Hosts = d.hostSet(m.Get("hosts"), &w.View.From)
		if !d.readRounds(m, &p.Clock, w) || p.Sizes == nil || p.Hosts == nil {
			return false
		}
		if len(p.Hosts) < 2 {
			v.Errorf("a permutation needs at least two hosts")
			return false
		}
		w.rule = p
		return d.bounded(v, p.Every, p.Expected()*float64(p.PerEvent()))
	})
}

// rule reads the mapping of a workload that has one. It says no after any mistake in it.
func (d *decoder) rule(v *yamlspec.Value, read func(m *yamlspec.Mapping) bool) bool {
	before := v.Report().Count()
	m := v.Mapping()
	usable := read(m)
	m.Done()
	return usable && v.Report().Count() == before && d.s.Topology != nil
}

// bounded reports more flows, or more of them at a time, than anybody wants.
func (d *decoder) bounded(v *yamlspec.Value, every, flows float64) bool {
	switch {
	case flows+float64(len(d.s.Flows)) > maxFlows:
		v.Errorf("the workload has about %.0f flows: a scenario may have at most %d", flows, maxFlows)
	case every < 1 && flows > 1:
		v.Errorf("the workload starts a flow every picosecond or faster: lower the load or raise the flows' size")
	default:
		return true
	}
	return false
}

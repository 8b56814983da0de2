package scenario

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// describeCNPs describes the value of `cnp_interval: auto` under these controllers.
func (s *Scenario) describeCNPs(controllers []string) string {
	text := hostagent.Default().CNPInterval.String()
	var each []string
	for _, name := range controllers {
		if own, name, _, err := s.Under(name); err == nil && own.Host.CNPInterval == 0 {
			each = append(each, name)
		}
	}
	if len(each) > 0 {
		text += ", 0s (for every mark) under " + strings.Join(each, ", ")
	}
	return text
}

// describeSelective describes the values of selective repeat's auto settings under these controllers.
func (s *Scenario) describeSelective(controllers []string) (texts []string) {
	for _, name := range controllers {
		own, _, spec, err := s.Under(name)
		if err != nil || own.Host.Recovery != hostagent.SelectiveRepeat {
			continue
		}
		h := HostSettings(own, spec.Needs)
		var auto []string
		if own.Host.Selective.Cap == hostagent.AutoCap {
			auto = append(auto, fmt.Sprintf("bdp_cap %v", h.Selective.Cap))
		}
		switch {
		case own.Host.Selective.Reorder != hostagent.AutoReorder:
		case h.Selective.Reorder == hostagent.NeverReorder:
			auto = append(auto, "reorder never, because trimmed packets report losses")
		default:
			auto = append(auto, fmt.Sprintf("reorder %d", h.Selective.Reorder))
		}
		if text := "selective, auto: " + strings.Join(auto, ", "); len(auto) > 0 && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// Describe writes the scenario for people: its flows, topology, settings and measurements.
func (s *Scenario) Describe(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "scenario %s\n", s.Name)
	if s.Description != "" {
		fmt.Fprintf(&b, "  %s\n", s.Description)
	}
	end := "without draining"
	if s.Drain {
		end = fmt.Sprintf("then drains for at most %v", s.DrainLimit)
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(label, format string, args ...any) { fmt.Fprintf(t, "  "+label+"\t"+format+"\n", args...) }
	row("duration", "%v, %s; seed %d", s.Duration, end, s.Seed)
	if s.Topology.Hash == topologies.HashHPCC {
		row("routing", "equal-cost ports by the hash of HPCC's simulator")
	}
	row("controllers", "%s", strings.Join(s.Controllers, ", "))
	for _, name := range slices.Sorted(maps.Keys(s.ControllerSettings)) {
		constants := s.ControllerSettings[name]
		for _, key := range slices.Sorted(maps.Keys(constants)) {
			row("", "%s.%s = %s", name, key, constants[key])
		}
	}
	for i := range s.Variants {
		row("", "%s is %s", s.Variants[i].Name, s.Variants[i].Describe())
	}
	s.describeSwitch("switches", &s.Switch, &s.Topology.Balancing, row)
	for i := range s.Variants {
		if v := &s.Variants[i]; v.Switch != nil {
			s.describeSwitch("under "+v.Name, v.Switch, v.Balancing, row)
		}
	}
	hosts := func(label string, h *hostagent.Settings, controllers ...string) {
		for i, line := range settings.Host(h).Describe() {
			row(map[bool]string{true: label}[i == 0], "%s", line)
		}
		if h.CNPInterval == settings.CNPAuto {
			row("", "cnp_interval auto: %s", s.describeCNPs(controllers))
		}
		if h.Recovery == hostagent.SelectiveRepeat {
			for _, text := range s.describeSelective(controllers) {
				row("", "%s", text)
			}
		}
	}
	hosts("hosts", &s.Host, s.Controllers...)
	for i := range s.Variants {
		if v := &s.Variants[i]; v.Host != nil {
			hosts("under "+v.Name, v.Host, v.Name)
		}
	}
	for i := range s.Faults {
		label := ""
		if i == 0 {
			label = "faults"
		}
		row(label, "%s", s.Faults[i].Describe(s.Topology))
	}
	row("samples", "every %v of %s and %s", s.Sample.Interval, s.sampledPorts(), s.sampledFlows())
	if len(s.ExpectUnused) > 0 {
		row("may be unused", "%s", strings.Join(s.ExpectUnused, ", "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	describeAuto(&b, "auto", s.Topology, &s.Switch, slices.ContainsFunc(s.Controllers, s.needsCNM))
	for i := range s.Variants {
		if v := &s.Variants[i]; v.Switch != nil && !slices.Equal(automatic(v.Switch, true), automatic(&s.Switch, true)) {
			describeAuto(&b, "auto under "+v.Name, s.Topology, v.Switch, s.needsCNM(v.Name))
		}
	}
	s.describeFlows(&b)
	for _, p := range s.Panels {
		labels := lists.Map(p.Series, func(s Series) string { return s.Label })
		fmt.Fprintf(&b, "panel %s: %s\n", p.Title, strings.Join(labels, "; "))
	}
	for i := range s.Published {
		t := &s.Published[i]
		fmt.Fprintf(&b, "published %s: %d figures of %s\n", t.Heading(), len(t.Rows), strings.Join(t.Columns, ", "))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	return s.Topology.Describe(w)
}

// needsCNM reports whether switches detect bursts under a controller or variant.
func (s *Scenario) needsCNM(name string) bool {
	_, spec, err := s.Controller(name)
	return err == nil && spec.Needs.CNM
}

func (s *Scenario) describeSwitch(label string, sw *switchagent.Settings, balancing *topologies.Balancing,
	row func(label, format string, args ...any),
) {
	own := *sw
	if sw.FlowControl == switchagent.FlowCBFC && sw.CBFC.Buffer != switchagent.Auto {
		own.CBFC.Block = sw.CBFC.BlockSize(sw.CBFC.Buffer, measure.FullSize(s.Topology))
	}
	for i, line := range settings.Switch(&own, balancing).Describe() {
		row(map[bool]string{true: label}[i == 0], "%s", line)
	}
}

// describeFlows writes one line for each group of flows that differ only in hosts and start, and for each workload.
func (s *Scenario) describeFlows(b *strings.Builder) {
	type kind struct {
		tag             string
		size            units.Bytes
		start, constant units.Rate
		unfinished      bool
		jitter          vtime.Time
		own             Own
	}
	type group struct {
		kind
		count         int
		from, to, via nodeList
		first, last   vtime.Time
	}
	var groups []*group
	index := map[kind]*group{}
	listed := s.Listed()
	for i := range listed {
		f := &listed[i]
		extra := f.Extra()
		k := kind{f.Tag, f.Size, extra.StartRate, extra.ConstantRate, f.ExpectUnfinished, extra.Jitter, extra.Own}
		g := index[k]
		if g == nil {
			g = &group{kind: k, first: f.Start}
			index[k], groups = g, append(groups, g)
		}
		g.count++
		g.from.add(f.from(s.Topology))
		g.to.add(f.to(s.Topology))
		for _, id := range extra.Via {
			g.via.add(s.Topology.Nodes[id].Name)
		}
		g.first, g.last = min(g.first, f.Start), max(g.last, f.Start)
	}
	fmt.Fprintf(b, "flows: %d\n", len(s.Flows))
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, g := range groups {
		size := Unbounded
		if g.size > 0 {
			size = "of " + g.size.String()
		}
		when := fmt.Sprintf("at %v", g.first)
		if g.last > g.first {
			when = fmt.Sprintf("at %v to %v", g.first, g.last)
		}
		if g.jitter > 0 {
			when += fmt.Sprintf(" including %v of jitter", g.jitter)
		}
		if len(g.via.names) > 0 {
			when += ", via " + strings.Join(g.via.names, " and ")
		}
		if g.start > 0 {
			when += fmt.Sprintf(", from %v", g.start)
		}
		if g.constant > 0 {
			when += fmt.Sprintf(", constant %v", g.constant)
		}
		own := g.own.view()
		for _, part := range own.describe() {
			when += ", " + part
		}
		if g.unfinished {
			when += ", may outlast the run"
		}
		fmt.Fprintf(t, "  %s\t%d %s\t%s to %s\t%s\n", g.tag, g.count, size,
			topologies.Abbreviate(g.from.names), topologies.Abbreviate(g.to.names), when)
	}
	for i := range s.Workloads {
		fmt.Fprintf(t, "  %s\t%s\n", s.Workloads[i].Tag, s.Workloads[i].View.Describe())
	}
	t.Flush() // A strings.Builder does not fail.
}

// nodeList collects names of nodes, each once, in order of first occurrence.
type nodeList struct {
	names []string
	seen  map[string]bool
}

func (l *nodeList) add(name string) {
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	if !l.seen[name] {
		l.seen[name] = true
		l.names = append(l.names, name)
	}
}

func (s *Scenario) sampledPorts() string {
	if len(s.Sample.Ports) == 0 {
		return "every switch port"
	}
	labels := lists.Map(s.Sample.Ports, func(id topologies.PortID) string { return PortLabel(s.Topology, id) })
	return strings.Join(labels, " ")
}

func (s *Scenario) sampledFlows() string {
	switch {
	case s.Sample.NoFlows:
		return "no flow"
	case len(s.Sample.Flows) == 0:
		return "every flow"
	}
	return "flows " + strings.Join(s.Sample.Flows, " ")
}

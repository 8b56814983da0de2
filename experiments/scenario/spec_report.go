package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// noFlows is what users write for the tags of flows to be sampled if there are to be none.
const noFlows = "none"

// samplesPerRun is how many samples a run takes of everything if the scenario does not say how often.
const samplesPerRun = 1000

func (d *decoder) sampling(v *yamlspec.Value) {
	m := v.Mapping()
	s := &d.s.Sample
	s.Interval = max(vtime.Microsecond, d.s.Duration/samplesPerRun)
	if interval := m.Get("interval"); interval.Time(&s.Interval) && s.Interval < vtime.Nanosecond {
		interval.Errorf("interval %v is too short: at least 1ns", s.Interval)
	}
	for _, item := range m.Get("ports").Items() {
		for _, port := range d.ports(item) {
			if !slices.Contains(s.Ports, port) {
				s.Ports = append(s.Ports, port)
			}
		}
	}
	flows := m.Get("flows")
	s.NoFlows = flows.Raw() == noFlows
	for _, n := range flows.Names() {
		if !s.NoFlows && d.checkTag(n.Text, n.At) {
			s.Flows = append(s.Flows, n.Text)
		}
	}
	m.Done()
}

// checkTag reports a tag that no flow has. It says nothing while the flows have mistakes of their own.
func (d *decoder) checkTag(tag string, at *yamlspec.Value) bool {
	var tags []string
	for i := range d.s.Flows {
		if t := d.s.Flows[i].Tag; !slices.Contains(tags, t) {
			tags = append(tags, t)
		}
	}
	for _, key := range []string{"flows", "workloads"} {
		for _, item := range d.root.Mapping().Get(key).Items() {
			t := item.At("tag").Raw()
			if t == "" {
				t = workloadKind(item)
			}
			if t != "" && !slices.Contains(tags, t) {
				tags = append(tags, t)
			}
		}
	}
	if len(tags) > 0 && !slices.Contains(tags, tag) {
		at.Errorf("no flow has the tag %q%s", tag, yamlspec.Suggest(tag, tags))
		return false
	}
	return true
}

// ports are the ports that v means.
func (d *decoder) ports(v *yamlspec.Value) []topologies.PortID {
	var text string
	if !v.String(&text) || d.s.Topology == nil {
		return nil
	}
	ports, err := FindPorts(d.s.Topology, text)
	if err != nil {
		v.Errorf("%v", err)
	}
	return ports
}

// FindPorts is the ports that users mean by "node:peer", all of them if links run in parallel, or by "node:n", the node's
// port n. Where a node or peer can stand, so can one port of it: "h0.2", or its interface's name, "h0-eth2"; that may also be all of the text.
func FindPorts(plan *topologies.Plan, text string) ([]topologies.PortID, error) {
	name, peer, found := strings.Cut(text, ":")
	node, own, err := portOf(plan, name)
	if !found {
		if err == nil && own != noPort {
			return []topologies.PortID{own}, nil
		}
		return nil, fmt.Errorf("%q is not a port: write node:peer, such as L2:S1, or node:number", text)
	}
	if err != nil {
		return nil, err
	}
	if n, err := strconv.Atoi(peer); err == nil {
		switch {
		case own != noPort:
			return nil, fmt.Errorf("%s is one port already: write %s, or %s:%d", name, name, node.Name, plan.Ports[own].Number)
		case n < 1 || n > len(node.Ports):
			return nil, fmt.Errorf("%s has ports 1..%d", name, len(node.Ports))
		}
		return []topologies.PortID{node.Ports[n-1]}, nil
	}
	far, end, err := portOf(plan, peer)
	var ports []topologies.PortID
	var neighbours []string
	for _, id := range node.Ports {
		if own != noPort && own != id {
			continue
		}
		neighbour := plan.PeerNode(id).Name
		if err == nil && far.Name == neighbour && (end == noPort || end == plan.Ports[id].Peer) {
			ports = append(ports, id)
		}
		if !slices.Contains(neighbours, neighbour) {
			neighbours = append(neighbours, neighbour)
		}
	}
	switch {
	case len(ports) > 0:
		return ports, nil
	case own != noPort:
		return nil, fmt.Errorf("no link from %s to %q: that port is cabled to %s", name, peer, neighbours[0])
	case err == nil && end != noPort:
		return nil, fmt.Errorf("no link from %s to %q: that port is cabled to %s", name, peer, plan.PeerNode(end).Name)
	}
	return nil, fmt.Errorf("no link from %s to %q%s", name, peer, yamlspec.Suggest(peer, neighbours))
}

const noPort topologies.PortID = -1

// portOf is the node that a name stands for, or the node and the one port of it: "h0.2", "h0-eth2", "leaf0-eth5"; noPort without.
func portOf(plan *topologies.Plan, name string) (*topologies.Node, topologies.PortID, error) {
	if node := plan.NodeByName(name); node != nil {
		return node, noPort, nil
	}
	if i := strings.LastIndex(name, "-eth"); i > 0 {
		if node := plan.NodeByName(name[:i]); node != nil && node.Kind == topologies.Switch {
			if n, err := strconv.Atoi(name[i+len("-eth"):]); err == nil && n >= 1 && n <= len(node.Ports) {
				return node, node.Ports[n-1], nil
			}
			return nil, noPort, fmt.Errorf("no port %s: %s has ports 1..%d", name, node.Name, len(node.Ports))
		}
	}
	if node, number, _ := strings.Cut(name, "."); plan.NodeByName(node) != nil && plan.NodeByName(node).Kind == topologies.Switch {
		return nil, noPort, fmt.Errorf("%s is a switch: its ports are %s:%s, or %s:peer", node, node, cmp.Or(number, "1"), node)
	}
	host, place, err := plan.End(name)
	if err != nil {
		return nil, noPort, err
	}
	return &plan.Nodes[host], plan.Nodes[host].Ports[place], nil
}

func (d *decoder) report(v *yamlspec.Value) {
	for _, item := range v.Items() {
		if !item.IsMapping() {
			item.Errorf("a panel is a mapping such as {title: Queues, series: [{queue: \"L2:R1\"}]}")
			continue
		}
		m := item.Mapping()
		var panel Panel
		m.Need("title").String(&panel.Title)
		if window := m.Get("window"); window.Time(&panel.Window) && d.s.Sample.Interval > 0 && panel.Window%d.s.Sample.Interval != 0 {
			window.Errorf("window %v is not a multiple of the sampling interval %v", panel.Window, d.s.Sample.Interval)
		}
		m.Get("note").String(&panel.Note)
		m.Get("log").Bool(&panel.Log)
		for _, series := range m.Need("series").Items() {
			if !series.IsMapping() {
				series.Errorf("a series is a mapping such as {label: L2 to R1, queue: \"L2:R1\"}")
				continue
			}
			if s, ok := d.series(series); ok {
				panel.Series = append(panel.Series, s)
			}
		}
		m.Done()
		d.s.Panels = append(d.s.Panels, panel)
	}
}

// spans reads the stretches of time that the report's plots shade.
func (d *decoder) spans(v *yamlspec.Value) {
	for _, item := range v.Items() {
		if !item.IsMapping() {
			item.Errorf("a span is a mapping such as {from: 20ms, to: 27ms, label: burst}")
			continue
		}
		m := item.Mapping()
		var s Span
		sound := m.Need("from").Time(&s.From)
		sound = m.Need("to").Time(&s.To) && sound
		m.Need("label").String(&s.Label)
		m.Done()
		if sound && s.To <= s.From {
			m.Get("to").Errorf("a span ends after it begins: %v is not after %v", s.To, s.From)
		}
		d.s.Spans = append(d.s.Spans, s)
	}
}

// quantities are what a series may show.
var quantities = [...]Quantity{
	QueueBytes, IngressBytes, PauseRate, CongestedMarks, UndeterminedMarks, PortState, Throughput, SendingRate,
}

// Quantities are what a series of a report may show.
func Quantities() []Quantity { return quantities[:] }

func (d *decoder) series(v *yamlspec.Value) (s Series, ok bool) {
	m := v.Mapping()
	defer m.Done()
	m.Get("label").String(&s.Label)
	var subject *yamlspec.Value
	for _, q := range quantities {
		value := m.Get(string(q))
		if value == nil {
			continue
		}
		if subject != nil {
			m.Key(string(q)).Errorf("a series shows one quantity: %s or %s, not both", s.Quantity, q)
			continue
		}
		s.Quantity, subject = q, value
	}
	reference, label, priority := m.Get("reference"), m.Get("reference_label"), m.Get("priority")
	if subject == nil {
		v.Errorf("a series shows one of queue, ingress, pause, ce, ue, state (of a port), goodput, rate (of a flow's tag)")
		return s, false
	}
	if s.Label == "" {
		s.Label = fmt.Sprintf("%s %s", s.Quantity, subject.Raw())
	}
	switch {
	case s.Quantity == Throughput || s.Quantity == SendingRate:
		ok = subject.String(&s.Tag) && d.checkTag(s.Tag, subject)
	case s.Quantity == PauseRate && subject.Raw() == allPorts:
		s.Port, ok = AllPorts, true
	default:
		s.Port, ok = d.seriesPort(subject)
	}
	s.Priority = d.seriesPriority(priority, &s)
	s.Reference = d.reference(reference, label, s.Quantity)
	return s, ok
}

// allPorts is what users write for AllPorts.
const allPorts = "all"

// seriesPriority reads the one priority that a series is about, as Series has it.
func (d *decoder) seriesPriority(v *yamlspec.Value, s *Series) uint8 {
	priority := 0
	if v == nil || !v.Int(&priority, 0, 7) {
		return 0
	}
	switch s.Quantity {
	case QueueBytes, IngressBytes, PauseRate, Throughput, SendingRate:
		if s.Port != AllPorts {
			return 1 + uint8(priority)
		}
	}
	v.Errorf("priority: only queue, ingress, goodput, rate, and pause of one port, can be of one priority")
	return 0
}

// seriesPort is the one switch port that v means.
func (d *decoder) seriesPort(v *yamlspec.Value) (topologies.PortID, bool) {
	ports := d.ports(v)
	switch {
	case len(ports) == 0:
		return 0, false
	case len(ports) > 1:
		numbers := make([]string, len(ports))
		node, _, _ := strings.Cut(v.Raw(), ":")
		for i, id := range ports {
			numbers[i] = fmt.Sprintf("%s:%d", node, d.s.Topology.Ports[id].Number)
		}
		v.Errorf("%s means %d ports: write one of %s", v.Raw(), len(ports), strings.Join(numbers, ", "))
		return 0, false
	}
	port := &d.s.Topology.Ports[ports[0]]
	if n := &d.s.Topology.Nodes[port.Node]; n.Kind == topologies.Host {
		v.Errorf("%s is a host: a series shows the switch's side of the link, %s:%s",
			n.Name, d.s.Topology.PeerNode(port.ID).Name, n.Name)
		return 0, false
	}
	return port.ID, true
}

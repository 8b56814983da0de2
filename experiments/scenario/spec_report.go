package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// noFlows selects no flows in the list of sampled tags.
const noFlows = "none"

// samplesPerRun sets the default number of samples in a run.
const samplesPerRun = 1000

func (d *decoder) sampling(v *yamlspec.Value) {
	s := &d.s.Sample
	s.Interval = max(vtime.Microsecond, d.s.Duration/samplesPerRun)
	m := s.keys().Decode(v)
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
}

// keys returns the keys of sample.
func (s *Sampling) keys() keys.Table {
	return keys.Table{
		keys.Time("interval", &s.Interval).AtLeast("1ns").Usually("1/1000 of `duration`, at least `1us`").Means(
			"time between two samples"),
		keys.Names("ports").Usually("every switch port").Means("ports in `ports.csv`"),
		keys.Names("flows").Usually("every flow").Means("tags in `rates.csv`; `none` for no flow"),
	}
}

// checkTag reports a tag that no flow has, unless the flows have mistakes of their own.
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
				t = kindOf(item)
			}
			if t != "" && !slices.Contains(tags, t) {
				tags = append(tags, t)
			}
		}
	}
	if len(tags) > 0 && !slices.Contains(tags, tag) {
		at.Errorf("no flow has the tag %q%s", tag, spelling.Suggest(tag, tags))
		return false
	}
	return true
}

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

// FindPorts returns the ports that "node:peer" or "node:n" names: all parallel links to the peer, or port n of the
// node. A node or peer may also be a single port, "h0.2" or its interface's name, "h0-eth2"; such a port may also
// stand alone.
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
			return nil, fmt.Errorf("%s is already a single port: write %s or %s:%d", name, name, node.Name,
				plan.Ports[own].Number)
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
		return nil, fmt.Errorf("no link from %s to %q: that port is connected to %s", name, peer, neighbours[0])
	case err == nil && end != noPort:
		return nil, fmt.Errorf("no link from %s to %q: that port is connected to %s", name, peer, plan.PeerNode(end).Name)
	}
	return nil, fmt.Errorf("no link from %s to %q%s", name, peer, spelling.Suggest(peer, neighbours))
}

const noPort topologies.PortID = -1

// portOf returns the node of a name, or the node and its port: "h0.2", "h0-eth2", "leaf0-eth5". The port is noPort if
// the name is that of a node.
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
	if node, number, _ := strings.Cut(name, "."); plan.NodeByName(node) != nil &&
		plan.NodeByName(node).Kind == topologies.Switch {
		return nil, noPort, fmt.Errorf("%s is a switch: name its port as %s:%s or %s:peer", node, node, cmp.Or(number, "1"),
			node)
	}
	host, place, err := plan.End(name)
	if err != nil {
		return nil, noPort, err
	}
	return &plan.Nodes[host], plan.Nodes[host].Ports[place], nil
}

func (d *decoder) report(v *yamlspec.Value) {
	for _, item := range v.Mappings("a panel must be a mapping such as {title: Queues, series: [{queue: \"L2:R1\"}]}") {
		var panel Panel
		m := panel.keys().Decode(item)
		if interval := d.s.Sample.Interval; interval > 0 && panel.Window%interval != 0 {
			m.Get("window").Errorf("window %v must be a multiple of the sampling interval %v", panel.Window, interval)
		}
		const example = "a series must be a mapping such as {label: L2 to R1, queue: \"L2:R1\"}"
		for _, item := range m.Get("series").Mappings(example) {
			if s, ok := d.series(item); ok {
				panel.Series = append(panel.Series, s)
			}
		}
		d.s.Panels = append(d.s.Panels, panel)
	}
}

func (p *Panel) keys() keys.Table {
	return keys.Table{
		keys.Text("title", &p.Title).Need().Means("heading"),
		keys.Text("note", &p.Note).Means("a line under it"),
		keys.Time("window", &p.Window).Usually("one interval").Means(
			"averaging window of rates, a multiple of the sampling interval"),
		keys.Flag("log", &p.Log).Means("`true`: a logarithmic scale"),
		keys.List("series", new(Series).keys).Need().Means("the curves"),
	}
}

// spans reads the intervals of time that the report's plots shade.
func (d *decoder) spans(v *yamlspec.Value) {
	for _, item := range v.Mappings("a span must be a mapping such as {from: 20ms, to: 27ms, label: burst}") {
		var s Span
		if m := s.keys().Decode(item); m.Sound() && s.To <= s.From {
			m.Get("to").Errorf("to %v must be later than from, %v", s.To, s.From)
		}
		d.s.Spans = append(d.s.Spans, s)
	}
}

func (s *Span) keys() keys.Table {
	return keys.Table{
		keys.Time("from", &s.From).Need().Means("start of the interval"),
		keys.Time("to", &s.To).Need().Means("end of the interval"),
		keys.Text("label", &s.Label).Need().Means("text at the interval"),
	}
}

// quantities lists the quantities of a series; each is a key.
var quantities = []struct {
	Quantity
	ofTag, byPriority bool
	doc               string
}{
	{QueueBytes, false, true, "bytes in the port's egress queue"},
	{
		IngressBytes, false, true,
		"bytes from this port that the switch has buffered: the count that is compared with XOFF",
	},
	{PauseRate, false, true, "PAUSE frames that the port sends, per second; `all` for all ports together"},
	{CongestedMarks, false, false, "packets that the port marks congestion experienced, per second"},
	{UndeterminedMarks, false, false, "packets that the port marks undetermined encountered (TCD), per second"},
	{
		PortState, false, false,
		"TCD state of the port and the data's priority: 0 not congested, 1 undetermined, 2 congested",
	},
	{Throughput, true, true, "payload delivered, bits per second, summed over the flows with the tag"},
	{SendingRate, true, true, "the controller's rate, summed over the flows with the tag"},
}

func (s *Series) keys() keys.Table {
	t := keys.Table{keys.Text("label", &s.Label).Usually("the quantity and its subject").Means("text in the legend")}
	for _, q := range quantities {
		subject := "switch port"
		if q.ofTag {
			subject = "tag"
		}
		t = append(t, keys.Other(string(q.Quantity), subject, aText).Present("one of these").Means(q.doc))
	}
	level := func() keys.Schema { return keys.OfTypes("string", "number") }
	return append(t, keys.Table{
		keys.OwnPriority("priority", &s.Priority).Usually("all priorities of data").Means(
			"plots one priority, next to `queue`, `ingress`, `pause`, `goodput` or `rate`"),
		keys.Other("reference", "number, or setting", level).Means(
			"a [level](#reference) to draw across the panel, such as `pfc.xoff`"),
		keys.Text("reference_label", &s.Reference.Label).Usually("the setting's").Means("text at the level"),
	}...)
}

// series reads a series of a panel.
func (d *decoder) series(v *yamlspec.Value) (s Series, ok bool) {
	m := s.keys().Decode(v)
	var subject *yamlspec.Value
	byPriority := false
	for _, q := range quantities {
		switch value := m.Get(string(q.Quantity)); {
		case value == nil:
		case subject != nil:
			m.Key(string(q.Quantity)).Errorf("a series shows one quantity, not both %s and %s: write two series", s.Quantity,
				q.Quantity)
		default:
			s.Quantity, subject, byPriority = q.Quantity, value, q.byPriority
		}
	}
	if subject == nil {
		v.Errorf("a series needs one of queue, ingress, pause, ce, ue, state (of a port), goodput or rate (of a flow's tag)")
		return s, false
	}
	s.Label = cmp.Or(s.Label, fmt.Sprintf("%s %s", s.Quantity, subject.Raw()))
	switch {
	case s.Quantity == Throughput || s.Quantity == SendingRate:
		ok = subject.String(&s.Tag) && d.checkTag(s.Tag, subject)
	case s.Quantity == PauseRate && subject.Raw() == allPorts:
		s.Port, ok = AllPorts, true
	default:
		s.Port, ok = d.seriesPort(subject)
	}
	if s.Priority > 0 && (!byPriority || s.Port == AllPorts) {
		m.Get("priority").Errorf("priority: only queue, ingress, goodput, rate and the pause of one port can show " +
			"a single priority")
	}
	s.Reference.read(m, s.Quantity)
	return s, ok
}

// allPorts names AllPorts in a scenario.
const allPorts = "all"

// seriesPort returns the one switch port that v names.
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
		v.Errorf("%s names %d ports: write one of %s", v.Raw(), len(ports), strings.Join(numbers, ", "))
		return 0, false
	}
	port := &d.s.Topology.Ports[ports[0]]
	if n := &d.s.Topology.Nodes[port.Node]; n.Kind == topologies.Host {
		v.Errorf("%s is a host: name the switch's end of the link, %s:%s",
			n.Name, d.s.Topology.PeerNode(port.ID).Name, n.Name)
		return 0, false
	}
	return port.ID, true
}

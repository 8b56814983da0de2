package spec

import (
	"path/filepath"
	"strings"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Limits on a spec besides those of plans.
const (
	maxWeight     = 64
	maxBreakout   = 8       // 800G modules have eight lanes
	maxInterfaces = 1 << 18 // ports of all hosts: MaxHosts with 2 ports each
	maxLinks      = 1 << 20

	minRate  = units.Mbps
	maxRate  = 10 * units.Tbps
	maxDelay = vtime.Second
	minMTU   = 64
	maxMTU   = maxInterfaceMTU - topologies.RoCEHeaders // queue pairs of programs have path MTUs of up to 4096

	minInterfaceMTU = 1280 // IPv6's minimum (RFC 8200, section 5)
	maxInterfaceMTU = 9216
)

// Defaults of a spec.
const (
	defaultRate  = 40 * units.Gbps
	defaultDelay = vtime.Microsecond
	defaultMTU   = 1000
)

// Parse resolves the spec in data. The error holds every mistake with its position in the file.
func Parse(filename string, data []byte) (*topologies.Plan, error) {
	report := new(yamlspec.Report)
	plan := Decode(report.Parse(filename, data), nameOf(filename))
	if err := report.Err(); err != nil {
		return nil, err
	}
	return plan, nil
}

// Load resolves the spec in the file at path.
func Load(path string) (*topologies.Plan, error) {
	data, err := files.Read(path, yamlspec.SpecFile)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// nameOf returns the default name of a topology.
func nameOf(filename string) string {
	base := filepath.Base(filename)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// Decode resolves the spec in v, which may be part of a larger file; name is the default name. It reports mistakes to
// v's report and returns nil in that case.
func Decode(v *yamlspec.Value, name string) *topologies.Plan {
	if v == nil {
		return nil
	}
	report := v.Report()
	before := report.Count()
	d := newDraft(name)
	d.at = v
	d.decode(v)
	// After a wrong scalar, which keeps its default, check the rest, but not what was built from it.
	sound := report.Count() == before
	d.check(sound)
	if report.Count() != before {
		return nil
	}
	return d.plan()
}

// cable holds the properties of a link.
type cable struct {
	rate  units.Rate
	delay vtime.Time
	mtu   int // of the interfaces at its ends; 0: the default
}

// draft represents a topology with resolved names that has not been checked.
type draft struct {
	name, description string
	framing           topologies.Framing
	mtu               int
	base              cable // default of links
	at                *yamlspec.Value

	nodes  []draftNode
	links  []draftLink
	byName map[string]int

	defaults *programs // nil: none, as for kinds
	kinds    [2]*programs
	groups   map[string]*programs // by name
	commands []topologies.Command
	learn    bool // the value of Plan.LearnGateway
}

func newDraft(name string) *draft {
	return &draft{
		name: name, mtu: defaultMTU, base: cable{rate: defaultRate, delay: defaultDelay},
		byName: map[string]int{},
	}
}

type draftNode struct {
	name   string
	kind   topologies.Kind
	buffer units.Bytes
	at     *yamlspec.Value
	links  []int

	programs *programs     // its own; nil: none
	group    yamlspec.Name // its group; empty: none
}

type draftLink struct {
	a, b int
	cable
	weight int // 0: the default, 1
	// breakout: number of ports into which a's port is split, 0: none; lane: position of this one
	breakout, lane int
	at             *yamlspec.Value
}

func (d *draft) decode(v *yamlspec.Value) {
	m := d.keys().Decode(v)
	built := m.Get("hpcc") != nil
	for i := range builders {
		kind := &builders[i]
		part := m.Get(kind.key)
		switch {
		case part != nil && built:
			m.Key(kind.key).Errorf("use only one of star, leafspine, fattree, rail, planes and hpcc; extend it " +
				"with nodes and links")
		case part != nil:
			built = true
			d.decodeAndBuild(kind, part)
		}
	}
	d.hpccFile(m.Get("hpcc"))
	nodes := m.Get("nodes")
	for _, item := range nodes.Mappings("a node must be a mapping such as {name: H0..H15, kind: host}") {
		d.decodeNodes(item)
	}
	changed := map[int]*yamlspec.Value{}
	if links := m.Get("links"); links.IsMapping() {
		links.Mapping().All(func(key, value *yamlspec.Value) { d.changeLink(key, value, changed) })
	} else {
		for _, item := range links.Mappings("a link must be a mapping such as {from: H0..H15, to: L2}") {
			d.decodeLinks(item)
		}
	}
	const change = "an entry of change_links must be a mapping such as {from: leaf0, to: spine1, rate: 10Gbps}"
	for _, item := range m.Get("change_links").Mappings(change) {
		d.changeLinks(item, changed)
	}
	const programs = "a change is a mapping such as {name: h0..h3, exec: [iperf3 -s -D]}"
	for _, item := range m.Get("change_nodes").Mappings(programs) {
		d.changeNodes(item)
	}
	d.decodeDefaults(m)
	d.decodeCommands(m.Get("commands"))
	if !built && nodes == nil && v.IsMapping() {
		v.Errorf("the topology is empty: add star, leafspine, fattree, rail, planes, hpcc (a file of HPCC's simulator), " +
			"or your own nodes and links")
	}
}

// decodeNodes reads one entry of nodes: {name: S0..S1, kind: switch, buffer: 22MB}.
func (d *draft) decodeNodes(v *yamlspec.Value) {
	e := new(nodeEntry)
	m := e.keys().Decode(v)
	if m.Get("kind").Raw() == topologies.Host.String() {
		m.Key("buffer").Errorf("buffer is for switches only: a host has no shared buffer")
	}
	names, programs := m.Get("name").Names(), e.decode(m)
	if len(d.nodes)+len(names) > topologies.MaxHosts+topologies.MaxSwitches {
		v.Errorf("more than %d hosts and %d switches in the topology", topologies.MaxHosts, topologies.MaxSwitches)
		return
	}
	for _, n := range names {
		d.add(draftNode{name: n.Text, kind: e.kind, at: n.At, buffer: e.buffer, programs: programs, group: e.group})
	}
}

// decodeLinks reads one entry of links: {from: H2..H15, to: L2, rate: 40Gbps, delay: 5us, count: 1}. It links each
// name of from to each of to. With breakout, the rate is that of a port of from, whose parts lead to as many nodes of
// to.
func (d *draft) decodeLinks(v *yamlspec.Value) {
	e := &linkEntry{cable: d.base, count: 1}
	m := e.keys().Decode(v)
	from, to := m.Get("from").Names(), m.Get("to").Names()
	c, count, weight, breakout := e.cable, e.count, e.weight, e.breakout
	if breakout > 0 {
		if c.rate%units.Rate(breakout) != 0 || c.rate/units.Rate(breakout) < minRate {
			m.Get("breakout").Errorf("a port of %v cannot be split into %d ports of equal rate: change rate or breakout", c.rate,
				breakout)
		}
		c.rate = max(c.rate/units.Rate(breakout), minRate)
	}
	if len(d.links)+len(from)*len(to)*count > maxLinks {
		v.Errorf("more than %d links in the topology", maxLinks)
		return
	}
	ends, others := d.find(from), d.find(to)
	made := make(map[[2]int]bool, len(from)*len(to))
	for i, a := range ends {
		lane := 0
		for j, b := range others {
			if a < 0 || b < 0 {
				continue
			}
			if a == b {
				from[i].At.Errorf("a link would connect %s to itself", from[i].Text)
				continue
			}
			if pair := [2]int{min(a, b), max(a, b)}; made[pair] {
				to[j].At.Errorf("this entry links %s and %s twice: name each pair once, and use count for parallel links",
					from[i].Text, to[j].Text)
				continue
			} else {
				made[pair] = true
			}
			for range count {
				d.link(a, b, c, to[j].At)
				d.weigh(m.Get("weight"), len(d.links)-1, weight)
				if l := &d.links[len(d.links)-1]; breakout > 0 {
					l.breakout, l.lane = breakout, lane%breakout
					lane++
				}
			}
		}
	}
}

// weigh sets a link's weight, which only links between switches may have.
func (d *draft) weigh(at *yamlspec.Value, link, weight int) {
	l := &d.links[link]
	if weight > 1 && (d.nodes[l.a].kind == topologies.Host || d.nodes[l.b].kind == topologies.Host) {
		at.Errorf("%s and %s: weight applies to links between switches only, because a host's link is the only path "+
			"to its port", d.nodes[l.a].name, d.nodes[l.b].name)
		return
	}
	if weight > 0 {
		l.weight = weight
	}
}

// changeLinks reads one entry of change_links: {from: leaf0, to: spine1, rate: 10Gbps}. It changes the rate, delay,
// interface MTU or weight of every link between a name of from and a name of to.
func (d *draft) changeLinks(v *yamlspec.Value, changed map[int]*yamlspec.Value) {
	c := &change{at: v, linkEntry: linkEntry{cable: cable{delay: -1}}}
	m := append(c.endKeys(""), c.changeKeys()...).Decode(v)
	from, to := m.Get("from").Names(), m.Get("to").Names()
	if !c.changes() {
		return
	}
	ends, others := d.find(from), d.find(to)
	for i, a := range ends {
		for j, b := range others {
			if a < 0 || b < 0 {
				continue
			}
			if !d.change(a, b, c, to[j].At, changed) {
				to[j].At.Errorf("no link between %s and %s: change_links changes existing links only (add one under links)",
					from[i].Text,
					to[j].Text)
			}
		}
	}
}

// changeLink reads an entry of links that is a mapping: leaf0-spine1: {rate: 10Gbps}. It changes the link of that
// name.
func (d *draft) changeLink(key, v *yamlspec.Value, changed map[int]*yamlspec.Value) {
	name := key.Raw()
	if !v.IsMapping() {
		v.Errorf("a change of a link must be a mapping such as {rate: 10Gbps}")
		return
	}
	c := &change{at: v, linkEntry: linkEntry{cable: cable{delay: -1}}}
	if c.changeKeys().Decode(v); !c.changes() {
		return
	}
	for i := range name { // names of nodes may also contain -
		if name[i] != '-' && name[i] != ':' {
			continue
		}
		a, known := d.byName[name[:i]]
		b, too := d.byName[name[i+1:]]
		if known && too && d.change(a, b, c, key, changed) {
			return
		}
	}
	key.Errorf("no link %q: a mapping under links changes existing links, named by their nodes such as leaf0-spine1; "+
		"write a list to add links", name)
}

// change holds new values for a link. 0, or a negative delay, means no change.
type change struct {
	linkEntry
	at *yamlspec.Value
}

// changes reports an entry that changes nothing.
func (c *change) changes() bool {
	if v := c.at; !v.Has("rate") && !v.Has("delay") && !v.Has("weight") && !v.Has("interface_mtu") {
		v.Errorf("this entry changes nothing: give at least one of rate, delay, interface_mtu and weight")
		return false
	}
	return true
}

// change changes all links between two nodes, and reports whether there are any.
func (d *draft) change(a, b int, c *change, at *yamlspec.Value, changed map[int]*yamlspec.Value) (found bool) {
	for _, l := range d.nodes[a].links {
		link := &d.links[l]
		if link.a+link.b-a != b {
			continue
		}
		found = true
		if before := changed[l]; before != nil {
			at.Errorf("the link from %s to %s is already changed (line %d)", d.nodes[a].name, d.nodes[b].name, before.Line())
			break
		}
		changed[l] = c.at
		if c.rate > 0 {
			link.rate = c.rate
		}
		if c.delay >= 0 {
			link.delay = c.delay
		}
		if c.mtu > 0 {
			link.mtu = c.mtu
		}
		d.weigh(c.at.At("weight"), l, c.weight)
	}
	return found
}

// find returns the nodes of the names, -1 for an unknown name, which it reports.
func (d *draft) find(names []yamlspec.Name) []int {
	found := make([]int, len(names))
	for i, n := range names {
		id, ok := d.byName[n.Text]
		if !ok {
			id = -1
			n.At.Errorf("no node %q%s", n.Text, spelling.Suggest(n.Text, d.names()))
		}
		found[i] = id
	}
	return found
}

func (d *draft) names() []string {
	return lists.Map(d.nodes, func(e draftNode) string { return e.name })
}

// add adds a node, and reports a name that is already used.
func (d *draft) add(n draftNode) int {
	if first, ok := d.byName[n.name]; ok {
		n.at.Errorf("node %q already exists (line %d)", n.name, d.nodes[first].at.Line())
		return first
	}
	d.byName[n.name] = len(d.nodes)
	d.nodes = append(d.nodes, n)
	return len(d.nodes) - 1
}

func (d *draft) link(a, b int, c cable, at *yamlspec.Value) {
	d.nodes[a].links = append(d.nodes[a].links, len(d.links))
	d.nodes[b].links = append(d.nodes[b].links, len(d.links))
	d.links = append(d.links, draftLink{a: a, b: b, cable: c, at: at})
}

// plan makes the plan of a checked draft.
func (d *draft) plan() *topologies.Plan {
	b := &topologies.Blueprint{
		Name: d.name, Description: d.description, Framing: d.framing, MTU: d.mtu, Commands: d.commands, LearnGateway: d.learn,
		Nodes: make([]topologies.Node, len(d.nodes)), Cables: make([]topologies.Cable, len(d.links)),
	}
	for i := range d.nodes {
		n := &d.nodes[i]
		b.Nodes[i] = topologies.Node{Name: n.name, Kind: n.kind, Buffer: n.buffer, Programs: d.programsOf(n)}
	}
	for i := range d.links {
		l := &d.links[i]
		b.Cables[i] = topologies.Cable{
			A: l.a, B: l.b, Rate: l.rate, Delay: l.delay, MTU: l.mtu, Weight: l.weight, Breakout: l.breakout, Lane: l.lane,
		}
	}
	return topologies.New(b)
}

// Keys returns the keys of a topology file.
func Keys() keys.Table { return newDraft("").keys() }

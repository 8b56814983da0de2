package spec

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
)

// builderKind describes a key of a topology that makes nodes and links from a few numbers.
type builderKind struct {
	key, doc string
	roles    []role
	keys     func(*builder) keys.Table
	build    func(*builder)
}

// role describes a role of a builder's nodes. Their names follow the pattern unless the file sets another.
type role struct{ name, pattern string }

var (
	ofHosts  = role{"host", "h%d"}
	ofLeaves = []role{{"leaf", "leaf%d"}, {"spine", "spine%d"}, ofHosts}
)

// builders lists the builders. A topology has at most one.
var builders = []builderKind{
	{"star", "hosts around one switch", []role{{"switch", "s%d"}, ofHosts}, (*builder).starKeys, (*builder).star},
	{"leafspine", "leaf switches, each cabled to each spine", ofLeaves, (*builder).leafSpineKeys, (*builder).leafSpine},
	{
		"fattree", "a fat-tree of three layers",
		[]role{{"edge", "edge%d"}, {"aggregation", "agg%d"}, {"core", "core%d"}, ofHosts},
		(*builder).fatTreeKeys, (*builder).fatTree,
	},
	{"rail", "the rail-optimised leaf-spine of GPU clusters", ofLeaves, (*builder).railKeys, (*builder).rail},
	{"planes", "leaf-spines without links between them", ofLeaves, (*builder).planesKeys, (*builder).planes},
}

// builder holds the values of a builder's keys.
type builder struct {
	*draft
	kind                 *builderKind
	at                   *yamlspec.Value
	base, host, fabric   cable // host: for links to hosts; fabric: for links between switches
	hostRate, fabricRate units.Rate
	buffer               units.Bytes
	patterns             map[string]*string // by role

	spines, leaves, rails, groups       int // rails: number of ports of a host
	hosts, parallel                     int // hosts of a star, leaf, group or edge switch, and links of each host
	k, pods, edges, aggregations, cores int
}

func newBuilder(d *draft, kind *builderKind) *builder {
	b := &builder{
		draft: d, kind: kind, base: d.base, patterns: map[string]*string{}, spines: -1, groups: 1, parallel: 1,
	}
	for _, r := range kind.roles {
		b.patterns[r.name] = &r.pattern
	}
	return b
}

// decodeAndBuild reads the keys of a builder, and builds its nodes and links.
func (d *draft) decodeAndBuild(kind *builderKind, v *yamlspec.Value) {
	b := newBuilder(d, kind)
	b.at = v
	b.keys().Decode(v)
	b.host, b.fabric = b.base, b.base
	b.host.rate, b.fabric.rate = cmp.Or(b.hostRate, b.base.rate), cmp.Or(b.fabricRate, b.base.rate)
	kind.build(b)
}

// linkHost links a host to a switch.
func (b *builder) linkHost(host, sw int) {
	for range b.parallel {
		b.link(host, sw, b.host, b.at)
	}
}

func (b *builder) node(role string, index int) int {
	n := draftNode{
		name: strings.Replace(*b.patterns[role], "%d", strconv.Itoa(index), 1),
		kind: topologies.Switch, buffer: b.buffer, at: b.at,
	}
	if role == "host" {
		n.kind, n.buffer = topologies.Host, 0
	}
	return b.add(n)
}

func (b *builder) nodesOf(role string, count int) []int {
	ids := make([]int, count)
	for i := range ids {
		ids[i] = b.node(role, i)
	}
	return ids
}

// star builds hosts around one switch.
func (b *builder) star() {
	if b.hosts == 0 {
		return
	}
	center := b.node("switch", 0)
	for _, h := range b.nodesOf("host", b.hosts) {
		b.linkHost(h, center)
	}
}

// leafSpine links every leaf to every spine. A leaf's ports to hosts come first, then its uplinks in the order of the
// spines.
func (b *builder) leafSpine() {
	leaves, spines, perLeaf := b.leaves, b.spines, b.hosts
	if spines <= 0 || leaves == 0 || perLeaf == 0 || b.tooLarge(leaves*perLeaf, leaves+spines,
		leaves*(perLeaf*b.parallel+spines)) {
		return
	}
	leaf, spine, host := b.nodesOf("leaf", leaves), b.nodesOf("spine", spines), b.nodesOf("host", leaves*perLeaf)
	for i, l := range leaf {
		for _, h := range host[i*perLeaf : (i+1)*perLeaf] {
			b.linkHost(h, l)
		}
		for _, s := range spine {
			b.link(l, s, b.fabric, b.at)
		}
	}
}

// rail builds the rail-optimised leaf-spine of GPU clusters. Port n of each host of a group is linked to the group's
// n-th leaf, so that ports with one number, a rail, connect without a spine. Every leaf is linked to every spine. With
// two rails, hosts are dual-homed.
func (b *builder) rail() {
	rails, perGroup, groups, spines := b.rails, b.hosts, b.groups, b.spines
	if rails == 0 || perGroup == 0 || spines < 0 ||
		b.tooLarge(groups*perGroup, groups*rails+spines, groups*rails*(perGroup+spines)) {
		return
	}
	if spines == 0 && groups > 1 {
		b.at.Errorf("%d groups of hosts need at least one spine to connect them", groups)
		return
	}
	leaf, spine, host := b.nodesOf("leaf", groups*rails), b.nodesOf("spine", spines), b.nodesOf("host", groups*perGroup)
	for i, h := range host {
		for _, l := range leaf[i/perGroup*rails:][:rails] {
			b.link(h, l, b.host, b.at)
		}
	}
	for _, l := range leaf {
		for _, s := range spine {
			b.link(l, s, b.fabric, b.at)
		}
	}
}

// planes builds separate leaf-spines; port n of each host is in the n-th. Plane 0 has the first leaves and spines.
func (b *builder) planes() {
	planes, spines, leaves, perLeaf := b.rails, b.spines, b.leaves, b.hosts
	if planes == 0 || leaves == 0 || perLeaf == 0 || spines < 0 ||
		b.tooLarge(leaves*perLeaf, planes*(leaves+spines), planes*leaves*(perLeaf+spines)) {
		return
	}
	if spines == 0 && leaves > 1 {
		b.at.Errorf("a plane with %d leaves needs at least one spine", leaves)
		return
	}
	leaf, spine, host := b.nodesOf("leaf", planes*leaves), b.nodesOf("spine", planes*spines), b.nodesOf("host",
		leaves*perLeaf)
	for plane := range planes {
		for i, h := range host {
			b.link(h, leaf[plane*leaves+i/perLeaf], b.host, b.at)
		}
		for _, l := range leaf[plane*leaves:][:leaves] {
			for _, s := range spine[plane*spines:][:spines] {
				b.link(l, s, b.fabric, b.at)
			}
		}
	}
}

// fatTree builds three layers. With k alone it is the k-ary fat-tree of Al-Fares et al. (SIGCOMM 2008, section 3): k
// pods of k/2 edge and k/2 aggregation switches, k/2 hosts for each edge switch, (k/2)^2 core switches. Each number
// can be given instead: the fabric of the HPCC simulations is {pods: 5, edges: 4, aggregations: 4, cores: 16,
// hosts_per_edge: 16}. Aggregation switch i of every pod is linked to the same cores, the i-th part of them.
func (b *builder) fatTree() {
	half := b.k / 2
	if b.k%2 != 0 {
		b.at.At("k").Errorf("k must be even: half of a switch's ports lead up and half down")
		half, b.k = 0, 0
	}
	for _, part := range []struct {
		key string
		n   *int
		byK int
	}{
		{"pods", &b.pods, b.k},
		{"edges", &b.edges, half},
		{"aggregations", &b.aggregations, half},
		{"cores", &b.cores, half * half},
		{"hosts_per_edge", &b.hosts, half},
	} {
		if !b.at.Has(part.key) && !b.at.Has("k") && b.at.IsMapping() {
			b.at.Errorf("missing key %q (or give k for a k-ary fat-tree)", part.key)
		}
		*part.n = cmp.Or(*part.n, part.byK)
	}
	pods, edges, aggregations, cores, perEdge := b.pods, b.edges, b.aggregations, b.cores, b.hosts
	if min(pods, edges, aggregations, cores, perEdge) == 0 ||
		b.tooLarge(pods*edges*perEdge, pods*(edges+aggregations)+cores,
			pods*(edges*(perEdge*b.parallel+aggregations)+cores)) {
		return
	}
	if cores%aggregations != 0 {
		b.at.Errorf("%d cores cannot be divided evenly among %d aggregation switches of a pod", cores, aggregations)
		return
	}
	edge, aggregation := b.nodesOf("edge", pods*edges), b.nodesOf("aggregation", pods*aggregations)
	core, host := b.nodesOf("core", cores), b.nodesOf("host", pods*edges*perEdge)
	perAggregation := cores / aggregations
	for i, e := range edge {
		for _, h := range host[i*perEdge : (i+1)*perEdge] {
			b.linkHost(h, e)
		}
		pod := i / edges
		for _, a := range aggregation[pod*aggregations : (pod+1)*aggregations] {
			b.link(e, a, b.fabric, b.at)
		}
	}
	for i, a := range aggregation {
		share := i % aggregations * perAggregation
		for _, c := range core[share : share+perAggregation] {
			b.link(a, c, b.fabric, b.at)
		}
	}
}

// tooLarge reports sizes above the limits before building anything.
func (b *builder) tooLarge(hosts, switches, links int) bool {
	switch {
	case hosts > topologies.MaxHosts || switches > topologies.MaxSwitches:
		b.at.Errorf("%d hosts and %d switches exceed the limits of %d and %d", hosts, switches, topologies.MaxHosts,
			topologies.MaxSwitches)
	case links > maxLinks:
		b.at.Errorf("%d links exceed the limit of %d", links, maxLinks)
	default:
		return false
	}
	return true
}

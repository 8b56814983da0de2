package topologies

import (
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/units"
)

// builder is what the builders' parameters have in common: cables towards hosts and between switches, name patterns,
// and the buffer of the switches.
type builder struct {
	*draft
	at           *yamlspec.Value
	host, fabric cable
	buffer       units.Bytes
	patterns     map[string]string
}

// portsPerHost reads how many parallel links each host has to its switch.
func (b *builder) portsPerHost(m *yamlspec.Mapping) int {
	n := 1
	m.Get("ports_per_host").Int(&n, 1, MaxPortsPerHost)
	return n
}

// hostLinks cables a host to a switch.
func (b *builder) hostLinks(host, sw, count int) {
	for range count {
		b.link(host, sw, b.host, b.at)
	}
}

// begin reads the common parameters. patterns are the default name patterns by role.
func (d *draft) begin(m *yamlspec.Mapping, v *yamlspec.Value, base cable, patterns map[string]string,
	roles ...string,
) *builder {
	base = decodeCable(m, base)
	b := &builder{draft: d, at: v, host: base, fabric: base, patterns: patterns}
	decodeRate(m.Get("host_rate"), &b.host.rate)
	if buffer := m.Get("buffer"); buffer.Bytes(&b.buffer) && b.buffer == 0 {
		buffer.Errorf("a buffer must be positive; leave it out to use the scenario's")
	}
	names := m.Get("names").Mapping()
	for _, role := range roles {
		given := names.Get(role)
		var pattern string
		if !given.String(&pattern) {
			continue
		}
		if strings.Count(pattern, "%") != 1 || !strings.Contains(pattern, "%d") {
			given.Errorf("name pattern %q needs one %%d, the number's place, such as \"L%%d\"", pattern)
			continue
		}
		patterns[role] = pattern
	}
	names.Done()
	return b
}

func (b *builder) node(role string, index int) int {
	n := draftNode{
		name: strings.Replace(b.patterns[role], "%d", strconv.Itoa(index), 1),
		kind: Switch, buffer: b.buffer, at: b.at,
	}
	if role == "host" {
		n.kind, n.buffer = Host, 0
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

// star: hosts around one switch.
func (d *draft) star(v *yamlspec.Value, base cable) {
	m := v.Mapping()
	hosts := 0
	m.Need("hosts").Int(&hosts, 1, MaxPortsPerSwitch)
	b := d.begin(m, v, base, map[string]string{"switch": "s%d", "host": "h%d"}, "switch", "host")
	ports := b.portsPerHost(m)
	m.Done()
	if hosts == 0 {
		return
	}
	center := b.node("switch", 0)
	for _, h := range b.nodesOf("host", hosts) {
		b.hostLinks(h, center, ports)
	}
}

// leafSpine: every leaf is cabled to every spine; a leaf's ports are its hosts', then its uplinks in the spines' order.
func (d *draft) leafSpine(v *yamlspec.Value, base cable) {
	m := v.Mapping()
	var spines, leaves, perLeaf int
	m.Need("spines").Int(&spines, 1, MaxSwitches)
	m.Need("leaves").Int(&leaves, 1, MaxSwitches)
	m.Need("hosts_per_leaf").Int(&perLeaf, 1, MaxPortsPerSwitch)
	b := d.begin(m, v, base, map[string]string{"leaf": "leaf%d", "spine": "spine%d", "host": "h%d"}, "leaf", "spine",
		"host")
	decodeRate(m.Get("fabric_rate"), &b.fabric.rate)
	ports := b.portsPerHost(m)
	m.Done()
	if spines == 0 || leaves == 0 || perLeaf == 0 || b.tooLarge(leaves*perLeaf, leaves+spines,
		leaves*(perLeaf*ports+spines)) {
		return
	}
	leaf, spine, host := b.nodesOf("leaf", leaves), b.nodesOf("spine", spines), b.nodesOf("host", leaves*perLeaf)
	for i, l := range leaf {
		for _, h := range host[i*perLeaf : (i+1)*perLeaf] {
			b.hostLinks(h, l, ports)
		}
		for _, s := range spine {
			b.link(l, s, b.fabric, v)
		}
	}
}

// rail: the rail-optimised leaf-spine of GPU clusters. Hosts come in groups; port n of each host of a group is cabled
// to the group's n-th leaf, so that ports of one number, a rail, meet without a spine. Every leaf is cabled to every
// spine. Two rails are dual-homed hosts.
func (d *draft) rail(v *yamlspec.Value, base cable) {
	m := v.Mapping()
	var rails, perGroup, spines int
	groups := 1
	m.Need("rails").Int(&rails, 1, MaxPortsPerHost)
	m.Need("hosts_per_group").Int(&perGroup, 1, MaxPortsPerSwitch)
	m.Get("groups").Int(&groups, 1, MaxSwitches)
	spinesOK := m.Need("spines").Int(&spines, 0, MaxSwitches)
	b := d.begin(m, v, base, map[string]string{"leaf": "leaf%d", "spine": "spine%d", "host": "h%d"}, "leaf", "spine",
		"host")
	decodeRate(m.Get("fabric_rate"), &b.fabric.rate)
	m.Done()
	if rails == 0 || perGroup == 0 || groups == 0 || !spinesOK ||
		b.tooLarge(groups*perGroup, groups*rails+spines, groups*rails*(perGroup+spines)) {
		return
	}
	if spines == 0 && groups > 1 {
		v.Errorf("%d groups of hosts need spines: nothing else joins them", groups)
		return
	}
	leaf, spine, host := b.nodesOf("leaf", groups*rails), b.nodesOf("spine", spines), b.nodesOf("host", groups*perGroup)
	for i, h := range host {
		for _, l := range leaf[i/perGroup*rails:][:rails] {
			b.link(h, l, b.host, v)
		}
	}
	for _, l := range leaf {
		for _, s := range spine {
			b.link(l, s, b.fabric, v)
		}
	}
}

// planes: leaf-spines beside each other that no link joins; port n of each host is in the n-th. Plane 0 has the first
// leaves and spines.
func (d *draft) planes(v *yamlspec.Value, base cable) {
	m := v.Mapping()
	var planes, spines, leaves, perLeaf int
	m.Need("planes").Int(&planes, 1, MaxPortsPerHost)
	spinesOK := m.Need("spines").Int(&spines, 0, MaxSwitches)
	m.Need("leaves").Int(&leaves, 1, MaxSwitches)
	m.Need("hosts_per_leaf").Int(&perLeaf, 1, MaxPortsPerSwitch)
	b := d.begin(m, v, base, map[string]string{"leaf": "leaf%d", "spine": "spine%d", "host": "h%d"}, "leaf", "spine",
		"host")
	decodeRate(m.Get("fabric_rate"), &b.fabric.rate)
	m.Done()
	if planes == 0 || leaves == 0 || perLeaf == 0 || !spinesOK ||
		b.tooLarge(leaves*perLeaf, planes*(leaves+spines), planes*leaves*(perLeaf+spines)) {
		return
	}
	if spines == 0 && leaves > 1 {
		v.Errorf("%d leaves of a plane need spines: nothing else joins them", leaves)
		return
	}
	leaf, spine, host := b.nodesOf("leaf", planes*leaves), b.nodesOf("spine", planes*spines), b.nodesOf("host",
		leaves*perLeaf)
	for plane := range planes {
		for i, h := range host {
			b.link(h, leaf[plane*leaves+i/perLeaf], b.host, v)
		}
		for _, l := range leaf[plane*leaves:][:leaves] {
			for _, s := range spine[plane*spines:][:spines] {
				b.link(l, s, b.fabric, v)
			}
		}
	}
}

// fatTree: three layers. With k alone it is the k-ary fat-tree of Al-Fares et al. (SIGCOMM 2008, section 3): k pods of
// k/2 edge and k/2 aggregation switches, k/2 hosts an edge switch, (k/2)^2 core switches. Each number can be given
// instead: the fabric of the HPCC simulations is {pods: 5, edges: 4, aggregations: 4, cores: 16, hosts_per_edge: 16}.
// Aggregation switch i of every pod is cabled to the same cores, the i-th part of them.
func (d *draft) fatTree(v *yamlspec.Value, base cable) {
	m := v.Mapping()
	k := 0
	kGiven := m.Get("k")
	if kGiven.Int(&k, 2, 2*MaxSwitches) && k%2 != 0 {
		kGiven.Errorf("k must be even: half of a switch's ports go up, half go down")
		k = 0
	}
	count := func(key string, byK int) int {
		n := byK
		if given := m.Get(key); given != nil {
			given.Int(&n, 1, MaxHosts)
		} else if kGiven == nil && v.IsMapping() {
			v.Errorf("missing key %q (or give k for a k-ary fat-tree)", key)
		}
		return n
	}
	pods, edges, aggregations := count("pods", k), count("edges", k/2), count("aggregations", k/2)
	cores, perEdge := count("cores", k*k/4), count("hosts_per_edge", k/2)
	b := d.begin(m, v, base,
		map[string]string{"edge": "edge%d", "aggregation": "agg%d", "core": "core%d", "host": "h%d"},
		"edge", "aggregation", "core", "host")
	decodeRate(m.Get("fabric_rate"), &b.fabric.rate)
	ports := b.portsPerHost(m)
	m.Done()
	if min(pods, edges, aggregations, cores, perEdge) == 0 ||
		b.tooLarge(pods*edges*perEdge, pods*(edges+aggregations)+cores, pods*(edges*(perEdge*ports+aggregations)+cores)) {
		return
	}
	if cores%aggregations != 0 {
		v.Errorf("%d cores cannot be shared evenly by %d aggregation switches of a pod", cores, aggregations)
		return
	}
	edge, aggregation := b.nodesOf("edge", pods*edges), b.nodesOf("aggregation", pods*aggregations)
	core, host := b.nodesOf("core", cores), b.nodesOf("host", pods*edges*perEdge)
	perAggregation := cores / aggregations
	for i, e := range edge {
		for _, h := range host[i*perEdge : (i+1)*perEdge] {
			b.hostLinks(h, e, ports)
		}
		pod := i / edges
		for _, a := range aggregation[pod*aggregations : (pod+1)*aggregations] {
			b.link(e, a, b.fabric, v)
		}
	}
	for i, a := range aggregation {
		share := i % aggregations * perAggregation
		for _, c := range core[share : share+perAggregation] {
			b.link(a, c, b.fabric, v)
		}
	}
}

// tooLarge reports sizes past the bounds before anything of them is built.
func (b *builder) tooLarge(hosts, switches, links int) bool {
	switch {
	case hosts > MaxHosts || switches > MaxSwitches:
		b.at.Errorf("%d hosts and %d switches: at most %d and %d are possible", hosts, switches, MaxHosts, MaxSwitches)
	case links > maxLinks:
		b.at.Errorf("%d links: at most %d are possible", links, maxLinks)
	default:
		return false
	}
	return true
}

package spec

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
)

// keys returns the keys of a topology file. Those of single values are bound to the draft; decode reads the others.
func (d *draft) keys() keys.Table {
	t := append(keys.Table{
		keys.Text("name", &d.name).Usually("the file's name").Means("name of the topology"),
		keys.Text("description", &d.description).Usually("none").Means("for people"),
		keys.Word("framing", &d.framing, "ethernet", "ns3").Means(
			"the size of a frame on the wire, in switches' buffers and " +
				"against their thresholds. `ethernet`: FCS, preamble and inter-packet gap (24 B), at least 60 B per frame; in " +
				"buffers only the frame's own bytes. `ns3`: as in the ns-3 RDMA simulators, 48 B besides the payload of a data " +
				"packet, on the wire and in buffers"),
		keys.Integer("mtu", &d.mtu).Between(strconv.Itoa(minMTU),
			strconv.Itoa(maxMTU)).Means("payload bytes of a full RoCE " +
			"packet: with all headers that fits interfaces of 9216 B. RoCE's path MTUs end at 4096, and so do those of " +
			"programs' queue pairs"),
	}, d.base.keys()...)
	t = append(t, keys.Either("l2", &d.learn, "static", "learn").Means("on a "+
		"[live fabric](live.md#addresses-arp-and-ipv6): `static`: hosts know their leaf's link-layer address; `learn`: "+
		"they ask for it, by ARP and neighbour discovery"))
	for i := range builders {
		kind := &builders[i]
		of := func() keys.Table { return newBuilder(d, kind).keys() }
		t = append(t, keys.Mapping(kind.key, of).Usually("none").Means(kind.doc))
	}
	links := func() keys.Schema {
		link := new(linkEntry)
		return keys.AnyOf(keys.ListOf(link.keys().JSONSchema()), keys.MapOf(link.changeKeys().JSONSchema()))
	}
	programs := func() keys.Table { return new(programs).keys(false) }
	groups := func() keys.Schema { return keys.MapOf(programs().JSONSchema()) }
	commands := func() keys.Schema { return keys.MapOf(keys.ListOf(keys.String)) }
	return append(t,
		keys.Text("hpcc", new(string)).Usually("none").Means("in place of a builder, a topology file of HPCC's simulator, "+
			"relative to this file; its nodes become `h0`, `s320` and so on, by their numbers"),
		keys.List("nodes", new(nodeEntry).keys).Means("your own nodes, alone or in addition to a builder's"),
		keys.Other("links", "list of mappings, or mapping", links).Means(
			"your own links; or, as a mapping, changes of links by their names, `{leaf0-spine1: {rate: 10Gbps}}`"),
		keys.List("change_links", func() keys.Table {
			return append(new(linkEntry).endKeys("existing links"), new(linkEntry).changeKeys()...)
		}).Means("other rates and delays for some of the links: see below"),
		keys.List("change_nodes", new(nodeEntry).changeKeys).Means(
			"the environment of programs on existing nodes in a live fabric: [below](#programs-on-nodes)"),
		keys.Mapping("defaults", programs).Means("the same keys for all nodes"),
		keys.GroupOf("kinds", &keys.Group{}).Means("the same keys for all hosts, or for all switches"),
		keys.Mapping("kinds.host", programs), keys.Mapping("kinds.switch", programs),
		keys.Other("groups", "mappings by name", groups).Means(
			"the same keys for all nodes that name the group; they override `kinds` and `defaults`"),
		keys.Other("commands", "lists of texts by name", commands).Means(
			"your own verbs for the shell of a live fabric: [below](#verbs-of-your-own)"),
	)
}

// rateKey returns a key with the rate of links.
func rateKey(name string, rate *units.Rate) keys.Key {
	return keys.Rate(name, rate).Between(minRate.String(), maxRate.String())
}

// keys returns the keys of cables.
func (c *cable) keys() keys.Table {
	return keys.Table{
		rateKey("rate", &c.rate).Means("rate of the links"),
		keys.Time("delay", &c.delay).AtMost(maxDelay.String()).Means("propagation delay of the links, one way"),
		keys.Integer("interface_mtu", &c.mtu).Between(strconv.Itoa(minInterfaceMTU), strconv.Itoa(maxInterfaceMTU)).
			Usually("1500, or `mtu` + 160 if that is more").Means("MTU of the links' interfaces: the longest IP packet, with " +
			"its header, that programs of a [live fabric](live.md) can send. RoCE packets take `mtu` and up to 160 bytes, " +
			"and must fit"),
	}
}

// keysUsually returns the keys of cables with text as the documented default.
func (c *cable) keysUsually(text string) keys.Table {
	t := c.keys()
	for i := range t {
		t[i].Default = text
	}
	return t
}

// bufferKey returns the key with the shared buffer of switches.
func bufferKey(buffer *units.Bytes) keys.Key {
	return keys.Size("buffer", buffer).Usually("the scenario's").
		NotZero("remove it to use the scenario's switch.buffer").Means("shared buffer of the switches")
}

// count returns a key with a number of switches, hosts or links.
func count(name string, n *int, most int, doc string) keys.Key {
	return keys.Integer(name, n).Between("1", strconv.Itoa(most)).Means(doc)
}

// pattern matches patterns of nodes' names.
var pattern = regexp.MustCompile(`^[^%]*%d[^%]*$`)

// keys returns the keys of a builder: its own, and those that all have.
func (b *builder) keys() keys.Table {
	t := slices.Concat(b.kind.keys(b), b.base.keysUsually("the topology's"), keys.Table{
		rateKey("host_rate", &b.hostRate).Usually("rate").Means("rate of the links to hosts"),
		bufferKey(&b.buffer),
		keys.GroupOf("names", &keys.Group{}).Means("a name pattern for each role, with one `%d`"),
	})
	for _, role := range b.kind.roles {
		t = append(t, keys.Matching("names."+role.name, b.patterns[role.name], pattern,
			"a name pattern needs one %d, the number's place, such as L%d"))
	}
	return t
}

// switchKeys returns the keys of builders with links between switches.
func (b *builder) switchKeys(more ...keys.Key) keys.Table {
	return append(more, rateKey("fabric_rate", &b.fabricRate).Usually("rate").Means("rate of the links between switches"))
}

func (b *builder) parallelKey() keys.Key {
	return count("ports_per_host", &b.parallel, topologies.MaxPortsPerHost, "parallel links of a host to its switch")
}

func (b *builder) starKeys() keys.Table {
	return keys.Table{
		count("hosts", &b.hosts, topologies.MaxPortsPerSwitch, "hosts around one switch").Need(), b.parallelKey(),
	}
}

func (b *builder) leafSpineKeys() keys.Table {
	return b.switchKeys(
		count("spines", &b.spines, topologies.MaxSwitches, "spine switches").Need(),
		count("leaves", &b.leaves, topologies.MaxSwitches, "leaf switches, each cabled to each spine").Need(),
		count("hosts_per_leaf", &b.hosts, topologies.MaxPortsPerSwitch, "hosts of a leaf").Need(), b.parallelKey())
}

// spinesKey returns the key of builders whose spines may be missing.
func (b *builder) spinesKey(doc string) keys.Key {
	return keys.Integer("spines", &b.spines).Need().Between("0", strconv.Itoa(topologies.MaxSwitches)).Means(doc)
}

func (b *builder) railKeys() keys.Table {
	return b.switchKeys(
		count("rails", &b.rails, topologies.MaxPortsPerHost, "ports of a host, each at a leaf of its own").Need(),
		count("groups", &b.groups, topologies.MaxSwitches, "groups of hosts with leaves of their own"),
		count("hosts_per_group", &b.hosts, topologies.MaxPortsPerSwitch, "hosts of a group").Need(),
		b.spinesKey("spine switches; 0: rails meet nowhere"))
}

func (b *builder) planesKeys() keys.Table {
	return b.switchKeys(
		count("planes", &b.rails, topologies.MaxPortsPerHost, "ports of a host, each in a leaf-spine of its own").Need(),
		b.spinesKey("spine switches of a plane; 0: it is one switch"),
		count("leaves", &b.leaves, topologies.MaxSwitches, "leaf switches of a plane").Need(),
		count("hosts_per_leaf", &b.hosts, topologies.MaxPortsPerSwitch, "hosts of a leaf").Need())
}

func (b *builder) fatTreeKeys() keys.Table {
	part := func(name string, n *int, byK, doc string) keys.Key {
		return count(name, n, topologies.MaxHosts, doc).Usually(byK)
	}
	return b.switchKeys(
		keys.Integer("k", &b.k).Between("2", strconv.Itoa(2*topologies.MaxSwitches)).Usually("none").Means(
			"ports of a switch of the k-ary fat-tree, an even number; or give the numbers"),
		part("pods", &b.pods, "k", "pods"), part("edges", &b.edges, "k/2", "edge switches of a pod"),
		part("aggregations", &b.aggregations, "k/2", "aggregation switches of a pod"),
		part("cores", &b.cores, "(k/2)^2", "core switches"),
		part("hosts_per_edge", &b.hosts, "k/2", "hosts of an edge switch"), b.parallelKey())
}

// nodeEntry holds the values of the keys of an entry of nodes or change_nodes.
type nodeEntry struct {
	kind     topologies.Kind
	buffer   units.Bytes
	group    yamlspec.Name
	programs programs
}

func (n *nodeEntry) keys() keys.Table {
	return slices.Concat(keys.Table{
		keys.Names("name").Need().Means("the node, or several: `H0..H15`"),
		keys.Word("kind", &n.kind, topologies.Host.String(), topologies.Switch.String()).Need().Means("kind of the nodes"),
		bufferKey(&n.buffer),
	}, n.programKeys())
}

func (n *nodeEntry) changeKeys() keys.Table {
	return append(keys.Table{keys.Names("name").Need().Means("existing nodes: `h0..h3`")}, n.programKeys()...)
}

func (n *nodeEntry) programKeys() keys.Table {
	return append(n.programs.keys(true), keys.Text("group", &n.group.Text).Means(
		"one of `groups`, whose keys override those of `kinds` and `defaults`"))
}

// linkEntry holds the values of the keys of an entry of links or change_links.
type linkEntry struct {
	cable
	weight, count, breakout int
}

// endKeys returns the keys with the ends of links.
func (l *linkEntry) endKeys(what string) keys.Table {
	return keys.Table{
		keys.Names("from").Need().Means("one side of " + what), keys.Names("to").Need().Means("the other side"),
	}
}

func (l *linkEntry) keys() keys.Table {
	return slices.Concat(l.endKeys("the links: each is cabled to each of the other"), l.keysUsually("the topology's"),
		keys.Table{
			count("count", &l.count, topologies.MaxPortsPerSwitch, "parallel links").Usually("1"), l.weightKey(),
			keys.Integer("breakout", &l.breakout).Between("2", strconv.Itoa(maxBreakout)).Usually("none").Means(
				"into how many ports of equal rate each port of `from` is broken out; `rate` is the whole port's"),
		})
}

// changeKeys returns the keys that change a link. An absent key changes nothing.
func (l *linkEntry) changeKeys() keys.Table {
	return append(l.keysUsually("as it is"), l.weightKey().Usually("as it is"))
}

func (l *linkEntry) weightKey() keys.Key {
	return count("weight", &l.weight, maxWeight, "flows that take the link, beside those that take others of equal cost").
		Usually("1")
}

// keys returns the keys of the environment of programs; single is true for that of one node.
func (p *programs) keys(single bool) keys.Table {
	texts := func(name, doc string) keys.Key {
		return keys.Other(name, "list of texts", func() keys.Schema { return keys.ListOf(keys.String) }).Means(doc)
	}
	env := func() keys.Schema { return keys.MapOf(keys.OfTypes("string", "number", "boolean")) }
	ports := texts("ports", "`\"8080:80\"`: connections to port 8080 of the machine, at 127.0.0.1, go to port 80 of the "+
		"host; `\"0.0.0.0:8080:80\"`: at all of the machine's addresses; `\"5353:53/udp\"`: datagrams. A "+
		"port can go to only "+
		"one host")
	if !single {
		ports = keys.Other("ports", "", func() keys.Schema { return keys.Schema{"not": keys.Schema{}} })
	}
	return keys.Table{
		keys.Other("image", "text", func() keys.Schema { return keys.String }).Means("a root folder or a " +
			"[container image](#images), relative to this file's folder, in place of the machine's files; changes are the " +
			"node's own. `/` is the machine's files, with changes of the node's own"),
		texts("binds", "`SOURCE:TARGET` or `SOURCE:TARGET:ro`: mount a file or folder of the machine at a path of the node. "+
			"`SOURCE` is relative to this file's folder. Quote it within `{...}`"),
		texts("private", "folders that are empty and the node's own, in memory"),
		texts("overlay", "folders of the machine; the node's programs see their own changes to them, kept in memory"),
		keys.Other("env", "texts by name", env).Means("variables of programs; they override your own"),
		texts("exec", "commands for `sh` on the node at bring-up, one node after the other. `up` waits for each, prints its "+
			"output, and warns if it fails; end a server's line with `&`"),
		keys.Flag("nat", &p.NAT).Means("`true`: the host reaches the machine's network through an interface `eth0`; " +
			"`up --nat` does so for all hosts"),
		ports,
	}
}

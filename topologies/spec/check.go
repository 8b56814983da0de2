package spec

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
)

// maxInterfaceName limits the length of a Linux network interface's name: IFNAMSIZ minus the terminating zero.
const maxInterfaceName = 15

var nodeName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// check reports every error that keeps d from becoming a plan. If sound is false, other mistakes have left parts of d
// missing, and check reports only errors that cannot follow from these.
func (d *draft) check(sound bool) {
	hosts := 0
	for i := range d.nodes {
		n := &d.nodes[i]
		if n.kind == topologies.Host {
			hosts++
		}
		if !nodeName.MatchString(n.name) {
			n.at.Errorf("name %q: a node's name must start with a letter and have only letters, digits, _ and -", n.name)
		}
		// Check the name even if the node's links are uncertain: it has at least one port.
		name := topologies.InterfaceName(n.name, max(1, len(n.links)))
		if len(name) > maxInterfaceName {
			n.at.Errorf("node %q: its interface %q would have %d characters, but Linux allows %d: shorten the name",
				n.name, name, len(name), maxInterfaceName)
		}
	}
	if hosts > topologies.MaxHosts || len(d.nodes)-hosts > topologies.MaxSwitches {
		d.at.Errorf("%d hosts and %d switches exceed the limits of %d and %d",
			hosts, len(d.nodes)-hosts, topologies.MaxHosts, topologies.MaxSwitches)
	}
	for i := range d.links {
		l := &d.links[i]
		if d.nodes[l.a].kind == topologies.Host && d.nodes[l.b].kind == topologies.Host {
			l.at.Errorf("%s and %s are both hosts: put a switch between them", d.nodes[l.a].name, d.nodes[l.b].name)
		}
	}
	for i := range d.links {
		if l := &d.links[i]; l.mtu > 0 && l.mtu < d.mtu+topologies.RoCEHeaders {
			l.at.Errorf("interface_mtu %d of the link from %s to %s is too small: RoCE packets of mtu %d need %d, with headers",
				l.mtu,
				d.nodes[l.a].name,
				d.nodes[l.b].name, d.mtu, d.mtu+topologies.RoCEHeaders)
			break
		}
	}
	d.checkTwice()
	d.checkPrograms()
	if !sound {
		return
	}
	for i := range d.nodes {
		d.checkPorts(&d.nodes[i])
	}
	if d.interfaces() > maxInterfaces {
		d.at.Errorf("%d ports of hosts exceed the limit of %d", d.interfaces(), maxInterfaces)
		return
	}
	if hosts < 2 {
		d.at.Errorf("a fabric needs at least two hosts, but this one has %d", hosts)
		return
	}
	if d.checkReach() {
		d.checkPairs()
	}
}

// interfaces returns the number of the hosts' ports.
func (d *draft) interfaces() (n int) {
	for i := range d.nodes {
		if d.nodes[i].kind == topologies.Host {
			n += len(d.nodes[i].links)
		}
	}
	return n
}

// checkTwice reports links that occur in two entries. Parallel links need count.
func (d *draft) checkTwice() {
	type pair struct{ a, b int }
	first := make(map[pair]*yamlspec.Value, len(d.links))
	for i := range d.links {
		l := &d.links[i]
		p := pair{min(l.a, l.b), max(l.a, l.b)}
		at, ok := first[p]
		if !ok {
			first[p] = l.at
		} else if at != l.at {
			l.at.Errorf("%s and %s are already linked (line %d): for parallel links write count: 2",
				d.nodes[l.a].name, d.nodes[l.b].name, at.Line())
		}
	}
}

func (d *draft) checkPorts(n *draftNode) {
	switch {
	case len(n.links) == 0:
		n.at.Errorf("%v %s has no link", n.kind, n.name)
	case n.kind == topologies.Host && len(n.links) > topologies.MaxPortsPerHost:
		n.at.Errorf("host %s has %d ports, above the limit of %d", n.name, len(n.links), topologies.MaxPortsPerHost)
	case n.kind == topologies.Switch && len(n.links) > topologies.MaxPortsPerSwitch:
		n.at.Errorf("switch %s has %d ports, above the limit of %d", n.name, len(n.links), topologies.MaxPortsPerSwitch)
	}
}

// checkReach reports each part of the fabric that has no links to the first host; it returns true if there is none.
func (d *draft) checkReach() bool {
	part := make([]int, len(d.nodes)) // 0: not visited
	visit := func(from, number int) (size int) {
		queue := []int{from}
		part[from] = number
		for len(queue) > 0 {
			n := queue[0]
			queue = queue[1:]
			size++
			for _, l := range d.nodes[n].links {
				for _, next := range []int{d.links[l].a, d.links[l].b} {
					if part[next] == 0 {
						part[next] = number
						queue = append(queue, next)
					}
				}
			}
		}
		return size
	}
	root := 0
	for d.nodes[root].kind != topologies.Host {
		root++
	}
	visit(root, 1)
	parts := 1
	for i := range d.nodes {
		n := &d.nodes[i]
		if part[i] != 0 || len(n.links) == 0 {
			continue
		}
		parts++
		others := ""
		if size := visit(i, parts); size > 1 {
			others = fmt.Sprintf(" (and %d nodes connected to it)", size-1)
		}
		n.at.Errorf("%s%s cannot be reached from %s: add a link between them", n.name, others, d.nodes[root].name)
	}
	return parts == 1
}

// checkPairs reports two hosts whose only connection leads through other hosts, which do not forward.
func (d *draft) checkPairs() {
	part := make([]int, len(d.nodes)) // of connected switches: the smallest known index among them
	for i := range part {
		part[i] = i
	}
	root := func(n int) int {
		for part[n] != n {
			part[n] = part[part[n]]
			n = part[n]
		}
		return n
	}
	for i := range d.links {
		if a, b := d.links[i].a, d.links[i].b; d.nodes[a].kind == topologies.Switch && d.nodes[b].kind == topologies.Switch {
			a, b = root(a), root(b)
			part[max(a, b)] = min(a, b)
		}
	}
	seen := map[string]bool{} // sets of parts, each with a host that has ports in exactly these
	var kinds [][]int         // the sets
	var hosts []int           // the first host of each set
	for i := range d.nodes {
		n := &d.nodes[i]
		if n.kind != topologies.Host || len(n.links) == 0 {
			continue
		}
		in := lists.Map(n.links, func(l int) int { return root(d.links[l].a + d.links[l].b - i) })
		slices.Sort(in)
		in = slices.Compact(in)
		key := fmt.Sprint(in)
		if seen[key] {
			continue
		}
		for k, other := range kinds {
			if !slices.ContainsFunc(in, func(p int) bool { return slices.Contains(other, p) }) {
				n.at.Errorf("no switch connects %s and %s: their only connection leads through hosts, which do not forward",
					n.name, d.nodes[hosts[k]].name)
				return
			}
		}
		seen[key] = true
		kinds, hosts = append(kinds, in), append(hosts, i)
	}
}

package topologies

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/units"
)

// Pair are the interfaces that a flow's packets use: the source's and the destination's, each by its place among the
// host's ports, from 0 on.
type Pair struct{ From, To uint8 }

// Back is the pair as the destination has it: that of what is sent back.
func (p Pair) Back() Pair { return Pair{p.To, p.From} }

// Ends are those ends of a flow whose interface is named.
type Ends uint8

// Bits of Ends.
const (
	NamedFrom Ends = 1 << iota
	NamedTo
)

// setInterfaces numbers the hosts' ports: the first ports by host index, then the second ports, and so on. So the first
// interface of a host has the host's own index, whatever ports there are beside.
func (p *Plan) setInterfaces() {
	for i := range p.Ports {
		p.Ports[i].Interface = -1
	}
	for n, more := 0, true; more; n++ {
		more = false
		for _, id := range p.Hosts {
			if ports := p.Nodes[id].Ports; n < len(ports) {
				p.Ports[ports[n]].Interface = len(p.Interfaces)
				p.Interfaces = append(p.Interfaces, ports[n])
				more = true
			}
		}
	}
}

// SinglePort says whether every host has one port: an interface's index is its host's then.
func (p *Plan) SinglePort() bool { return len(p.Interfaces) == len(p.Hosts) }

// Interface is the index of a host's interface, by its place among the host's ports.
func (p *Plan) Interface(host NodeID, place uint8) int {
	return p.Ports[p.Nodes[host].Ports[place]].Interface
}

// Address is that of a host's port; invalid of a switch's.
func (p *Plan) Address(id PortID) netip.Addr {
	if i := p.Ports[id].Interface; i >= 0 {
		return hostAddress(i)
	}
	return netip.Addr{}
}

// Gateway and Gateway6 are the addresses that hosts route by: whatever switch is at the other end of their port has
// them.
var (
	Gateway  = netip.AddrFrom4([4]byte{10, 255, 255, 254})
	Gateway6 = netip.MustParseAddr("fe80::1")
)

// SwitchAddress is that of the switch with an index, 10.254.0.0 + index + 1. The pipelines know switches' addresses by
// the upper 16 bits.
func (p *Plan) SwitchAddress(index int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 254, byte((index + 1) >> 8), byte(index + 1)})
}

// IPv6 is the IPv6 address of whose IPv4 address is given: fd00::/96 and its 32 bits.
func IPv6(a netip.Addr) netip.Addr {
	v4 := a.As4()
	return netip.AddrFrom16([16]byte{0: 0xfd, 12: v4[0], 13: v4[1], 14: v4[2], 15: v4[3]})
}

// HostRate is what all the ports of a host carry together.
func (p *Plan) HostRate(host NodeID) (sum units.Rate) {
	for _, id := range p.Nodes[host].Ports {
		sum += p.Ports[id].Rate
	}
	return sum
}

// EndName is how a spec and messages name a port of a host: the host's name, followed by the port's number if the host
// has several ("h0.2").
func (p *Plan) EndName(host NodeID, place uint8) string {
	n := &p.Nodes[host]
	if len(n.Ports) == 1 {
		return n.Name
	}
	return n.Name + "." + strconv.Itoa(int(place)+1)
}

// End is the host and the place of its port that a name stands for: "h0.2", or the interface's own name, "h0-eth2".
func (p *Plan) End(name string) (host NodeID, place uint8, err error) {
	cut := strings.LastIndex(name, ".")
	skip := len(".")
	if cut < 0 {
		cut, skip = strings.LastIndex(name, "-eth"), len("-eth")
	}
	var n *Node
	if cut > 0 {
		n = p.NodeByName(name[:cut])
	}
	if n == nil {
		return 0, 0, fmt.Errorf("no node %q in topology %s%s", name, p.Name, yamlspec.Suggest(name, p.Names()))
	}
	number, err := strconv.Atoi(name[cut+skip:])
	switch {
	case n.Kind != Host:
		return 0, 0, fmt.Errorf("%s is a switch: flows run between hosts", n.Name)
	case err != nil || number < 1 || number > len(n.Ports):
		return 0, 0, fmt.Errorf("no interface %s: host %s has %s, from %s.1 on", name, n.Name, Plural(len(n.Ports), "port"),
			n.Name)
	}
	return n.ID, uint8(number - 1), nil
}

// Joined says whether frames get from one interface to another: switches alone forward, so that hosts with a port each
// in two planes join nothing.
func (p *Plan) Joined(from, to int) bool {
	sw := p.PeerNode(p.Interfaces[from])
	return len(p.NextHops(sw.Index, to)) > 0
}

// PairOf is the pair of interfaces by which the n-th flow from one host to another goes, unless it says so itself: in
// turns by those of Pairs.
func (p *Plan) PairOf(source, destination NodeID, n int) Pair {
	if p.SinglePort() {
		return Pair{}
	}
	pairs := p.Pairs(source, destination)
	return pairs[n%len(pairs)]
}

// Pairs are the pairs of interfaces among which flows from one host to another take turns. Where both hosts have as
// many ports, they are those of the same number at both ends: a rail, a plane. Else, or where switches join no such
// pair, they are those with the fewest links between them.
func (p *Plan) Pairs(source, destination NodeID) (pairs []Pair) {
	from, to := p.Nodes[source].Ports, p.Nodes[destination].Ports
	if len(from) == len(to) {
		for i := range from {
			if p.Joined(p.Ports[from[i]].Interface, p.Ports[to[i]].Interface) {
				pairs = append(pairs, Pair{uint8(i), uint8(i)})
			}
		}
		if len(pairs) > 0 {
			return pairs
		}
	}
	all := p.allPairs(source, destination)
	least := -1
	for _, pair := range all {
		hops := p.Hops(p.PeerNode(from[pair.From]).ID, p.Interface(destination, pair.To))
		if least < 0 || hops < least {
			least, pairs = hops, nil
		}
		if hops == least {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// PairsVia are the pairs of Pairs that have a shortest path through every node of via, and at the ends that are named
// the interfaces of named; where there are none, those of all that switches join.
func (p *Plan) PairsVia(source, destination NodeID, via []NodeID, named Pair, ends Ends) (pairs []Pair) {
	if len(via) == 0 && ends == 0 {
		return p.Pairs(source, destination)
	}
	for _, of := range [][]Pair{p.Pairs(source, destination), p.allPairs(source, destination)} {
		for _, pair := range of {
			if ends&NamedFrom != 0 && pair.From != named.From || ends&NamedTo != 0 && pair.To != named.To {
				continue
			}
			if p.PathVia(source, destination, via, pair) != nil {
				pairs = append(pairs, pair)
			}
		}
		if len(pairs) > 0 {
			return pairs
		}
	}
	return nil
}

// allPairs are all that switches join.
func (p *Plan) allPairs(source, destination NodeID) (pairs []Pair) {
	for i := range p.Nodes[source].Ports {
		for j := range p.Nodes[destination].Ports {
			pair := Pair{uint8(i), uint8(j)}
			if p.Joined(p.Interface(source, pair.From), p.Interface(destination, pair.To)) {
				pairs = append(pairs, pair)
			}
		}
	}
	return pairs
}

// HostRoute says by which of its ports a host sends to the addresses of a prefix.
type HostRoute struct {
	To    netip.Prefix
	Place uint8
}

// RoutesOf are how programs of a host of several ports reach the others' addresses: by the port of the same number as
// the destination's, or else by the first that switches join to it. What goes by the first port stands in no route.
func (p *Plan) RoutesOf(host NodeID) (routes []HostRoute) {
	own := p.Nodes[host].Ports
	placeTo := func(to int) int {
		far := &p.Ports[p.Interfaces[to]]
		place := far.Number - 1
		if far.Node == host || place < len(own) && p.Joined(p.Ports[own[place]].Interface, to) {
			return min(place, len(own)-1)
		}
		for place, id := range own {
			if p.Joined(p.Ports[id].Interface, to) {
				return place
			}
		}
		return 0
	}
	for first := 0; first < len(p.Interfaces); {
		place, end := placeTo(first), first+1
		for end < len(p.Interfaces) && placeTo(end) == place {
			end++
		}
		for place > 0 && first < end { // the largest prefix that begins here and ends no later
			bits := 0
			for last := hostNumber(first); last>>bits&1 == 0 && last+2<<bits <= hostNumber(end); bits++ {
			}
			routes = append(routes, HostRoute{netip.PrefixFrom(hostAddress(first), 32-bits), uint8(place)})
			first += 1 << bits
		}
		first = end
	}
	return routes
}

// hostNumber is the lower part of an interface's address.
func hostNumber(index int) int { return index + 1 }

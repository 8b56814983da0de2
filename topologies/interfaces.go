package topologies

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/units"
)

// Pair holds the two interfaces that a flow's packets use, the source's and the destination's, each by its position
// among the host's ports, from 0.
type Pair struct{ From, To uint8 }

// Back returns the pair for packets in the opposite direction.
func (p Pair) Back() Pair { return Pair{p.To, p.From} }

// Ends represents the set of a flow's ends whose interface the scenario names.
type Ends uint8

// Bits of Ends.
const (
	NamedFrom Ends = 1 << iota
	NamedTo
)

// setInterfaces numbers the hosts' ports: the first ports by host index, then the second ports, and so on. So the
// first interface of a host always has the host's index.
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

// SinglePort reports whether every host has one port, so that an interface's index is its host's.
func (p *Plan) SinglePort() bool { return len(p.Interfaces) == len(p.Hosts) }

// Interface returns the index of a host's interface, given its position among the host's ports.
func (p *Plan) Interface(host NodeID, position uint8) int {
	return p.Ports[p.Nodes[host].Ports[position]].Interface
}

// Address returns the address of a host's port; it is invalid for a switch's port.
func (p *Plan) Address(id PortID) netip.Addr {
	if i := p.Ports[id].Interface; i >= 0 {
		return hostAddress(i)
	}
	return netip.Addr{}
}

// Gateway and Gateway6 are the addresses by which hosts route: the switch at the other end of each host's port answers
// to them.
var (
	Gateway  = netip.AddrFrom4([4]byte{10, 255, 255, 254})
	Gateway6 = netip.MustParseAddr("fe80::1")
)

// SwitchAddress returns the address of the switch with an index, 10.254.0.0 + index + 1. The pipelines recognise
// switches' addresses by the upper 16 bits.
func (p *Plan) SwitchAddress(index int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 254, byte((index + 1) >> 8), byte(index + 1)})
}

// IPv6 returns the IPv6 address for an IPv4 address: fd00::/96 and its 32 bits.
func IPv6(a netip.Addr) netip.Addr {
	v4 := a.As4()
	return netip.AddrFrom16([16]byte{0: 0xfd, 12: v4[0], 13: v4[1], 14: v4[2], 15: v4[3]})
}

// HostRate returns the sum of the rates of a host's ports.
func (p *Plan) HostRate(host NodeID) (sum units.Rate) {
	for _, id := range p.Nodes[host].Ports {
		sum += p.Ports[id].Rate
	}
	return sum
}

// EndName returns the name of a host's port in specs and messages: the host's name, with the port's number if the host
// has several ("h0.2").
func (p *Plan) EndName(host NodeID, position uint8) string {
	n := &p.Nodes[host]
	if len(n.Ports) == 1 {
		return n.Name
	}
	return n.Name + "." + strconv.Itoa(int(position)+1)
}

// End returns the host and the position of its port for a name: "h0.2", or the interface's own name, "h0-eth2".
func (p *Plan) End(name string) (host NodeID, position uint8, err error) {
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
		return 0, 0, fmt.Errorf("no node %q in topology %s%s", name, p.Name, spelling.Suggest(name, p.Names()))
	}
	number, err := strconv.Atoi(name[cut+skip:])
	switch {
	case n.Kind != Host:
		return 0, 0, fmt.Errorf("%s is a switch: flows run between hosts", n.Name)
	case err != nil || number < 1 || number > len(n.Ports):
		return 0, 0, fmt.Errorf("no interface %s: host %s has %s, numbered from %s.1", name, n.Name,
			Plural(len(n.Ports), "port"),
			n.Name)
	}
	return n.ID, uint8(number - 1), nil
}

// Joined reports whether frames can travel from one interface to another. Only switches forward, so hosts with a port
// in each of two planes do not connect these.
func (p *Plan) Joined(from, to int) bool {
	sw := p.PeerNode(p.Interfaces[from])
	return len(p.NextHops(sw.Index, to)) > 0
}

// PairOf returns the pair of interfaces for the n-th flow from one host to another, if the flow does not name them: it
// takes the pairs of Pairs in turn.
func (p *Plan) PairOf(source, destination NodeID, n int) Pair {
	if p.SinglePort() {
		return Pair{}
	}
	pairs := p.Pairs(source, destination)
	return pairs[n%len(pairs)]
}

// Pairs returns the pairs of interfaces that flows from one host to another take in turn. If both hosts have equally
// many ports, they are those with the same number at both ends: a rail, a plane. Otherwise, or if switches connect no
// such pair, they are the pairs with the fewest links between them.
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

// PairsVia returns the pairs of Pairs that have a shortest path through every node of via, and the interfaces of named
// at the ends that are named. If there are none, it chooses among all connected pairs.
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

// allPairs returns all pairs that switches connect.
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

// HostRoute represents a host's route: the port for the addresses of a prefix.
type HostRoute struct {
	To       netip.Prefix
	Position uint8 // of the port among the host's, from 0
}

// RoutesOf returns the routes by which programs on a host with several ports reach other addresses: by the port with
// the destination's number, or otherwise the first connected port. Addresses reached by the first port need no route.
func (p *Plan) RoutesOf(host NodeID) (routes []HostRoute) {
	own := p.Nodes[host].Ports
	positionTo := func(to int) int {
		far := &p.Ports[p.Interfaces[to]]
		position := far.Number - 1
		if far.Node == host || position < len(own) && p.Joined(p.Ports[own[position]].Interface, to) {
			return min(position, len(own)-1)
		}
		for position, id := range own {
			if p.Joined(p.Ports[id].Interface, to) {
				return position
			}
		}
		return 0
	}
	for first := 0; first < len(p.Interfaces); {
		position, end := positionTo(first), first+1
		for end < len(p.Interfaces) && positionTo(end) == position {
			end++
		}
		for position > 0 && first < end { // the largest prefix that starts here and ends within the range
			bits := 0
			for last := hostNumber(first); last>>bits&1 == 0 && last+2<<bits <= hostNumber(end); bits++ {
			}
			routes = append(routes, HostRoute{netip.PrefixFrom(hostAddress(first), 32-bits), uint8(position)})
			first += 1 << bits
		}
		first = end
	}
	return routes
}

// hostNumber returns the lower part of an interface's address.
func hostNumber(index int) int { return index + 1 }

// hostAddress returns the address of the interface with an index, 10.0.0.0 + index + 1. The pipelines read the index
// from the lower 24 bits.
func hostAddress(index int) netip.Addr {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], 10<<24+uint32(index)+1)
	return netip.AddrFrom4(a)
}

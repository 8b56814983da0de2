package topologies

import (
	"cmp"
	"encoding/binary"
	"net/netip"
)

// plan builds the plan from a checked draft.
func (d *draft) plan() *Plan {
	p := &Plan{
		Name: d.name, Description: d.description, Framing: d.framing, MTU: d.mtu, Commands: d.commands, LearnGateway: d.learn,
		Balancing: DefaultBalancing(),
		Nodes:     make([]Node, len(d.nodes)),
		Ports:     make([]Port, 2*len(d.links)),
		Links:     make([]Link, len(d.links)),
	}
	for i := range d.nodes {
		from := &d.nodes[i]
		n := &p.Nodes[i]
		*n = Node{ID: NodeID(i), Name: from.name, Kind: from.kind, Buffer: from.buffer, Programs: d.programsOf(from)}
		if n.Kind == Host {
			n.Index, n.Addr = len(p.Hosts), hostAddress(len(p.Hosts))
			p.Hosts = append(p.Hosts, n.ID)
		} else {
			n.Index = len(p.Switch)
			p.Switch = append(p.Switch, n.ID)
		}
	}
	// The ports of a node have consecutive ids, because pipelines and traffic managers index by the difference.
	first := make([]PortID, len(d.nodes)+1)
	for i := range d.links {
		first[d.links[i].a+1]++
		first[d.links[i].b+1]++
	}
	for i := range d.nodes {
		first[i+1] += first[i]
	}
	for i := range d.links {
		from := &d.links[i]
		l := &p.Links[i]
		l.Rate, l.Delay, l.Weight = from.rate, from.delay, max(from.weight, 1)
		from.mtu = cmp.Or(from.mtu, p.UsualInterfaceMTU())
		p.InterfaceMTU = max(p.InterfaceMTU, from.mtu)
		l.A, l.B = p.addPort(first[from.a], from.a, i, from.cable), p.addPort(first[from.b], from.b, i, from.cable)
		p.Ports[l.A].Peer, p.Ports[l.B].Peer = l.B, l.A
		p.Ports[l.A].Breakout, p.Ports[l.A].Lane = uint8(from.breakout), uint8(from.lane)
	}
	p.setInterfaces()
	p.setTiers()
	p.setOversubscription()
	p.routes, p.longest = p.shortestPaths(), newLongestRTTs()
	return p
}

// UsualInterfaceMTU returns the default MTU of interfaces, in bytes of an IP packet.
func (p *Plan) UsualInterfaceMTU() int { return max(1500, p.MTU+roceHeaders) }

func (p *Plan) addPort(first PortID, node, link int, c cable) PortID {
	n := &p.Nodes[node]
	id := first + PortID(len(n.Ports))
	n.Ports = append(n.Ports, id)
	p.Ports[id] = Port{
		ID: id, Node: n.ID, Number: len(n.Ports), Name: interfaceName(n.Name, len(n.Ports)),
		Link: link, MAC: portMAC(id), Rate: c.rate, Delay: c.delay, MTU: c.mtu,
	}
	return id
}

// portMAC returns a locally administered unicast address (IEEE 802 section 8.4: bit 1 of the first octet) with the
// port's id in its last four octets.
func portMAC(id PortID) [6]byte {
	mac := [6]byte{0x02}
	binary.BigEndian.PutUint32(mac[2:], uint32(id))
	return mac
}

// hostAddress returns the address of the interface with an index, 10.0.0.0 + index + 1. The pipelines read the index
// from the lower 24 bits.
func hostAddress(index int) netip.Addr {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], 10<<24+uint32(index)+1)
	return netip.AddrFrom4(a)
}

// setTiers sets each switch's tier, its distance from the nearest host.
func (p *Plan) setTiers() {
	queue := append([]NodeID(nil), p.Hosts...)
	for len(queue) > 0 {
		n := &p.Nodes[queue[0]]
		queue = queue[1:]
		for _, id := range n.Ports {
			next := p.PeerNode(id)
			if next.Kind == Switch && next.Tier == 0 {
				next.Tier = n.Tier + 1
				queue = append(queue, next.ID)
			}
		}
	}
}

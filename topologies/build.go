package topologies

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Limits on a plan, low enough to reject a mistake before it uses much memory. The kernel plane's are lower.
const (
	MaxHosts          = 1 << 17
	MaxSwitches       = 1 << 14
	MaxPortsPerSwitch = 1024
	MaxPortsPerHost   = 64
)

// RoCEHeaders limits the size of a RoCE packet's headers in bytes, including those of all congestion controls.
const RoCEHeaders = 160

// Blueprint describes a plan by its nodes and the cables between them. Package spec makes one from a file.
type Blueprint struct {
	Name, Description string
	Framing           Framing
	MTU               int    // payload bytes of a full RoCE packet
	Nodes             []Node // Name, Kind, Buffer and Programs; New sets the rest
	Cables            []Cable
	Commands          []Command
	LearnGateway      bool
}

// Cable describes a link between two nodes, given by their indexes in the blueprint.
type Cable struct {
	A, B           int
	Rate           units.Rate
	Delay          vtime.Time // propagation, one way
	MTU            int        // of the interfaces at its ends, in bytes of an IP packet; 0: Plan.UsualInterfaceMTU
	Weight         int        // share of flows, relative to other equal-cost links; 0: 1
	Breakout, Lane int        // of A's port: see Port
}

// New makes a plan. The caller has checked the blueprint: each host reaches each other one by switches, no limit is
// exceeded, and names are unique.
func New(from *Blueprint) *Plan {
	p := &Plan{
		Name: from.Name, Description: from.Description, Framing: from.Framing, MTU: from.MTU, Commands: from.Commands,
		LearnGateway: from.LearnGateway, Balancing: DefaultBalancing(),
		Nodes: from.Nodes,
		Ports: make([]Port, 2*len(from.Cables)),
		Links: make([]Link, len(from.Cables)),
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		n.ID = NodeID(i)
		if n.Kind == Host {
			n.Index, n.Addr = len(p.Hosts), hostAddress(len(p.Hosts))
			p.Hosts = append(p.Hosts, n.ID)
		} else {
			n.Index = len(p.Switch)
			p.Switch = append(p.Switch, n.ID)
		}
	}
	// The ports of a node have consecutive ids, because pipelines and traffic managers index by the difference.
	first := make([]PortID, len(p.Nodes)+1)
	for i := range from.Cables {
		first[from.Cables[i].A+1]++
		first[from.Cables[i].B+1]++
	}
	for i := range p.Nodes {
		first[i+1] += first[i]
	}
	for i := range from.Cables {
		c, l := &from.Cables[i], &p.Links[i]
		l.Rate, l.Delay, l.Weight = c.Rate, c.Delay, max(c.Weight, 1)
		c.MTU = cmp.Or(c.MTU, p.UsualInterfaceMTU())
		p.InterfaceMTU = max(p.InterfaceMTU, c.MTU)
		l.A, l.B = p.addPort(first[c.A], c.A, i, c), p.addPort(first[c.B], c.B, i, c)
		p.Ports[l.A].Peer, p.Ports[l.B].Peer = l.B, l.A
		p.Ports[l.A].Breakout, p.Ports[l.A].Lane = uint8(c.Breakout), uint8(c.Lane)
	}
	p.setInterfaces()
	p.setTiers()
	p.setOversubscription()
	p.routes, p.longest = p.shortestPaths(), newLongestRTTs()
	return p
}

// UsualInterfaceMTU returns the default MTU of interfaces, in bytes of an IP packet.
func (p *Plan) UsualInterfaceMTU() int { return max(1500, p.MTU+RoCEHeaders) }

func (p *Plan) addPort(first PortID, node, link int, c *Cable) PortID {
	n := &p.Nodes[node]
	id := first + PortID(len(n.Ports))
	n.Ports = append(n.Ports, id)
	p.Ports[id] = Port{
		ID: id, Node: n.ID, Number: len(n.Ports), Name: InterfaceName(n.Name, len(n.Ports)),
		Link: link, MAC: portMAC(id), Rate: c.Rate, Delay: c.Delay, MTU: c.MTU,
	}
	return id
}

// InterfaceName returns the name of a node's port, which counts from 1.
func InterfaceName(node string, port int) string { return fmt.Sprintf("%s-eth%d", node, port) }

// portMAC returns a locally administered unicast address (IEEE 802 section 8.4: bit 1 of the first octet) with the
// port's id in its last four octets.
func portMAC(id PortID) [6]byte {
	mac := [6]byte{0x02}
	binary.BigEndian.PutUint32(mac[2:], uint32(id))
	return mac
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

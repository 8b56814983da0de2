package topologies

import (
	"net/netip"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// NodeID indexes Plan.Nodes. PortID indexes Plan.Ports. Both are dense and start at 0; the ports of a node follow one
// another.
type (
	NodeID int
	PortID int
)

// Kind says what a node is.
type Kind uint8

// Kinds of nodes.
const (
	Host Kind = iota
	Switch
)

// String is "host" or "switch".
func (k Kind) String() string {
	if k == Switch {
		return "switch"
	}
	return "host"
}

// Framing says how many bytes of line time a frame costs beyond its own.
type Framing uint8

const (
	// FramingEthernet counts what a real cable carries: FCS (4 B), preamble and SFD (8 B) and the inter-packet gap
	// (12 B) beside the frame, and pads a frame to 60 B (IEEE 802.3 clause 4).
	FramingEthernet Framing = iota
	// FramingNS3 counts what the ns-3 RDMA simulators count, on the line and in switches' buffers, so that results compare
	// with papers that used them: a packet of 1000 B payload costs 1048 B, nothing costs under 60 B. Our frames have real
	// RoCEv2 headers, 10 B longer (BTH 12 + ICRC 4 against 6), hence 10 B less than the frame.
	FramingNS3
)

const (
	minFrame   = 60 // without FCS
	ns3Shorter = 10 // of a simulators' packet than of ours
)

// LineBytes is the line time, in bytes, of a frame of n bytes (headers and payload, without FCS).
func (f Framing) LineBytes(n int) int64 {
	if f == FramingNS3 {
		return int64(max(n-ns3Shorter, minFrame))
	}
	return int64(max(n, minFrame) + 24)
}

// Counted is the size of a frame of n bytes (headers and payload, without FCS) in switches' buffers and against their
// thresholds: all of it, or what the ns-3 simulators' packet has.
func (f Framing) Counted(n int) int { return max(n-f.Uncounted(), minFrame) }

// Uncounted is how much a frame's size is less than its bytes, down to the least frame.
func (f Framing) Uncounted() int {
	if f == FramingNS3 {
		return ns3Shorter
	}
	return 0
}

// String is the framing's name in specs: "ethernet" or "ns3".
func (f Framing) String() string {
	if f == FramingNS3 {
		return "ns3"
	}
	return "ethernet"
}

// Plan is a resolved topology. It does not change after it is built; treat every slice as read-only.
type Plan struct {
	Name        string
	Description string
	Nodes       []Node
	Ports       []Port
	Links       []Link
	Hosts       []NodeID // by host index
	// the hosts' ports by interface index: the first ports by host index, then the second ports, and so on
	Interfaces []PortID
	Switch     []NodeID // by switch index
	Framing    Framing
	Hash       Hash // by which switches choose among equal-cost ports
	Balancing  Balancing
	IP         wire.Version // that RoCE packets go over
	MTU        int          // payload bytes of a full RoCE packet
	// InterfaceMTU is the largest MTU of the interfaces, in bytes of a packet of IP; a full RoCE packet fits any.
	InterfaceMTU int
	Commands     []Command // of the shell of a live fabric
	// LearnGateway says that on a live fabric kernels of hosts ask for their gateway's link-layer address, by ARP and
	// neighbour discovery, in place of having it from the start.
	LearnGateway bool

	routes  Routes
	longest *longestRTTs

	oversubscription float64
}

// Node is a host or a switch.
type Node struct {
	ID     NodeID
	Name   string
	Kind   Kind
	Index  int // among the nodes of its kind: indexes Plan.Hosts or Plan.Switch
	Tier   int // 0 for hosts, 1 for the switches hosts hang off, 2 above them, ...
	Ports  []PortID
	Addr   netip.Addr  // of a host's first port; invalid for a switch
	Buffer units.Bytes // shared buffer of a switch; 0: as the scenario's switch settings say

	Programs *Programs // what those of a live fabric find; nil: the machine's files alone
}

// Port is one end of a link.
type Port struct {
	ID     PortID
	Node   NodeID
	Number int    // 1 for the node's first port
	Name   string // interface name, such as "leaf0-eth1"; at most 15 characters
	Peer   PortID
	Link   int // indexes Plan.Links
	MAC    [6]byte
	Rate   units.Rate
	Delay  vtime.Time // propagation, one way
	MTU    int        // of the interface, in bytes of a packet of IP

	Interface int // of a host's port: indexes Plan.Interfaces; -1 of a switch's

	// Breakout is how many ports the physical one is broken out into that this is the Lane-th of, from 0 on; 0: it is one
	// by itself.
	Breakout, Lane uint8
}

// Link is a cable between two ports.
type Link struct {
	A, B   PortID
	Rate   units.Rate
	Delay  vtime.Time // propagation, one way
	Weight int        // of flows, among equal-cost links; 1 unless the spec says otherwise
}

// Routes are the shortest paths: for each switch and interface of a host the ports that lie on one. All interfaces at a
// switch, their leaf, share the way to it: what is stored grows with switches times leaves, not with switches times
// hosts.
type Routes struct {
	// Groups are sets of equal-cost ports, each in ascending order, or in HashHPCC's; equal ones are stored once. A port
	// of a link of more weight stands there several times.
	Groups [][]PortID
	// Leaves is the number of leaves: of switches that have hosts. They are numbered in the order of their indexes.
	Leaves int
	// Leaf is the leaf of each interface, by its index.
	Leaf []int32
	// Last indexes Groups: the leaf's own port to each interface, by its index.
	Last []int32
	// ToLeaf indexes Groups: ToLeaf[switch index*Leaves+leaf]; AtLeaf where the switch is the leaf itself.
	ToLeaf []int32
}

// AtLeaf is what Routes.ToLeaf has for a leaf itself: its ports to its hosts are in Routes.Last.
const AtLeaf = -1

// Next are the ports of the switch with index sw towards the interface with index to.
func (r *Routes) Next(sw, to int) []PortID {
	group := r.ToLeaf[sw*r.Leaves+int(r.Leaf[to])]
	if group == AtLeaf {
		group = r.Last[to]
	}
	return r.Groups[group]
}

// Routes are the plan's shortest paths.
func (p *Plan) Routes() *Routes { return &p.routes }

// NextHops are the ports of the switch with index sw on shortest paths to the interface with index to; none where no
// switches lead there.
func (p *Plan) NextHops(sw, to int) []PortID { return p.routes.Next(sw, to) }

// WithIP is the plan where RoCE packets go over a version of the Internet Protocol.
func (p *Plan) WithIP(v wire.Version) *Plan {
	if v == p.IP {
		return p
	}
	q := *p
	q.IP = v
	return &q
}

// PeerNode is the node at the other end of port id.
func (p *Plan) PeerNode(id PortID) *Node { return &p.Nodes[p.Ports[p.Ports[id].Peer].Node] }

// PortBetween is the ports of a that are cabled to b, in ascending order: none, one, or several where links run in
// parallel.
func (p *Plan) PortBetween(a, b NodeID) []PortID {
	var ports []PortID
	for _, id := range p.Nodes[a].Ports {
		if p.Ports[p.Ports[id].Peer].Node == b {
			ports = append(ports, id)
		}
	}
	return ports
}

// Names are the nodes' names, in the order of Nodes.
func (p *Plan) Names() []string {
	names := make([]string, len(p.Nodes))
	for i := range p.Nodes {
		names[i] = p.Nodes[i].Name
	}
	return names
}

// NodeByName finds a node, nil if there is none.
func (p *Plan) NodeByName(name string) *Node {
	for i := range p.Nodes {
		if p.Nodes[i].Name == name {
			return &p.Nodes[i]
		}
	}
	return nil
}

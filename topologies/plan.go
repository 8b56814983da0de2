package topologies

import (
	"net/netip"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// NodeID indexes Plan.Nodes, PortID indexes Plan.Ports. Both are dense and start at 0; the ports of a node are
// consecutive.
type (
	NodeID int
	PortID int
)

// Kind selects the kind of a node.
type Kind uint8

// Kinds of nodes.
const (
	Host Kind = iota
	Switch
)

// String returns "host" or "switch".
func (k Kind) String() string {
	if k == Switch {
		return "switch"
	}
	return "host"
}

// Framing sets how many bytes of line time a frame takes in addition to its own.
type Framing uint8

const (
	// FramingEthernet counts the bytes on a real cable: FCS (4 B), preamble and SFD (8 B) and the inter-packet gap (12
	// B) beside the frame. It pads a frame to 60 B (IEEE 802.3 clause 4).
	FramingEthernet Framing = iota
	// FramingNS3 counts as the ns-3 RDMA simulators do, on the line and in switches' buffers, so that results compare
	// with papers that used them: a packet of 1000 B payload takes 1048 B, and nothing takes less than 60 B.
	// pausenet's frames have real RoCEv2 headers, which are 10 B longer (BTH 12 + ICRC 4 against 6), so it subtracts
	// 10 B.
	FramingNS3
)

const (
	minFrame   = 60 // without FCS
	ns3Shorter = 10 // by which the simulators' packets are shorter
)

// LineBytes returns the line time, in bytes, of a frame of n bytes (headers and payload, without FCS).
func (f Framing) LineBytes(n int) int64 {
	if f == FramingNS3 {
		return int64(max(n-ns3Shorter, minFrame))
	}
	return int64(max(n, minFrame) + 24)
}

// Counted returns the size of a frame of n bytes (headers and payload, without FCS) in switches' buffers and for their
// thresholds: all bytes, or the size of the ns-3 simulators' packet.
func (f Framing) Counted(n int) int { return max(n-f.Uncounted(), minFrame) }

// Uncounted returns the bytes of a frame that LineBytes and Counted leave out, down to the minimum frame.
func (f Framing) Uncounted() int {
	if f == FramingNS3 {
		return ns3Shorter
	}
	return 0
}

// String returns the framing's name in specs: "ethernet" or "ns3".
func (f Framing) String() string {
	if f == FramingNS3 {
		return "ns3"
	}
	return "ethernet"
}

// Plan represents a resolved topology. It is immutable; treat every slice as read-only.
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
	Hash       Hash // rule by which switches choose among equal-cost ports
	Balancing  Balancing
	IP         wire.Version // version of IP that carries RoCE packets
	Spread     bool         // hosts give the packets of a flow several source ports, which switches may hash
	MTU        int          // payload bytes of a full RoCE packet
	// InterfaceMTU holds the largest MTU of the interfaces, in bytes of an IP packet; a full RoCE packet fits any of
	// them.
	InterfaceMTU int
	Commands     []Command // for the shell of a live fabric
	// LearnGateway makes hosts of a live fabric resolve their gateway's link-layer address by ARP and neighbour
	// discovery, instead of a static entry.
	LearnGateway bool

	routes  Routes
	longest *longestRTTs

	oversubscription float64
}

// Node represents a host or a switch.
type Node struct {
	ID     NodeID
	Name   string
	Kind   Kind
	Index  int // among the nodes of its kind: index of Plan.Hosts or Plan.Switch
	Tier   int // 0 for hosts, 1 for switches with hosts, 2 above them, ...
	Ports  []PortID
	Addr   netip.Addr  // address of a host's first port; invalid for a switch
	Buffer units.Bytes // shared buffer of a switch; 0: the scenario's switch settings apply

	Programs *Programs // environment of the node's programs on a live fabric; nil: only the machine's files
}

// Port represents one end of a link.
type Port struct {
	ID     PortID
	Node   NodeID
	Number int    // 1 for the node's first port
	Name   string // interface name, such as "leaf0-eth1"; at most 15 characters
	Peer   PortID
	Link   int // index of Plan.Links
	MAC    [6]byte
	Rate   units.Rate
	Delay  vtime.Time // propagation, one way
	MTU    int        // of the interface, in bytes of an IP packet

	Interface int // of a host's port: index of Plan.Interfaces; -1 for a switch's

	// Breakout holds the number of ports into which the physical port is split, and Lane the position of this one, from
	// 0; Breakout 0: it is not split.
	Breakout, Lane uint8
}

// Link represents a cable between two ports.
type Link struct {
	A, B   PortID
	Rate   units.Rate
	Delay  vtime.Time // propagation, one way
	Weight int        // share of flows, relative to other equal-cost links; default 1
}

// Routes holds the shortest paths: for each switch and interface of a host, the egress ports. All interfaces at one
// leaf, a switch with hosts, share the paths to that leaf. So the memory grows with switches times leaves, not with
// switches times hosts.
type Routes struct {
	// Groups holds the distinct sets of equal-cost ports, each in ascending order or in HashHPCC's. A port of a link
	// with a higher weight occurs several times.
	Groups [][]PortID
	// Leaves counts the leaves, the switches with hosts. They are numbered in the order of their indexes.
	Leaves int
	// Leaf holds the leaf of each interface, by its index.
	Leaf []int32
	// Last holds the index in Groups of the leaf's own port to each interface, by its index.
	Last []int32
	// ToLeaf holds indexes in Groups: ToLeaf[switch index*Leaves+leaf]; AtLeaf if the switch is the leaf itself.
	ToLeaf []int32
}

// AtLeaf marks a leaf itself in Routes.ToLeaf: its ports to its hosts are in Routes.Last.
const AtLeaf = -1

// Next returns the ports of the switch with index sw towards the interface with index to.
func (r *Routes) Next(sw, to int) []PortID {
	group := r.ToLeaf[sw*r.Leaves+int(r.Leaf[to])]
	if group == AtLeaf {
		group = r.Last[to]
	}
	return r.Groups[group]
}

// Routes returns the plan's shortest paths.
func (p *Plan) Routes() *Routes { return &p.routes }

// NextHops returns the ports of the switch with index sw on shortest paths to the interface with index to; none if no
// path exists.
func (p *Plan) NextHops(sw, to int) []PortID { return p.routes.Next(sw, to) }

// PeerNode returns the node at the other end of port id.
func (p *Plan) PeerNode(id PortID) *Node { return &p.Nodes[p.Ports[p.Ports[id].Peer].Node] }

// PortsBetween returns the ports of a that are linked to b, in ascending order: none, one, or several for parallel
// links.
func (p *Plan) PortsBetween(a, b NodeID) []PortID {
	return lists.Filter(p.Nodes[a].Ports, func(id PortID) bool { return p.Ports[p.Ports[id].Peer].Node == b })
}

// Names returns the nodes' names, in the order of Nodes.
func (p *Plan) Names() []string {
	return lists.Map(p.Nodes, func(n Node) string { return n.Name })
}

// NamesOf returns the names of nodes; nil for none.
func (p *Plan) NamesOf(nodes []NodeID) []string {
	return lists.Map(nodes, func(id NodeID) string { return p.Nodes[id].Name })
}

// NodeByName returns the node of a name, or nil.
func (p *Plan) NodeByName(name string) *Node {
	return lists.Find(p.Nodes, func(n *Node) bool { return n.Name == name })
}

// Package counters holds the counters of a fabric's ports, and reads and writes them in the formats of operators'
// tools: the tables of SONiC's `show pfc counters`, the lines of `ethtool -S`, and SONiC's COUNTERS_DB, as a dump or
// over the redis protocol.
package counters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// Priorities counts the priorities of PFC (IEEE 802.1Qbb).
const Priorities = 8

// Fabric holds the counters of all nodes, since the start of the run or of the live fabric.
type Fabric struct {
	Name  string  `json:"fabric"`
	Nodes []*Node `json:"nodes"`
}

// Node holds the counters of a host or a switch.
type Node struct {
	Name  string  `json:"node"`
	Host  bool    `json:"host"`
	Ports []*Port `json:"ports"`
}

// Port holds the counters of one port. Bytes are those of frames without FCS.
type Port struct {
	Name      string `json:"port"`
	RxPackets uint64 `json:"rx_packets"`
	TxPackets uint64 `json:"tx_packets"`
	RxErrors  uint64 `json:"rx_errors"`   // frames with a wrong FCS
	RxNoRoom  uint64 `json:"rx_discards"` // frames that found a host's receive buffer full
	TxDrops   uint64 `json:"tx_discards"` // frames that the switch dropped at this egress port
	ECNMarks  uint64 `json:"ecn_marked"`  // packets that this egress port marked CE

	Class [Priorities]Class `json:"priorities"`
	RoCE  *RoCE             `json:"roce,omitempty"` // of a host's port

	read map[*uint64]bool // counters that a dump had; nil: those of a run, all
}

// Class holds the counters of one priority of a port.
type Class struct {
	RxBytes uint64 `json:"rx_bytes"`
	TxBytes uint64 `json:"tx_bytes"`
	// PAUSE frames. RESUME frames (XON), which are PAUSE frames with a time of 0, do not count.
	RxPause uint64 `json:"rx_pause"`
	TxPause uint64 `json:"tx_pause"`
	// time for which PAUSE stopped this port, and for which this port stopped its peer, in nanoseconds
	RxPauseNS uint64 `json:"rx_pause_ns"`
	TxPauseNS uint64 `json:"tx_pause_ns"`
	// the PFC watchdog of a switch's egress queue: storms that it found, and frames that it dropped
	Storms        uint64 `json:"storms"`
	WatchdogDrops uint64 `json:"watchdog_drops"`
}

// RoCE holds the RDMA counters of a host's port.
type RoCE struct {
	CNPsSent      uint64 `json:"np_cnp_sent"`
	CNPsHandled   uint64 `json:"rp_cnp_handled"`
	Marked        uint64 `json:"np_ecn_marked_roce_packets"`
	OutOfSequence uint64 `json:"out_of_sequence"`
	SequenceNAKs  uint64 `json:"packet_seq_err"`
	Timeouts      uint64 `json:"local_ack_timeout_err"`
	Duplicates    uint64 `json:"duplicate_request"`
}

// Pauses gives the PAUSE frames of a port, and how long PAUSE has stopped it. A live fabric's engine implements it, and
// Recorder for runs.
type Pauses interface {
	Pauses(port int, priority uint8) (sent, received uint64)
	PausedTime(port int, priority uint8) vtime.Time
}

// Storms gives the storms that the watchdog has found at a port. Only runs count them.
type Storms interface {
	Storms(port int, priority uint8) uint64
}

// Of reads the counters of an engine between two events.
func Of(name string, e *engine.Engine, pauses Pauses) *Fabric {
	plan := e.Plan()
	f := &Fabric{Name: name}
	for i := range plan.Nodes {
		n := &plan.Nodes[i]
		node := &Node{Name: n.Name, Host: n.Kind == topologies.Host}
		for _, id := range n.Ports {
			node.Ports = append(node.Ports, portOf(e, n, int(id), pauses))
		}
		f.Nodes = append(f.Nodes, node)
	}
	return f
}

// minFrame holds the length of a PFC frame, without FCS.
const minFrame = 60

func portOf(e *engine.Engine, node *topologies.Node, id int, pauses Pauses) *Port {
	plan, registers := e.Plan(), &e.State().Ports[id]
	peer := int(plan.Ports[id].Peer)
	lost, lostByPeer := e.LostAt(id), e.LostAt(peer)
	p := &Port{
		Name: plan.Ports[id].Name, RxPackets: registers.RxFrames, TxPackets: uint64(e.TxFrames(id)),
		RxErrors: uint64(lostByPeer[engine.LossFCS].Frames), RxNoRoom: uint64(lost[engine.LossReceiver].Frames),
		TxDrops:  uint64(lost[engine.LossPort].Frames),
		ECNMarks: registers.EcnMarked,
	}
	// PFC frames have no priority of their own, and the engine counts their bytes with priority 0.
	control := func(to int) uint64 {
		r := &e.State().Extras[to]
		return (r.PausesReceived + r.ResumesReceived) * minFrame
	}
	storms, _ := pauses.(Storms)
	rest := registers.RxBytes - min(registers.RxBytes, control(id)) // bytes of the priority that the peer sent most of
	most := uint8(0)
	for i := range uint8(Priorities) {
		c := &p.Class[i]
		c.TxBytes, c.RxBytes = uint64(e.TxBytes(id, i)), uint64(e.TxBytes(peer, i))
		if i == 0 {
			c.TxBytes -= min(c.TxBytes, control(peer))
			c.RxBytes -= min(c.RxBytes, control(id))
		}
		if c.RxBytes > p.Class[most].RxBytes {
			most = i
		}
		c.TxPause, c.RxPause = pauses.Pauses(id, i)
		c.RxPauseNS = uint64(pauses.PausedTime(id, i).Nanoseconds())
		c.TxPauseNS = uint64(pauses.PausedTime(peer, i).Nanoseconds())
		if storms != nil {
			c.Storms = storms.Storms(id, i)
		}
	}
	// What was lost or is on the wire belongs to the priority with the most bytes.
	for i := range p.Class {
		if uint8(i) != most {
			rest -= min(rest, p.Class[i].RxBytes)
		}
	}
	p.Class[most].RxBytes = min(p.Class[most].RxBytes, rest)
	if node.Kind == topologies.Switch {
		for why, n := range e.Switch(node.Index).Port(id).DroppedFrames {
			if switchagent.Drop(why) != switchagent.DropDiscard { // a fault's, in lost
				p.TxDrops += uint64(n)
			}
		}
		if dropped := lost[engine.LossWatchdog].Frames; dropped > 0 {
			p.TxDrops += uint64(dropped)
			p.Class[stormy(p)].WatchdogDrops = uint64(dropped)
		}
		return p
	}
	n := e.NIC(plan.Ports[id].Interface)
	p.RoCE = &RoCE{
		CNPsSent: uint64(n.CNPsSent), CNPsHandled: uint64(n.CNPsReceived), Marked: uint64(n.Marked),
		OutOfSequence: uint64(n.OutOfOrder), SequenceNAKs: uint64(n.NaksReceived), Timeouts: uint64(n.Timeouts),
		Duplicates: uint64(n.Duplicates),
	}
	return p
}

// stormy returns the priority of a port whose watchdog has dropped frames: the one that was paused longest.
func stormy(p *Port) (worst int) {
	for i := range p.Class {
		if p.Class[i].RxPauseNS > p.Class[worst].RxPauseNS {
			worst = i
		}
	}
	return worst
}

// Node returns the counters of a node, or nil.
func (f *Fabric) Node(name string) *Node {
	for _, n := range f.Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// port returns a node's port by its name, which it adds if the node has none.
func (n *Node) port(name string) *Port {
	for _, p := range n.Ports {
		if p.Name == name {
			return p
		}
	}
	n.Ports = append(n.Ports, &Port{Name: name})
	return n.Ports[len(n.Ports)-1]
}

// roce returns the RDMA counters of a port, which it creates.
func (p *Port) roce() *RoCE {
	if p.RoCE == nil {
		p.RoCE = &RoCE{}
	}
	return p.RoCE
}

// CompareNames compares names of interfaces as people do: Ethernet8 comes before Ethernet12.
func CompareNames(a, b string) int {
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na == 0 || nb == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
		if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
			return c
		}
		a, b = a[na:], b[nb:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits returns the number of digits at the start of s.
func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

// SortPorts orders the ports of each node by their names.
func (f *Fabric) SortPorts() {
	for _, n := range f.Nodes {
		slices.SortStableFunc(n.Ports, func(a, b *Port) int { return CompareNames(a.Name, b.Name) })
	}
}

// put sets a counter that a dump has.
func (p *Port) put(at *uint64, value uint64) {
	if p.read == nil {
		p.read = map[*uint64]bool{}
	}
	*at, p.read[at] = value, true
}

// Bytes returns the bytes that a port has received or sent with a priority, and whether a dump has them.
func (p *Port) Bytes(priority int, received bool) (bytes uint64, known bool) {
	at := &p.Class[priority].TxBytes
	if received {
		at = &p.Class[priority].RxBytes
	}
	return *at, p.read == nil || p.read[at]
}

// Value represents one counter of a port, by its name in ethtool or COUNTERS_DB. Times are in nanoseconds.
type Value struct {
	Name  string
	Value uint64
	Known bool // false: no dump of the port has it
}

// Values returns all counters of a port, those of RDMA for a host, in the same order for all ports of a kind.
func (p *Port) Values(host bool) []Value {
	if host {
		p.roce()
	}
	fields := p.ethtool()
	if !host {
		fields = fields[:5+6*Priorities] // without RDMA's
		fields = append(fields, field{"ecn_marked", &p.ECNMarks, 1})
		for i := range p.Class {
			fields = append(fields, field{fmt.Sprintf("storms_prio%d", i), &p.Class[i].Storms, 1},
				field{fmt.Sprintf("watchdog_drops_prio%d", i), &p.Class[i].WatchdogDrops, 1})
		}
	}
	return lists.Map(fields, func(f field) Value { return Value{f.name, *f.at, p.read == nil || p.read[f.at]} })
}

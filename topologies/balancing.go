package topologies

import (
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// Balancing holds the settings, beside Plan.Hash, by which all switches choose among equal-cost ports. The pipelines
// implement them in ebpf/c/balance.h.
type Balancing struct {
	Mode BalancingMode
	// Seed holds the seed of BalanceECMP's hash, from 0 to 2^32-1. OwnSeed gives each switch its own.
	Seed int
	// Fields selects the fields that BalanceECMP hashes.
	Fields HashFields
	// Gap sets the pause in a flow after which its next packet starts another flowlet.
	Gap vtime.Time
	// RoundRobin makes BalanceSpray use the ports to a leaf in turn instead of at random.
	RoundRobin bool
	// ByFlowlet makes BalanceAdaptive choose per flowlet instead of per packet.
	ByFlowlet bool
}

// OwnSeed means that each switch has its own seed.
const OwnSeed = -1

// DefaultBalancing returns the settings of a new plan: each switch hashes the 5-tuple with its own seed.
func DefaultBalancing() Balancing { return Balancing{Seed: OwnSeed, Gap: 50 * vtime.Microsecond} }

// BalancingMode selects the way a switch chooses among equal-cost ports. Its row of BalancingModes describes it.
type BalancingMode uint8

// Modes.
const (
	BalanceECMP BalancingMode = iota
	BalanceFlowlet
	BalanceSpray
	BalanceAdaptive
)

// BalancingModes holds a row for each mode of load balancing. The pipelines' part of it is in
// orchestrator/engine/fill/balancing.go.
var BalancingModes = []struct {
	Name, Doc string
	// KeepsPath means that a flow keeps the port that a hash of its packets selects. In other modes, the packets of a flow
	// may take several paths.
	KeepsPath bool
	// Uses lists the keys of load_balancing that have an effect; "gap by flowlet": the gap has one with ByFlowlet.
	Uses []string
}{
	BalanceECMP: {
		Name: "ecmp", Doc: "by a hash, so a flow keeps its path", KeepsPath: true, Uses: []string{"seed", "fields"},
	},
	BalanceFlowlet: {Name: "flowlet", Doc: "at random for each flowlet", Uses: []string{"gap"}},
	BalanceSpray:   {Name: "spray", Doc: "anew for each packet", Uses: []string{"order"}},
	BalanceAdaptive: {
		Name: "adaptive", Doc: "the port whose queue takes the least time to send", Uses: []string{"by", "gap by flowlet"},
	},
}

// BalancingNames returns the modes' names.
func BalancingNames() (names []string) {
	for i := range BalancingModes {
		names = append(names, BalancingModes[i].Name)
	}
	return names
}

func (m BalancingMode) String() string { return BalancingModes[m].Name }

// BalancingUsers returns the modes that use a key of load_balancing: "`flowlet`", "`adaptive` by flowlet".
func BalancingUsers(key string) (modes []string) {
	for i := range BalancingModes {
		for _, use := range BalancingModes[i].Uses {
			if used, condition, _ := strings.Cut(use, " "); used == key {
				modes = append(modes, strings.TrimSpace("`"+BalancingModes[i].Name+"` "+condition))
			}
		}
	}
	return modes
}

// Uses reports whether a key of load_balancing has an effect.
func (b *Balancing) Uses(key string) bool {
	return slices.ContainsFunc(BalancingModes[b.Mode].Uses, func(use string) bool {
		return use == key || b.ByFlowlet && use == key+" by flowlet"
	})
}

// KeepsPath reports whether a flow keeps the port that a hash of its packets selects.
func (b *Balancing) KeepsPath() bool { return BalancingModes[b.Mode].KeepsPath }

// Other reports whether the mode's parameter has a value other than the default: only some fields of the 5-tuple, ports
// in turn, or per flowlet.
func (b *Balancing) Other() bool {
	return b.Fields != HashFiveTuple && b.Uses("fields") || b.RoundRobin && b.Uses("order") || b.ByFlowlet && b.Uses("by")
}

// ByPacket reports whether each packet may take another port than the previous one. It returns true for each mode that
// neither hashes nor has flowlets.
func (b *Balancing) ByPacket() bool { return !b.KeepsPath() && !b.Uses("gap") }

// Remembers reports whether a switch keeps state of flowlets or of round robin.
func (b *Balancing) Remembers() bool { return b.Uses("gap") || b.Uses("order") && b.RoundRobin }

// HashFields selects the hashed fields of the 5-tuple.
type HashFields uint8

// Fields.
const (
	HashFiveTuple HashFields = iota
	HashAddresses
	HashSource
	HashDestination
	HashPorts
)

// HashFieldsNames lists the names of the values of HashFields.
var HashFieldsNames = []string{
	HashFiveTuple: "5-tuple", HashAddresses: "addresses", HashSource: "source", HashDestination: "destination",
	HashPorts: "ports",
}

func (f HashFields) String() string { return HashFieldsNames[f] }

// WithBalancing returns the plan with other load balancing.
func (p *Plan) WithBalancing(b Balancing) *Plan {
	if b == p.Balancing {
		return p
	}
	q := *p
	q.Balancing = b
	return &q
}

// WithHosts returns the plan with hosts that send RoCE over a version of IP, and spread the packets of a flow over
// source ports or not.
func (p *Plan) WithHosts(ip wire.Version, spread bool) *Plan {
	if ip == p.IP && spread == p.Spread {
		return p
	}
	q := *p
	q.IP, q.Spread = ip, spread
	return &q
}

// Moving reports whether the packets of a flow may take several paths, individually or by flowlet. Functions that
// return one path then return one of these, and Ways returns all ports.
func (p *Plan) Moving() bool { return p.Spread || !p.Balancing.KeepsPath() }

// Choices returns the largest number of choices that load balancing makes on a path: one in each of its switches except
// the last.
func (p *Plan) Choices() (most int) {
	leaves := p.leafSwitches(&p.routes)
	seen := make([]bool, len(leaves))
	for to, leaf := range p.routes.Leaf {
		if seen[leaf] {
			continue
		}
		seen[leaf] = true
		for _, from := range leaves {
			most = max(most, p.Hops(p.Switch[from], to)-1)
		}
	}
	return most
}

// Ways returns the egress ports that packets from one host to another may use if load balancing moves them: those of
// all shortest paths, each once, grouped by distance from the source. The source's own port is first.
func (p *Plan) Ways(source, destination NodeID, by Pair) [][]PortID {
	return p.WaysBy(p.Nodes[source].Ports[by.From], p.Nodes[destination].Ports[by.To], p.NextHops)
}

// WaysBy returns such ports between two hosts' ports, for switches that choose from nextHops.
func (p *Plan) WaysBy(from, to PortID, nextHops func(sw, to int) []PortID) [][]PortID {
	ways := [][]PortID{{from}}
	for {
		var next []PortID
		seen := map[NodeID]bool{}
		for _, id := range ways[len(ways)-1] {
			n := p.PeerNode(id)
			if n.Kind != Switch || seen[n.ID] {
				continue
			}
			seen[n.ID] = true
			hops := slices.Clone(nextHops(n.Index, p.Ports[to].Interface))
			slices.Sort(hops) // a port may occur more than once
			next = append(next, slices.Compact(hops)...)
		}
		if len(next) == 0 || len(ways) > len(p.Switch) {
			return ways
		}
		ways = append(ways, next)
	}
}

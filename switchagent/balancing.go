package switchagent

import "github.com/pausenet/pausenet/vtime"

// LoadBalancing describes how a switch chooses one of several equal-cost ports. The pipelines implement it in
// c/balance.h.
type LoadBalancing struct {
	Mode BalancingMode
	// Seed is the seed of BalanceECMP's hash, from 0 to 2^32-1. OwnSeed gives each switch its own.
	Seed int
	// Fields selects the fields that BalanceECMP hashes.
	Fields HashFields
	// Gap is the pause in a flow after which its next packet starts another flowlet.
	Gap vtime.Time
	// RoundRobin makes BalanceSpray use the ports to a leaf in turn instead of at random.
	RoundRobin bool
	// ByFlowlet makes BalanceAdaptive choose per flowlet instead of per packet.
	ByFlowlet bool
}

// OwnSeed means that each switch has its own seed.
const OwnSeed = -1

// BalancingMode is the way a switch chooses among equal-cost ports.
type BalancingMode uint8

// Modes.
const (
	BalanceECMP     BalancingMode = iota // a hash: a flow keeps its port
	BalanceFlowlet                       // at random, for each flowlet
	BalanceSpray                         // for each packet, at random or in turn
	BalanceAdaptive                      // the shortest queue
)

// BalancingNames lists the modes' names.
var BalancingNames = []string{
	BalanceECMP: "ecmp", BalanceFlowlet: "flowlet", BalanceSpray: "spray",
	BalanceAdaptive: "adaptive",
}

func (m BalancingMode) String() string { return BalancingNames[m] }

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

// HashFieldsNames lists their names.
var HashFieldsNames = []string{
	HashFiveTuple: "5-tuple", HashAddresses: "addresses", HashSource: "source", HashDestination: "destination",
	HashPorts: "ports",
}

func (f HashFields) String() string { return HashFieldsNames[f] }

// Flowlets reports whether a flow keeps its port for a flowlet.
func (b *LoadBalancing) Flowlets() bool {
	return b.Mode == BalanceFlowlet || b.Mode == BalanceAdaptive && b.ByFlowlet
}

// ByPacket reports whether each packet may take another port than the one before.
func (b *LoadBalancing) ByPacket() bool {
	return b.Mode == BalanceSpray || b.Mode == BalanceAdaptive && !b.ByFlowlet
}

// Remembers reports whether the switch keeps state of flowlets or of round robin.
func (b *LoadBalancing) Remembers() bool {
	return b.Flowlets() || b.Mode == BalanceSpray && b.RoundRobin
}

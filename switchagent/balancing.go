package switchagent

import "github.com/pausenet/pausenet/vtime"

// LoadBalancing is how a switch chooses one of several equal-cost ports. The pipelines do it: c/balance.h.
type LoadBalancing struct {
	Mode BalancingMode
	// Seed is that of the hash, of BalanceECMP, from 0 to 2^32-1; OwnSeed: each switch has its own.
	Seed int
	// Fields are what BalanceECMP hashes.
	Fields HashFields
	// Gap is how long a flow must have sent nothing for its next packet to begin another flowlet.
	Gap vtime.Time
	// RoundRobin has BalanceSpray take the ports to a leaf in turn; otherwise it takes one at random.
	RoundRobin bool
	// ByFlowlet has BalanceAdaptive choose for each flowlet; otherwise it does for each packet.
	ByFlowlet bool
}

// OwnSeed stands for a seed that is the switch's own.
const OwnSeed = -1

// BalancingMode is what a switch chooses by.
type BalancingMode uint8

// Modes.
const (
	BalanceECMP     BalancingMode = iota // a hash: a flow keeps its port
	BalanceFlowlet                       // at random, for each flowlet
	BalanceSpray                         // for each packet, at random or in turn
	BalanceAdaptive                      // the shortest queue
)

// BalancingNames are the modes' names.
var BalancingNames = []string{
	BalanceECMP: "ecmp", BalanceFlowlet: "flowlet", BalanceSpray: "spray",
	BalanceAdaptive: "adaptive",
}

func (m BalancingMode) String() string { return BalancingNames[m] }

// HashFields is what of the 5-tuple is hashed.
type HashFields uint8

// Fields.
const (
	HashFiveTuple HashFields = iota
	HashAddresses
	HashSource
	HashDestination
	HashPorts
)

// HashFieldsNames are their names.
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

package hostagent

import (
	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// Entropy is what the data packets of a flow have as their UDP source ports, which switches hash to choose among equal-cost ports. ACK and NAK
// have that of the packet which they answer.
type Entropy uint8

const (
	// EntropyFlow is the flow's own: it keeps to one path.
	EntropyFlow Entropy = iota
	// EntropyRandom is another for each packet, at random.
	EntropyRandom
	// EntropyREPS is that of packets which have arrived without a mark, each once more, and otherwise one at random (Bonato et al., "REPS:
	// Recycled Entropy Packet Spraying", arXiv:2407.21625).
	EntropyREPS
)

// EntropyNames are their names.
var EntropyNames = []string{EntropyFlow: "flow", EntropyRandom: "random", EntropyREPS: "reps"}

func (e Entropy) String() string { return EntropyNames[e] }

// Constants of REPS, as its authors' simulator has them.
const (
	repsCache   = 8                      // ports of packets that have arrived
	repsFreeze  = 10 * vtime.Millisecond // for which no other ports are tried after a timeout
	repsExplore = 16                     // packets with ports at random after that
)

// entropies are what a sender's packets have as their source ports.
type entropies struct {
	reps  bool
	seed  uint64
	drawn uint64

	cache   [repsCache]uint16 // a ring
	unused  [repsCache]bool   // no packet has had it since it arrived
	fresh   int               // of those
	filled  int               // how many the cache has
	head    int               // where the next comes
	again   int               // which is used next while frozen
	frozen  bool
	until   vtime.Time // frozen
	explore int        // packets to come with ports at random
}

// newEntropies returns those of a flow, which draws by a seed of its own; nil of one that keeps its port.
func newEntropies(e Entropy, seed uint64) *entropies {
	if e == EntropyFlow {
		return nil
	}
	return &entropies{reps: e == EntropyREPS, seed: seed}
}

// random is a port at random, by the count of those before: no order of events of other flows changes it.
func (e *entropies) random() uint16 {
	e.drawn++
	return uint16(wire.MinEntropyPort + splitmix.At(e.seed, e.drawn)%(0x10000-wire.MinEntropyPort))
}

// next is the port of the next packet. Of those in the cache the oldest that is unused comes first; while frozen, all in turn, used or not.
func (e *entropies) next() uint16 {
	at := e.head - e.fresh
	switch {
	case !e.reps || e.filled == 0:
		return e.random()
	case e.explore > 0:
		e.explore--
		return e.random()
	case e.frozen:
		at = e.again
		e.again = (at + 1) % e.filled
	case e.fresh == 0:
		return e.random()
	}
	at = (at + repsCache) % repsCache
	if e.unused[at] {
		e.unused[at] = false
		e.fresh--
	}
	return e.cache[at]
}

// answered takes the port of a packet that an answer is about: good is that it arrived, and without a mark.
func (e *entropies) answered(now vtime.Time, port uint16, good bool) {
	if e.frozen && now > e.until {
		*e = entropies{reps: true, seed: e.seed, drawn: e.drawn, explore: repsExplore}
	}
	if !good || !e.reps {
		return
	}
	if !e.unused[e.head] {
		e.unused[e.head] = true
		e.fresh++
	}
	e.cache[e.head] = port
	e.head = (e.head + 1) % repsCache
	e.filled = min(e.filled+1, repsCache)
}

// failed freezes the cache: a packet was lost, perhaps on a path that has failed, and those of the cache were good.
func (e *entropies) failed(now vtime.Time) {
	if e.reps && !e.frozen && e.explore == 0 {
		e.frozen, e.until, e.again = true, now+repsFreeze, 0
	}
}

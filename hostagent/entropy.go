package hostagent

import (
	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// Entropy selects the UDP source ports of a flow's data packets, which switches hash to choose among equal-cost
// ports. An ACK or NAK has the port of the packet that it answers.
type Entropy uint8

const (
	// EntropyFlow uses the flow's own port, so that all its packets take one path.
	EntropyFlow Entropy = iota
	// EntropyRandom draws a port for each packet.
	EntropyRandom
	// EntropyREPS reuses the port of each packet that arrived without a mark once, and otherwise draws one (Bonato et
	// al., "REPS: Recycled Entropy Packet Spraying", arXiv:2407.21625).
	EntropyREPS
)

// EntropyNames lists the names of the values of Entropy.
var EntropyNames = []string{EntropyFlow: "flow", EntropyRandom: "random", EntropyREPS: "reps"}

func (e Entropy) String() string { return EntropyNames[e] }

// Spreads reports whether the packets of a flow have several source ports.
func (s *Settings) Spreads() bool { return s.Entropy != EntropyFlow }

// Constants of REPS, as its authors' simulator has them.
const (
	repsCache   = 8                      // number of ports of arrived packets
	repsFreeze  = 10 * vtime.Millisecond // time after a timeout in which no other ports are tried
	repsExplore = 16                     // packets with random ports after that
)

// entropies chooses the source ports of a sender's packets.
type entropies struct {
	reps  bool
	seed  uint64
	drawn uint64

	cache   [repsCache]uint16 // a ring
	unused  [repsCache]bool   // no packet has been sent with the port since it arrived
	fresh   int               // number of unused ports
	filled  int               // number of ports in the cache
	head    int               // index at which to store the next port
	reuse   int               // index of the port to use next while frozen
	frozen  bool
	until   vtime.Time // end of the freeze
	explore int        // remaining packets with random ports
}

// newEntropies returns the entropies of a flow with its own seed; nil for one that keeps its port.
func newEntropies(e Entropy, seed uint64) *entropies {
	if e == EntropyFlow {
		return nil
	}
	return &entropies{reps: e == EntropyREPS, seed: seed}
}

// random draws a port by the count of those drawn before: the order of other flows' events does not change it.
func (e *entropies) random() uint16 {
	e.drawn++
	return uint16(wire.MinEntropyPort + splitmix.At(e.seed, e.drawn)%(0x10000-wire.MinEntropyPort))
}

// next returns the port of the next packet: the oldest unused one of the cache, or, while frozen, each in turn, used
// or not.
func (e *entropies) next() uint16 {
	at := e.head - e.fresh
	switch {
	case !e.reps || e.filled == 0:
		return e.random()
	case e.explore > 0:
		e.explore--
		return e.random()
	case e.frozen:
		at = e.reuse
		e.reuse = (at + 1) % e.filled
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

// answered records an answer to a packet with a port. good means that the packet arrived without a mark.
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

// failed freezes the cache: a packet was lost, perhaps on a path that has failed, and the ports in the cache were
// good.
func (e *entropies) failed(now vtime.Time) {
	if e.reps && !e.frozen && e.explore == 0 {
		e.frozen, e.until, e.reuse = true, now+repsFreeze, 0
	}
}

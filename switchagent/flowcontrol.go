package switchagent

import (
	"cmp"
	"math/bits"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// FlowControl selects how all ports of a fabric prevent their peers from overrunning their buffers.
type FlowControl uint8

// Flow controls.
const (
	// FlowPFC pauses the peer (IEEE 802.1Qbb).
	FlowPFC FlowControl = iota
	// FlowCBFC grants the peer credits (InfiniBand).
	FlowCBFC
)

// CBFC holds the settings of credit-based flow control (IBTA vol. 1, section 7.9), for switches and hosts.
type CBFC struct {
	Priorities uint8 // bit n: priority n uses credits, which make it lossless
	// Period sets the time between two credit messages of a port and priority (Tc in TCD's patent). AutoPeriod chooses
	// it by the link's rates.
	Period vtime.Time
	// Buffer sets a port's buffer for one priority; Auto chooses it by the cable and the period. It is not part of the
	// shared buffer.
	Buffer units.Bytes
	// Block sets the number of bytes per credit: 64 B times a power of 2, equal at both ends of every link. 0: see
	// BlockSize.
	Block units.Bytes
}

// minBlock holds InfiniBand's block size, in bytes.
const minBlock = 64

// BlockSize returns the block size that grants the most frames of frame bytes from this buffer, or the smallest such
// size. A frame uses whole blocks, so small blocks waste the least of the buffer, but only 2048 can be granted at a
// time. Of 280 KB, blocks of 64 B grant 120 frames of 1058 B, blocks of 128 B 227, and blocks of 256 B 218.
func (c *CBFC) BlockSize(buffer units.Bytes, frame int) units.Bytes {
	if c.Block != 0 {
		return c.Block
	}
	best, most := units.Bytes(minBlock), units.Bytes(0)
	for block := best; block <= buffer; block *= 2 {
		if frames := min(buffer/block, ebpf.CreditMost) / c.blocks(frame, block); frames > most {
			best, most = block, frames
		}
	}
	return best
}

// room returns the smallest buffer that can grant this many frames of frame bytes, at most ebpf.CreditMost.
func (c *CBFC) room(frames units.Bytes, frame int) units.Bytes {
	block := cmp.Or(c.Block, minBlock)
	for c.Block == 0 && frames*c.blocks(frame, block) > ebpf.CreditMost {
		block *= 2
	}
	return frames * c.blocks(frame, block) * block
}

func (c *CBFC) blocks(n int, block units.Bytes) units.Bytes {
	return (units.Bytes(n) + block - 1) / block
}

// Holds reports whether a port with this buffer can grant frames of up to longest bytes, where most frames have
// frame bytes.
func (c *CBFC) Holds(buffer units.Bytes, longest, frame int) bool {
	block := c.BlockSize(buffer, frame)
	return c.blocks(longest, block) <= min(buffer/block, ebpf.CreditMost)
}

// Lossless returns the set of lossless priorities.
func (s *Settings) Lossless() uint8 {
	if s.FlowControl == FlowCBFC {
		return s.CBFC.Priorities
	}
	return s.PFC.Priorities
}

// checkCredits switches OFF the priorities that are ON but lack the credits for their first frame. The engine spends
// the credits when a frame leaves a switch or a NIC (State.Spend). Inlined, checkCredits would slow down Dequeue in
// fabrics without credits.
//
//go:noinline
func (s *Switch) checkCredits(now vtime.Time, p int) {
	port := s.Port(p)
	for m := port.backlog & s.lossless; m != 0; m &= m - 1 {
		priority := uint8(bits.TrailingZeros8(m))
		if !s.state.Paused(p, priority, now) {
			s.state.HasCredit(now, p, priority, int(port.queue(priority).Head().Length))
		}
	}
}

package ebpf

import "github.com/pausenet/pausenet/vtime"

// CreditRange is the modulus of credit counts; CreditMost limits the credits granted at once (IBTA vol. 1, section
// 7.9).
const (
	CreditRange = 4096
	CreditMost  = 2048
)

// CreditLen sets the length of a credit message: tshark's dissector reads up to 62 bytes of the frame.
const CreditLen = 62

// Blocks returns the number of blocks that a frame of n bytes uses at port p.
func (s *State) Blocks(p, n int) uint16 {
	port := &s.Extras[p]
	return uint16((counted(n, port.Uncounted) + 1<<port.BlockShift - 1) >> port.BlockShift)
}

// Credits returns the blocks of the priority that port p may send. A result above CreditMost means that it has sent too
// many.
func (s *State) Credits(p int, priority uint8) uint16 {
	c := &s.Extras[p].Credit[priority]
	return (c.Limit - c.Sent) % CreditRange
}

// HasCredit reports whether port p has the credits for a frame of n bytes of the priority. If not, it switches the
// priority OFF until a message from the peer grants enough for that frame.
func (s *State) HasCredit(now vtime.Time, p int, priority uint8, n int) bool {
	class, port := &s.Ports[p].Class[priority], &s.Extras[p]
	c := &port.Credit[priority]
	needed := s.Blocks(p, n)
	if (c.Limit-c.Sent-needed)%CreditRange <= CreditMost {
		return true
	}
	c.Needed = needed
	class.OffSince, class.PausedUntil = uint64(now), uint64(vtime.Never)
	port.CreditStalls++
	return false
}

// Spend counts a frame of n bytes of the priority that leaves port p.
func (s *State) Spend(p int, priority uint8, n int) {
	c := &s.Extras[p].Credit[priority]
	c.Sent = (c.Sent + s.Blocks(p, n)) % CreditRange
}

package switchagent

import "math/bits"

// schedule picks the priority to serve among those open: strict priorities first, the highest number first; then
// deficit weighted round robin (Shreedhar and Varghese, SIGCOMM'95) among the rest.
func (s *Switch) schedule(p int, open uint8) uint8 {
	strict := open &^ s.weighted
	if strict != 0 {
		return uint8(bits.Len8(strict) - 1)
	}
	if open&(open-1) == 0 { // one queue: its turn whatever its deficit
		return uint8(bits.TrailingZeros8(open))
	}
	port, deficit := s.Port(p), &s.deficit[p-s.first]
	for {
		priority := port.round
		if open>>priority&1 != 0 {
			if !port.fresh {
				deficit[priority] += int64(s.settings.Scheduler.Quantum[priority])
				port.fresh = true
			}
			if n := s.counted(port.queue(priority).Head()); n <= deficit[priority] {
				deficit[priority] -= n
				if port.queue(priority).Packets == 1 { // an emptied queue keeps no credit
					deficit[priority] = 0
				}
				return priority
			}
		}
		port.round = (port.round + 1) % Priorities
		port.fresh = false
	}
}

// weighted returns the priorities with a DWRR quantum.
func (s *Scheduler) weighted() uint8 {
	var m uint8
	for i, q := range s.Quantum {
		if q > 0 {
			m |= 1 << i
		}
	}
	return m
}

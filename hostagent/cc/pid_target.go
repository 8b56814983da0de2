package cc

// Constants of the target's adjustment (thesis, section 3.5.4). The bound is ours: each adjustment may raise the target,
// and flows with higher targets raise each other's RTT.
const (
	rttchAfter = 6  // samples in a row on one side of the target that change nothing yet
	rttchMost  = 10 // unloaded RTTs that the target may come to
)

// targetAdjustment moves a target that the RTT stays on one side of. The thesis' table 2 counts samples with an unsigned
// count and a signed side, by which samples below the target could never be counted: here the count has a sign.
type targetAdjustment struct {
	run        int     // samples in a row above the target; negative: at or below it
	sum, count float64 // of all RTTs of the flow: ps, 1
}

// adjust takes a sample and is the target from then on: the old one, or the mean of all RTTs so far, which is what the
// old one and the mean deviation from it add up to (equations 27 and 28).
func (a *targetAdjustment) adjust(rtt, target, most float64) float64 {
	a.sum += rtt
	a.count++
	side := -1
	if rtt > target {
		side = 1
	}
	if a.run*side < 0 {
		a.run = 0
	}
	a.run += side
	if a.run*side <= rttchAfter {
		return target
	}
	a.run = 0
	return min(a.sum/a.count, most)
}

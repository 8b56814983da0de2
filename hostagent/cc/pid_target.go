package cc

// Constants of the target's adjustment (thesis, section 3.5.4). The bound is ours: each adjustment may raise the
// target, and flows with higher targets raise each other's RTT.
const (
	rttchAfter = 6  // samples in a row on one side of the target that change nothing yet
	rttchMost  = 10 // unloaded RTTs that the target may come to
)

// targetAdjustment moves a target that the RTT stays on one side of. The thesis' table 2 counts samples with an
// unsigned count and a signed side, by which samples below the target can never be counted: here the count has a sign,
// but for "printed".
type targetAdjustment struct {
	run        int     // samples in a row above the target; negative: at or below it
	sum, count float64 // of all RTTs of the flow, or of all deviations: ps, 1
}

// adjust takes a sample and is the target from then on: the old one, or the mean of all RTTs so far, which is what the
// old one and the mean deviation from it add up to (equations 27 and 28). With deviations each was taken from the
// target of its time, so that the first ones count again with each change.
func (a *targetAdjustment) adjust(rtt, target float64, c *pidConstants) float64 {
	a.sum += rtt
	if c.deviations {
		a.sum -= target
	}
	a.count++
	side := -1
	if rtt > target {
		side = 1
	}
	switch {
	case c.printed && a.run*side < 0:
		a.run = 0
	case c.printed: // a first sample below counts as one above
		a.run++
	case a.run*side < 0:
		a.run = side
	default:
		a.run += side
	}
	if max(a.run, -a.run) <= rttchAfter {
		return target
	}
	a.run = 0
	mean := a.sum / a.count
	if c.deviations {
		mean += target
	}
	return clamp(mean, 1, c.mostTarget)
}

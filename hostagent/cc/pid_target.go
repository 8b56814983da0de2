package cc

// Constants of the target's adjustment (thesis, section 3.5.4). The bound is pausenet's: each adjustment may raise the
// target, and flows with higher targets raise each other's RTT.
const (
	rttchAfter = 6  // consecutive samples on one side of the target that change nothing yet
	rttchMost  = 10 // maximum target in unloaded RTTs
)

// targetAdjustment moves a target when the RTT stays on one side of it. The thesis' table 2 counts samples with an
// unsigned count and a signed side, by which samples below the target can never be counted. Here the count has a sign,
// except with "printed".
type targetAdjustment struct {
	run        int     // consecutive samples above the target; negative: at or below it
	sum, count float64 // sum of all RTTs of the flow (ps), or of all deviations (1)
}

// adjust adds a sample and returns the new target: the old one, or the mean of all RTTs so far. The mean equals the old
// target plus the mean deviation from it (equations 27 and 28). With deviations each deviation refers to the target of
// its time, so that the first ones count again with each change.
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

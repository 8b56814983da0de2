package explore

import "github.com/pausenet/pausenet/internal/splitmix"

// Random draws numbers that depend only on its seed and on how many were drawn before.
type Random struct{ seed, count uint64 }

// NewRandom returns the numbers of one candidate: they do not depend on other candidates.
func NewRandom(seed, candidate uint64) *Random {
	return &Random{seed: splitmix.At(seed, candidate)}
}

// Float returns a number of [0, 1).
func (r *Random) Float() float64 {
	r.count++
	return splitmix.Float(splitmix.At(r.seed, r.count))
}

// Intn returns a whole number of 0..n-1; n is at least 1.
func (r *Random) Intn(n int) int { return min(int(r.Float()*float64(n)), n-1) }

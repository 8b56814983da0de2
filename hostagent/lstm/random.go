package lstm

import "github.com/pausenet/pausenet/internal/splitmix"

// Random generates random numbers (SplitMix64) that depend only on its seed.
type Random struct{ seed, drawn uint64 }

// NewRandom returns a generator with that seed.
func NewRandom(seed uint64) *Random { return &Random{seed: seed} }

// Uint64 returns the next 64 bits.
func (r *Random) Uint64() uint64 {
	r.drawn++
	return splitmix.At(r.seed, r.drawn-1)
}

// Float returns a uniform random number in [0, 1).
func (r *Random) Float() float64 { return splitmix.Float(r.Uint64()) }

// Between returns a uniform random number in [lo, hi).
func (r *Random) Between(lo, hi float64) float64 { return lo + float64(r.Float()*(hi-lo)) }

// Intn returns a uniform random number in 0..n-1; n is far below 2^53.
func (r *Random) Intn(n int) int { return int(r.Float() * float64(n)) }

// Shuffle puts indices into random order.
func (r *Random) Shuffle(indices []int) {
	for i := len(indices) - 1; i > 0; i-- {
		j := r.Intn(i + 1)
		indices[i], indices[j] = indices[j], indices[i]
	}
}

package lstm

// Random is a small generator (SplitMix64) whose numbers depend on nothing but its seed.
type Random struct{ state uint64 }

// NewRandom is a generator with that seed.
func NewRandom(seed uint64) *Random { return &Random{seed} }

// Uint64 is the next 64 bits.
func (r *Random) Uint64() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Float is uniform in [0, 1).
func (r *Random) Float() float64 { return float64(r.Uint64()>>11) / (1 << 53) }

// Between is uniform in [lo, hi).
func (r *Random) Between(lo, hi float64) float64 { return lo + float64(r.Float()*(hi-lo)) }

// Intn is uniform in 0..n-1; n is far below 2^53.
func (r *Random) Intn(n int) int { return int(r.Float() * float64(n)) }

// Shuffle puts indices into random order.
func (r *Random) Shuffle(indices []int) {
	for i := len(indices) - 1; i > 0; i-- {
		j := r.Intn(i + 1)
		indices[i], indices[j] = indices[j], indices[i]
	}
}

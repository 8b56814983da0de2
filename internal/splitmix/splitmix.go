// Package splitmix is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
// 2014), the one generator of random numbers in pausenet. It is a function of a seed and a count, without state: a
// number does not depend on which others were drawn, nor in which order. The pipelines have the same function in C
// (ebpf/c/ecn.h).
package splitmix

// increment is 2^64 over the golden ratio, odd.
const increment = 0x9e3779b97f4a7c15

// At returns the i-th number, from 0 on, of the generator with a seed: 64 random bits. At(x, 0) is a hash of x.
func At(seed, i uint64) uint64 {
	return Mix(seed + (i+1)*increment)
}

// Mix returns SplitMix64's finaliser, a bijection of 64 bits; Mix(0) is 0.
func Mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Float makes random bits a number of [0, 1), a multiple of 2^-53.
func Float(bits uint64) float64 { return float64(bits>>11) / (1 << 53) }

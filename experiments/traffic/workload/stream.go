// Package workload generates flows: sizes from empirical distributions, arrival times, and pairs of hosts. It is pure:
// its results depend only on the parameters and the seed, and are equal on every machine down to the last bit. For that
// reason, conversions separate floating-point operations that a compiler might fuse into one with a single rounding
// (x*y + z, on arm64 and others), and the package uses no function of package math that has an assembly version on some
// machine.
package workload

import (
	"math"
	"math/bits"

	"github.com/pausenet/pausenet/internal/splitmix"
)

// Stream provides random numbers by their index, those of SplitMix64. A number does not depend on which others were
// drawn, so the numbers that a workload draws for one purpose do not change the others.
type Stream uint64

// NewStream returns the stream of a seed and a purpose. Streams of different purposes are independent.
func NewStream(seed uint64, purpose string) Stream {
	s := Stream(splitmix.At(seed, 0))
	for i := range len(purpose) {
		s = s.Sub(uint64(purpose[i]))
	}
	return s.Sub(uint64(len(purpose)) + 256)
}

// Sub returns the n-th stream of those that belong to s.
func (s Stream) Sub(n uint64) Stream { return Stream(splitmix.Mix(s.Bits(n) ^ 0xD1B54A32D192ED03)) }

// Bits returns the i-th number: 64 random bits.
func (s Stream) Bits(i uint64) uint64 { return splitmix.At(uint64(s), i) }

// Uniform returns the i-th number, scaled to [0, 1): a multiple of 2^-53.
func (s Stream) Uniform(i uint64) float64 { return splitmix.Float(s.Bits(i)) }

// Below returns the i-th number, reduced to 0 to n-1. Some results are more likely by up to n/2^64, which does not
// matter.
func (s Stream) Below(i uint64, n int) int {
	high, _ := bits.Mul64(s.Bits(i), uint64(n))
	return int(high)
}

// Exponential returns the i-th number, converted to an exponential distribution with mean 1.
func (s Stream) Exponential(i uint64) float64 { return -logarithm(1 - s.Uniform(i)) }

// reciprocals holds 1/21, 1/19, ... 1.
var reciprocals = [11]float64{
	1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5,
	1.0 / 3, 1,
}

// logarithm returns the natural logarithm of x > 0, with an error of at most 1e-15, absolute or relative. math.Log is
// assembly on some machines and may be fused on others. With x = f*2^e and f from 0.71 to 1.41, ln f is 2
// artanh((f-1)/(f+1)): its series in powers of at most 0.172 converges after 11 terms.
func logarithm(x float64) float64 {
	f, e := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f *= 2
		e--
	}
	s := (f - 1) / (f + 1)
	square := float64(s * s)
	sum := 0.0
	for _, r := range reciprocals {
		sum = float64(sum*square) + r
	}
	return float64(float64(e)*math.Ln2) + float64(2*s*sum)
}

package workload

import (
	"math"
	"math/bits"
	"testing"

	"github.com/pausenet/pausenet/internal/splitmix"
)

// TestLogarithm against math.Log over the whole range of draws, and exactly at powers of two.
func TestLogarithm(t *testing.T) {
	check := func(x float64) {
		if got, want := logarithm(x), math.Log(x); math.Abs(got-want) > 1e-15*max(1, math.Abs(want)) {
			t.Errorf("ln %g is %.17g, want %.17g", x, got, want)
		}
	}
	s := Stream(1)
	for i := range uint64(100_000) {
		check(1 - s.Uniform(i))
		check(math.Ldexp(1-s.Uniform(i), -int(i%53)))
	}
	for e := range 54 {
		check(math.Ldexp(1, -e))
		check(1 - math.Ldexp(1, -e-1))
	}
	if logarithm(1) != 0 {
		t.Error("ln 1 is not 0")
	}
}

// TestStream: SplitMix64's published first outputs for seed 1234567 (Rosetta Code, "Pseudo-random numbers/Splitmix64").
func TestStream(t *testing.T) {
	s := Stream(1234567)
	for i, want := range []uint64{
		6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431,
		16408922859458223821,
	} {
		if got := s.Bits(uint64(i)); got != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
	}
}

// TestStreamsDiffer: streams of near seeds and purposes have nothing in common.
func TestStreamsDiffer(t *testing.T) {
	seen := map[Stream]string{}
	for seed := range uint64(64) {
		for _, purpose := range []string{"", "a", "b", "ab", "ba", "a\x00", "\x00a", "poisson", "poisson#2"} {
			for n := range uint64(4) {
				s := NewStream(seed, purpose).Sub(n)
				if before, taken := seen[s]; taken {
					t.Errorf("%d %q %d: the stream of %s", seed, purpose, n, before)
				}
				seen[s] = purpose
			}
		}
	}
	// Of two streams, half of the bits agree.
	a, b, agree := NewStream(1, "a"), NewStream(2, "a"), 0
	for i := range uint64(10_000) {
		agree += bits.OnesCount64(^(a.Bits(i) ^ b.Bits(i)))
	}
	if d := math.Abs(float64(agree) - 320_000); d > 5*400 { // sigma is 400
		t.Errorf("%d of 640000 bits agree", agree)
	}
}

// TestPortable checks that the bits are the same on every machine. The expected ones were computed on amd64; a compiler
// that fuses operations, as GOAMD64=v3 allows, must give the same.
func TestPortable(t *testing.T) {
	h := uint64(0)
	s := NewStream(7, "portable")
	web := sizes(t, "websearch")
	for i := range uint64(200_000) {
		h = splitmix.Mix(h ^ math.Float64bits(s.Exponential(i)))
		h = splitmix.Mix(h ^ uint64(web.Quantile(s.Uniform(i))))
	}
	for _, name := range BuiltinNames() {
		h = splitmix.Mix(h ^ math.Float64bits(sizes(t, name).Mean()))
	}
	const want = 0x3a38414b998812ba
	if h != want {
		t.Errorf("hash %#x, want %#x", h, uint64(want))
	}
}

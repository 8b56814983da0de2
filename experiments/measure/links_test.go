package measure

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLeading checks that the leading links are those that a sort of all would put first. They are found without memory
// for all: a fabric of 16384 hosts has 65536.
func TestLeading(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	most := func(l *Link) float64 { return float64(l.PausedNS) }
	for n := range 60 {
		all := make([]Link, n)
		for i := range all {
			all[i] = Link{TxFrames: int64(i), PausedNS: rng.Int64N(12)} // many equals, and some that have none
		}
		want := slices.DeleteFunc(slices.Clone(all), func(l Link) bool { return l.PausedNS == 0 })
		slices.SortStableFunc(want, func(a, b Link) int { return cmp.Compare(b.PausedNS, a.PausedNS) })
		want = want[:min(len(want), mostLinks)]
		got := leading(all, most)
		if got == nil || !slices.Equal(got, want) {
			t.Fatalf("of %d links %v, want %v", n, got, want)
		}
		if cap(got) > mostLinks+1 {
			t.Fatalf("room for %d links", cap(got))
		}
	}
}

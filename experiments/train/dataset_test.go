package train

import (
	"math"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/hostagent/lstm"
)

func near(t testing.TB, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.12g, want %.12g", what, got, want)
	}
}

// TestPairs checks the pairs against equation 3 of the thesis: hostagent/lstm/testdata/vectors.txt, series.
func TestPairs(t *testing.T) {
	pairs := sequence{4.2, 4.4, 5, 6, 9, 7}.pairs()
	want := []lstm.Pair{
		{Features: lstm.Features{0, .037735849, .138433515}, Label: .366120219},
		{Features: lstm.Features{.037735849, .138433515, .272912424}, Label: .909368635},
		{Features: lstm.Features{.138433515, .272912424, .615543684}, Label: .256533977},
	}
	if len(pairs) != len(want) {
		t.Fatalf("%d pairs, want %d: three samples for the features and one for the label", len(pairs), len(want))
	}
	for i, p := range pairs {
		near(t, "label", p.Label, want[i].Label, 6e-10)
		for k := range p.Features {
			near(t, "K", p.Features[k], want[i].Features[k], 6e-10)
		}
	}
	if q := (sequence{4.2, 4.4, 5}).pairs(); q != nil {
		t.Errorf("pairs without a label: %v", q)
	}
}

func TestStrata(t *testing.T) {
	for k, want := range map[float64]int{
		0: 0, .0199: 0, -.0199: 0, .02: 1, -.02: 1, .0799: 1, .08: 2, .1499: 2, .15: 3, -.15: 3, 4: 3,
	} {
		if got := stratum(k); got != want {
			t.Errorf("|%g| is in stratum %d, want %d", k, got, want)
		}
	}
}

// TestDataset draws from RTTs that mostly do not change.
func TestDataset(t *testing.T) {
	random := lstm.NewRandom(1)
	var all []sequence
	for range 4 {
		q := sequence{}
		for i := range 20_000 {
			spread := .01
			if i%3 == 0 {
				spread = .4
			}
			q = append(q, 5*(1+random.Between(-spread, spread)))
		}
		all = append(all, q)
	}
	d := newDataset(all, random)
	if len(d.pairs) != 19058 || d.taken != [4]int{4765, 4765, 4764, 4764} {
		t.Errorf("%d pairs, by stratum %v of %v", len(d.pairs), d.taken, d.available)
	}
	var counted [4]int
	for _, p := range d.pairs {
		counted[stratum(p.Features[2])]++
	}
	if counted != d.taken {
		t.Errorf("by stratum %v", counted)
	}
	// One stratum with too few gives what it has.
	short := newDataset([]sequence{all[0][:3000]}, random)
	if n := short.taken[0] + short.taken[1] + short.taken[2] + short.taken[3]; n != len(short.pairs) || n != 2997 {
		t.Errorf("%v of %v", short.taken, short.available)
	}
}

func TestDeck(t *testing.T) {
	pairs := make([]lstm.Pair, 19058)
	for i := range pairs {
		pairs[i].Label = float64(i)
	}
	d := deck{pairs: pairs, random: lstm.NewRandom(1)}
	seen := map[float64]int{}
	var first []lstm.Pair
	for round := range 20 {
		dealt := d.deal(1000)
		if round == 0 {
			first = slices.Clone(dealt)
		}
		for _, p := range dealt {
			seen[p.Label]++
		}
		if round == 18 && len(seen) != 19_000 {
			t.Errorf("%d pairs in 19 rounds: some came twice", len(seen))
		}
	}
	if sorted := slices.IsSortedFunc(first, func(a, b lstm.Pair) int { return int(a.Label - b.Label) }); sorted {
		t.Error("the deck is not shuffled")
	}
}

func TestMAPE(t *testing.T) {
	var p lstm.Parameters
	p[len(p)-1] = .1 // the head's bias: the network always says .1
	pairs := []lstm.Pair{{Label: .1}, {Label: 0}, {Label: -.5}, {Label: .375}}
	// 1.1 for 1.1, 1.1 for 1, 1.1 for 0.5, 1.1 for 1.375.
	near(t, "MAPE", mape(lstm.New(&p), pairs), (0+.1+1.2+.2)/4, 1e-12)
}

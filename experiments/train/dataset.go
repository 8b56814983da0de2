package train

import (
	"math"

	"github.com/pausenet/pausenet/hostagent/lstm"
)

// wanted sets the number of pairs in the dataset, as in the thesis (section 3.4.2).
const wanted = 19058

// strata lists the upper ends of the ranges of |K_t| that are sampled equally (end of section 3.3.1). Most samples lie
// in the first range. A network trained on all of them would learn to expect no change.
var strata = [...]float64{0.02, 0.08, 0.15, math.Inf(1)}

// dataset holds pairs. Each stratum has the same number of them, if there are enough.
type dataset struct {
	pairs     []lstm.Pair
	available [len(strata)]int // number of collected pairs of each stratum
	taken     [len(strata)]int
}

// newDataset draws pairs of all the sequences.
func newDataset(sequences []sequence, random *lstm.Random) *dataset {
	var d dataset
	var of [len(strata)][]lstm.Pair
	for _, q := range sequences {
		for _, p := range q.pairs() {
			i := stratum(p.Features[lstm.Steps-1])
			of[i] = append(of[i], p)
		}
	}
	for i, all := range of {
		d.available[i] = len(all)
		// 19058 is not a multiple of 4: the first strata take the remainder.
		quota := wanted / len(strata)
		if i < wanted%len(strata) {
			quota++
		}
		for _, k := range permutation(random, len(all))[:min(quota, len(all))] {
			d.pairs = append(d.pairs, all[k])
			d.taken[i]++
		}
	}
	return &d
}

// stratum returns the index of K's range.
func stratum(k float64) int {
	for i, end := range strata {
		if math.Abs(k) < end {
			return i
		}
	}
	return len(strata) - 1
}

// permutation returns 0..n-1 in random order.
func permutation(random *lstm.Random, n int) []int {
	indices := make([]int, n)
	for i := range indices {
		indices[i] = i
	}
	random.Shuffle(indices)
	return indices
}

// deck deals a dataset's pairs in random order, each once before any is dealt again. 19 rounds of 800 and 200 pairs use
// 19 000 of the 19 058: no further whole round is possible, which is why the thesis says that the number of pairs
// limits it to 19 rounds.
type deck struct {
	pairs  []lstm.Pair
	random *lstm.Random
	order  []int // of the pairs not dealt yet
}

// deal returns the next n pairs. If fewer are left in the deck, it skips them.
func (d *deck) deal(n int) []lstm.Pair {
	if len(d.order) < n {
		d.order = permutation(d.random, len(d.pairs))
	}
	dealt := make([]lstm.Pair, 0, n)
	for _, i := range d.order[:n] {
		dealt = append(dealt, d.pairs[i])
	}
	d.order = d.order[n:]
	return dealt
}

// mape returns the mean absolute percentage error of the RTTs that a network predicts, as a fraction of 1 (equation
// 13).
func mape(n lstm.Model, pairs []lstm.Pair) float64 {
	if len(pairs) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for i := range pairs {
		sum += relativeError(n, &pairs[i])
	}
	return sum / float64(len(pairs))
}

// relativeError returns |predicted - true| / true of the RTT that a pair's label stands for.
func relativeError(n lstm.Model, p *lstm.Pair) float64 {
	return math.Abs(n.Predict(&p.Features)-p.Label) / (1 + p.Label)
}

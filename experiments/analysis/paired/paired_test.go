package paired

import (
	"fmt"
	"math"
	"math/big"
	"testing"
)

// binomial returns the exact probability of k successes in n trials.
func binomial(n, k int, p *big.Rat) *big.Rat {
	q := new(big.Rat).Sub(big.NewRat(1, 1), p)
	x := new(big.Rat).SetInt(new(big.Int).Binomial(int64(n), int64(k)))
	return x.Mul(x, ratPower(p, k)).Mul(x, ratPower(q, n-k))
}

func ratPower(x *big.Rat, k int) *big.Rat {
	n := new(big.Int).Exp(x.Num(), big.NewInt(int64(k)), nil)
	d := new(big.Int).Exp(x.Denom(), big.NewInt(int64(k)), nil)
	return new(big.Rat).SetFrac(n, d)
}

// tail returns the exact probability of from to to successes in n trials.
func tail(n, from, to int, p *big.Rat) float64 {
	sum := new(big.Rat)
	for k := from; k <= to; k++ {
		sum.Add(sum, binomial(n, k, p))
	}
	f, _ := sum.Float64()
	return f
}

// mixture returns exactly the mean over x, uniform from from to 1, of x^k (1-x)^l, by expanding (1-x)^l.
func mixture(k, l int, from *big.Rat) *big.Rat {
	sum := new(big.Rat)
	for i := range l + 1 { // the integral of C(l,i) (-1)^i x^(k+i)
		term := new(big.Rat).Sub(big.NewRat(1, 1), ratPower(from, k+i+1))
		term.Mul(term, new(big.Rat).SetInt(new(big.Int).Binomial(int64(l), int64(i))))
		if term.Mul(term, big.NewRat(1, int64(k+i+1))); i%2 == 1 {
			term.Neg(term)
		}
		sum.Add(sum, term)
	}
	return sum.Quo(sum, new(big.Rat).Sub(big.NewRat(1, 1), from))
}

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-9*math.Abs(want) }

var half = big.NewRat(1, 2)

// TestP holds both tests' p-values against exact fractions.
func TestP(t *testing.T) {
	for _, n := range []int{1, 2, 7, 8, 20, 61, 200} {
		for better := 0; better <= n; better += 1 + n/20 {
			worse := n - better
			if got, want := Fixed.pBetter(better, worse), tail(n, better, n, half); !near(got, want) {
				t.Errorf("fixed, %d of %d: %g, want %g", better, n, got, want)
			}
			e, _ := mixture(better, worse, half).Float64()
			if got, want := Sequential.pBetter(better, worse), min(1, 1/math.Ldexp(e, n)); !near(got, want) {
				t.Errorf("sequential, %d of %d: %g, want %g", better, n, got, want)
			}
		}
	}
}

// TestShare holds intervals against their definitions by exact fractions: Clopper's and Pearson's have a tail of 2.5 % at
// either end, and at an end of a sequential one the mixture of likelihoods is 20 times the likelihood.
func TestShare(t *testing.T) {
	for _, c := range []struct{ k, n int }{{0, 1}, {1, 1}, {0, 10}, {1, 10}, {5, 10}, {33, 40}, {83, 100}} {
		for _, design := range []Design{Fixed, Sequential} {
			low, high := design.share(c.k, c.n)
			at := func(q float64) *big.Rat { return new(big.Rat).SetFloat64(q) }
			likelihood := func(q float64) float64 {
				x := mixture(c.k, c.n-c.k, new(big.Rat))
				x.Quo(x, binomial(c.n, c.k, at(q))).Mul(x, new(big.Rat).SetInt(new(big.Int).Binomial(int64(c.n), int64(c.k))))
				f, _ := x.Float64()
				return f
			}
			for _, end := range []struct {
				q       float64
				bounded bool
				fixed   func() float64
			}{
				{low, c.k > 0, func() float64 { return tail(c.n, c.k, c.n, at(low)) }},
				{high, c.k < c.n, func() float64 { return tail(c.n, 0, c.k, at(high)) }},
			} {
				switch {
				case !end.bounded:
					if end.q != 0 && end.q != 1 {
						t.Errorf("%d of %d: unbounded end %g", c.k, c.n, end.q)
					}
				case design == Fixed:
					if got := end.fixed(); math.Abs(got-Alpha/2) > 1e-8 {
						t.Errorf("fixed, %d of %d, end %g: a tail of %g, want 0.025", c.k, c.n, end.q, got)
					}
				default:
					if got := likelihood(end.q); math.Abs(got-1/Alpha) > 1e-6 {
						t.Errorf("sequential, %d of %d, end %g: a ratio of %g, want 20", c.k, c.n, end.q, got)
					}
				}
			}
		}
	}
}

// TestRatio holds the ranks of the fixed interval of a median against the table in Conover, Practical Nonparametric
// Statistics, and those of the sequential one against exact fractions.
func TestRatio(t *testing.T) {
	for n, rank := range map[int]int{5: 0, 6: 1, 8: 1, 9: 2, 12: 3, 15: 4, 17: 5, 20: 6, 25: 8, 30: 10, 50: 18} {
		if got := Fixed.rejected(n); got != rank {
			t.Errorf("%d pairs: rank %d, want %d", n, got, rank)
		}
	}
	for _, n := range []int{7, 8, 20, 100} {
		want := 0
		for ; 2*want < n; want++ {
			if e, _ := mixture(n-want, want, half).Float64(); math.Ldexp(e, n) < 2/Alpha {
				break
			}
		}
		if got := Sequential.rejected(n); got != want {
			t.Errorf("%d pairs: rank %d, want %d", n, got, want)
		}
	}
	s := Sample{Design: Fixed}
	for _, r := range []float64{4, 0, 0.25, math.Inf(1), 1, 1, 2, 0.5, 8, 0.125} {
		s.Add(r)
	}
	if m, low, high := s.Ratio(); m != 1 || low != 0.125 || high != 8 { // ranks 2 and 9 of 10
		t.Errorf("median %g, %g to %g", m, low, high)
	}
	if s.Better != 4 || s.Equal != 2 || s.Worse != 4 || s.Pairs() != 10 {
		t.Errorf("%+v", s)
	}
	if m, low, high := new(Sample).Ratio(); !math.IsNaN(m) || low != 0 || !math.IsInf(high, 1) {
		t.Errorf("no pairs: %g, %g to %g", m, low, high)
	}
}

// everRejected returns the exact probability that a test ever rejects, looking after each round up to the last: the
// probability distribution of the numbers of better and worse pairs is followed round by round. Each scenario of a
// round has its own probabilities of a better and a worse pair.
func everRejected(rounds int, scenarios [][2]float64, rejects func(better, worse int) bool) (rejected float64) {
	at := map[[2]int]float64{{}: 1}
	for range rounds {
		for _, p := range scenarios {
			next := map[[2]int]float64{}
			for k, v := range at {
				next[[2]int{k[0] + 1, k[1]}] += v * p[0]
				next[[2]int{k[0], k[1] + 1}] += v * p[1]
				if equal := 1 - p[0] - p[1]; equal > 0 {
					next[k] += v * equal
				}
			}
			at = next
		}
		for k, v := range at {
			if rejects(k[0], k[1]) {
				rejected += v
				delete(at, k)
			}
		}
	}
	return rejected
}

// TestStopping: whoever stops as soon as the sequential test rejects errs with a probability of at most 5 %, also where
// scenarios differ. Who looks at the fixed test so often errs far more.
func TestStopping(t *testing.T) {
	either := func(d Design) func(int, int) bool {
		return func(better, worse int) bool {
			return 2*min(d.pBetter(better, worse), d.pBetter(worse, better)) <= Alpha
		}
	}
	for _, scenarios := range [][][2]float64{
		{{0.5, 0.5}}, {{0.9, 0.1}, {0.1, 0.9}}, {{0.25, 0.25}, {0.5, 0.5}}, {{0.8, 0}, {0.05, 0.9}, {0.05, 0}},
	} {
		if p := everRejected(120/len(scenarios), scenarios, either(Sequential)); p > Alpha {
			t.Errorf("%v: rejected with a probability of %.4f", scenarios, p)
		}
	}
	if p := everRejected(120, [][2]float64{{0.5, 0.5}}, either(Fixed)); p < 0.15 {
		t.Errorf("a fixed test at every round rejects with a probability of %.4f only: the test would not find a peeker", p)
	}
	if p := everRejected(120, [][2]float64{{0.83, 0.17}}, either(Sequential)); p < 0.999 {
		t.Errorf("83 %% of better pairs are found with a probability of %.4f only", p)
	}
}

// TestCoverage: intervals of a share hold it with a probability of at least 95 %: the fixed one after the pairs chosen
// beforehand, the sequential one after all rounds at once.
func TestCoverage(t *testing.T) {
	for _, p := range []float64{0.03, 0.3, 0.5, 0.83, 0.97} {
		misses := func(d Design) func(int, int) bool {
			return func(better, worse int) bool {
				low, high := d.share(better, better+worse)
				return p < low || p > high
			}
		}
		if q := everRejected(80, [][2]float64{{p, 1 - p}}, misses(Sequential)); q > Alpha {
			t.Errorf("%g: the sequential interval ever misses it with a probability of %.4f", p, q)
		}
		missed := 0.0
		for k := range 41 {
			if misses(Fixed)(k, 40-k) {
				missed += tail(40, k, k, new(big.Rat).SetFloat64(p))
			}
		}
		if missed > Alpha {
			t.Errorf("%g: the fixed interval misses it with a probability of %.4f", p, missed)
		}
	}
}

// TestHolm: by hand. Sorted, 0.005, 0.01, 0.03 and 0.04 are multiplied by 4, 3, 2 and 1; none may be below an earlier one.
func TestHolm(t *testing.T) {
	if got := fmt.Sprintf("%.3f", Holm([]float64{0.01, 0.04, 0.03, 0.005})); got != "[0.030 0.060 0.060 0.020]" {
		t.Error(got)
	}
	if got := Holm([]float64{0.9, 0.6}); got[0] != 1 || got[1] != 1 {
		t.Error(got)
	}
}

// TestNeeded: by hand. Of n better pairs 2^(n+1)/(n+1) (1 - 2^-(n+1)) is the statistic, which has to reach 40 for one
// measure, and 240 for six.
func TestNeeded(t *testing.T) {
	for _, c := range []struct{ measures, fixed, sequential int }{{1, 6, 8}, {6, 8, 11}} {
		if f, s := Fixed.Needed(c.measures), Sequential.Needed(c.measures); f != c.fixed || s != c.sequential {
			t.Errorf("%d measures: %d and %d pairs, want %d and %d", c.measures, f, s, c.fixed, c.sequential)
		}
	}
}

// TestDirection: P names the better side, keeps what it has found in a sequential design, and finds nothing where
// nothing differs, under 200 seeds.
func TestDirection(t *testing.T) {
	for _, design := range []Design{Sequential, Fixed} {
		s := Sample{Design: design, Margin: 0.01}
		if p, direction := s.P(); p != 1 || direction != 0 {
			t.Errorf("before any look: %g, %d", p, direction)
		}
		for range 200 {
			s.Add(1)
			s.Look()
			if p, _ := s.P(); p != 1 {
				t.Fatalf("equal pairs: %g", p)
			}
		}
		for _, ratio := range []float64{1.0099, 0.9902} { // within 1 %
			if s.Add(ratio) != 0 {
				t.Errorf("%g counts as a difference", ratio)
			}
		}
		for range 10 {
			s.Add(2)
		}
		s.Look()
		p, direction := s.P()
		if p > Alpha || direction != 1 {
			t.Errorf("ten worse pairs: %g, %d", p, direction)
		}
		for range 10 {
			s.Add(0.5)
		}
		s.Look()
		if later, _ := s.P(); (later == p) != (design == Sequential) {
			t.Errorf("design %d: after as many better pairs %g, before %g", design, later, p)
		}
		if share, low, high := s.Share(s.Better); share != 10.0/222 || low >= share || high <= share {
			t.Errorf("share %g, %g to %g", share, low, high)
		}
	}
}

// Needed returns how many pairs, all with A better, suffice to reject that it is not, if measures are tested together.
func (d Design) Needed(measures int) int {
	n := 1
	for 2*d.pBetter(n, 0)*float64(measures) > Alpha {
		n++
	}
	return n
}

// Package paired compares two alternatives, A and B, by pairs of runs with common random numbers: the same scenario
// under the same seed. It knows only each pair's ratio, A's cost over B's. How often A is better, and by how much, is
// estimated without assumptions on the distribution of the costs: by the sign test and by order statistics.
//
// A comparison has one of two designs. Fixed needs a number of pairs that you chose before the first run. Sequential
// may stop at any time, for example when the answer is clear, and has wider intervals.
//
// Pairs come in rounds: one pair of each scenario, under a new seed. Let w, l and e be the probabilities that A is
// better, worse or equal, averaged over the scenarios of a round. The hypothesis that a sequential test rejects is
// w <= l. Its test statistic multiplies a pair's factor: 2x if A is better, 2(1-x) if it is worse, 1 if equal, and is
// averaged over x, uniform from 1/2 to 1. The pairs of a round are independent, so the expected product over a round is
// the product of expected factors, by the inequality of the means at most the power of their mean, which is
// e + 2xw + 2(1-x)l <= 1. So between rounds the statistic is a supermartingale that starts at 1, even where scenarios
// differ: it ever reaches 1/p with a probability of at most p (Ville).
//
// Sources: Robbins, Annals of Mathematical Statistics 41 (1970), 1397-1409, for mixtures; Howard, Ramdas, McAuliffe and
// Sekhon, Time-uniform, nonparametric, nonasymptotic confidence sequences, Annals of Statistics 49 (2021), 1055-1080,
// for intervals that hold at all times; Clopper and Pearson, Biometrika 26 (1934), 404-413; Holm, Scandinavian Journal
// of Statistics 6 (1979), 65-70.
package paired

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Design states whether the number of pairs was chosen beforehand.
type Design int

const (
	Sequential Design = iota // the comparison may stop after any round
	Fixed                    // the number of pairs was chosen before the first run
)

// Alpha holds the probability of error of tests and intervals: intervals cover with a probability of at least 95 %.
const Alpha = 0.05

// Sample collects the pairs of one measure.
type Sample struct {
	Design Design
	// Margin holds the relative difference up to which a pair counts as equal: 0.01 for 1 %.
	Margin float64

	Better, Equal, Worse int // pairs in which A's cost is lower, equal or higher

	ratios []float64
	p      [2]float64 // least p-values so far that A is better and that it is worse, each one-sided
	looked bool
}

// Add adds a pair by the ratio of A's cost to B's, from 0 to +Inf. It returns -1 if A is better, 0 if both are equal
// within the margin, and 1 if A is worse.
func (s *Sample) Add(ratio float64) int {
	s.ratios = append(s.ratios, ratio)
	switch {
	case ratio < 1/(1+s.Margin):
		s.Better++
		return -1
	case ratio > 1+s.Margin:
		s.Worse++
		return 1
	}
	s.Equal++
	return 0
}

// Pairs returns the number of pairs.
func (s *Sample) Pairs() int { return len(s.ratios) }

// Look tests the pairs so far. Call it after each round, never within one. In a Fixed design only the last call counts.
func (s *Sample) Look() {
	now := [2]float64{s.Design.pBetter(s.Better, s.Worse), s.Design.pBetter(s.Worse, s.Better)}
	if !s.looked || s.Design == Fixed {
		s.p, s.looked = now, true
		return
	}
	s.p = [2]float64{min(s.p[0], now[0]), min(s.p[1], now[1])}
}

// P returns the two-sided p-value at the last Look, and the direction that it speaks for: -1 if A is better, 1 if it is
// worse. In a Sequential design it is valid whenever the comparison stops.
func (s *Sample) P() (p float64, direction int) {
	if !s.looked {
		return 1, 0
	}
	if s.p[0] <= s.p[1] {
		return min(1, 2*s.p[0]), -1
	}
	return min(1, 2*s.p[1]), 1
}

// Share returns the share of count pairs in all, such as Better, with its 95 % confidence interval.
func (s *Sample) Share(count int) (share, low, high float64) {
	n := len(s.ratios)
	low, high = s.Design.share(count, n)
	return float64(count) / float64(n), low, high
}

// Ratio returns the median ratio of A's cost to B's, with its 95 % confidence interval; 0 and +Inf are ends that the
// pairs do not bound. It is NaN without pairs.
func (s *Sample) Ratio() (median, low, high float64) {
	n := len(s.ratios)
	if n == 0 {
		return math.NaN(), 0, math.Inf(1)
	}
	sorted := slices.Sorted(slices.Values(s.ratios))
	median = geometricMean(sorted[(n-1)/2], sorted[n/2])
	low, high = 0, math.Inf(1)
	// A median below the k-th ratio would have fewer than k pairs below it. The test rejects it if so few are unlikely.
	if k := s.Design.rejected(n); k > 0 {
		low, high = sorted[k-1], sorted[n-k]
	}
	return median, low, high
}

// geometricMean returns the mean of two ratios, so that it inverts as they do.
func geometricMean(a, b float64) float64 {
	if a == b {
		return a
	}
	return math.Sqrt(a) * math.Sqrt(b) // NaN for 0 and +Inf, between which nothing lies
}

// rejected returns how many pairs below the median, of n, are too few: from 0 to the result less 1.
func (d Design) rejected(n int) int {
	k := 0
	for 2*k < n && d.pBetter(n-k, k) <= Alpha/2 {
		k++
	}
	return k
}

// pBetter returns the one-sided p-value of the hypothesis that a pair is no more often better than worse.
func (d Design) pBetter(better, worse int) float64 {
	n := better + worse
	if n == 0 {
		return 1
	}
	if d == Fixed {
		return atMost(n, worse) // by symmetry as likely as at least better ones
	}
	// The mean over x of 2^n x^better (1-x)^worse is 2 * 2^n * B(better+1, worse+1) * P(Beta > 1/2); the last factor is
	// the probability of at most better successes in n+1 throws of a coin.
	log := float64(n+1)*math.Ln2 + logBeta(better+1, worse+1) + math.Log(atMost(n+1, better))
	return min(1, math.Exp(-log))
}

// share returns the confidence interval of a probability after k successes in n independent trials.
func (d Design) share(k, n int) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	if d == Fixed { // Clopper and Pearson
		low, high = 0, 1
		if k > 0 {
			low = mathext.InvRegIncBeta(float64(k), float64(n-k+1), Alpha/2)
		}
		if k < n {
			high = mathext.InvRegIncBeta(float64(k+1), float64(n-k), 1-Alpha/2)
		}
		return low, high
	}
	// All q for which the likelihood, averaged over all probabilities, is less than 1/Alpha of that under q.
	mean := float64(k) / float64(n)
	refuted := func(q float64) bool {
		return logBeta(k+1, n-k+1)-power(k, q)-power(n-k, 1-q) >= -math.Log(Alpha)
	}
	low, high = 0, 1
	if k > 0 {
		low = bisect(0, mean, refuted)
	}
	if k < n {
		high = bisect(1, mean, refuted)
	}
	return low, high
}

// power returns the logarithm of p to the k-th power.
func power(k int, p float64) float64 {
	if k == 0 {
		return 0
	}
	return float64(k) * math.Log(p)
}

// bisect returns the border between outside, for which is holds, and inside, for which it does not.
func bisect(outside, inside float64, is func(float64) bool) float64 {
	for range 60 {
		if middle := (outside + inside) / 2; is(middle) {
			outside = middle
		} else {
			inside = middle
		}
	}
	return outside
}

// atMost returns the probability of at most k heads in n throws of a coin.
func atMost(n, k int) float64 {
	if k >= n {
		return 1
	}
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 0.5)
}

// logBeta returns the logarithm of the beta function.
func logBeta(a, b int) float64 {
	x, _ := math.Lgamma(float64(a))
	y, _ := math.Lgamma(float64(b))
	z, _ := math.Lgamma(float64(a + b))
	return x + y - z
}

// Holm returns p-values of several tests, adjusted by Holm's method. If you reject those of at most Alpha, the
// probability of any wrong rejection does not exceed Alpha.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted := make([]float64, len(p))
	most := 0.0
	for k, i := range order {
		most = max(most, min(1, float64(len(p)-k)*p[i]))
		adjusted[i] = most
	}
	return adjusted
}

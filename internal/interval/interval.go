// Package interval estimates means over repetitions, with confidence intervals.
package interval

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Estimate holds the mean of a figure over repetitions that differ only in their seed.
type Estimate struct {
	N    int
	Mean float64
	// Half holds half the width of the 95 % confidence interval around Mean, by Student's t; NaN for fewer than two
	// values.
	Half float64
}

// Of returns the estimate of some values.
func Of(values []float64) Estimate {
	n := len(values)
	if n == 0 {
		return Estimate{Mean: math.NaN(), Half: math.NaN()}
	}
	var sum float64
	for _, v := range values {
		sum += v
	}
	e := Estimate{N: n, Mean: sum / float64(n), Half: math.NaN()}
	if n < 2 {
		return e
	}
	var squares float64
	for _, v := range values {
		squares += (v - e.Mean) * (v - e.Mean)
	}
	e.Half = studentT(n-1) * math.Sqrt(squares/float64(n-1)/float64(n))
	return e
}

// studentT returns the 97.5 % quantile of Student's t distribution: 2.5 % lie above it, and as many below its negative.
// The probability of values outside of ±t is I_x(n/2, 1/2), where n is the degrees of freedom, x = n/(n+t²), and I is
// the regularized incomplete beta function (Abramowitz and Stegun, 26.7.1 with 26.5.27).
func studentT(degrees int) float64 {
	n := float64(degrees)
	x := mathext.InvRegIncBeta(n/2, 0.5, 0.05)
	return math.Sqrt(n * (1 - x) / x)
}

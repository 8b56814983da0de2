// Package interval estimates means over repetitions, with confidence intervals.
package interval

import "math"

// Estimate is the mean of a figure over repetitions, which differ in their seed alone.
type Estimate struct {
	N    int
	Mean float64
	// Half is half the width of the 95 % confidence interval around Mean, by Student's t; NaN for fewer than two values.
	Half float64
}

// Of is the estimate of some values.
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

// studentTable is the 97.5 % quantile of Student's t distribution with 1, 2, ... degrees of freedom (Student's table as in
// any textbook).
var studentTable = [...]float64{
	12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
	2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
}

// studentT is the 97.5 % quantile of Student's t distribution: 2.5 % lie above it, and as many below its negative.
func studentT(degrees int) float64 {
	if degrees <= len(studentTable) {
		return studentTable[degrees-1]
	}
	// Its expansion around the normal distribution's quantile z (Abramowitz and Stegun, 26.7.5) is exact to 1e-5 here.
	const z = 1.959963984540054
	v := float64(degrees)
	z3, z5, z7 := z*z*z, z*z*z*z*z, z*z*z*z*z*z*z
	return z + (z3+z)/(4*v) + (5*z5+16*z3+3*z)/(96*v*v) + (3*z7+19*z5+17*z3-15*z)/(384*v*v*v)
}

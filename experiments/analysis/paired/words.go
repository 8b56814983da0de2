package paired

import (
	"math"
	"strconv"
)

// Ratio returns a/b, and 1 for equal values, also for two zeros.
func Ratio(a, b float64) float64 {
	if a == b {
		return 1
	}
	return a / b
}

// RatioText formats a ratio with three significant digits.
func RatioText(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "inf"
	case v > 0:
		return strconv.FormatFloat(v, 'f', max(0, 2-int(math.Floor(math.Log10(v)))), 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// RangeText formats the confidence interval of a ratio, with the ends that the pairs bound; "": they bound none.
func RangeText(low, high float64) string {
	switch bounded := !math.IsInf(high, 1); {
	case low > 0 && bounded:
		return RatioText(low) + " to " + RatioText(high)
	case low > 0:
		return "above " + RatioText(low)
	case bounded:
		return "below " + RatioText(high)
	}
	return ""
}

// PText formats a p-value.
func PText(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

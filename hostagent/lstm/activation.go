package lstm

import "math"

// The activation functions are this package's own. package math's Exp is assembly on some processors and Go elsewhere,
// and compilers may fuse a product into a sum on some: the last bit of a prediction, and with it a run's fingerprint,
// would depend on the machine. Here each operation is rounded by itself, which IEEE 754 defines to the bit.

// ln 2 in two parts: k*ln2High is exact for every k that occurs.
const (
	ln2High = 0x1.62e42feep-01
	ln2Low  = 0x1.a39ef35793c76p-33
)

// exp returns e to the x, within two units in the last place; it is 0 below -708 and stays finite above 709.
func exp(x float64) float64 {
	if x < -708 {
		return 0
	}
	x = min(x, 709)
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	r := (x - float64(k*ln2High)) - float64(k*ln2Low) // at most ln(2)/2 away from 0
	// The Taylor polynomial: its first missing term, r^14/14!, is below 2^-57. Its even and odd powers are summed
	// separately, so that the processor can do both at once.
	s := float64(r * r)
	even := float64(s * (1.0 / 479001600))
	even = float64(s * (1.0/3628800 + even))
	even = float64(s * (1.0/40320 + even))
	even = float64(s * (1.0/720 + even))
	even = float64(s * (1.0/24 + even))
	even = float64(s * (0.5 + even))
	odd := float64(s * (1.0 / 6227020800))
	odd = float64(s * (1.0/39916800 + odd))
	odd = float64(s * (1.0/362880 + odd))
	odd = float64(s * (1.0/5040 + odd))
	odd = float64(s * (1.0/120 + odd))
	odd = float64(s * (1.0/6 + odd))
	p := 1 + (r + (even + float64(r*odd)))
	return float64(p * math.Float64frombits(uint64(int64(k)+1023)<<52))
}

// sigmoid returns 1/(1+e^-x) (equation 9 of the LSTM-PID thesis).
func sigmoid(x float64) float64 { return 1 / (1 + exp(-x)) }

// tanh returns the hyperbolic tangent (equation 10), to 2^-52 absolutely.
func tanh(x float64) float64 {
	e := exp(-2 * math.Abs(x))
	return math.Copysign((1-e)/(1+e), x)
}

package interval

import (
	"math"
	"testing"
)

// TestStudent holds the quantiles against the table in the NIST/SEMATECH handbook, section 1.3.6.7.2.
func TestStudent(t *testing.T) {
	for degrees, want := range map[int]float64{
		1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228, 15: 2.131,
		19: 2.093, 20: 2.086, 21: 2.080, 25: 2.060, 30: 2.042, 40: 2.021, 60: 2.000, 80: 1.990, 100: 1.984, 1_000_000: 1.960,
	} {
		if got := studentT(degrees); got < want-0.00051 || got > want+0.00051 {
			t.Errorf("%d degrees of freedom: %.5f, want %.3f", degrees, got, want)
		}
	}
}

// TestOf: by hand. 1, 2, 3, 4 have the mean 2.5 and the standard deviation sqrt(5/3); t(3) is 3.182446.
func TestOf(t *testing.T) {
	if e := Of([]float64{4, 1, 3, 2}); e.N != 4 || e.Mean != 2.5 || math.Abs(e.Half-3.182446*math.Sqrt(5.0/3)/2) > 1e-6 {
		t.Errorf("%+v", e)
	}
	if e := Of([]float64{7}); e.N != 1 || e.Mean != 7 || !math.IsNaN(e.Half) {
		t.Errorf("one value: %+v", e)
	}
	if e := Of(nil); e.N != 0 || !math.IsNaN(e.Mean) {
		t.Errorf("no value: %+v", e)
	}
}

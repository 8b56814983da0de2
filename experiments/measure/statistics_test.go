package measure

import (
	"math"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/vtime"
)

// TestSizeBins checks that forty flows of sizes 1000 to 40000 are divided two by two, and that unfinished flows, or
// flows of one size, are in no bin.
func TestSizeBins(t *testing.T) {
	var flows Records
	for i := range 40 {
		size := int64(1000 * (1 + i*7%40)) // each size once, in another order
		fct := vtime.Time(size) * vtime.Nanosecond
		flows = append(flows, FlowRecord{
			Size: size, Delivered: size, End: fct, Ended: true,
			Times: FlowTimes{FCT: fct, Ideal: vtime.Microsecond, HPCC: 2 * fct, Line: 100 * vtime.Nanosecond},
		})
	}
	flows = append(flows, FlowRecord{Size: 5}, FlowRecord{Size: 0, Ended: true})
	binsOf := func(flows Records) []EqualSizeBin {
		c := collection{flows: flows, now: vtime.Second}
		return c.sizeBins()
	}
	bins := binsOf(flows)
	if len(bins) != 20 {
		t.Fatalf("%d bins", len(bins))
	}
	for k, b := range bins {
		low, high := float64(2*k+1), float64(2*k+2)
		if b.Count != 2 || b.Over != int64(2000*k) || b.UpTo != int64(2000*(k+1)) || b.Slowdown.Mean != (low+high)/2 ||
			b.Slowdown.P50 != low ||
			b.Slowdown.P95 != high || b.FCT.P99 != high*1000 {
			t.Errorf("bin %d: %+v", k, b)
		}
	}
	// Not a multiple of twenty: HPCC's bins, whose counts differ by one.
	counts := 0
	for _, b := range binsOf(flows[:33]) {
		if counts += b.Count; b.Count < 1 || b.Count > 2 {
			t.Errorf("%d flows in a bin", b.Count)
		}
	}
	if counts != 33 {
		t.Errorf("%d flows in all bins", counts)
	}
	if binsOf(flows[:19]) != nil {
		t.Error("bins of 19 flows")
	}
	for i := range flows {
		flows[i].Size = 9
	}
	if binsOf(flows) != nil {
		t.Error("bins of one size")
	}
}

// TestRateAndFinish checks the mean rate and the finish of two flows against a computation by hand.
func TestRateAndFinish(t *testing.T) {
	const us = vtime.Microsecond
	flows := Records{
		{
			Size: 1000, Delivered: 1000, Start: 10 * us, End: 14 * us, Ended: true,
			Times: FlowTimes{FCT: 4 * us, Ideal: 4 * us, HPCC: us, Line: us},
		},
		{
			Size: 3000, Delivered: 3000, Start: 5 * us, End: 9 * us, Ended: true,
			Times: FlowTimes{FCT: 4 * us, Ideal: 2 * us, HPCC: us, Line: us},
		},
	}
	s := StatisticsOf(flows, 20*us)
	// 4000 B in 4 us + 4 us is 4 Gb/s; 4000 B in the run of 20 us is 1.6 Gb/s; from 5 to 14 us are 9.
	if s.MeanRate != 4e9 || math.Abs(s.Goodput-1.6e9) > 1 || s.Finish != 9000 {
		t.Errorf("mean rate %g, goodput %g, finish %d", s.MeanRate, s.Goodput, s.Finish)
	}
	flows = append(flows, FlowRecord{Size: 3000, Delivered: 500, Start: 6 * us, End: vtime.Never})
	if s := StatisticsOf(flows, 20*us); s.Finish != 0 || s.MeanRate != 4e9 || s.Count != 3 || s.Completed != 2 {
		t.Errorf("with a flow that has not ended: %+v", s)
	}
}

func TestNotMinusZero(t *testing.T) {
	for text, want := range map[string]string{
		"-0": "0", "+0.00": "0.00", "0": "0", "-0.01": "-0.01", "+10": "+10",
		"-42": "-42",
	} {
		if got := notMinusZero(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestPartsByFewSizes checks that counting sizes puts flows into the same bins as sorting them.
func TestPartsByFewSizes(t *testing.T) {
	for _, n := range []int{20, 21, 59, 400, 1001} {
		var flows Records
		for i := range n + n/10 {
			flows = append(flows, FlowRecord{Size: []int64{0, 700, 30, 5}[i*i%7%4], Ended: i%11 > 0})
		}
		c := collection{flows: flows}
		ended, parts := endedBySize(flows, FlowSet{}), c.partsByFewSizes()
		if len(ended) < SizeBins {
			if parts != nil {
				t.Errorf("%d flows ended: got %v, want no bins", len(ended), parts)
			}
			continue
		}
		for k := range SizeBins {
			want := numbers(sizeBin(ended, k))
			slices.Sort(want)
			if !slices.Equal(parts[k], want) {
				t.Errorf("%d flows ended, bin %d: got %v, want %v", len(ended), k, parts[k], want)
			}
		}
	}
}

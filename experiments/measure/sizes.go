package measure

import (
	"cmp"
	"slices"
)

// SizeBins is how many bins of equal count the flows are cut into by size, as by the analysis of HPCC's simulator
// (fct_analysis.py): 5 % of the flows each.
const SizeBins = 20

// sizeBins cuts flows into the bins, by size and among equals by number; nil if there are fewer than bins, or all are
// of one size. Bin k of n flows has those from k*n/20 up to (k+1)*n/20.
func (c *collection) sizeBins() []EqualSizeBin {
	ended := endedBySize(c.flows, FlowSet{})
	n := len(ended)
	if n < SizeBins || ended[0].size == ended[n-1].size {
		return nil
	}
	bins := make([]EqualSizeBin, SizeBins)
	over := int64(0)
	for k := range bins {
		part := sizeBin(ended, k)
		bins[k] = EqualSizeBin{Over: over, UpTo: part[len(part)-1].size, FlowStatistics: c.statistics(numbers(part))}
		over = bins[k].UpTo
	}
	return bins
}

// sizedFlow is the number of a flow with a size.
type sizedFlow struct {
	size int64
	flow int32
}

// endedBySize are the flows of a set with a size that have ended, by size and among equals by number; of which bin is
// of no account.
func endedBySize(flows Flows, of FlowSet) []sizedFlow {
	ended := make([]sizedFlow, 0, flows.Len())
	for i := range flows.Len() {
		if f := flows.Record(i); f.Ended && f.Size > 0 && of.has(&f) {
			ended = append(ended, sizedFlow{f.Size, int32(i)})
		}
	}
	slices.SortFunc(ended, func(a, b sizedFlow) int {
		return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.flow, b.flow))
	})
	return ended
}

// sizeBin is bin k of flows by size.
func sizeBin(bySize []sizedFlow, k int) []sizedFlow {
	n := len(bySize)
	return bySize[k*n/SizeBins : (k+1)*n/SizeBins]
}

// numbers are those of flows.
func numbers(flows []sizedFlow) []int32 {
	all := make([]int32, len(flows))
	for i, f := range flows {
		all[i] = f.flow
	}
	return all
}

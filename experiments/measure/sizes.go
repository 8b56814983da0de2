package measure

import (
	"cmp"
	"slices"
)

// SizeBins counts the bins by flow size, each with 5 % of the flows, as in the analysis of HPCC's simulator
// (fct_analysis.py).
const SizeBins = 20

// sizeBins divides flows into the bins, by size and then by number. It returns nil if there are fewer flows than bins,
// or all have one size. Bin k of n flows holds those from k*n/20 up to (k+1)*n/20.
func (c *collection) sizeBins() []EqualSizeBin {
	if !c.severalSizes() {
		return nil
	}
	ended := endedBySize(c.flows, FlowSet{})
	n := len(ended)
	if n < SizeBins {
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

// severalSizes reports whether ended flows have different sizes.
func (c *collection) severalSizes() bool {
	size := int64(0)
	for i := range c.flows.Len() {
		if f := c.flows.Record(i); f.Ended && f.Size > 0 {
			if size > 0 && f.Size != size {
				return true
			}
			size = f.Size
		}
	}
	return false
}

// sizedFlow holds the number and size of a flow.
type sizedFlow struct {
	size int64
	flow int32
}

// endedBySize returns the flows of a set with a size that have ended, by size and then by number. It ignores the set's
// bin.
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

// sizeBin returns bin k of flows that are sorted by size.
func sizeBin(bySize []sizedFlow, k int) []sizedFlow {
	n := len(bySize)
	return bySize[k*n/SizeBins : (k+1)*n/SizeBins]
}

// numbers returns the numbers of flows.
func numbers(flows []sizedFlow) []int32 {
	all := make([]int32, len(flows))
	for i, f := range flows {
		all[i] = f.flow
	}
	return all
}

package measure

import (
	"cmp"
	"maps"
	"slices"

	"github.com/pausenet/pausenet/internal/lists"
)

// SizeBins counts the bins by flow size, each with 5 % of the flows, as in the analysis of HPCC's simulator
// (fct_analysis.py).
const SizeBins = 20

// sizeBins divides flows into the bins, by size and then by number. It returns nil if there are fewer flows than bins,
// or all have one size. Bin k of n flows holds those from k*n/20 up to (k+1)*n/20.
func (c *collection) sizeBins() []EqualSizeBin {
	parts := c.partsByFewSizes()
	if parts == nil {
		ended := endedBySize(c.flows, FlowSet{})
		if n := len(ended); n < SizeBins || ended[0].size == ended[n-1].size {
			return nil
		}
		for k := range SizeBins {
			parts = append(parts, numbers(sizeBin(ended, k)))
		}
	}
	bins := make([]EqualSizeBin, len(parts))
	over := int64(0)
	for k, part := range parts {
		upTo := int64(0)
		for _, i := range part {
			upTo = max(upTo, c.flows.Record(int(i)).Size)
		}
		bins[k] = EqualSizeBin{Over: over, UpTo: upTo, FlowStatistics: c.statistics(part)}
		over = upTo
	}
	return bins
}

// fewSizes sets the number of sizes up to which partsByFewSizes counts them.
const fewSizes = 64

// partsByFewSizes returns the numbers of the flows in each bin, without sorting flows: an ended flow's place among all
// of them follows from the number of smaller ones, and of those of its size before it. It returns nil if there are too
// many sizes, one, or fewer flows than bins. Flows on rings have few.
func (c *collection) partsByFewSizes() [][]int32 {
	counts := map[int64]int{}
	n := 0
	for i := range c.flows.Len() {
		if f := c.flows.Record(i); f.Ended && f.Size > 0 {
			counts[f.Size]++
			if n++; len(counts) > fewSizes {
				return nil
			}
		}
	}
	if n < SizeBins || len(counts) < 2 {
		return nil
	}
	next, before := map[int64]int{}, 0
	for _, size := range slices.Sorted(maps.Keys(counts)) {
		next[size] = before
		before += counts[size]
	}
	parts := make([][]int32, SizeBins)
	for k := range parts {
		parts[k] = make([]int32, 0, (k+1)*n/SizeBins-k*n/SizeBins)
	}
	for i := range c.flows.Len() {
		if f := c.flows.Record(i); f.Ended && f.Size > 0 {
			at := next[f.Size]
			next[f.Size]++
			k := ((at+1)*SizeBins - 1) / n // the last bin that starts at or before
			parts[k] = append(parts[k], int32(i))
		}
	}
	return parts
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

func numbers(flows []sizedFlow) []int32 {
	return lists.Map(flows, func(f sizedFlow) int32 { return f.flow })
}

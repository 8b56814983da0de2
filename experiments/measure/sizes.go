package measure

import (
	"cmp"
	"slices"

	"github.com/pausenet/pausenet/vtime"
)

// SizeBins is how many bins of equal count the flows are cut into by size, as by the analysis of HPCC's simulator
// (fct_analysis.py): 5 % of the flows each.
const SizeBins = 20

// sizeBinsOf cuts flows into the bins, by size and among equals by number; nil if there are fewer than bins, or all are
// of one size. Bin k of n flows has those from k*n/20 up to (k+1)*n/20.
func sizeBinsOf(flows []FlowRecord, now vtime.Time) []EqualSizeBin {
	ended := endedBySize(flows)
	n := len(ended)
	if n < SizeBins || ended[0].Size == ended[n-1].Size {
		return nil
	}
	bins := make([]EqualSizeBin, SizeBins)
	over := int64(0)
	for k := range bins {
		part := sizeBin(ended, k)
		bins[k] = EqualSizeBin{Over: over, UpTo: part[len(part)-1].Size, FlowStatistics: StatisticsOf(part, now)}
		over = bins[k].UpTo
	}
	return bins
}

// endedBySize are the flows with a size that have ended, by size and among equals by number.
func endedBySize(flows []FlowRecord) []FlowRecord {
	var ended []FlowRecord
	for _, f := range flows {
		if f.Ended && f.Size > 0 {
			ended = append(ended, f)
		}
	}
	slices.SortStableFunc(ended, func(a, b FlowRecord) int { return cmp.Compare(a.Size, b.Size) })
	return ended
}

// sizeBin is bin k of flows by size.
func sizeBin(bySize []FlowRecord, k int) []FlowRecord {
	n := len(bySize)
	return bySize[k*n/SizeBins : (k+1)*n/SizeBins]
}

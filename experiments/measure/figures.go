package measure

import (
	"fmt"
	"math"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// FlowSet selects flows of a run: those with Tag, larger than Over and at most UpTo bytes, and of these the flows in
// SizeBin, a 5 % bin by flow size (see sizeBinsOf), counted from 1. A zero field selects all flows.
type FlowSet struct {
	Tag     string      `json:"tag,omitempty"`
	Over    units.Bytes `json:"over_bytes,omitempty"`
	UpTo    units.Bytes `json:"up_to_bytes,omitempty"`
	SizeBin int         `json:"size_bin,omitempty"` // from 1
}

// String returns the set in words, "" for all flows: "normal, over 300B up to 325B", "normal, 5 % bin 3 by flow size".
func (f FlowSet) String() string {
	text := f.Tag
	add := func(separator, format string, args ...any) {
		if text != "" {
			text += separator
		}
		text += fmt.Sprintf(format, args...)
	}
	if f.Over > 0 {
		add(", ", "over %v", f.Over)
	}
	if f.UpTo > 0 && f.Over > 0 {
		add(" ", "up to %v", f.UpTo)
	} else if f.UpTo > 0 {
		add(", ", "up to %v", f.UpTo)
	}
	if f.SizeBin > 0 {
		add(", ", "5 %% bin %d by flow size", f.SizeBin)
	}
	return text
}

// has reports whether a flow is in the set, without regard to its bin.
func (f FlowSet) has(v *FlowRecord) bool {
	// A flow without a size belongs to no range of sizes.
	sized := f.Over == 0 && f.UpTo == 0 || v.Size > int64(f.Over) && (f.UpTo == 0 || v.Size <= int64(f.UpTo))
	return (f.Tag == "" || f.Tag == v.Tag) && sized
}

// setStatistics computes the statistics of sets of flows.
type setStatistics struct {
	collection
	bySize []sizedFlow // the flows of the set sorted, by size, for its bins
	sorted FlowSet     // the last set of which a bin was requested, without the bin
}

// of returns the statistics of a set.
func (c *setStatistics) of(set FlowSet) FlowStatistics {
	if set == (FlowSet{}) {
		return c.statistics(nil)
	}
	if bin := set.SizeBin; bin > 0 {
		if set.SizeBin = 0; c.bySize == nil || c.sorted != set {
			c.bySize, c.sorted = endedBySize(c.flows, set), set
		}
		return c.statistics(numbers(sizeBin(c.bySize, bin-1)))
	}
	members := []int32{}
	for i := range c.flows.Len() {
		if f := c.flows.Record(i); set.has(&f) {
			members = append(members, int32(i))
		}
	}
	return c.statistics(members)
}

// figure selects a metric of a set of flows.
type figure struct {
	metric string
	flows  FlowSet
}

// Figure holds a metric of a set of a run's flows, in the metric's base unit.
type Figure struct {
	Metric string `json:"metric"`
	FlowSet
	Value float64 `json:"value"`
}

// TakeFigures computes a run's values of the figures in published tables, in their order. The run ended at now. It
// omits figures that the run does not have.
func (s *Summary) TakeFigures(tables []PublishedTable, flows Flows, now vtime.Time) {
	sets := setStatistics{collection: collection{flows: flows, now: now}}
	seen := map[figure]bool{}
	statistics := map[FlowSet]*FlowStatistics{}
	for i := range tables {
		for k := range tables[i].Rows {
			row := &tables[i].Rows[k]
			at := figure{row.Metric, row.FlowSet}
			if seen[at] {
				continue
			}
			seen[at] = true
			of := statistics[row.FlowSet]
			if of == nil {
				all := sets.of(row.FlowSet)
				of = &all
				statistics[row.FlowSet] = of
			}
			if v := MetricByName(row.Metric).Of(s, of); !math.IsNaN(v) {
				s.Figures = append(s.Figures, Figure{row.Metric, row.FlowSet, v})
			}
		}
	}
}

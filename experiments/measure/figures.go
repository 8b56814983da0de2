package measure

import (
	"fmt"
	"math"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// FlowSet says which of a run's flows are meant: those with Tag, over Over and up to UpTo bytes, and of these those of
// SizeBin, a 5 % bin by flow size (see sizeBinsOf), from 1; what is zero holds for all.
type FlowSet struct {
	Tag     string      `json:"tag,omitempty"`
	Over    units.Bytes `json:"over_bytes,omitempty"`
	UpTo    units.Bytes `json:"up_to_bytes,omitempty"`
	SizeBin int         `json:"size_bin,omitempty"` // from 1
}

// String describes the set, "" for all flows: "normal, over 300B up to 325B", "normal, 5 % bin 3 by flow size".
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

// has says whether a flow is of the set, whichever bin it is in.
func (f FlowSet) has(v *FlowRecord) bool {
	// A flow without a size is of none of the sizes.
	sized := f.Over == 0 && f.UpTo == 0 || v.Size > int64(f.Over) && (f.UpTo == 0 || v.Size <= int64(f.UpTo))
	return (f.Tag == "" || f.Tag == v.Tag) && sized
}

// setStatistics works out the statistics of sets of flows.
type setStatistics struct {
	collection
	bySize []sizedFlow // the flows of the set sorted, as the last bin was of them
	sorted FlowSet
}

// of are the statistics of a set.
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

// figure is a metric of some flows.
type figure struct {
	metric string
	flows  FlowSet
}

// Figure is a metric of some of a run's flows, in the metric's base unit.
type Figure struct {
	Metric string `json:"metric"`
	FlowSet
	Value float64 `json:"value"`
}

// TakeFigures fills in the figures that published tables are about, in the order in which they name them. One that the
// run has none of is absent. The run took until now.
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

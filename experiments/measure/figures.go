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
	Tag        string
	Over, UpTo units.Bytes
	SizeBin    int
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

// of are the flows of the set.
func (f FlowSet) of(flows []FlowRecord) []FlowRecord {
	var some []FlowRecord
	for i := range flows {
		v := &flows[i]
		if (f.Tag == "" || f.Tag == v.Tag) && v.Size > int64(f.Over) && (f.UpTo == 0 || v.Size <= int64(f.UpTo)) || f == (FlowSet{}) {
			some = append(some, *v)
		}
	}
	if f.SizeBin > 0 {
		return sizeBin(endedBySize(some), f.SizeBin-1)
	}
	return some
}

// figure is a metric of some flows.
type figure struct {
	metric string
	flows  FlowSet
}

// Figure is a metric of some of a run's flows, in the metric's base unit.
type Figure struct {
	Metric  string      `json:"metric"`
	Tag     string      `json:"tag,omitempty"`
	Over    units.Bytes `json:"over_bytes,omitempty"`
	UpTo    units.Bytes `json:"up_to_bytes,omitempty"`
	SizeBin int         `json:"size_bin,omitempty"` // 5 % bin by flow size, from 1
	Value   float64     `json:"value"`
}

// TakeFigures fills in the figures that published tables are about, in the order in which they name them. One that the run has none of is
// absent. The run took until now.
func (s *Summary) TakeFigures(tables []PublishedTable, flows []FlowRecord, now vtime.Time) {
	seen := map[figure]bool{}
	statistics := map[FlowSet]*FlowStatistics{}
	for i := range tables {
		for k := range tables[i].Rows {
			row := &tables[i].Rows[k]
			at := figure{row.Metric, row.Flows}
			if seen[at] {
				continue
			}
			seen[at] = true
			of := statistics[row.Flows]
			if of == nil {
				all := StatisticsOf(row.Flows.of(flows), now)
				of = &all
				statistics[row.Flows] = of
			}
			if v := MetricByName(row.Metric).Of(s, of); !math.IsNaN(v) {
				s.Figures = append(s.Figures, Figure{row.Metric, row.Flows.Tag, row.Flows.Over, row.Flows.UpTo, row.Flows.SizeBin, v})
			}
		}
	}
}

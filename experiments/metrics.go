package experiments

import (
	"fmt"
	"math"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// metric is a figure of a run that a source can make a claim about.
type metric struct {
	name  string // in scenario files
	label string // for people
	kind  metricKind
	// ofRun says that the figure is of the whole run and not of a set of flows.
	ofRun bool
	// of is the figure of a run and of the flows that are meant, in the kind's base unit; NaN if there is none.
	of func(*Summary, *FlowStatistics) float64
}

// metricKind is the units that a metric may be given in, each with what it is in the base unit; none for a bare number.
type metricKind struct {
	name  string
	units []metricUnit
}

type metricUnit struct {
	name   string
	factor float64
}

var (
	kindTime  = metricKind{"a time", []metricUnit{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}}
	kindRate  = metricKind{"a rate", []metricUnit{{"bps", 1}, {"Kbps", 1e3}, {"Mbps", 1e6}, {"Gbps", 1e9}}}
	kindSize  = metricKind{"a size", []metricUnit{{"B", 1}, {"KB", 1e3}, {"MB", 1e6}}}
	kindCount = metricKind{"a number", nil}
)

func (k metricKind) unitNames() []string {
	names := make([]string, len(k.units))
	for i, u := range k.units {
		names[i] = u.name
	}
	return names
}

// factor is one of a unit in the base unit; an unknown one is the base unit.
func (k metricKind) factor(unit string) float64 {
	for _, u := range k.units {
		if u.name == unit {
			return u.factor
		}
	}
	return 1
}

// metrics are every figure that scenario files may name.
var metrics = buildMetrics()

func buildMetrics() []metric {
	var all []metric
	quantiles := []struct {
		name, label string
		of          func(*Quantiles) float64
	}{
		{"mean", "mean", func(q *Quantiles) float64 { return q.Mean }},
		{"p50", "median", func(q *Quantiles) float64 { return q.P50 }},
		{"p95", "95 %", func(q *Quantiles) float64 { return q.P95 }},
		{"p99", "99 %", func(q *Quantiles) float64 { return q.P99 }},
		{"max", "max", func(q *Quantiles) float64 { return q.Max }},
	}
	for _, group := range []struct {
		name, label string
		kind        metricKind
		ofRun       bool
		of          func(*Summary, *FlowStatistics) (q Quantiles, samples int64)
	}{
		{"fct", "FCT", kindTime, false, func(_ *Summary, f *FlowStatistics) (Quantiles, int64) { return f.FCT, int64(f.Completed) }},
		{"slowdown", "Slowdown", kindCount, false, func(_ *Summary, f *FlowStatistics) (Quantiles, int64) { return f.Slowdown, int64(f.Completed) }},
		{"slowdown_hpcc", "Slowdown as HPCC's simulator has it", kindCount, false, func(_ *Summary, f *FlowStatistics) (Quantiles, int64) {
			return f.SlowdownHPCC, int64(f.Completed)
		}},
		{"slowdown_line", "FCT over size at line rate", kindCount, false, func(_ *Summary, f *FlowStatistics) (Quantiles, int64) {
			return f.SlowdownLine, int64(f.Completed)
		}},
		{"rtt", "RTT of every ACK", kindTime, true, func(s *Summary, _ *FlowStatistics) (Quantiles, int64) { return s.RTT.quantiles(), s.RTT.Samples }},
		{"rtt_sampled", "RTT", kindTime, true, func(s *Summary, _ *FlowStatistics) (Quantiles, int64) {
			return s.RTTSampled.quantiles(), s.RTTSampled.Samples
		}},
	} {
		for _, q := range quantiles {
			all = append(all, metric{
				group.name + "_" + q.name, group.label + ", " + q.label, group.kind, group.ofRun,
				func(s *Summary, f *FlowStatistics) float64 {
					values, samples := group.of(s, f)
					return unless(samples == 0, q.of(&values))
				},
			})
		}
	}
	ofRun := func(name, label string, kind metricKind, of func(*Summary) float64) metric {
		return metric{name, label, kind, true, func(s *Summary, _ *FlowStatistics) float64 { return of(s) }}
	}
	ofFlows := func(name, label string, kind metricKind, of func(*FlowStatistics) float64) metric {
		return metric{name, label, kind, false, func(_ *Summary, f *FlowStatistics) float64 { return of(f) }}
	}
	return append(
		all,
		ofFlows("mean_rate", "Mean rate", kindRate, func(f *FlowStatistics) float64 { return unless(f.Completed == 0, f.MeanRate) }),
		ofFlows("goodput", "Goodput", kindRate, func(f *FlowStatistics) float64 { return f.Goodput }),
		ofFlows("finish", "Finish", kindTime, func(f *FlowStatistics) float64 { return unless(f.Finish == 0, float64(f.Finish)) }),
		ofFlows("ce_packets", "Packets marked CE", kindCount, func(f *FlowStatistics) float64 { return float64(f.CE) }),
		ofFlows("ue_packets", "Packets marked UE", kindCount, func(f *FlowStatistics) float64 { return float64(f.UE) }),
		ofRun("pauses", "PAUSE frames, all", kindCount, func(s *Summary) float64 { return float64(s.PFC.Pauses) }),
		ofRun("pauses_between_switches", "PAUSE frames between switches", kindCount, func(s *Summary) float64 { return float64(s.PFC.SwitchPauses) }),
		ofRun("pause_rate", "PAUSE frames a second", kindCount, func(s *Summary) float64 { return s.PFC.Rate }),
		ofRun("pause_rate_between_switches", "PAUSE frames a second between switches", kindCount, func(s *Summary) float64 {
			return unless(s.VirtualNS == 0, float64(s.PFC.SwitchPauses)/(float64(s.VirtualNS)/1e9))
		}),
		ofRun("paused", "Time paused, all ports", kindTime, func(s *Summary) float64 { return float64(s.heldNS()) }),
		ofRun("pause_depth", "Hops that PAUSE spread", kindCount, func(s *Summary) float64 { return float64(s.PFC.Spread.Depth) }),
		ofRun("victims", "Victim flows", kindCount, func(s *Summary) float64 { return float64(s.Victims.Count) }),
		ofRun("fairness", "Jain's fairness, least of the tags", kindCount, func(s *Summary) float64 {
			least := math.NaN()
			for _, f := range s.Fairness.ByTag {
				if !(f.Mean > least) { // also of the first
					least = f.Mean
				}
			}
			return least
		}),
		ofRun("utilisation_mean", "Utilisation between switches, mean", kindCount, func(s *Summary) float64 { return s.Links.BetweenSwitches.Mean }),
		ofRun("utilisation_max", "Utilisation between switches, max", kindCount, func(s *Summary) float64 { return s.Links.BetweenSwitches.Max }),
		ofRun("ecn_marks", "ECN marks", kindCount, func(s *Summary) float64 { return float64(s.ECNMarks) }),
		ofRun("cnps", "CNPs", kindCount, func(s *Summary) float64 { return float64(s.CNPs) }),
		ofRun("cnms", "CNMs", kindCount, func(s *Summary) float64 { return float64(s.CNMs) }),
		ofRun("drops", "Drops", kindCount, func(s *Summary) float64 { return float64(s.Drops.Frames) }),
		ofRun("peak_ingress", "Most held of an ingress port", kindSize, func(s *Summary) float64 { return float64(s.Overshoot) }),
		ofRun("peak_egress", "Longest egress queue", kindSize, func(s *Summary) float64 {
			most := int64(0)
			for i := range s.Switches {
				most = max(most, s.Switches[i].QueuePeak)
			}
			return float64(most)
		}),
	)
}

// unless is v, or nothing.
func unless(nothing bool, v float64) float64 {
	if nothing {
		return math.NaN()
	}
	return v
}

func (r *RTTSummary) quantiles() Quantiles {
	return Quantiles{Mean: r.Mean, P50: r.P50, P95: r.P95, P99: r.P99, Max: r.Max}
}

// metricByName is a metric, nil if there is none of that name.
func metricByName(name string) *metric {
	for i := range metrics {
		if metrics[i].name == name {
			return &metrics[i]
		}
	}
	return nil
}

// MetricNames are the names of all metrics, in the order of the documents.
func MetricNames() []string {
	names := make([]string, len(metrics))
	for i := range metrics {
		names[i] = metrics[i].name
	}
	return names
}

// FlowSet says which of a run's flows are meant: those with Tag, over Over and up to UpTo bytes, and of these the Share-th
// twentieth by size (see sizeSharesOf), from 1; what is zero holds for all.
type FlowSet struct {
	Tag        string
	Over, UpTo units.Bytes
	Share      int
}

// String describes the set, "" for all flows: "normal, over 300B up to 325B", "normal, twentieth 3 by size".
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
	if f.Share > 0 {
		add(", ", "twentieth %d by size", f.Share)
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
	if f.Share > 0 {
		return sizeShare(endedBySize(some), f.Share-1)
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
	Metric string      `json:"metric"`
	Tag    string      `json:"tag,omitempty"`
	Over   units.Bytes `json:"over_bytes,omitempty"`
	UpTo   units.Bytes `json:"up_to_bytes,omitempty"`
	Share  int         `json:"share,omitempty"` // twentieth by size, from 1
	Value  float64     `json:"value"`
}

// takeFigures fills in the figures that published tables are about, in the order in which they name them. One that the run has none of is
// absent. The run took until now.
func (s *Summary) takeFigures(tables []PublishedTable, flows []FlowRecord, now vtime.Time) {
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
				all := statisticsOf(row.Flows.of(flows), now)
				of = &all
				statistics[row.Flows] = of
			}
			if v := metricByName(row.Metric).of(s, of); !math.IsNaN(v) {
				s.Figures = append(s.Figures, Figure{row.Metric, row.Flows.Tag, row.Flows.Over, row.Flows.UpTo, row.Flows.Share, v})
			}
		}
	}
}

// figures are those of the summary by what they are of.
func (s *Summary) figures() map[figure]float64 {
	all := map[figure]float64{}
	for _, f := range s.Figures {
		all[figure{f.Metric, FlowSet{f.Tag, f.Over, f.UpTo, f.Share}}] = f.Value
	}
	return all
}

package experiments

import "math"

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

// metricsNamed are the metrics of names that there are.
func metricsNamed(names []string) []*metric {
	all := make([]*metric, len(names))
	for i, name := range names {
		all[i] = metricByName(name)
	}
	return all
}

// MetricNames are the names of all metrics, in the order of the documents.
func MetricNames() []string {
	names := make([]string, len(metrics))
	for i := range metrics {
		names[i] = metrics[i].name
	}
	return names
}

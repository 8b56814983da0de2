package measure

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/units"
)

// Metric describes a figure of a run that a published table can have.
type Metric struct {
	Name  string // in scenario files
	Label string // name for people in the terminal, in reports and on pages
	Kind  Kind
	// OfRun reports whether the figure describes the whole run instead of a set of flows.
	OfRun bool
	// Tag restricts the figure to flows of this tag; empty: the figure covers all flows, or the whole run.
	Tag string
	// Of returns the figure of a run and a set of its flows, in the kind's base unit; NaN if there is none.
	Of func(*Summary, *FlowStatistics) float64
}

// Kind holds the units of a metric with their factors to the base unit; it has none for a plain number.
type Kind struct {
	Name  string
	units []units.Unit
}

var (
	KindTime  = Kind{"a time", units.Times}
	KindRate  = Kind{"a rate", units.Rates}
	KindSize  = Kind{"a size", units.Sizes}
	KindCount = Kind{"a number", nil}
)

// Parse parses a value with its unit, "12.5KB" or "12.5 KB", into the base unit; for a plain number, "12.5".
func (k Kind) Parse(text string) (float64, error) {
	text = strings.TrimSpace(text)
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZµμ")
	unit := text[len(digits):]
	if usual := spellings[unit]; usual != "" && !slices.Contains(k.UnitNames(), unit) {
		unit = usual
	}
	digits = strings.TrimSpace(digits)
	x, err := strconv.ParseFloat(digits, 64)
	switch {
	case err != nil && isNumber(strings.Replace(digits, ",", ".", 1)):
		return 0, fmt.Errorf("%q has a comma: write a point before the decimals, as in %s, and nothing between thousands",
			text,
			strings.Replace(text, ",", ".", 1))
	case err != nil || math.IsNaN(x) || math.IsInf(x, 0):
		return 0, fmt.Errorf("%q is not %s: write one like %s", text, k.Name, k.Example())
	case len(k.units) == 0 && unit != "":
		return 0, fmt.Errorf("%q: expected a number without a unit", text)
	case len(k.units) > 0 && !slices.Contains(k.UnitNames(), unit):
		return 0, fmt.Errorf("%q is not %s: write one like %s, with a unit of %s", text, k.Name, k.Example(),
			strings.Join(k.UnitNames(), ", "))
	}
	return x * k.factor(unit), nil
}

// spellings maps usual spellings of units to their names.
var spellings = map[string]string{
	"µs": "us", "μs": "us", "kB": "KB", "kbps": "Kbps", "mbps": "Mbps", "gbps": "Gbps",
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// Example returns a value as users write it.
func (k Kind) Example() string {
	if len(k.units) == 0 {
		return "12.5"
	}
	return "12.5" + k.units[1].Name
}

// UnitNames returns the names of the units, the base unit first; none for a plain number.
func (k Kind) UnitNames() []string {
	return lists.Map(k.units, func(u units.Unit) string { return u.Name })
}

// factor returns a unit's factor to the base unit, or 1 for an unknown unit.
func (k Kind) factor(unit string) float64 {
	for _, u := range k.units {
		if u.Name == unit {
			return u.Size
		}
	}
	return 1
}

// Metrics lists every figure that scenario files may name.
var Metrics = buildMetrics()

func buildMetrics() []Metric {
	var all []Metric
	quantiles := []struct {
		name, label string
		of          func(*Quantiles) float64
	}{
		{"mean", "mean", func(q *Quantiles) float64 { return q.Mean }},
		{"p50", "p50", func(q *Quantiles) float64 { return q.P50 }},
		{"p95", "p95", func(q *Quantiles) float64 { return q.P95 }},
		{"p99", "p99", func(q *Quantiles) float64 { return q.P99 }},
		{"max", "max", func(q *Quantiles) float64 { return q.Max }},
	}
	for _, group := range []struct {
		name, label string
		kind        Kind
		ofRun       bool
		of          func(*Summary, *FlowStatistics) (q Quantiles, samples int64)
	}{
		{"fct", "FCT", KindTime, false, func(_ *Summary, f *FlowStatistics) (Quantiles, int64) {
			return f.FCT, int64(f.Completed)
		}},
		{"slowdown", "slowdown", KindCount, false, func(_ *Summary, f *FlowStatistics) (Quantiles, int64) {
			return f.Slowdown, int64(f.Completed)
		}},
		{
			"slowdown_hpcc", "slowdown (HPCC's simulator)", KindCount, false,
			func(_ *Summary, f *FlowStatistics) (Quantiles, int64) {
				return f.SlowdownHPCC, int64(f.Completed)
			},
		},
		{
			"slowdown_line", "slowdown (line rate)", KindCount, false,
			func(_ *Summary, f *FlowStatistics) (Quantiles, int64) {
				return f.SlowdownLine, int64(f.Completed)
			},
		},
		{"rtt", "RTT", KindTime, true, func(s *Summary, _ *FlowStatistics) (Quantiles, int64) {
			return s.RTT.quantiles(), s.RTT.Samples
		}},
		{"rtt_sampled", "RTT (sampled)", KindTime, true, func(s *Summary, _ *FlowStatistics) (Quantiles, int64) {
			return s.RTTSampled.quantiles(), s.RTTSampled.Samples
		}},
	} {
		for _, q := range quantiles {
			all = append(all, Metric{
				Name: group.name + "_" + q.name, Label: group.label + " " + q.label, Kind: group.kind, OfRun: group.ofRun,
				Of: func(s *Summary, f *FlowStatistics) float64 {
					values, samples := group.of(s, f)
					return unless(samples == 0, q.of(&values))
				},
			})
		}
	}
	ofRun := func(name, label string, kind Kind, of func(*Summary) float64) Metric {
		return Metric{
			Name: name, Label: label, Kind: kind, OfRun: true,
			Of: func(s *Summary, _ *FlowStatistics) float64 { return of(s) },
		}
	}
	ofFlows := func(name, label string, kind Kind, of func(*FlowStatistics) float64) Metric {
		return Metric{Name: name, Label: label, Kind: kind, Of: func(_ *Summary, f *FlowStatistics) float64 { return of(f) }}
	}
	return append(
		all,
		ofFlows("mean_rate", "mean rate", KindRate, func(f *FlowStatistics) float64 {
			return unless(f.Completed == 0, f.MeanRate)
		}),
		ofFlows("goodput", "goodput", KindRate, func(f *FlowStatistics) float64 { return f.Goodput }),
		ofFlows("finish", "finish time", KindTime, func(f *FlowStatistics) float64 {
			return unless(f.Finish == 0, float64(f.Finish))
		}),
		ofFlows("ce_packets", "packets marked CE", KindCount, func(f *FlowStatistics) float64 { return float64(f.CE) }),
		ofFlows("ue_packets", "packets marked UE", KindCount, func(f *FlowStatistics) float64 { return float64(f.UE) }),
		ofRun("pauses", "PAUSE frames", KindCount, func(s *Summary) float64 { return float64(s.PFC.Pauses) }),
		ofRun("pauses_between_switches", "PAUSE frames between switches", KindCount,
			func(s *Summary) float64 { return float64(s.PFC.SwitchPauses) }),
		ofRun("pause_rate", "PAUSE frames/s", KindCount, func(s *Summary) float64 { return s.PFC.Rate }),
		ofRun("pause_rate_between_switches", "PAUSE frames/s between switches", KindCount, func(s *Summary) float64 {
			return unless(s.VirtualNS == 0, float64(s.PFC.SwitchPauses)/(float64(s.VirtualNS)/1e9))
		}),
		ofRun("paused", "time paused, all ports", KindTime, func(s *Summary) float64 { return float64(s.PausedNS()) }),
		ofRun("pause_depth", "hops that PAUSE spread", KindCount,
			func(s *Summary) float64 { return float64(s.PFC.Spread.Depth) }),
		ofRun("victims", "victim flows", KindCount, func(s *Summary) float64 { return float64(s.Victims.Count) }),
		ofRun("fairness", "Jain's index, lowest of the tags", KindCount, func(s *Summary) float64 {
			least := math.NaN()
			for _, f := range s.Fairness.ByTag {
				if !(f.Mean > least) { // true for the first value, too
					least = f.Mean
				}
			}
			return least
		}),
		ofRun("utilisation_mean", "utilisation between switches mean", KindCount,
			func(s *Summary) float64 { return s.Links.BetweenSwitches.Mean }),
		ofRun("utilisation_max", "utilisation between switches max", KindCount,
			func(s *Summary) float64 { return s.Links.BetweenSwitches.Max }),
		ofRun("imbalance", "equal-cost load, max/mean", KindCount, func(s *Summary) float64 {
			most := math.NaN()
			for i := range s.Imbalance {
				if x := s.Imbalance[i].MaxOverMean; !(x <= most) { // true for the first value, too
					most = x
				}
			}
			return most
		}),
		ofRun("imbalance_jain", "equal-cost load, Jain's index", KindCount,
			func(s *Summary) float64 {
				least := math.NaN()
				for i := range s.Imbalance {
					if x := s.Imbalance[i].Jain; !(x >= least) {
						least = x
					}
				}
				return least
			}),
		ofRun("ecn_marks", "ECN marks", KindCount, func(s *Summary) float64 { return float64(s.ECNMarks) }),
		ofRun("cnps", "CNPs", KindCount, func(s *Summary) float64 { return float64(s.CNPs) }),
		ofRun("cnms", "CNMs", KindCount, func(s *Summary) float64 { return float64(s.CNMs) }),
		ofRun("jct", "job completion time", KindTime, func(s *Summary) float64 {
			longest := int64(0)
			for i := range s.Jobs {
				if s.Jobs[i].Unfinished > 0 {
					return math.NaN()
				}
				longest = max(longest, s.Jobs[i].JCT)
			}
			return unless(longest == 0, float64(longest))
		}),
		ofRun("exposed_share", "exposed communication / JCT", KindCount, func(s *Summary) float64 {
			most := math.NaN()
			for i := range s.Jobs {
				if j := &s.Jobs[i]; j.JCT > 0 && !(j.ExposedShare <= most) { // true for the first value, too
					most = j.ExposedShare
				}
			}
			return most
		}),
		ofRun("collective_mean", "collective completion time mean", KindTime, func(s *Summary) float64 {
			return s.overCollectives(func(c *CollectiveSummary) float64 { return c.Time.Mean })
		}),
		ofRun("collective_max", "collective completion time max", KindTime, func(s *Summary) float64 {
			most := 0.0
			for i := range s.Collectives {
				most = max(most, s.Collectives[i].Time.Max)
			}
			return unless(most == 0, most)
		}),
		ofRun("algbw", "algorithm bandwidth", KindRate, func(s *Summary) float64 {
			return s.overCollectives(func(c *CollectiveSummary) float64 { return c.Algorithmic })
		}),
		ofRun("busbw", "bus bandwidth", KindRate, func(s *Summary) float64 {
			return s.overCollectives(func(c *CollectiveSummary) float64 { return c.Bus })
		}),
		ofRun("drops", "drops", KindCount, func(s *Summary) float64 { return float64(s.Drops.Frames) }),
		ofRun("timeouts", "retransmission timeouts", KindCount,
			ofRecovery(func(r *RecoverySummary) int64 { return r.Timeouts })),
		ofRun("spurious_retransmissions", "spurious retransmissions", KindCount,
			ofRecovery(func(r *RecoverySummary) int64 { return r.Spurious })),
		ofRun("duplicates", "duplicate packets", KindCount,
			ofRecovery(func(r *RecoverySummary) int64 { return r.Duplicates })),
		ofRun("reordered", "packets out of order", KindCount,
			ofRecovery(func(r *RecoverySummary) int64 { return r.Reordered })),
		ofRun("reordering_extent", "reordering extent", KindCount,
			ofRecovery(func(r *RecoverySummary) int64 { return r.Extent })),
		ofRun("trimmed", "packets trimmed", KindCount, ofRecovery(func(r *RecoverySummary) int64 { return r.Trimmed })),
		ofRun("grant_utilisation", "grants used", KindCount, func(s *Summary) float64 {
			if s.Grants == nil {
				return math.NaN()
			}
			return float64(s.Grants.Sent) / float64(s.Grants.Given)
		}),
		ofRun("peak_ingress", "peak ingress occupancy", KindSize,
			func(s *Summary) float64 { return float64(s.PeakIngress) }),
		ofRun("peak_egress", "longest egress queue", KindSize, func(s *Summary) float64 {
			most := int64(0)
			for i := range s.Switches {
				most = max(most, s.Switches[i].QueuePeak)
			}
			return float64(most)
		}),
	)
}

// unless returns v, or NaN if nothing is true.
func unless(nothing bool, v float64) float64 {
	if nothing {
		return math.NaN()
	}
	return v
}

func (r *RTTSummary) quantiles() Quantiles {
	return Quantiles{Mean: r.Mean, P50: r.P50, P95: r.P95, P99: r.P99, Max: r.Max}
}

// MetricByName returns the metric of a name, or nil if there is none. A metric of flows may be followed by a tag, as
// in "slowdown_mean:victim", which restricts it to flows with this tag.
func MetricByName(name string) *Metric {
	if base, tag, tagged := strings.Cut(name, ":"); tagged {
		m := MetricByName(base)
		if m == nil || m.OfRun || tag == "" {
			return nil
		}
		own := *m
		own.Name, own.Label, own.Tag = name, m.Label+", "+tag, tag
		return &own
	}
	return lists.Find(Metrics, func(m *Metric) bool { return m.Name == name })
}

// MetricsNamed returns the metrics of the known names.
func MetricsNamed(names []string) []*Metric {
	return lists.Map(names, MetricByName)
}

// MetricNames returns the names of all metrics, in the order of the documents.
func MetricNames() []string {
	return lists.Map(Metrics, func(m Metric) string { return m.Name })
}

// ofRecovery returns a function for a count of loss recovery. The count is NaN for runs with neither selective repeat
// nor trimming.
func ofRecovery(of func(*RecoverySummary) int64) func(*Summary) float64 {
	return func(s *Summary) float64 {
		if s.Recovery == nil {
			return math.NaN()
		}
		return float64(of(s.Recovery))
	}
}

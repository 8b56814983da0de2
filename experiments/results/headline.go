package results

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/interval"
)

// HeadlineColumn holds the runs that one column of a headline describes: one run, or a controller's runs under several
// seeds.
type HeadlineColumn struct {
	Name string
	Runs []*measure.Summary // runs without a result are nil
}

// HeadlineRow holds one measure of all columns.
type HeadlineRow struct {
	Label string
	Cells []string // one for each column, "-" if the runs have no such figure
}

// mostDiffering limits the rows of a headline besides its fixed ones, mostOfOne those of a headline with one column.
const (
	mostDiffering = 6
	mostOfOne     = 8
)

// leastDifference sets the relative difference between columns from which a measure is shown because it differs.
const leastDifference = 0.02

// mostTags limits the tags for which a headline always shows the slowdown.
const mostTags = 3

// unevenLoad sets the load of equal-cost ports, maximum over mean, from which a headline of jobs always shows it.
const unevenLoad = 1.5

// candidate describes a measure that a headline shows if columns differ in it, or, if there is one column, if it is not
// 0.
type candidate struct {
	label  string
	weight float64 // importance relative to other measures that differ as much
	ofTag  bool    // less important without a comparison
	fixed  bool    // always shown
	metric *measure.Metric
	of     func(*measure.Summary) float64
	cell   func(*measure.Summary) string // the cell of a single run instead of the number; "" for the number
}

// Headline returns the measures that tell the columns' runs apart best: completion times in any case, and of all others
// the six that differ most. Of one column it returns the eight most important that are not 0.
func Headline(columns []HeadlineColumn) []HeadlineRow {
	var all []*measure.Summary
	for _, c := range columns {
		for _, s := range c.Runs {
			if s != nil {
				all = append(all, s)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	candidates := candidatesOf(all)
	scores := make([]float64, len(candidates))
	var order []int
	for i := range candidates {
		if scores[i] = candidates[i].score(columns); scores[i] > 0 && !candidates[i].fixed {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	most := mostDiffering
	if len(columns) == 1 {
		most = mostOfOne
	}
	shown := order[:min(len(order), most)]
	i := slices.IndexFunc(candidates, func(c candidate) bool { return c.metric.Name == "pauses" })
	if slices.Contains(shown, i) || slices.Contains(shown, i+1) {
		// show all PAUSE frames next to those between switches, because a source may mean either
		shown = append(slices.Clone(shown), i)
		if slices.ContainsFunc(all, func(s *measure.Summary) bool { return s.PFC.SwitchPauses > 0 }) {
			shown = append(shown, i+1)
		}
	}
	rows := []HeadlineRow{{Label: "flows completed", Cells: eachColumn(columns, completed)}}
	for i := range candidates {
		if candidates[i].fixed || slices.Contains(shown, i) {
			rows = append(rows, HeadlineRow{Label: candidates[i].label, Cells: eachColumn(columns, candidates[i].text)})
		}
	}
	return rows
}

func eachColumn(columns []HeadlineColumn, text func([]*measure.Summary) string) []string {
	cells := make([]string, len(columns))
	for i := range columns {
		runs := slices.DeleteFunc(slices.Clone(columns[i].Runs), func(s *measure.Summary) bool { return s == nil })
		if cells[i] = "-"; len(runs) > 0 {
			cells[i] = text(runs)
		}
	}
	return cells
}

// completed returns how many flows of how many have ended, over all runs of a column.
func completed(runs []*measure.Summary) string {
	done, count := 0, 0
	for _, s := range runs {
		done, count = done+s.Flows.Completed, count+s.Flows.Count
	}
	return fmt.Sprintf("%d/%d", done, count)
}

// candidatesOf returns the measures that a headline of runs may have, in the order in which it shows them.
func candidatesOf(runs []*measure.Summary) []candidate {
	var all []candidate
	add := func(name string, weight float64) *candidate {
		m := measure.MetricByName(name)
		all = append(all, candidate{
			label: m.Label, weight: weight, metric: m,
			of: func(s *measure.Summary) float64 { return m.Of(s, &s.Flows) },
		})
		return &all[len(all)-1]
	}
	jobs := slices.ContainsFunc(runs, func(s *measure.Summary) bool { return len(s.Jobs) > 0 })
	add("jct", 1.1).fixed = jobs
	add("busbw", 1).fixed = jobs
	add("exposed_share", 0.9)
	// Where all flows outlast the runs, nothing has an FCT: goodput and the median RTT take its place.
	ends := slices.ContainsFunc(runs, func(s *measure.Summary) bool { return s.Flows.Completed > 0 || len(s.Jobs) > 0 })
	if ends {
		add("fct_mean", 1).fixed = true
		add("fct_p99", 1).fixed = !jobs
		add("slowdown_p99", 1).fixed = !jobs
	}
	tags := map[string]bool{}
	for _, s := range runs {
		for tag := range s.ByTag {
			tags[tag] = true
		}
	}
	ended := func(tag string) bool {
		return slices.ContainsFunc(runs, func(s *measure.Summary) bool { f := s.ByTag[tag]; return f.Completed > 0 })
	}
	compared := 0 // number of tags with comparable slowdowns
	for tag := range tags {
		if ended(tag) {
			compared++
		}
	}
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		ofTag := func(m *measure.Metric) func(*measure.Summary) float64 {
			return func(s *measure.Summary) float64 {
				f, ok := s.ByTag[tag]
				if !ok {
					return math.NaN()
				}
				return m.Of(s, &f)
			}
		}
		switch m := measure.MetricByName("slowdown_mean"); {
		case ended(tag) && len(tags) > 1:
			fixed := !jobs && compared > 1 && compared <= mostTags // which tag is slow is the first question
			all = append(all, candidate{
				label: m.Label + ", " + tag, weight: 1.1, ofTag: true, fixed: fixed, metric: m,
				of: ofTag(m),
			})
		case !ended(tag):
			m := measure.MetricByName("goodput")
			all = append(all, candidate{
				label: m.Label + ", " + tag, weight: 1.1, ofTag: true, fixed: !ends && len(tags) <= mostTags, metric: m,
				of: ofTag(m),
			})
			all = append(all, candidate{
				label: "lowest goodput, " + tag, weight: 1.2, ofTag: true, metric: m,
				of: func(s *measure.Summary) float64 {
					if least, ok := s.LowestGoodput[tag]; ok {
						return least
					}
					return math.NaN()
				},
			})
		}
	}
	add("pauses", 0.9)
	add("pauses_between_switches", 0.95)
	add("pause_depth", 0.85)
	add("paused", 0.8)
	add("victims", 1.05).cell = victims
	add("drops", 1.05)
	add("trimmed", 0.9)
	add("timeouts", 0.95)
	add("reordered", 0.6)
	add("imbalance", 0.7).fixed = jobs &&
		slices.ContainsFunc(runs, func(s *measure.Summary) bool {
			return slices.ContainsFunc(s.Imbalance, func(t measure.TierImbalance) bool { return t.MaxOverMean >= unevenLoad })
		})
	add("peak_egress", 0.75)
	add("peak_ingress", 0.5)
	if !ends {
		add("rtt_p50", 1).fixed = true
	}
	add("rtt_p99", 0.6)
	add("ecn_marks", 0.65)
	add("cnps", 0.6)
	add("cnms", 0.6)
	return all
}

// mostVictims limits the length of the tags in a cell of victims, in bytes.
const mostVictims = 16

func victims(s *measure.Summary) string {
	tags := strings.Join(slices.Sorted(maps.Keys(s.Victims.ByTag)), ", ")
	if tags == "" || len(tags) > mostVictims {
		return ""
	}
	return fmt.Sprintf("%d (%s)", s.Victims.Count, tags)
}

// text returns the candidate's cell for a column's runs.
func (c *candidate) text(runs []*measure.Summary) string {
	if c.cell != nil && len(runs) == 1 {
		if text := c.cell(runs[0]); text != "" {
			return text
		}
	}
	return c.metric.Text(c.estimate(runs))
}

// estimate returns the candidate's estimate over runs. If there are several, it skips those that cannot be trusted.
func (c *candidate) estimate(runs []*measure.Summary) interval.Estimate {
	if len(runs) != 1 || runs[0] == nil {
		return measure.EstimateOf(runs, c.of)
	}
	if v := c.of(runs[0]); !math.IsNaN(v) {
		return interval.Of([]float64{v})
	}
	return interval.Estimate{}
}

// score returns the candidate's weighted relative difference between columns; 0: the difference is too small to show.
func (c *candidate) score(columns []HeadlineColumn) float64 {
	low, high, n := math.Inf(1), math.Inf(-1), 0
	for i := range columns {
		if e := c.estimate(columns[i].Runs); e.N > 0 {
			low, high, n = min(low, e.Mean), max(high, e.Mean), n+1
		}
	}
	switch difference := (high - low) / math.Max(math.Abs(high), math.Abs(low)); {
	case len(columns) == 1 && n == 1 && high != 0 && c.ofTag:
		return c.weight / 2
	case len(columns) == 1 && n == 1 && high != 0:
		return c.weight
	case n > 1 && difference >= leastDifference: // not if all are 0
		return c.weight * difference
	}
	return 0
}

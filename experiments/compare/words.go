package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/analysis/pairs"
)

// brokenText returns a line about a run whose verdict is FAIL.
func brokenText(scenario, side string, seed uint64, message string) string {
	return fmt.Sprintf("%s with %s, seed %d: %s", scenario, side, seed, message)
}

// note adds notes on pairs that the reader should know of.
func (e *evaluation) note() {
	r := &e.out
	for side, n := range e.fewer {
		if n > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("%s completes fewer flows in %s: it loses these in the metrics of "+
				"completed flows", e.names[side], pairCount(n)))
		}
	}
	if e.rounds < 2 {
		return
	}
	var unvaried []string
	for i := range e.Cases {
		if !e.varied[i] && e.first[i] != nil {
			unvaried = append(unvaried, e.Cases[i].Name)
		}
	}
	if len(unvaried) > 0 {
		r.Notes = append(r.Notes, "the seed changes none of the metrics in "+strings.Join(unvaried, ", ")+
			": more seeds give the same results there (add other scenarios)")
	}
}

// sentence returns the answer about the first metric with pairs, and the worst case against it.
func (r *Result) sentence() string {
	if len(r.Measures) == 0 {
		return fmt.Sprintf("No answer: no pair of %s and %s has a value of the metrics.", r.A, r.B)
	}
	m := &r.Measures[0]
	switch m.Answer {
	case Equal:
		text := fmt.Sprintf("No difference between %s and %s in %s: %s equal", r.A, r.B, m.Label, allOf(m.Pairs))
		if r.Identical == r.Pairs {
			text += ", frame by frame"
		}
		return text + "."
	case Better:
		return fmt.Sprintf("%s is better than %s in %s in %s%s.", r.A, r.B, m.Label, shareText(m.BetterShare, m.Pairs),
			m.against(m.WorstA, true, m.Worse, r.B))
	case Worse:
		return fmt.Sprintf("%s is better than %s in %s in %s%s.", r.B, r.A, m.Label, shareText(m.WorseShare, m.Pairs),
			m.against(m.WorstB, false, m.Better, r.A))
	}
	return fmt.Sprintf("No significant difference between %s and %s in %s: %s is better in %s, and %s in %s.", r.A, r.B,
		m.Label, r.A, shareText(m.BetterShare, m.Pairs), r.B, percent(*m.WorseShare.Estimate)+" %")
}

// shareText returns a share of pairs with its interval: "83 % of 1000 pairs (95 % interval 80 to 86)".
func shareText(share Interval, n int) string {
	return fmt.Sprintf("%s %% of %s (95 %% interval %s to %s)", percent(*share.Estimate), pairCount(n),
		percent(*share.Low),
		percent(*share.High))
}

// against returns the worst case against the better side, A or B, and its opponent.
func (m *Measure) against(w *Extreme, ofA bool, lost int, opponent string) string {
	if w == nil {
		if m.Equal > 0 && lost == 0 {
			return ", and never worse"
		}
		return ""
	}
	own, other := w.A, w.B
	if !ofA {
		own, other = other, own
	}
	text := fmt.Sprintf("; worst case against it: %s, seed %d, ", w.Scenario, w.Seed)
	switch {
	case w.Broken:
		return text + "where its run is broken"
	case w.Unfinished:
		return text + "where it completes fewer flows"
	case w.Times == nil:
		return text + fmt.Sprintf("%s against %s", m.metric.Kind.Text(*own), m.metric.Kind.Text(*other))
	}
	if pairs.MoreIsBetter(m.metric) {
		return text + fmt.Sprintf("where the %s of %s is %s times its own", m.Label, opponent, Times(*w.Times))
	}
	return text + fmt.Sprintf("where its %s is %s times that of %s", m.Label, Times(*w.Times), opponent)
}

// Times formats a ratio for people, with at least two significant digits and so many that it is not 1: "2.1", "1.004".
func Times(ratio float64) string {
	for decimals := max(0, 1-int(math.Floor(math.Log10(ratio)))); decimals < 9; decimals++ {
		text := strconv.FormatFloat(ratio, 'f', decimals, 64)
		if v, _ := strconv.ParseFloat(text, 64); v != 1 || ratio == 1 {
			return text
		}
	}
	return "1.000000001"
}

// percent formats a share in percent, as a whole number that is 0 or 100 only if the share is 0 or 1.
func percent(share float64) string {
	switch v := math.Round(100 * share); {
	case v == 0 && share > 0:
		return "<1"
	case v == 100 && share < 1:
		return ">99"
	default:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
}

func pairCount(n int) string {
	if n == 1 {
		return "1 pair"
	}
	return strconv.Itoa(n) + " pairs"
}

func allOf(n int) string {
	if n == 1 {
		return "the only pair is"
	}
	return fmt.Sprintf("all %d pairs are", n)
}

// Commands returns the commands that repeat both runs of a pair, with the program in front. They name the file with a
// generated scenario, whose text is the second result; empty: the scenario is a built-in or a user's file.
func (r *Result) Commands(w *Extreme) (all [2][]string, text string, err error) {
	c := r.cases[w.Scenario]
	for side := range all {
		all[side] = c.Runs[side].Command(w.Seed)
	}
	if c.Runs[0].Text != nil {
		text, err = c.Runs[0].Text(w.Seed)
	}
	return all, text, err
}

// Worst returns the pair that speaks most against the better side in the first metric; nil if none does.
func (r *Result) Worst() *Extreme {
	switch {
	case len(r.Measures) == 0:
		return nil
	case r.Measures[0].Answer == Worse:
		return r.Measures[0].WorstB
	}
	return r.Measures[0].WorstA
}

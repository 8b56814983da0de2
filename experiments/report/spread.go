package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// spreadTable says how far PAUSE spread, and which flows suffered for it; nil where there was no PAUSE.
func spreadTable(r *Report) []table {
	deepest, slowed := 0, 0
	for i := range r.Runs {
		for _, run := range r.Runs[i].counted() {
			deepest = max(deepest, len(run.Summary.Spread.ByDepth))
			slowed = max(slowed, run.Summary.Victims.Count)
		}
	}
	if deepest == 0 {
		return nil
	}
	t := table{Caption: "How far PAUSE spread: links paused at so many hops from where it began", Corner: "Spread", Heads: r.names()}
	b := body{}
	for hop := range deepest {
		b.Rows = append(b.Rows, r.row(fmt.Sprintf("Paused at hop %d", hop+1), counts, lower, func(run *Run) float64 {
			if by := run.Summary.Spread.ByDepth; hop < len(by) {
				return float64(by[hop])
			}
			return 0
		}))
	}
	chain := row{Label: "The longest chain, its root first"}
	when := row{Label: "When it was first so long"}
	for i := range r.Runs {
		s := &r.Runs[i].counted()[0].Summary.Spread
		chain.Cells = append(chain.Cells, words(strings.Join(s.Chain, " ← ")))
		text := ""
		if len(s.Chain) > 0 {
			text = Nanoseconds.measure(float64(s.Time)).text(float64(s.Time))
		}
		when.Cells = append(when.Cells, words(text))
	}
	b.Rows = append(b.Rows, chain, when)
	t.Bodies = append(t.Bodies, b)
	if slowed == 0 {
		return []table{t}
	}
	victims := body{Heading: "Victim flows: slowed, though they share no congested port"}
	victims.Rows = append(victims.Rows, r.row("Flows", counts, lower, func(run *Run) float64 { return float64(run.Summary.Victims.Count) }))
	worst := row{Label: "The most slowed"}
	for i := range r.Runs {
		var names []string
		list := r.Runs[i].counted()[0].Summary.Victims.Worst
		for _, v := range list[:min(len(list), 5)] {
			names = append(names, fmt.Sprintf("%s (flow %d): %s times", v.Tag, v.Flow, digits(v.Slowdown)))
		}
		worst.Cells = append(worst.Cells, words(strings.Join(names, "; ")))
	}
	victims.Rows = append(victims.Rows, worst)
	t.Bodies = append(t.Bodies, victims)
	return []table{t}
}

// words is a cell of text, which may take several lines.
func words(text string) cell {
	if text == "" {
		text = digits(math.NaN())
	}
	return cell{Text: text, Bar: -1, Words: true}
}

// fairnessTable has Jain's index by tag.
func fairnessTable(r *Report) []table {
	var tags []string
	for i := range r.Runs {
		for _, run := range r.Runs[i].counted() {
			for _, f := range run.Summary.Fairness {
				if !slices.Contains(tags, f.Tag) {
					tags = append(tags, f.Tag)
				}
			}
		}
	}
	if len(tags) == 0 {
		return nil
	}
	t := table{
		Caption: "Jain's index of the goodputs of the flows with a tag while two or more compete: 1 if all are equal, 1/n if one of n has everything",
		Corner:  "Flows", Heads: r.names(),
	}
	for _, of := range []struct {
		heading string
		value   func(*Fairness) float64
	}{
		{"Mean over time", func(f *Fairness) float64 { return f.Mean }},
		{"Least at any time", func(f *Fairness) float64 { return f.Least }},
	} {
		b := body{Heading: of.heading}
		for _, tag := range tags {
			b.Rows = append(b.Rows, r.row(tag, None, neither, func(run *Run) float64 {
				for k := range run.Summary.Fairness {
					if f := &run.Summary.Fairness[k]; f.Tag == tag {
						return of.value(f)
					}
				}
				return math.NaN()
			}))
		}
		t.Bodies = append(t.Bodies, b)
	}
	return []table{t}
}

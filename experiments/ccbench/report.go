package ccbench

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/table"
)

// Report holds the results for people and programs.
type Report struct {
	Version string   `json:"version"`
	Suite   string   `json:"suite"`
	Seeds   []uint64 `json:"seeds"`
	// Partial is true if scenarios were left out, so that scores do not compare with those of the whole benchmark.
	Partial bool   `json:"partial"`
	Halves  []Half `json:"halves"`
	// HeldOut compares the rankings of the two halves; nil without held-out scenarios.
	HeldOut *Agreement `json:"agreement_of_halves,omitempty"`
	// SeedTau holds the least Kendall's tau between the rankings of two seeds; nil for a single seed.
	SeedTau *float64 `json:"least_tau_of_seeds,omitempty"`
	// Commitment holds a hash of the secret phrase.
	Commitment string `json:"held_out_commitment,omitempty"`
	Runs       []Row  `json:"runs"`

	bench *Bench
}

// Report ranks the controllers.
func (b *Bench) Report(results *Results, version string) *Report {
	results.keep(b)
	r := &Report{
		Version: version, Suite: b.digest, Seeds: b.Seeds, Partial: b.Partial, Commitment: b.Commitment, Runs: results.Rows,
		bench: b,
	}
	for _, half := range []string{Public, HeldOut} {
		if h := b.rank(half, results.Rows); h.Scenarios > 0 {
			r.Halves = append(r.Halves, h)
		}
	}
	r.HeldOut = b.agreement(results.Rows)
	if tau := b.seedAgreement(results.Rows); !math.IsNaN(tau) {
		r.SeedTau = &tau
	}
	return r
}

// rankingRow is a row of ranking.csv.
type rankingRow struct {
	Half       string  `csv:"half,plain" doc:"public or held-out"`
	Rank       int     `csv:"rank" doc:"rank by score"`
	Controller string  `csv:"controller" doc:"name of the congestion control"`
	Score      float64 `csv:"score,digits=4" doc:"weighted geometric mean of the scenarios' scores"`
	Low        float64 `csv:"score_low,digits=4" doc:"lower end of its 95 % interval"`
	High       float64 `csv:"score_high,digits=4" doc:"upper end"`
	RankLow    int     `csv:"rank_low" doc:"lower end of the 95 % interval of the rank"`
	RankHigh   int     `csv:"rank_high" doc:"upper end"`
	Worst      string  `csv:"worst_scenario,plain" doc:"scenario with the highest score"`
	WorstScore float64 `csv:"worst_score,digits=4" doc:"that score"`
	Fallbacks  int     `csv:"ecmp_runs" doc:"runs with ECMP in place of the scenario's load balancing"`
	Unfinished int     `csv:"unfinished_runs" doc:"runs with unfinished flows or jobs"`
	Broken     int     `csv:"broken_runs" doc:"runs that count as if no flow had ended"`
}

var rankingTable = table.Of[rankingRow]("ranking.csv", "ranking")

func (r *Report) rankingCSV() []byte {
	var rows []rankingRow
	for _, h := range r.Halves {
		for _, e := range h.Ranking {
			rows = append(rows, rankingRow{
				h.Name, e.Rank, e.Controller, e.Score, e.Low, e.High, e.RankLow, e.RankHigh, e.Worst, e.WorstScore, e.Fallbacks,
				e.Unfinished, e.Broken,
			})
		}
	}
	var b bytes.Buffer
	_ = rankingTable.WriteAll(&b, table.Rows(rows))
	return b.Bytes()
}

// worst returns the n runs of the public half with the highest scores.
func (r *Report) worst(n int) []*Row {
	var rows []*Row
	for i := range r.Runs {
		if r.Runs[i].Half == Public {
			rows = append(rows, &r.Runs[i])
		}
	}
	slices.SortStableFunc(rows, func(a, b *Row) int { return cmp.Compare(b.Score, a.Score) })
	return rows[:min(n, len(rows))]
}

// Markdown returns the ranking as a table.
func (h *Half) Markdown() string {
	var b strings.Builder
	b.WriteString("| rank | controller | score | 95 % | ranks, 95 % | worst scenario | its score |\n")
	b.WriteString("|---|---|---|---|---|---|---|\n")
	for _, e := range h.Ranking {
		fmt.Fprintf(&b, "| %d | `%s` | %.2f | %.2f to %.2f | %d to %d | `%s` | %.1f |\n", e.Rank, e.Controller, e.Score,
			e.Low, e.High, e.RankLow, e.RankHigh, e.Worst, e.WorstScore)
	}
	return b.String()
}

// Notes returns what a reader of the ranking should know, one sentence each.
func (r *Report) Notes() []string {
	var notes []string
	if r.Partial {
		notes = append(notes, "scenarios were left out, so these scores do not compare with those of the whole benchmark")
	}
	for _, h := range r.Halves {
		if h.FairScenarios > 0 && len(h.Ranking) > 0 {
			first := &h.Ranking[0]
			notes = append(notes, fmt.Sprintf("%s: perfect max-min fair shares have the score %.2f in %d scenarios, where %s "+
				"has %.2f",
				h.Name, h.Fair, h.FairScenarios, first.Controller, first.OverFair))
		}
	}
	if a := r.HeldOut; a != nil {
		notes = append(notes, fmt.Sprintf("agreement of public and held-out ranks: Kendall's tau %.2f (95 %%: "+
			"%.2f to %.2f), Spearman's rho %.2f", a.Tau, a.Low, a.High, a.Rho))
	}
	if r.SeedTau != nil {
		notes = append(notes, fmt.Sprintf("agreement of ranks between seeds: Kendall's tau at least %.2f", *r.SeedTau))
	}
	if r.Commitment != "" {
		notes = append(notes, "commitment to the held-out phrase: "+r.Commitment)
	}
	for _, h := range r.Halves {
		for _, e := range h.Ranking {
			if e.Fallbacks > 0 {
				notes = append(notes, fmt.Sprintf("%s, %s: %d runs with ECMP, because it refuses the scenario's load balancing",
					h.Name,
					e.Controller, e.Fallbacks))
			}
			if e.Unfinished > 0 {
				notes = append(notes, fmt.Sprintf("%s, %s: %d runs with flows that did not end", h.Name, e.Controller,
					e.Unfinished))
			}
			if e.Broken > 0 {
				notes = append(notes, fmt.Sprintf("%s, %s: %d runs broken", h.Name, e.Controller, e.Broken))
			}
		}
	}
	return notes
}

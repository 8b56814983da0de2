package tune

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/pausenet/pausenet/experiments/analysis/paired"
	"github.com/pausenet/pausenet/experiments/explore"
)

// HoldOut compares the tuned values with the file's own in runs that took no part in the tuning.
type HoldOut struct {
	Comparison
	// Scenarios holds the comparison in each scenario, the tuned one first.
	Scenarios []Comparison `json:"scenarios"`
	Broken    int          `json:"breaks_limits"`     // runs of the tuned values that exceed a limit
	OwnBroken int          `json:"own_breaks_limits"` // runs of the file's own values that do
	Pairs     []Pair       `json:"pairs"`
}

// Comparison compares the tuned values with the file's own in one or several scenarios.
type Comparison struct {
	Scenario string `json:"scenario,omitempty"` // empty: all
	// Better counts the pairs in which the tuned values are better, of Compared with a result of both; equal pairs do not
	// count in P.
	Better   int `json:"better"`
	Compared int `json:"compared"`
	// Ratio holds the geometric mean of the objective over that of the file's own values; Worst the ratio of the worst
	// pair. Both are 0 without a pair.
	Ratio float64 `json:"ratio"`
	Worst float64 `json:"worst_ratio"`
	// P holds the probability that chance alone makes either side win so many pairs: a two-sided sign test.
	P float64 `json:"p_sign_test"`
}

// compare returns the comparison of pairs with these gains.
func (t *Tuning) compare(scenario string, gains []float64) Comparison {
	c := Comparison{Scenario: scenario, Compared: len(gains)}
	sign := paired.Sample{Design: paired.Fixed}
	sum, worst := 0.0, math.Inf(-1)
	for _, gain := range gains {
		c.Better += truth(sign.Add(math.Exp(gain)) < 0)
		sum, worst = sum+gain, max(worst, gain)
	}
	if len(gains) > 0 {
		c.Ratio, c.Worst = t.ratio(sum/float64(len(gains))), t.ratio(worst)
	}
	sign.Look()
	c.P, _ = sign.P()
	return c
}

// Pair represents a scenario under one seed, with both values of the objective. A value is null if the run has none.
type Pair struct {
	Scenario string   `json:"scenario"`
	Seed     uint64   `json:"seed"`
	Own      *float64 `json:"own"`
	Tuned    *float64 `json:"tuned"`
}

// holdOut runs the best candidate and the file's own values.
func (s *tuning) holdOut(ctx context.Context, best *candidate) (HoldOut, error) {
	scenarios := append([]other{{s.Name, s.m.File, s.template}}, s.others...)
	var h HoldOut
	type pair struct{ own, tuned *explore.Outcome }
	outcomes := make([]pair, len(scenarios)*len(s.HoldOut))
	err := s.m.Each(ctx, len(outcomes), func(ctx context.Context, i int) (err error) {
		o, seed := &scenarios[i/len(s.HoldOut)], s.HoldOut[i%len(s.HoldOut)]
		run := func(settings []explore.Setting) (*explore.Outcome, error) {
			return s.m.Run(ctx, explore.Task{
				Text: o.template.Text(settings, nil, nil), File: o.file, Controller: s.Under, Seed: seed,
			})
		}
		if outcomes[i].own, err = run(nil); err != nil {
			return err
		}
		outcomes[i].tuned, err = run(s.settings(best.values))
		return err
	})
	if err != nil {
		return h, err
	}
	gains := make([][]float64, len(scenarios))
	for i, both := range outcomes {
		name := scenarios[i/len(s.HoldOut)].name
		for _, o := range []*explore.Outcome{both.own, both.tuned} {
			if o.Error != "" {
				return h, fmt.Errorf("holdout: %s cannot run: %s", name, o.Error)
			}
		}
		own, tuned := both.own.Value(s.Metric.Name), both.tuned.Value(s.Metric.Name)
		h.Pairs = append(h.Pairs, Pair{name, s.HoldOut[i%len(s.HoldOut)], number(own), number(tuned)})
		h.Broken += truth(s.exceeded(both.tuned) > 0 || both.tuned.Completed < both.own.Completed)
		h.OwnBroken += truth(s.exceeded(both.own) > 0)
		if !(own > 0 && tuned > 0) || both.tuned.Completed != both.own.Completed {
			continue
		}
		k := i / len(s.HoldOut)
		gains[k] = append(gains[k], s.gain(tuned, own))
	}
	h.Comparison = s.compare("", slices.Concat(gains...))
	for k := range scenarios {
		h.Scenarios = append(h.Scenarios, s.compare(scenarios[k].name, gains[k]))
	}
	return h, nil
}

func number(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

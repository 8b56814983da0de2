package tune

import (
	"context"
	"fmt"
	"math"

	"github.com/pausenet/pausenet/experiments/explore"
)

// HoldOut compares the tuned values with the file's own in runs that took no part in the tuning.
type HoldOut struct {
	Pairs []Pair `json:"pairs"`
	// Better counts the pairs in which the tuned values are better, of Compared with a result of both.
	Better   int `json:"better"`
	Compared int `json:"compared"`
	// Ratio holds the geometric mean of the objective over that of the file's own values; Worst the ratio of the worst
	// pair.
	Ratio float64 `json:"ratio"`
	Worst float64 `json:"worst_ratio"`
	// P holds the probability that chance alone makes either side win so many pairs: a two-sided sign test.
	P      float64 `json:"p_sign_test"`
	Broken int     `json:"breaks_limits"` // runs of the tuned values that exceed a limit
	// OwnBroken counts those of the file's own values.
	OwnBroken int `json:"own_breaks_limits"`
}

// Pair is a scenario under one seed, with both values of the objective. A value is null if the run has none.
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
	sum, worst := 0.0, math.Inf(-1)
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
		gain := s.gain(tuned, own)
		h.Compared++
		h.Better += truth(gain < 0)
		sum, worst = sum+gain, max(worst, gain)
	}
	if h.Compared > 0 {
		h.Ratio, h.Worst = s.ratio(sum/float64(h.Compared)), s.ratio(worst)
	}
	h.P = signTest(h.Better, h.Compared)
	return h, nil
}

func number(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// signTest returns the probability that a fair coin shows one side at least as often, of n throws, as the side here
// that was shown more often.
func signTest(wins, n int) float64 {
	wins = max(wins, n-wins)
	p, term := 0.0, math.Pow(0.5, float64(n)) // term: n over k, times 2^-n
	for k := n; k >= wins; k-- {
		p += term
		term *= float64(k) / float64(n-k+1)
	}
	return min(1, 2*p)
}

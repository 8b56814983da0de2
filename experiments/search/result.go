package search

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/pausenet/pausenet/experiments/explore"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/jsonfile"
)

// seeds is the number of seeds, from 1 on, under which describe repeats a case.
const seeds = 5

// describe measures a shrunk case under several seeds.
func (s *search) describe(ctx context.Context, found, small *scored) (Case, error) {
	o := &s.Objective
	c := Case{
		Cause: small.cause.Class, Why: small.cause.Sentence, Value: small.value, Found: found.value,
		ValueText: o.Text(small.value), FoundText: o.Text(found.value), SeedValues: map[uint64]float64{},
		Fingerprint: small.fingerprint, Flows: len(small.flows), Faults: len(small.faults), FlowsBefore: len(found.flows),
		text: s.text(small.candidate), seed: s.seedOf(small.candidate),
	}
	low, high := math.Inf(1), math.Inf(-1)
	for seed := uint64(1); seed <= seeds; seed++ {
		outcomes := make([]*explore.Outcome, 2)
		for i, controller := range s.controllers() {
			var err error
			if outcomes[i], err = s.m.Run(ctx, explore.Task{Text: c.text, Controller: controller, Seed: seed}); err != nil {
				return c, err
			}
		}
		if v := o.value(outcomes[0], outcomes[1]); !math.IsNaN(v) {
			c.SeedValues[seed], low, high = v, min(low, v), max(high, v)
		}
	}
	for _, v := range c.SeedValues {
		if o.interesting(v) {
			c.Holds++
		}
	}
	switch {
	case len(c.SeedValues) == 0:
		c.Seeds = "no value"
	case low == high:
		c.Seeds = o.Text(low)
	default:
		c.Seeds = strings.TrimSuffix(o.Text(low), " times") + " to " + o.Text(high)
	}
	c.Seeds += fmt.Sprintf("; a case under %d of them", c.Holds)
	return c, nil
}

// write writes a scenario file for each case, and search.json with all of them.
func (r *Result) write(s *search, folder string) error {
	for i := range r.Cases {
		c := &r.Cases[i]
		c.File = fmt.Sprintf("%s-%d.yaml", s.Name, i+1)
		c.Command = fmt.Sprintf("pausenet run %s --cc %s", filepath.ToSlash(filepath.Join(folder, c.File)),
			strings.Join(s.controllers(), ","))
		head := fmt.Sprintf("# %s\n# %s: %s; under seeds 1 to %d: %s\n# %s\n", c.Cause, r.Objective, c.ValueText, seeds,
			c.Seeds, c.Why)
		head += fmt.Sprintf("# fingerprint under %s, seed %d: %s\n", s.Objective.Under, c.seed, c.Fingerprint)
		if !strings.Contains(c.text, "\nlook_at:") { // so that the report of a run of the case shows the cause
			c.text += fmt.Sprintf("look_at: [%q]\n", c.Cause+": "+c.Why)
		}
		if err := files.WriteWhole(filepath.Join(folder, c.File), []byte(head+c.text)); err != nil {
			return err
		}
	}
	data, err := jsonfile.Format(r)
	if err != nil {
		return err
	}
	return files.WriteWhole(filepath.Join(folder, "search.json"), data)
}

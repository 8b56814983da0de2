package runner

import (
	"context"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
)

// TestTCDScenarios checks the states and marks that the patent describes for its two scenarios (paragraphs 0100 and
// 0101), and compares them with a threshold's marks.
func TestTCDScenarios(t *testing.T) {
	testenv.WholeScenario(t)
	const noncongested, undetermined, congested = 0, 1, 2
	run := func(t *testing.T, loaded, variant string) (r *Result, p1, p2, p3 []float64) {
		t.Helper()
		s := mustLoad(t, loaded)
		r, err := Run(context.Background(), s, Options{
			Controller: variant, Plane: wasmplane.Open, Seed: 1,
			Directory: t.TempDir(),
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Summary.Verdict.Status != measure.Pass {
			t.Errorf("%s: %v", r.Summary.Verdict.Status, r.Summary.Verdict.Messages)
		}
		states := r.Panels[slices.IndexFunc(s.Panels, func(p scenario.Panel) bool { return p.Title == "Port states" })]
		return r, states[0].Value, states[1].Value, states[2].Value
	}
	last := func(v []float64) float64 { return v[len(v)-1] }
	passersBy := []string{"F0", "F2"}

	for _, flowControl := range []string{"", "-cbfc"} {
		t.Run("single"+flowControl, func(t *testing.T) {
			r, p1, p2, p3 := run(t, "tcd-single", "ternary"+flowControl)
			if slices.Max(p3) != congested || slices.Contains(p3[:300], undetermined) {
				t.Error("P3 is not just congested while the bursts last")
			}
			for name, states := range map[string][]float64{"P1": p1, "P2": p2} {
				if slices.Max(states) != undetermined || last(states) != noncongested {
					t.Errorf("%s: greatest state %g, last %g; want undetermined, then not congested", name, slices.Max(states),
						last(states))
				}
			}
			for _, f := range passersBy {
				if by := r.Summary.ByTag[f]; by.CE != 0 || by.UE == 0 {
					t.Errorf("%s: %d packets CE, %d UE", f, by.CE, by.UE)
				}
			}
			if by := r.Summary.ByTag["F1"]; by.CE == 0 {
				t.Error("F1 goes through P3 and is not marked")
			}
			threshold, _, _, _ := run(t, "tcd-single", "threshold"+flowControl)
			for _, f := range passersBy {
				if by := threshold.Summary.ByTag[f]; by.CE == 0 || by.UE != 0 {
					t.Errorf("threshold, %s: %d packets CE, %d UE", f, by.CE, by.UE)
				}
			}
		})
		t.Run("multi"+flowControl, func(t *testing.T) {
			r, p1, p2, p3 := run(t, "tcd-multi", "ternary"+flowControl)
			if slices.Max(p3) != congested {
				t.Error("P3 is not congested")
			}
			first := slices.Index(p2, congested)
			if first < 0 || slices.Index(p2, undetermined) < 0 || slices.Index(p2, undetermined) > first ||
				last(p2) != congested {
				t.Errorf("P2 is not first undetermined and then congested: %v", slices.Compact(slices.Clone(p2)))
			}
			if slices.Max(p1) != undetermined || last(p1) != undetermined {
				t.Errorf("P1 is not undetermined: %v", slices.Compact(slices.Clone(p1)))
			}
			for _, f := range passersBy {
				if by := r.Summary.ByTag[f]; by.CE == 0 || by.UE == 0 {
					t.Errorf("%s: %d packets CE, %d UE", f, by.CE, by.UE)
				}
			}
		})
	}
}

// TestTCDSparesVictims checks that DCQCN slows passing flows less if TCD tells which ports only wait: at the median
// over six seeds, and at the 99th percentile under each.
func TestTCDSparesVictims(t *testing.T) {
	testenv.WholeScenario(t)
	const seeds = 6
	var medians [2]float64
	for seed := range uint64(seeds) {
		var victims [2]measure.FlowStatistics
		for i, controller := range []string{"dcqcn", "dcqcn+tcd"} {
			r, err := Run(context.Background(), mustLoad(t, "tcd-victims", "cc.dcqcn.clamp_target=true"), Options{
				Controller: controller, Plane: wasmplane.Open, Seed: seed, Directory: t.TempDir(),
			})
			if err != nil {
				t.Fatal(err)
			}
			if r.Summary.Verdict.Status != measure.Pass {
				t.Errorf("%s: %s: %v", controller, r.Summary.Verdict.Status, r.Summary.Verdict.Messages)
			}
			victims[i] = r.Summary.ByTag["victim"]
			medians[i] += victims[i].Slowdown.P50 / seeds
		}
		if plain, ternary := victims[0].Slowdown.P99, victims[1].Slowdown.P99; ternary > plain/1.5 {
			t.Errorf("seed %d: slowdown %.2f at 99 %%, with ternary detection %.2f", seed, plain, ternary)
		}
		if plain, ternary := victims[0].CE, victims[1].CE; ternary > plain/2 {
			t.Errorf("seed %d: of the victims' packets %d marked CE, with ternary detection %d", seed, plain, ternary)
		}
	}
	if medians[1] >= medians[0] {
		t.Errorf("a median slowdown of %.3f, with ternary detection %.3f", medians[0], medians[1])
	}
	t.Logf("median %.3f, with ternary detection %.3f", medians[0], medians[1])
}

package audit

import (
	"context"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
)

// TestScenarios runs one scenario of each kind, and the same with a sound value: the consequence is there, and not
// without the fault.
func TestScenarios(t *testing.T) {
	testenv.WholeScenario(t)
	run := func(text string) *measure.Summary {
		t.Helper()
		s, err := scenario.Parse("x.yaml", []byte(text), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		sum, err := runner.Watch(context.Background(), s, runner.Options{Controller: s.Controllers[0], Seed: s.Seed}, runner.Watching{})
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	lossless := func(sum *measure.Summary) bool { return sum.Drops.Lossless > 0 }
	for _, c := range []struct {
		name, broken, sound string
		shows               func(*measure.Summary) bool
	}{
		{
			"headroom", headroomScenario(400_000, 2000, 1024, 555_008), headroomScenario(400_000, 2000, 1024, 991_000),
			lossless,
		},
		{"headroom of a short cable", headroomScenario(100_000, 300, 1024, 30_000), headroomScenario(100_000, 300, 1024, 48_286), lossless},
		{
			"ecn", ecnScenario(100_000, 300_000, 400_000, 0.05, 100_000), ecnScenario(100_000, 20_000, 50_000, 0.05, 100_000),
			func(sum *measure.Summary) bool { return sum.PFC.Pauses > 0 && sum.ECNMarks == 0 },
		},
		{"watchdog", watchdogScenario(100_000, 1, 1, 1<<20), "", func(sum *measure.Summary) bool { return sum.Drops.Frames > 0 }},
		{"lossy", lossyScenario(100_000, "x"), "", func(sum *measure.Summary) bool { return sum.Drops.Frames > 0 && sum.PFC.Pauses == 0 }},
	} {
		if sum := run(c.broken); !c.shows(sum) {
			t.Errorf("%s: the run does not show it: %+v, %d pauses, %d marks", c.name, sum.Drops, sum.PFC.Pauses, sum.ECNMarks)
		}
		if c.sound != "" && c.shows(run(c.sound)) {
			t.Errorf("%s: the run shows it with a sound value, too", c.name)
		}
	}
}

package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/rundir"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

// checkpoints are a run's fingerprints at its samples. A second run is compared with those of the first, and stopped at the first that differs.
type checkpoints struct {
	all  []string
	with *checkpoints // of the first run; nil: this is the first
	stop func()
}

func (c *checkpoints) sample(e *engine.Engine) {
	if c == nil {
		return
	}
	c.all = append(c.all, e.Fingerprint())
	if n := len(c.all); c.with != nil && (n > len(c.with.all) || c.all[n-1] != c.with.all[n-1]) {
		c.stop()
	}
}

// mechanisms are the sections of a scenario whose settings say how the fabric works, and so may have no effect on what it carries.
var mechanisms = []string{"switch", "host", "cc", "routing"}

// idleSettings returns the user's settings (--set) of mechanisms that changed nothing: the run without one has the same fingerprint.
func (r *runner) idleSettings(ctx context.Context) (idle []string) {
	if r.recorder.checks == nil {
		return nil
	}
	for _, set := range r.options.Sets {
		path, _, _ := strings.Cut(set, "=")
		path = strings.TrimPrefix(strings.TrimSpace(path), "controllers."+r.Name+".")
		section, _, _ := strings.Cut(path, ".")
		if (slices.Contains(mechanisms, section) || section == "set") && !slices.Contains(idle, set) && r.isSameWithout(ctx, set) {
			idle = append(idle, set)
		}
	}
	return idle
}

// isSameWithout reports whether the run has the same fingerprint without one of the user's settings.
func (r *runner) isSameWithout(ctx context.Context, set string) bool {
	s, err := r.Scenario.Without(set)
	if err != nil {
		return false // another setting needs it
	}
	other, err := newRunner(s, Options{Controller: r.Name, Plane: engine.PlaneWasm, Seed: r.Seed, Processors: r.options.Processors})
	if err != nil {
		return false
	}
	defer other.hire()()
	plane, err := other.openPlane()
	if err != nil {
		return false
	}
	defer plane.Close()
	if other.build(plane) != nil {
		return false
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	other.recorder.checks = &checkpoints{with: r.recorder.checks, stop: stop}
	other.recorder.start(other.engine, rundir.Discard())
	return other.drive(ctx, nil) == nil && ctx.Err() == nil && other.engine.Fingerprint() == r.engine.Fingerprint()
}

// judgeSettings names the user's settings that changed nothing, and that no other message is about. Beside other congestion controls that is a note,
// as the setting may be for those.
func (r *runner) judgeSettings(v *measure.Verdict) {
	for _, set := range r.idle {
		if slices.ContainsFunc(v.Messages, func(text string) bool { return strings.HasPrefix(text, "--set "+set+" ") }) {
			continue
		}
		text := fmt.Sprintf("--set %s had no effect: without it the run is the same, frame by frame%s", set, r.whyIdle(set))
		if r.options.Compared {
			v.Note("%s", text)
		} else {
			v.Worsen(measure.Warn, "%s", text)
		}
	}
}

// whyIdle says why a setting changed nothing where that is simple; empty: it is not.
func (r *runner) whyIdle(set string) string {
	path, _, _ := strings.Cut(set, "=")
	section, key, _ := strings.Cut(strings.TrimSpace(path), ".")
	if name, _, _ := strings.Cut(key, "."); section == "cc" && !slices.ContainsFunc(r.controls(), func(c string) bool {
		plain, _, _ := strings.Cut(c, "+")
		return c == name || plain == name
	}) {
		return ": no flow is under " + name
	}
	return ""
}

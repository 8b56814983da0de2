package sweep

import (
	"context"
	"slices"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
)

// IdleSetting describes a setting of a flag, with one value, that changed nothing in the checked points.
type IdleSetting struct {
	Set    string // in the form path=value
	Points int    // number of checked points
}

// IdleSettings returns the idle settings among the flags' that are about a mechanism. It repeats the first and the last
// complete point of each congestion control without the setting, until one differs.
func (s *Sweep) IdleSettings(ctx context.Context, points []Point, outcomes []Outcome, processors int) []IdleSetting {
	first, last := map[string]int{}, map[string]int{}
	for i := range points {
		if outcomes[i].Fingerprint == "" {
			continue
		}
		if _, known := first[points[i].Controller]; !known {
			first[points[i].Controller] = i
		}
		last[points[i].Controller] = i
	}
	var checked []int
	for controller, i := range first {
		checked = append(checked, i, last[controller])
	}
	slices.Sort(checked)
	checked = slices.Compact(checked)
	var idle []IdleSetting
	for _, p := range s.Parameters {
		if p.key != nil || len(p.Values) != 1 || !runner.IsMechanism(p.Path) || len(checked) == 0 {
			continue
		}
		set := p.Path + "=" + p.Values[0]
		if !slices.ContainsFunc(checked, func(i int) bool {
			return !s.sameWithout(ctx, &points[i], set, outcomes[i].Fingerprint, processors)
		}) {
			idle = append(idle, IdleSetting{set, len(checked)})
		}
	}
	return idle
}

// sameWithout reports whether a point without one of its settings is the same run.
func (s *Sweep) sameWithout(ctx context.Context, p *Point, set, fingerprint string, processors int) bool {
	sets := slices.DeleteFunc(slices.Clone(p.Sets), func(other string) bool { return other == set })
	without, err := scenario.Reading{Quick: s.Quick, Sets: sets, Controllers: p.Files}.Load(p.Scenario)
	if err != nil || len(sets) == len(p.Sets) {
		return false // another setting depends on it
	}
	if hash, err := scenario.ConfigurationHash(without, p.Controller, p.Seed); err != nil || hash == p.Hash {
		return err == nil
	}
	o := runner.Options{Controller: p.Controller, Seed: p.Seed, Processors: processors}
	sum, err := runner.Watch(ctx, without, o, runner.Watching{})
	return err == nil && ctx.Err() == nil && sum.Fingerprint == fingerprint
}

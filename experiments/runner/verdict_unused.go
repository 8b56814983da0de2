package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
)

// judgeUnused reports mechanisms that the run did not use. This is usually a note, and often the purpose of a good
// congestion control. It is a warning for mechanisms that the run was to show: the congestion control itself, faults,
// and the user's settings (--set).
func (r *runner) judgeUnused(v *measure.Verdict, sum *measure.Summary) {
	started := false
	for i := 0; i < r.engine.AddedFlows() && !started; i++ {
		f := r.engine.Message(i)
		started = f.Started()
	}
	if started {
		r.judgeFlowControl(v, sum)
		r.judgeController(v, sum)
	}
	if plan := r.Scenario.Topology; !slices.ContainsFunc(plan.Routes().Groups,
		func(g []topologies.PortID) bool { return len(g) > 1 }) {
		if plan.Hash != topologies.HashOwn {
			r.unused(v, "", "routing", "routing.hash was not needed: no switch has equal-cost ports")
		}
		if plan.Balancing != topologies.DefaultBalancing() {
			r.unused(v, "", "switch.load_balancing", "switch.load_balancing was not needed: no switch has equal-cost ports")
		}
	}
	late := 0
	for i := range r.Scenario.Faults {
		if r.Scenario.Faults[i].At > r.engine.Now() {
			late++
		}
	}
	if late > 0 && !r.mayBeUnused(scenario.UnusedFaults) {
		v.Worsen(measure.Warn, "%s did not happen: the run ended before, at %v", topologies.Plural(late, "fault"),
			r.engine.Now())
	}
}

func (r *runner) judgeFlowControl(v *measure.Verdict, sum *measure.Summary) {
	s := r.Scenario
	used, section, name := sum.PFC.Pauses > 0, "switch.pfc", "PFC"
	priorities := s.Switch.PFC.Priorities
	if sum.Credits != nil {
		used, section, name = sum.Credits.Stalls > 0, "switch.cbfc", "credit-based flow control"
		priorities = s.Switch.CBFC.Priorities
	}
	lossless := priorities != 0
	switch {
	case !lossless || used:
	case priorities&s.DataPriorities() == 0 && !r.mayBeUnused(scenario.UnusedPFC):
		v.Worsen(measure.Warn, "%s had no effect: it protects priorities %v, and data has %s (change %s.priorities)",
			name, keys.PriorityList(priorities), dataOf(s), section)
	default:
		what := "no switch sent a PAUSE"
		if sum.Credits != nil {
			what = "no port ran out of credits"
		}
		r.unused(v, scenario.UnusedPFC, section, "%s was not needed: %s; the largest ingress occupancy was %v", name, what,
			units.Bytes(sum.PeakIngress))
	}
	if w := &s.Switch.PFC.Watchdog; w.On() && sum.Credits == nil && r.recorder.events[engine.EventStorm] == 0 {
		r.unused(v, scenario.UnusedPFC, "switch.pfc.watchdog", "the PFC watchdog was not needed: no queue was paused for %v",
			w.Detect)
	}
	if h := &s.Host; h.ACKsWhenPaused && (sum.Credits != nil || s.Switch.PFC.Priorities>>h.ACKPriority()&1 == 0) {
		r.unused(v, scenario.UnusedPFC, "host.ack_when_paused",
			"host.ack_when_paused was not needed: PFC does not pause the ACKs' priority, %d", h.ACKPriority())
	}
	if used && lossless && !r.controlled() && !r.mayBeUnused(scenario.UnusedController) {
		what := "PAUSE"
		if sum.Credits != nil {
			what = "lack of credits"
		}
		v.Note("no congestion control: only %s slowed senders, and the flows that share a port with them", what)
	}
}

// dataOf returns the priorities of data in words.
func dataOf(s *scenario.Scenario) string {
	if all := keys.PriorityList(s.DataPriorities()); len(all) > 1 {
		return fmt.Sprintf("priorities %v", all)
	}
	return fmt.Sprintf("priority %d", s.Host.DataPriority)
}

func (r *runner) judgeController(v *measure.Verdict, sum *measure.Summary) {
	needs := r.Needs
	marked := sum.ECNMarks+sum.UEMarks > 0
	byECN := (needs.ECN || needs.PCN) && r.Scenario.Switch.ECN.Mode != switchagent.ECNOff
	changes := int64(0)
	for i := range r.Scenario.Topology.Interfaces {
		nic := r.engine.NIC(i)
		changes += nic.RateChanges + nic.WindowChanges + nic.GrantsSent // some use only the window, or grants
	}
	if r.controlled() && changes == 0 && !r.mayBeUnused(scenario.UnusedController) {
		why := ""
		switch {
		case byECN && !marked:
			why = ", because no packet was marked"
		case needs.ECN && !byECN:
			why = ", because ECN is off"
		}
		target := r.delayTarget()
		if marked && target != "" {
			why = fmt.Sprintf(", because marks slow no flow down while queues delay packets by less than %s", target)
		}
		text := fmt.Sprintf("the congestion control did not react: no flow changed its rate or window%s", why)
		switch {
		case !r.congested(sum):
			v.Note("%s; nothing was congested: no PAUSE, no marks, no drops", text)
		case r.obstructed(sum) || target == "":
			v.Worsen(measure.Warn, "%s", text)
		default:
			v.Note("%s", text)
		}
		return // a congestion control without a signal says nothing more
	}
	if byECN && !marked {
		r.unused(v, scenario.UnusedECN, "switch.ecn", "ECN was not needed: no packet was marked")
	}
	if needs.CNM && sum.CNMs == 0 {
		r.unused(v, scenario.UnusedCNM, "switch.cnm", "CNMs were not needed: no switch reported a burst")
	}
}

// congested reports whether anything happened to which a congestion control reacts.
func (r *runner) congested(sum *measure.Summary) bool {
	return r.obstructed(sum) || sum.ECNMarks+sum.UEMarks > 0
}

// obstructed reports whether congestion stopped or dropped frames.
func (r *runner) obstructed(sum *measure.Summary) bool {
	return sum.PFC.Pauses > 0 || sum.Drops.Frames > 0 || sum.Credits != nil && sum.Credits.Stalls > 0
}

// delayTarget returns the setting below whose queueing delay marks slow no flow of the run down; "" if they do.
func (r *runner) delayTarget() string {
	spec := r.Flows[0].CC
	if spec.DelayTarget == "" || len(r.controls()) > 1 {
		return ""
	}
	return "cc." + spec.Name + "." + spec.DelayTarget
}

// controlled reports whether the run has a congestion control; none, with or without a window, does not count.
func (r *runner) controlled() bool { return len(r.controls()) > 0 }

// controls returns the congestion controls of flows, each once.
func (r *runner) controls() (names []string) {
	for i := range r.Flows {
		name := r.Flows[i].CC.Name
		if plain, _, _ := strings.Cut(name, "+"); plain != "none" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// unused notes that a mechanism was not needed. It warns if the user's settings of its section changed nothing, which
// is known only if they were checked (Options.CheckSets), because a raised threshold may be the reason.
func (r *runner) unused(v *measure.Verdict, name, section, format string, args ...any) {
	if r.mayBeUnused(name) {
		return
	}
	if set := r.setBelow(section); set != "" {
		r.hadNoEffect(v, set, fmt.Sprintf(format, args...))
		return
	}
	v.Note(format, args...)
}

// setBelow returns the user's last setting (--set) in a section of the scenario, or of that section in the run's
// variant, that changed nothing; "" if there is none.
func (r *runner) setBelow(section string) string {
	last := ""
	for _, set := range r.options.Sets {
		path, _, _ := strings.Cut(set, "=")
		path = strings.TrimPrefix(strings.TrimSpace(path), "controllers."+r.Name+".")
		if (path == section || strings.HasPrefix(path, section+".")) && slices.Contains(r.idle, set) {
			last = set
		}
	}
	return last
}

// mechanisms lists the sections of a scenario that configure the fabric, and so may have no effect on its traffic.
var mechanisms = []string{"switch", "host", "cc", "routing"}

// IsMechanism reports whether the path of a setting is in one of the mechanisms.
func IsMechanism(path string) bool {
	section, _, _ := strings.Cut(path, ".")
	return slices.Contains(mechanisms, section)
}

// idleSettings returns the user's settings (--set) of mechanisms that changed nothing: the run without such a setting
// has the same fingerprint. Settings that the scenario already has are in r.already.
func (r *runner) idleSettings(ctx context.Context) (idle []string) {
	if r.recorder.checks == nil {
		return nil
	}
	for _, set := range r.options.Sets {
		path, _, _ := strings.Cut(set, "=")
		path = strings.TrimPrefix(strings.TrimSpace(path), "controllers."+r.Name+".")
		if section, _, _ := strings.Cut(path, "."); !IsMechanism(path) && section != "set" || slices.Contains(idle, set) ||
			slices.Contains(r.already, set) {
			continue
		}
		switch same, already := r.isSameWithout(ctx, set); {
		case already:
			r.already = append(r.already, set)
		case same:
			idle = append(idle, set)
		}
	}
	return idle
}

// isSameWithout reports whether the run has the same fingerprint without one of the user's settings, and whether its
// settings are already the same.
func (r *runner) isSameWithout(ctx context.Context, set string) (same, already bool) {
	s, err := r.Scenario.Without(set)
	if err != nil {
		return false, false // another setting depends on it
	}
	other, err := newRunner(s, Options{Controller: r.Name, Seed: r.Seed, Processors: r.options.Processors})
	if err != nil {
		return false, false
	}
	if with, without := r.Resolution(), other.Resolution(); r.Hash(&with) == other.Hash(&without) {
		return true, r.whyIdle(set) == ""
	}
	if other.openPlane() != nil {
		return false, false
	}
	defer other.plane.Close()
	defer other.startWorkers()()
	if other.build() != nil {
		return false, false
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	other.recorder.checks = &checkpoints{with: r.recorder.checks, stop: stop}
	other.recorder.start(other.engine, rundir.Discard())
	return other.drive(ctx, nil) == nil && ctx.Err() == nil && other.engine.Fingerprint() == r.engine.Fingerprint(), false
}

// judgeSettings reports the user's settings that changed nothing and that no other message covers.
func (r *runner) judgeSettings(v *measure.Verdict) {
	for _, set := range r.already {
		v.Note("--set %s changes nothing: the scenario already has this value", set)
	}
	for _, set := range r.idle {
		if slices.ContainsFunc(slices.Concat(v.Messages, v.Notes),
			func(text string) bool { return strings.HasPrefix(text, "--set "+set+" ") }) {
			continue
		}
		r.hadNoEffect(v, set, "the run is the same without it, frame by frame"+r.whyIdle(set))
	}
}

// hadNoEffect warns of a setting that changed nothing. With several congestion controls it is a note, because the
// setting may be for the others.
func (r *runner) hadNoEffect(v *measure.Verdict, set, why string) {
	if text := "--set " + set + " had no effect: " + why; r.options.Compared {
		v.Note("%s", text)
	} else {
		v.Worsen(measure.Warn, "%s", text)
	}
}

// whyIdle returns the reason why a setting changed nothing, if it is simple; empty: it is not.
func (r *runner) whyIdle(set string) string {
	path, _, _ := strings.Cut(set, "=")
	section, key, _ := strings.Cut(strings.TrimSpace(path), ".")
	if name, _, _ := strings.Cut(key, "."); section == "cc" && !slices.ContainsFunc(r.controls(), func(c string) bool {
		plain, _, _ := strings.Cut(c, "+")
		return c == name || plain == name
	}) {
		return ": no flow uses " + name
	}
	if section == "cc" {
		name, constant, _ := strings.Cut(key, ".")
		for i := range r.Flows {
			if spec := r.Flows[i].CC; spec.Name == name {
				if why := r.Scenario.IdleConstant(spec, constant); why != "" {
					return ": " + why
				}
				break
			}
		}
	}
	return ""
}

// mayBeUnused reports whether the scenario lists the name in expect_unused.
func (r *runner) mayBeUnused(name string) bool { return slices.Contains(r.Scenario.ExpectUnused, name) }

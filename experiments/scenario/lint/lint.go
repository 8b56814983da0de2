package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/settings"
)

// Warnings returns likely mistakes in a valid scenario: settings that may drop lossless frames, and settings that have
// no effect. Each is a sentence with its numbers. It begins with the controllers or variants concerned, unless that is
// all of them.
func Warnings(s *scenario.Scenario, controllers []string) []string {
	var under groups[string] // the controllers with a warning
	asked := warners(s, nil, controllers)
	for _, w := range asked {
		w.addAll()
		for _, text := range w.texts {
			under.add(text, w.name)
		}
	}
	texts := under.keys
	for i, text := range texts {
		if names := under.names[text]; len(names) < len(controllers) {
			texts[i] = fmt.Sprintf("under %s: %s", strings.Join(names, ", "), text)
		}
	}
	return append(texts, idleSettings(warners(s, asked, s.Controllers))...)
}

// warners appends a warner for each controller or variant, unless it has one already. It leaves out those that Check
// refuses.
func warners(s *scenario.Scenario, to []*warner, controllers []string) []*warner {
	for _, name := range controllers {
		own, name, spec, err := s.Under(name)
		if err != nil || slices.ContainsFunc(to, func(w *warner) bool { return w.name == name }) {
			continue
		}
		w := &warner{s: own, name: name, spec: spec, needs: spec.Needs}
		if needs, err := own.FlowNeeds(spec); err == nil {
			w.needs = needs
		}
		to = append(to, w)
	}
	return to
}

// idleSettings warns of settings of switches and hosts that differ from their defaults and have no effect in any of the
// runs: those under the given controllers and under all that the scenario lists.
func idleSettings(runs []*warner) (texts []string) {
	idle := map[string]string{} // why; by key
	var keys []string
	for i, w := range runs {
		if w.s.CNPAuto {
			w.s.Host.CNPInterval = settings.CNPAuto // the user left it to the congestion control
		}
		why := w.idle()
		if i == 0 {
			idle, keys = why, slices.Sorted(maps.Keys(why))
		}
		maps.DeleteFunc(idle, func(key, _ string) bool { return why[key] == "" })
	}
	var reasons groups[string]
	for _, key := range keys {
		if why := idle[key]; why != "" {
			reasons.add(why, key)
		}
	}
	for _, why := range reasons.keys {
		texts = append(texts, noEffect(reasons.names[why], why))
	}
	return texts
}

// LiveWarnings returns the warnings for a live fabric under a congestion control, for the switches with the given
// indexes or, without any, for all. Programs on the fabric may send in any priority.
func LiveWarnings(s *scenario.Scenario, spec *cc.Spec, switches ...int) []string {
	w := warner{s: s, spec: spec, needs: spec.Needs, live: true, only: switches}
	for _, add := range []func(){w.controllerFile, w.buffers, w.pauses, w.marks, w.headrooms, w.cycles, w.unmarked} {
		add()
	}
	return w.texts
}

// files adds the warnings of the readers of workload files.
func (w *warner) files() {
	for i := range w.s.Workloads {
		if own := &w.s.Workloads[i]; own.Warning != "" {
			w.texts = append(w.texts, own.Tag+": "+own.Warning)
		}
	}
}

// controllerFile adds the warnings of the controller's file.
func (w *warner) controllerFile() {
	if w.spec.File != nil {
		w.texts = append(w.texts, w.spec.File.Warnings...)
	}
}

// addAll adds the warnings of a run.
func (w *warner) addAll() {
	for _, add := range []func(){
		w.files, w.controllerFile, w.buffers, w.pauses, w.marks, w.headrooms, w.cycles, w.priorities,
		w.scheduler, w.trimming, w.timeouts, w.reordering, w.telemetry, w.controllers, w.grants, w.constants,
		w.weights, w.periods, w.qps, w.balancing, w.polarisation, w.programs,
	} {
		add()
	}
}

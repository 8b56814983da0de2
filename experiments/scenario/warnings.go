package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/settings"
)

// Warnings returns likely mistakes in a valid scenario: settings that may drop lossless frames, and settings that have
// no effect. Each is a sentence with its numbers. It begins with the controllers or variants concerned, unless that is
// all of them.
func Warnings(s *Scenario, controllers []string) []string {
	var under groups[string] // the controllers with a warning
	asked := s.warners(nil, controllers)
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
	return append(texts, idleSettings(s.warners(asked, s.Controllers))...)
}

// warners appends a warner for each controller or variant, unless it has one already. It leaves out those that Check
// refuses.
func (s *Scenario) warners(to []*warner, controllers []string) []*warner {
	for _, name := range controllers {
		own, name, spec, err := s.Under(name)
		if err != nil || slices.ContainsFunc(to, func(w *warner) bool { return w.name == name }) {
			continue
		}
		w := &warner{s: own, name: name, spec: spec, needs: spec.Needs}
		if all, err := own.flowControllers(spec); err == nil {
			w.needs = all.needs
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
		if w.s.cnpAuto {
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

// noEffect returns the warning of settings without effect.
func noEffect(settings []string, why string) string {
	have := "has"
	if len(settings) > 1 {
		have = "have"
	}
	return fmt.Sprintf("%s %s no effect: %s", strings.Join(settings, ", "), have, why)
}

// groups holds names by a key that they share. Its keys are in the order in which they were added.
type groups[K comparable] struct {
	keys  []K
	names map[K][]string
}

func (g *groups[K]) add(key K, name string) {
	if g.names == nil {
		g.names = map[K][]string{}
	}
	if g.names[key] == nil {
		g.keys = append(g.keys, key)
	}
	g.names[key] = append(g.names[key], name)
}

// LiveWarnings returns the warnings for a live fabric under a congestion control, for the switches with the given
// indexes or, without any, for all. Programs on the fabric may send in any priority.
func (s *Scenario) LiveWarnings(spec *cc.Spec, switches ...int) []string {
	w := warner{s: s, spec: spec, needs: spec.Needs, live: true, only: switches}
	for _, add := range []func(){w.controllerFile, w.buffers, w.pauses, w.marks, w.headrooms, w.cycles, w.unmarked} {
		add()
	}
	return w.texts
}

// files adds the warnings of the readers of workload files.
func (w *warner) files() {
	for i := range w.s.Workloads {
		if own := &w.s.Workloads[i]; own.warning != "" {
			w.texts = append(w.texts, own.Tag+": "+own.warning)
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

type warner struct {
	s     *Scenario // as a run under the controller has it
	name  string    // of the run
	spec  *cc.Spec
	needs cc.SwitchNeeds // of the congestion controls of all flows
	live  bool
	only  []int // indexes of the switches concerned; empty: all
	texts []string
}

// isAbout reports whether the warnings cover the switch with an index.
func (w *warner) isAbout(index int) bool { return len(w.only) == 0 || slices.Contains(w.only, index) }

func (w *warner) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(w.texts, text) {
		w.texts = append(w.texts, text)
	}
}

// Few joins the names, and replaces all but the first few with their number.
func Few(names []string) string {
	const most = 3
	if len(names) <= most+1 { // "and 1 others" would be as long as the name
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:most], ", "), len(names)-most)
}

// data returns the priorities of the flows' data, or in a live fabric the hosts' data priority.
func (w *warner) data() uint8 {
	if w.live {
		return 1 << w.s.Host.DataPriority
	}
	return w.s.DataPriorities()
}

// used returns the priorities of a run's packets.
func (w *warner) used() (set uint8) {
	host := HostSettings(w.s, w.needs)
	set = w.data()
	if !host.ACKsWithData {
		set |= 1 << host.ControlPriority
	}
	if host.Notify != hostagent.NotifyNone {
		set |= 1 << host.ControlPriority
	}
	if w.needs.CNM {
		set |= 1 << cnmPriority
	}
	return set
}

// cnmPriority holds the priority of CNMs.
const cnmPriority = 7

// carries returns a sentence on the priorities of the run's packets.
func (w *warner) carries() string {
	host := HostSettings(w.s, w.needs)
	data := fmt.Sprintf("priority %d", host.DataPriority)
	if set := w.data(); set&(set-1) != 0 || set != 1<<host.DataPriority {
		data = fmt.Sprintf("priorities %v", keys.PriorityList(set))
	}
	text := fmt.Sprintf("data has %s, and ACK, NAK and CNP have %d", data, host.ControlPriority)
	if host.ACKsWithData {
		text = fmt.Sprintf("data, ACK and NAK have %s", data)
		if host.Notify != hostagent.NotifyNone {
			text += fmt.Sprintf(", CNP has %d", host.ControlPriority)
		}
	}
	if w.needs.CNM {
		text += fmt.Sprintf(", CNMs have %d", cnmPriority)
	}
	return text
}

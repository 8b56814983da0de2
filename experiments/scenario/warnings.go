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
	"github.com/pausenet/pausenet/switchagent"
)

// Warnings returns likely mistakes in a valid scenario: settings that may drop lossless frames, and settings that have
// no effect. Each is a sentence with its numbers. It begins with the controllers or variants concerned, unless that is
// all of them.
func Warnings(s *Scenario, controllers []string) []string {
	var texts []string
	under := map[string][]string{} // the controllers with this warning
	for _, name := range controllers {
		own, name, spec, err := s.Under(name)
		if err != nil {
			continue // Check reports it
		}
		for _, text := range own.warnings(spec) {
			if under[text] == nil {
				texts = append(texts, text)
			}
			under[text] = append(under[text], name)
		}
	}
	for i, text := range texts {
		if names := under[text]; len(names) < len(controllers) {
			texts[i] = fmt.Sprintf("under %s: %s", strings.Join(names, ", "), text)
		}
	}
	return append(texts, s.idleSettings(controllers)...)
}

// idleSettings returns warnings about settings of switches and hosts that differ from their defaults but have no
// effect under any of these controllers or the scenario's own. A setting that only some runs of a comparison use gets
// no warning.
func (s *Scenario) idleSettings(controllers []string) (texts []string) {
	idle := map[string]string{} // the reason, by key
	var keys []string
	first := true
	for _, name := range slices.Concat(controllers, s.Controllers) {
		own, _, spec, err := s.Under(name)
		if err != nil {
			continue
		}
		if own.cnpAuto {
			own.Host.CNPInterval = settings.CNPAuto // the user left it to the congestion control
		}
		w := warner{s: own, spec: spec, needs: spec.Needs}
		if all, err := own.flowControllers(spec); err == nil {
			w.needs = all.needs
		}
		why := w.idle()
		if first {
			first, idle, keys = false, why, slices.Sorted(maps.Keys(why))
		}
		maps.DeleteFunc(idle, func(key, _ string) bool { return why[key] == "" })
	}
	byReason := map[string][]string{}
	var reasons []string
	for _, key := range keys {
		if why := idle[key]; why != "" {
			if byReason[why] == nil {
				reasons = append(reasons, why)
			}
			byReason[why] = append(byReason[why], key)
		}
	}
	for _, why := range reasons {
		have := "has"
		if len(byReason[why]) > 1 {
			have = "have"
		}
		texts = append(texts, fmt.Sprintf("%s %s no effect: %s", strings.Join(byReason[why], ", "), have, why))
	}
	return texts
}

// LiveWarnings returns the warnings for a live fabric under a congestion control, for the switches with the given
// indexes or, without any, for all. Programs on the fabric may send in any priority.
func (s *Scenario) LiveWarnings(spec *cc.Spec, switches ...int) []string {
	w := warner{s: s, spec: spec, needs: spec.Needs, live: true, only: switches}
	w.buffers()
	w.pauses()
	w.marks()
	w.headrooms()
	w.cycles()
	w.unmarked()
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

// warnings returns the warnings for a run under a congestion control.
func (s *Scenario) warnings(spec *cc.Spec) []string {
	w := warner{s: s, spec: spec, needs: spec.Needs}
	if all, err := s.flowControllers(spec); err == nil { // Check reports the error
		w.needs = all.needs
	}
	w.files()
	w.buffers()
	w.pauses()
	w.marks()
	w.headrooms()
	w.cycles()
	w.priorities()
	w.scheduler()
	w.trimming()
	w.timeouts()
	w.reordering()
	w.telemetry()
	w.controllers()
	w.grants()
	w.constants()
	w.weights()
	w.periods()
	w.qps()
	w.balancing()
	w.polarisation()
	w.programs()
	return w.texts
}

type warner struct {
	s     *Scenario
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

// cnmPriority is the priority of CNMs.
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

// lossless returns the priorities with flow control.
func (w *warner) lossless() uint8 {
	if w.s.Switch.FlowControl == switchagent.FlowCBFC {
		return w.s.Switch.CBFC.Priorities
	}
	return w.s.Switch.PFC.Priorities
}

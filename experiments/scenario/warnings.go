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

// Warnings are what is off with a scenario under these controllers or variants, though it can be run: settings by which
// lossless frames may be lost, and such that cannot act. Each is a sentence with its numbers. Of several controllers it
// says which is meant, unless all are.
func Warnings(s *Scenario, controllers []string) []string {
	var texts []string
	under := map[string][]string{} // the controllers that a text is about
	for _, name := range controllers {
		own, name, spec, err := s.Under(name)
		if err != nil {
			continue // Check says so
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

// idleSettings warns of settings of switches and hosts that differ from their defaults and act neither under these
// controllers nor under any that the scenario lists: what some of a comparison's runs have no use for is nothing to
// warn of.
func (s *Scenario) idleSettings(controllers []string) (texts []string) {
	idle := map[string]string{} // why; by key
	var keys []string
	first := true
	for _, name := range slices.Concat(controllers, s.Controllers) {
		own, _, spec, err := s.Under(name)
		if err != nil {
			continue
		}
		if own.cnpAuto {
			own.Host.CNPInterval = settings.CNPAuto // as nobody has said otherwise
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

// LiveWarnings are those of a live fabric under a congestion control, of the switches with some indexes or of all. What
// its programs send may have any priority.
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

// files warns of what the readers of workloads' files left out.
func (w *warner) files() {
	for i := range w.s.Workloads {
		if own := &w.s.Workloads[i]; own.warning != "" {
			w.texts = append(w.texts, own.Tag+": "+own.warning)
		}
	}
}

// warnings are those of a run under a congestion control.
func (s *Scenario) warnings(spec *cc.Spec) []string {
	w := warner{s: s, spec: spec, needs: spec.Needs}
	if all, err := s.flowControllers(spec); err == nil { // Check says so otherwise
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
	needs cc.SwitchNeeds // of all flows' congestion controls
	live  bool
	only  []int // switches that it is about; empty: all
	texts []string
}

// isAbout says whether the switch with an index is one of those.
func (w *warner) isAbout(index int) bool { return len(w.only) == 0 || slices.Contains(w.only, index) }

func (w *warner) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(w.texts, text) {
		w.texts = append(w.texts, text)
	}
}

// Few are a few of the names, and how many others there are.
func Few(names []string) string {
	const most = 3
	if len(names) <= most+1 { // and never one other
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:most], ", "), len(names)-most)
}

// data are the priorities of flows' data; in a live fabric the hosts'.
func (w *warner) data() uint8 {
	if w.live {
		return 1 << w.s.Host.DataPriority
	}
	return w.s.DataPriorities()
}

// used are the priorities that a run's packets have.
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

// cnmPriority is that of CNMs.
const cnmPriority = 7

// carries says what the run's packets are and which priorities they have.
func (w *warner) carries() string {
	host := HostSettings(w.s, w.needs)
	data := fmt.Sprintf("priority %d", host.DataPriority)
	if set := w.data(); set&(set-1) != 0 || set != 1<<host.DataPriority {
		data = fmt.Sprintf("priorities %v", keys.PriorityList(set))
	}
	text := fmt.Sprintf("data has %s, ACK, NAK and CNP %d", data, host.ControlPriority)
	if host.ACKsWithData {
		text = fmt.Sprintf("data, ACK and NAK have %s", data)
		if host.Notify != hostagent.NotifyNone {
			text += fmt.Sprintf(", CNP %d", host.ControlPriority)
		}
	}
	if w.needs.CNM {
		text += fmt.Sprintf(", CNMs %d", cnmPriority)
	}
	return text
}

// lossless are the priorities that flow control is on.
func (w *warner) lossless() uint8 {
	if w.s.Switch.FlowControl == switchagent.FlowCBFC {
		return w.s.Switch.CBFC.Priorities
	}
	return w.s.Switch.PFC.Priorities
}

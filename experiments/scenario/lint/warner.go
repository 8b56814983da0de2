package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/keys"
)

// warner collects the warnings of one run, or of a live fabric.
type warner struct {
	s     *scenario.Scenario // as a run under the controller has it
	name  string             // of the run
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

// data returns the priorities of the flows' data, or in a live fabric the hosts' data priority.
func (w *warner) data() uint8 {
	if w.live {
		return 1 << w.s.Host.DataPriority
	}
	return w.s.DataPriorities()
}

// used returns the priorities of a run's packets.
func (w *warner) used() (set uint8) {
	host := scenario.HostSettings(w.s, w.needs)
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
	host := scenario.HostSettings(w.s, w.needs)
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

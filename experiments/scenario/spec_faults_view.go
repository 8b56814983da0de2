package scenario

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/topologies"
)

// FaultView is a fault of a View: name, kind, at_ns, for_ns, every_ns, times, links (each by one of its ports, "node:peer"), one_way and
// hosts, as far as it has them, and the fields that package settings has of its kind.
type FaultView struct{ json.RawMessage }

func (s *Scenario) viewFaults() []FaultView {
	var views []FaultView
	for i := range s.Faults {
		f := &s.Faults[i]
		when := struct {
			Name   string             `json:"name,omitempty"`
			Kind   settings.FaultKind `json:"kind"`
			At     float64            `json:"at_ns"`
			For    float64            `json:"for_ns,omitempty"`
			Every  float64            `json:"every_ns,omitempty"`
			Times  int                `json:"times,omitempty"`
			Links  []string           `json:"links,omitempty"`
			OneWay bool               `json:"one_way,omitempty"`
			Hosts  []string           `json:"hosts,omitempty"`
		}{
			f.Name, f.Kind, nanoseconds(f.At), nanoseconds(f.For), nanoseconds(f.Every), f.Times, f.links(s.Topology), f.OneWay, f.hosts(s.Topology),
		}
		views = append(views, FaultView{joinObjects(viewOf(when), viewOf(f.Shown()))})
	}
	return views
}

// viewOf is what is made of texts and numbers, for programs.
func viewOf(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// joinObjects is one object with the fields of two.
func joinObjects(a, b json.RawMessage) json.RawMessage {
	if len(b) == len("{}") {
		return a
	}
	return slices.Concat(a[:len(a)-1], []byte{','}, b[1:])
}

func (f *Fault) links(plan *topologies.Plan) (names []string) {
	for _, id := range f.Ports {
		names = append(names, PortLabel(plan, id))
	}
	return names
}

func (f *Fault) hosts(plan *topologies.Plan) (names []string) {
	for _, id := range f.Hosts {
		names = append(names, plan.Nodes[id].Name)
	}
	return names
}

// Describe is the fault in a line: "at 1ms for 2ms: L2:S1 down, routes follow after 100us".
func (f *Fault) Describe(plan *topologies.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "at %v", f.At)
	if f.For > 0 {
		fmt.Fprintf(&b, " for %v", f.For)
	}
	if f.Every > 0 {
		fmt.Fprintf(&b, ", every %v", f.Every)
	}
	if f.Times > 0 {
		fmt.Fprintf(&b, ", %d times", f.Times)
	}
	if f.Name != "" {
		fmt.Fprintf(&b, " (%s)", f.Name)
	}
	place := f.links(plan)
	if len(f.Hosts) > 0 {
		place = append(place, topologies.Abbreviate(f.hosts(plan)))
	}
	fmt.Fprintf(&b, ": %s ", strings.Join(place, " "))
	b.WriteString(f.Effect.String())
	if f.OneWay {
		b.WriteString(", one way")
	}
	return b.String()
}

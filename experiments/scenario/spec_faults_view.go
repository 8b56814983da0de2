package scenario

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/topologies"
)

// FaultView holds the resolved form of a fault in a View: its name, kind, times, links (each by one of its ports,
// "node:peer"), one_way, hosts, and effect. Package settings defines the fields of its times and effect.
type FaultView struct{ json.RawMessage }

func (s *Scenario) viewFaults() []FaultView {
	var views []FaultView
	for i := range s.Faults {
		f := &s.Faults[i]
		what := struct {
			Name string             `json:"name,omitempty"`
			Kind settings.FaultKind `json:"kind"`
		}{f.Name, f.Kind}
		where := struct {
			Links  []string `json:"links,omitempty"`
			OneWay bool     `json:"one_way,omitempty"`
			Hosts  []string `json:"hosts,omitempty"`
		}{f.links(s.Topology), f.OneWay, f.hosts(s.Topology)}
		views = append(views, FaultView{joinObjects(viewOf(what), viewOf(settings.FaultTimes(&f.Occurrence)), viewOf(where),
			viewOf(f.Shown()))})
	}
	return views
}

// viewOf returns the JSON of a value that consists of texts and numbers.
func viewOf(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// joinObjects merges JSON objects, the first of which is not empty.
func joinObjects(first json.RawMessage, others ...json.RawMessage) json.RawMessage {
	for _, b := range others {
		if len(b) > len("{}") {
			first = slices.Concat(first[:len(first)-1], []byte{','}, b[1:])
		}
	}
	return first
}

func (f *Fault) links(plan *topologies.Plan) (names []string) {
	return lists.Map(f.Ports, func(id topologies.PortID) string { return PortLabel(plan, id) })
}

func (f *Fault) hosts(plan *topologies.Plan) (names []string) {
	for i := 0; i < len(f.NICs); i++ {
		p := &plan.Ports[f.NICs[i]]
		// all ports of the host
		if n := &plan.Nodes[p.Node]; len(f.NICs) >= i+len(n.Ports) && slices.Equal(f.NICs[i:i+len(n.Ports)], n.Ports) {
			names = append(names, n.Name)
			i += len(n.Ports) - 1
		} else {
			names = append(names, portOwner(plan, p.ID))
		}
	}
	return names
}

// Describe returns the fault in one line: "at 1ms for 2ms: L2:S1 down, routes follow after 100us".
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
	if len(f.NICs) > 0 {
		place = append(place, topologies.Abbreviate(f.hosts(plan)))
	}
	fmt.Fprintf(&b, ": %s ", strings.Join(place, " "))
	b.WriteString(f.Effect.String())
	if f.OneWay {
		b.WriteString(", one way")
	}
	return b.String()
}

package headroom

import (
	"context"
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/topologies"
)

// TestIncastOfSeveralPorts checks that hosts with several ports all send to one port of the receiver, and that the host
// at the tested port uses that port's cable, so that the port fills up.
func TestIncastOfSeveralPorts(t *testing.T) {
	for _, name := range []string{"rails", "rails-plain"} {
		s, err := scenario.Load(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf := s.Topology.NodeByName("leaf0")
		ports := []topologies.PortID{leaf.Ports[1]}
		if name == "rails" { // on the other all ways to a leaf's host are by its spines
			ports = append(ports, leaf.Ports[len(leaf.Ports)-1])
		}
		for _, port := range ports {
			i := Worst(s.Topology, []topologies.PortID{port})
			if i == nil {
				t.Fatalf("%s: %s has no incast", name, s.Topology.Ports[port].Name)
			}
			load := func(sets []string) (*scenario.Scenario, error) { return scenario.Load(name, sets) }
			k := &Kind{Ports: []topologies.PortID{port}, Fault: -1, Headroom: 1 << 40}
			if tried, err := i.Try(context.Background(), s, s.Controllers[0], k, load); err != nil || !tried.Paused ||
				tried.Dropped != 0 {
				t.Errorf("%s: %s: %+v, %v", name, s.Topology.Ports[port].Name, tried, err)
			}
		}
	}
}

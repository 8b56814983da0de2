package topologies_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
)

// TestRoutesOver checks that without some links every switch has exactly the ports to a host that lie on a shortest
// path of the rest, by Floyd and Warshall.
func TestRoutesOver(t *testing.T) {
	var plans []*topologies.Plan
	for _, text := range []string{
		"leafspine: {spines: 3, leaves: 3, hosts_per_leaf: 2}\n" +
			"links: [{from: leaf0, to: leaf1}, {from: spine0, to: spine1, count: 2}, {from: h0, to: leaf1}, " +
			"{from: h5, to: leaf0, count: 2}]",
		// leaves with the same neighbours
		"leafspine: {spines: 2, leaves: 5, hosts_per_leaf: 1}\n" +
			"links: [{from: h3, to: leaf4}, {from: spine0, to: spine1}]",
		"fattree: {k: 4}",
	} {
		plan, err := spec.Parse("x.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, plan)
	}
	rapid.Check(t, func(t *rapid.T) {
		plan := rapid.SampledFrom(plans).Draw(t, "plan")
		down := map[int]bool{}
		for _, l := range rapid.SliceOfN(rapid.IntRange(0, len(plan.Links)-1), 0, 12).Draw(t, "down") {
			down[l] = true
		}
		const far = 1 << 20
		distance := make([][]int, len(plan.Nodes))
		for i := range distance {
			distance[i] = slices.Repeat([]int{far}, len(plan.Nodes))
			distance[i][i] = 0
		}
		for i := range plan.Ports {
			if p := &plan.Ports[i]; !down[p.Link] {
				distance[p.Node][plan.Ports[p.Peer].Node] = 1
			}
		}
		for k := range plan.Nodes {
			if plan.Nodes[k].Kind == topologies.Host {
				continue // hosts forward nothing
			}
			for i := range plan.Nodes {
				for j := range plan.Nodes {
					distance[i][j] = min(distance[i][j], distance[i][k]+distance[k][j])
				}
			}
		}
		r := plan.RoutesOver(func(p topologies.PortID) bool { return !down[plan.Ports[p].Link] })
		for s, sw := range plan.Switch {
			for to, own := range plan.Interfaces {
				host := plan.Ports[own].Node
				var want []topologies.PortID
				// A host's own link counts at its switch alone: the others send there whether it is up or not.
				leaf := plan.PeerNode(own).ID
				for _, p := range plan.Nodes[sw].Ports {
					peer := plan.PeerNode(p)
					switch {
					case down[plan.Ports[p].Link]:
					case sw == leaf && plan.Ports[p].Peer == own, sw != leaf && peer.Kind == topologies.Switch && distance[sw][leaf] < far &&
						distance[peer.ID][leaf] == distance[sw][leaf]-1:
						want = append(want, p)
					}
				}
				if got := r.Next(s, to); !slices.Equal(got, want) {
					t.Fatalf("without %v: %s to %s by %v, want %v", down, plan.Nodes[sw].Name, plan.Nodes[host].Name, got, want)
				}
			}
		}
		if len(down) == 0 && fmt.Sprint(r) != fmt.Sprint(*plan.Routes()) {
			t.Fatal("with all links the routes differ from the plan's")
		}
	})
}

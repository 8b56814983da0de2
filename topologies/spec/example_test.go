package spec_test

import (
	"fmt"

	"github.com/pausenet/pausenet/topologies/spec"
)

// ExampleParse reads a plan from YAML: its links, and the ports by which switches may forward.
func ExampleParse() {
	plan, err := spec.Parse("rack.yaml", []byte(`
name: rack
rate: 40Gbps
delay: 1us
leafspine: {leaves: 2, spines: 2, hosts_per_leaf: 2}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d nodes, %d links\n", len(plan.Nodes), len(plan.Links))
	leaf := plan.NodeByName("leaf0")
	for _, id := range plan.PortsBetween(leaf.ID, plan.NodeByName("spine1").ID) {
		port := plan.Ports[id]
		fmt.Printf("%s to spine1: %v\n", port.Name, port.Rate)
	}
	// Output:
	// 8 nodes, 8 links
	// leaf0-eth4 to spine1: 40Gbps
}

// ExampleParse_mistake shows that a mistake is reported with its position and a suggestion.
func ExampleParse_mistake() {
	_, err := spec.Parse("rack.yaml", []byte("name: rack\nrate: 40Gbps\ndelay: 1us\nstar: {host: 4}\n"))
	fmt.Println(err)
	// Output:
	// rack.yaml:4:7: missing key "hosts"
	//   4 | star: {host: 4}
	//     |       ^
	// rack.yaml:4:8: unknown key "host": did you mean "hosts"?
	//   4 | star: {host: 4}
	//     |        ^^^^
}

// The topologies that come with pausenet.
func ExampleBuiltin() {
	plan, err := spec.Builtin("dcon-testbed")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %d nodes, %d links\n", plan.Name, len(plan.Nodes), len(plan.Links))
	// Output:
	// dcon-testbed: 23 nodes, 24 links
}

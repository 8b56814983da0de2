package scenario

import (
	"fmt"
	"strings"
	"testing"
)

// TestFindPorts: a port is named by its node and peer, by its number, or, of a host with several, as flows name their
// ends.
func TestFindPorts(t *testing.T) {
	s, err := Parse("x.yaml", []byte("topology: {rail: {rails: 2, groups: 1, hosts_per_group: 2, spines: 1, rate: 10Gbps}}\n"+
		"controllers: [none]\nduration: 1ms\nflows: [{from: h0, to: h1, size: 1KB}]\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	plan := s.Topology
	for text, want := range map[string]string{ // the interfaces' names; or what an error has
		"h1:leaf1":          "[h1-eth2]",
		"h1:2":              "[h1-eth2]",
		"h1.2":              "[h1-eth2]",
		"h1-eth2":           "[h1-eth2]",
		"h1.2:leaf1":        "[h1-eth2]",
		"leaf1:h1.2":        "[leaf1-eth2]",
		"leaf1:h1":          "[leaf1-eth2]",
		"leaf1-eth3":        "[leaf1-eth3]",
		"leaf1:spine0":      "[leaf1-eth3]",
		"spine0-eth2:leaf1": "[spine0-eth2]",
		"h1":                `"h1" is not a port: write node:peer`,
		"h9.1":              `"h9.1" is not a port`,
		"h9.1:leaf0":        `no node "h9.1"`,
		"h1.3:leaf1":        "no interface h1.3: host h1 has 2 ports, numbered from h1.1",
		"h1.2:leaf0":        `no link from h1.2 to "leaf0": that port is connected to leaf1`,
		"leaf0:h1.2":        `no link from leaf0 to "h1.2": that port is connected to leaf1`,
		"h1.2:2":            "h1.2 is already a single port: write h1.2 or h1:2",
		"leaf0.3:spine0":    "leaf0 is a switch: name its port as leaf0:3 or leaf0:peer",
		"leaf0-eth9:h0":     "no port leaf0-eth9: leaf0 has ports 1..3",
		"leaf0:leaf1":       `no link from leaf0 to "leaf1"`,
		"leaf0:spine1":      `no link from leaf0 to "spine1": did you mean "spine0"?`,
	} {
		ports, err := FindPorts(plan, text)
		got := fmt.Sprint(err)
		if err == nil {
			names := []string{}
			for _, id := range ports {
				names = append(names, plan.Ports[id].Name)
			}
			got = fmt.Sprint(names)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

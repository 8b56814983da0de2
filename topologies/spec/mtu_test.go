package spec_test

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/topologies/spec"
)

// TestInterfaceMTU checks that interfaces have the MTU of their link, which is Ethernet's unless the topology sets
// another or RoCE packets need more.
func TestInterfaceMTU(t *testing.T) {
	const two = "star: {hosts: 2}\n"
	for _, c := range []struct {
		spec string
		want [2]int // of the links
	}{
		{two, [2]int{1500, 1500}},
		{two + "mtu: 4096", [2]int{4256, 4256}},
		{two + "mtu: 9056", [2]int{9216, 9216}},
		{two + "interface_mtu: 9000", [2]int{9000, 9000}},
		{two + "interface_mtu: 9000\nchange_links: [{from: s0, to: h1, interface_mtu: 1280}]", [2]int{9000, 1280}},
		{"star: {hosts: 2, interface_mtu: 2000}", [2]int{2000, 2000}},
	} {
		plan, err := spec.Parse("t.yaml", []byte(c.spec))
		if err != nil {
			t.Errorf("%s: %v", c.spec, err)
			continue
		}
		for i, want := range c.want {
			l := plan.Links[i]
			if plan.Ports[l.A].MTU != want || plan.Ports[l.B].MTU != want {
				t.Errorf("%s: link %d has MTU %d, %d, want %d", c.spec, i, plan.Ports[l.A].MTU, plan.Ports[l.B].MTU, want)
			}
		}
		if want := max(c.want[0], c.want[1]); plan.InterfaceMTU != want {
			t.Errorf("%s: the largest MTU is %d, want %d", c.spec, plan.InterfaceMTU, want)
		}
	}
	for text, want := range map[string]string{
		two + "mtu: 4096\ninterface_mtu: 4255": "RoCE packets of mtu 4096 need 4256",
		two + "mtu: 9057":                      "9056",
		two + "interface_mtu: 1279":            "1280",
		two + "interface_mtu: 9217":            "9216",
		two + "mtu: 1200\nchange_links: [{from: s0, to: h1, interface_mtu: 1300}]": "the link from",
		two + "change_links: [{from: s0, to: h1}]":                                 "interface_mtu and weight",
	} {
		if _, err := spec.Parse("t.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

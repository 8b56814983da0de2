//go:build linux

package routes

import (
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
)

func network(t *testing.T, text string) *net.IPNet {
	t.Helper()
	_, n, err := net.ParseCIDR(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTable checks which interfaces a table has for an address: those of the longest prefix with the lowest metric, without
// next hops whose link is down.
func TestTable(t *testing.T) {
	const unicast = unix.RTN_UNICAST
	table := NewTable([]netlink.Route{
		{LinkIndex: 2, Type: unicast},
		{Dst: network(t, "10.0.0.0/24"), LinkIndex: 3, Type: unicast, Priority: 20},
		{Dst: network(t, "10.0.0.0/24"), LinkIndex: 4, Type: unicast, Priority: 10},
		{Dst: network(t, "10.0.0.0/24"), LinkIndex: 5, Type: unicast, Priority: 10},
		{Dst: network(t, "10.0.0.8/32"), Type: unicast, MultiPath: []*netlink.NexthopInfo{
			{LinkIndex: 7}, {LinkIndex: 6}, {LinkIndex: 8, Flags: unix.RTNH_F_LINKDOWN}, {LinkIndex: 6},
		}},
		{Dst: network(t, "10.0.0.9/32"), LinkIndex: 6, Type: unix.RTN_BLACKHOLE},
		{Dst: network(t, "10.0.0.10/32"), LinkIndex: 6, Type: unicast, Flags: unix.RTNH_F_DEAD},
	})
	for address, want := range map[string][]int{
		"192.0.2.1": {2}, "10.0.0.1": {4}, "10.0.0.8": {6, 7}, "10.0.0.9": nil, "10.0.0.10": nil,
	} {
		if got := table.lookup(netip.MustParseAddr(address)); !slices.Equal(got, want) {
			t.Errorf("%s: by %v, want %v", address, got, want)
		}
	}
}

// TestResolve checks that tables with the plan's shortest paths give the plan's routes, and that a route that a switch
// lacks is one to nowhere.
func TestResolve(t *testing.T) {
	plan, err := spec.Builtin("small")
	if err != nil {
		t.Fatal(err)
	}
	tables := make([]Table, len(plan.Switch))
	for sw := range tables {
		tables[sw] = Table{}
		for to, host := range plan.Interfaces {
			var by []int
			for _, port := range plan.NextHops(sw, to) {
				by = append(by, 1+plan.Ports[port].Number)
			}
			tables[sw][netip.PrefixFrom(plan.Address(host), 32)] = by
		}
	}
	check := func(name string, want func(sw, to int) []topologies.PortID) {
		t.Helper()
		got := Resolve(plan, tables)
		for sw := range tables {
			for to := range plan.Interfaces {
				if ports := got.Next(sw, to); !slices.Equal(ports, want(sw, to)) {
					t.Errorf("%s: switch %d to %d by %v, want %v", name, sw, to, ports, want(sw, to))
				}
			}
		}
	}
	check("all", plan.NextHops)
	clear(tables[3]) // spine1
	delete(tables[0], netip.PrefixFrom(plan.Address(plan.Interfaces[1]), 32))
	check("without some", func(sw, to int) []topologies.PortID {
		if sw == 3 || sw == 0 && to == 1 {
			return nil
		}
		return plan.NextHops(sw, to)
	})
	clear(tables[0])
	tables[0][netip.MustParsePrefix("0.0.0.0/0")] = []int{2} // to its host h0
	got := Resolve(plan, tables)
	if ports := got.Next(0, 0); len(ports) != 1 {
		t.Errorf("to h0 by %v", ports)
	}
	if ports := got.Next(0, 2); len(ports) != 0 {
		t.Errorf("to h2, at another port, by %v", ports)
	}
}

//go:build linux

package live

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/experiments/measure"
)

// TestDisturbed checks that a program's changes to its node's interface break no invariant, but stop all traffic
// through it. The verdict names the node and the interface.
func TestDisturbed(t *testing.T) { onPlanes(t, testDisturbed) }

func testDisturbed(t *testing.T, plane string) {
	f := bringUpAs(t, Options{Plane: plane})
	ip := func(node, words string) {
		t.Helper()
		cmd := exec.Command("ip", strings.Fields(words)...)
		if err := f.Run(node, cmd); err != nil {
			t.Fatalf("%s: ip %s: %v", node, words, err)
		}
	}
	ip("h1", "link del h1-eth1")
	ip("h2", "link set h2-eth1 down")
	ip("h4", "link set h4-eth1 down")
	ip("h4", "link set h4-eth1 up")
	node := func(name string) netns.NsHandle {
		return netns.NsHandle(f.plane.Fabric().Namespace(f.Plan.NodeByName(name).ID))
	}
	handle, err := netlink.NewHandleAt(node("h3"), unix.NETLINK_ROUTE) // small kernels have no other
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	link, err := handle.LinkByName("h3-eth1")
	if err != nil {
		t.Fatal(err)
	}
	if err := handle.LinkSetNsFd(link, int(node("h5"))); err != nil {
		t.Fatal(err)
	}
	v, err := f.Close()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"the interface h1-eth1 of h1 was deleted", "the interface h2-eth1 of h2 is down",
		"the interface h3-eth1 of h3 was moved out of its namespace",
		"the interface h4-eth1 of h4 was down for a while",
	} {
		if !slices.ContainsFunc(v.Reasons, func(r string) bool { return strings.HasPrefix(r, want) }) {
			t.Errorf("%q is not in %q", want, v.Reasons)
		}
	}
	if v.Status == measure.Pass {
		t.Errorf("%+v", v)
	}
	for _, r := range v.Reasons {
		if strings.Contains(r, "h0-eth1") || strings.Contains(r, "h5-eth1") || strings.Contains(r, "leaf") {
			t.Error(r)
		}
	}
}

// TestRoutesComeBack takes interfaces down and up, on a host of one port and on one of two, that to the machine's
// network among them: their addresses, routes and neighbours are as before.
func TestRoutesComeBack(t *testing.T) {
	t.Parallel()
	f, err := bringUpFile(t, Options{}, "", "topology: {defaults: {nat: true}, rail: {rails: 2, groups: 2, hosts_per_group: 2, "+
		"spines: 2, rate: 10Gbps}}\n")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = f.Close() }()
	testRoutesComeBack(t, f, "h1", "h1-eth1", "h1-eth2", "eth0")
	own := bringUp(t, "")
	defer func() { _, _ = own.Close() }()
	testRoutesComeBack(t, own, "h1", "h1-eth1")
	if err := own.Run("h1", exec.Command("ping", "-c", "1", "-W", "180", "h5")); err != nil {
		t.Error(err)
	}
}

func testRoutesComeBack(t *testing.T, f *Fabric, node string, ports ...string) {
	t.Helper()
	state := func() string {
		// neighbours come as a hash has them
		return on(t, f, node, "sh", "-c", "(ip -4 route; ip -6 route; ip -o addr; ip neigh show nud permanent) | sort")
	}
	var before string
	until(t, "all links are up", func() bool { before = state(); return !strings.Contains(before, " linkdown") })
	for _, port := range ports {
		for _, way := range []string{"ip link set %s down; ip link set %[1]s up", "ifconfig %s down; ifconfig %[1]s up"} {
			if _, err := exec.LookPath("ifconfig"); err != nil && strings.HasPrefix(way, "ifconfig") {
				continue
			}
			if err := f.Run(node, exec.Command("sh", "-c", fmt.Sprintf(way, port))); err != nil {
				t.Fatal(err)
			}
			until(t, way+" leaves what was there", func() bool { return state() == before })
		}
	}
}

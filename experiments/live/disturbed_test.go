//go:build linux

package live

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/experiments/measure"
)

// TestDisturbed: what a program does to its node's interface breaks no invariant, and stops all that goes through it. The verdict names the
// node and the interface.
func TestDisturbed(t *testing.T) { onPlanes(t, testDisturbed) }

func testDisturbed(t *testing.T, plane string) {
	f := bringUpAs(t, Options{Name: "test-disturbed", Plane: plane})
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
		"the interface h1-eth1 of h1 was deleted", "the interface h2-eth1 of h2 is down", "the interface h3-eth1 of h3 was moved out of its namespace",
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

//go:build linux

package live

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/topologies"
)

// printedBy returns what sh prints for a script on a node.
func printedBy(f *Fabric, node, script string) (string, error) {
	var printed bytes.Buffer
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdout, cmd.Stderr = &printed, &printed
	err := f.Run(node, cmd)
	return printed.String(), err
}

// hops returns the ports by which a switch reaches a host.
func hops(t *testing.T, f *Fabric, from, to string) (names string) {
	t.Helper()
	must(t, f.Do(func(e *engine.Engine) error {
		for _, id := range e.NextHops(f.Plan.NodeByName(from).Index, f.Plan.Ports[f.Plan.NodeByName(to).Ports[0]].Interface) {
			names += f.Plan.Ports[id].Name + " "
		}
		return nil
	}))
	return strings.TrimSpace(names)
}

// TestKernelRoutes checks that switches forward by the kernel's routes in their namespaces, that their programs reach
// hosts and other switches, and that a link that goes down takes its carrier and its routes along.
func TestKernelRoutes(t *testing.T) {
	t.Parallel()
	f := bringUpAs(t, Options{Plane: plane.Wasm, Routing: RoutingKernel})
	defer down(t, f)
	if got := hops(t, f, "leaf0", "h4"); got != "" {
		t.Errorf("at the start leaf0 reaches h4 by %s", got)
	}
	if got := hops(t, f, "leaf0", "h1"); got != "leaf0-eth2" {
		t.Errorf("leaf0 reaches its host h1 by %q", got)
	}
	// Each leaf to the other's hosts and address, each spine to all: by link-local addresses of the neighbours.
	for _, id := range f.Plan.Switch {
		n := &f.Plan.Nodes[id]
		var script strings.Builder
		for to := range f.Plan.Nodes {
			far := &f.Plan.Nodes[to]
			address := far.Addr
			if far.Kind == topologies.Switch {
				address = f.Plan.SwitchAddress(far.Index)
			}
			by := ""
			for _, port := range n.Ports {
				peer := f.Plan.PeerNode(port)
				leafs := strings.HasPrefix(n.Name, "leaf")
				at := far
				if far.Kind == topologies.Host {
					at = f.Plan.PeerNode(far.Ports[0])
				}
				if peer.Kind != topologies.Switch || at == n || !leafs && peer != at || leafs && strings.HasPrefix(at.Name, "spine") && peer != at {
					continue
				}
				mac := f.Plan.Ports[f.Plan.Ports[port].Peer].MAC
				by += fmt.Sprintf(" nexthop via inet6 fe80::%x:%xff:fe%02x:%x dev %s", (uint16(mac[0])^2)<<8|uint16(mac[1]), mac[2],
					mac[3], uint16(mac[4])<<8|uint16(mac[5]), f.Plan.Ports[port].Name)
			}
			if by != "" {
				fmt.Fprintf(&script, "ip route add %v%s\n", address, by)
			}
		}
		if printed, err := printedBy(f, n.Name, "set -e\n"+script.String()); err != nil {
			t.Fatalf("%s: %s: %v\n%s", n.Name, printed, err, &script)
		}
	}
	until(t, "the routes are the pipelines'", func() bool {
		return hops(t, f, "leaf0", "h4") == "leaf0-eth5 leaf0-eth6" && hops(t, f, "spine1", "h4") == "spine1-eth2" &&
			hops(t, f, "leaf1", "h0") == "leaf1-eth5 leaf1-eth6" && hops(t, f, "spine0", "h0") == "spine0-eth1"
	})
	for _, c := range [][2]string{{"h0", "h4"}, {"leaf0", "h4"}, {"leaf0", "spine1"}, {"h4", "leaf0"}, {"leaf0", "leaf1"}} {
		// the first may be lost: neighbours are not known yet
		if printed, err := printedBy(f, c[0], "ping -q -c 1 -W 60 "+c[1]+" || ping -q -c 1 -W 600 "+c[1]); err != nil {
			t.Errorf("ping from %s to %s: %v\n%s", c[0], c[1], err, printed)
		}
	}
	if printed, err := printedBy(f, "h0", "traceroute -n -w 60 -q 1 h4"); err != nil || !strings.Contains(printed, "10.254.0.1 ") ||
		!strings.Contains(printed, "10.254.0.2 ") {
		t.Errorf("traceroute from h0 to h4: %v\n%s", err, printed)
	}
	must(t, inject(f, "link leaf0 spine0 down"))
	until(t, "leaf0 forwards by spine1 alone", func() bool { return hops(t, f, "leaf0", "h4") == "leaf0-eth6" })
	if printed, _ := printedBy(f, "leaf0", "cat /sys/class/net/leaf0-eth5/carrier"); printed != "0\n" {
		t.Errorf("the carrier of a link that is down is %q", printed)
	}
	must(t, inject(f, "link leaf0 spine0 up"))
	until(t, "leaf0 forwards by both spines", func() bool { return hops(t, f, "leaf0", "h4") == "leaf0-eth5 leaf0-eth6" })
}

// TestDaemons checks that BIRD and FRR, on switches, connect the hosts of a leaf-spine, lead around a link that is down,
// and use it again: the topologies of examples/routing.
func TestDaemons(t *testing.T) {
	testenv.WholeScenario(t)
	for daemon, path := range map[string]string{"bird": "/usr/sbin/bird", "frr": "/usr/lib/frr/bgpd"} {
		t.Run(daemon, func(t *testing.T) {
			if _, err := os.Stat(path); err != nil {
				t.Skip(err)
			}
			t.Parallel()
			folder, err := filepath.Abs("../../examples/routing")
			must(t, err)
			f, err := bringUpFile(t, Options{Plane: plane.Wasm, Routing: RoutingKernel}, "",
				fmt.Sprintf("topology: %q\n", filepath.Join(folder, daemon+".yaml")))
			if err != nil {
				t.Fatal(err)
			}
			defer down(t, f)
			for _, id := range f.Plan.Switch {
				name := f.Plan.Nodes[id].Name
				// its output is no pipe: a daemon would keep it open
				if err := f.Run(name, exec.Command("sh", filepath.Join(folder, daemon+".sh"))); err != nil {
					t.Fatalf("%s.sh on %s: %v", daemon, name, err)
				}
			}
			both, one := "leaf0-eth3 leaf0-eth4", "leaf0-eth4"
			until(t, "the daemons have told each other", func() bool {
				return hops(t, f, "leaf0", "h3") == both && hops(t, f, "leaf1", "h0") != "" && hops(t, f, "spine0", "h3") != "" &&
					hops(t, f, "spine1", "h0") != ""
			})
			if printed, err := printedBy(f, "h0", "ping -q -c 1 -W 600 h3"); err != nil {
				t.Errorf("ping: %v\n%s", err, printed)
			}
			must(t, inject(f, "link leaf0 spine0 down"))
			until(t, "all avoid the link", func() bool {
				return hops(t, f, "leaf0", "h3") == one && hops(t, f, "leaf1", "h0") == "leaf1-eth4"
			})
			if printed, err := printedBy(f, "h0", "ping -q -c 1 -W 600 h3"); err != nil {
				t.Errorf("ping around the link: %v\n%s", err, printed)
			}
			must(t, inject(f, "link leaf0 spine0 up"))
			until(t, "the link is used again", func() bool { return hops(t, f, "leaf0", "h3") == both })
		})
	}
}

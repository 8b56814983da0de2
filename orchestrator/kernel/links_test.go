//go:build linux

package kernel

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
)

// TestIsUp: as a fabric is there its interfaces are, and nothing that is sent at once is thrown away by a kernel that
// has not yet taken note of that.
func TestIsUp(t *testing.T) {
	testenv.NeedRoot(t)
	plan := builtinPlan(t, "leafspine")
	for _, live := range []bool{true, false} {
		f, err := NewFabric(plan, FabricOptions{Features: plane.Features{Live: live}})
		if err != nil {
			t.Fatal(err)
		}
		err = f.inNamespaces(func(n *topologies.Node) error {
			h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
			if err != nil {
				return err
			}
			defer h.Close()
			for _, id := range n.Ports {
				l, err := h.LinkByIndex(int(fill.InnerIfindex(&plan.Ports[id])))
				if err != nil {
					return err
				}
				if state := l.Attrs().OperState; state != netlink.OperUp {
					t.Errorf("live %v: %s is %v", live, l.Attrs().Name, state)
				}
			}
			return nil
		})
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestIsNotUp: an interface whose other end is not up is waited for, and then it is the environment's fault.
func TestIsNotUp(t *testing.T) {
	testenv.NeedRoot(t)
	plan := builtinPlan(t, "small")
	f, err := NewFabric(plan, FabricOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	name := plan.Ports[plan.Nodes[plan.Switch[0]].Ports[0]].Name
	in(t, f.hub, "ip", "link", "set", name, "down")
	wait := func(timeout time.Duration) (got error) {
		t.Helper()
		if err := f.inNamespaces(func(n *topologies.Node) error {
			if n.ID != plan.Switch[0] {
				return nil
			}
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			got = awaitCarrier(fd, name, timeout)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	var machine *plane.MachineError
	if err := wait(time.Millisecond); !errors.As(err, &machine) ||
		!strings.Contains(err.Error(), name+" was not up 1ms after its creation") {
		t.Errorf("%v", err)
	}
	waited := make(chan error)
	go func() { waited <- wait(time.Hour) }()
	in(t, f.hub, "ip", "link", "set", name, "up")
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

// inNamespaces calls in each device's namespace.
func (f *Fabric) inNamespaces(call func(n *topologies.Node) error) error {
	return onOwnThread(func() error { return f.eachNamespace(func() error { return nil }, call) })
}

func builtinPlan(t testing.TB, name string) *topologies.Plan {
	t.Helper()
	plan, err := spec.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

package orchestrator

import (
	"errors"
	"fmt"
	"io"

	cilium "github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// hook is an attached program; closing it detaches.
type hook = io.Closer

// attachAll hangs the pipelines on every port: ingress on the inner end, egress on the outer. TCX (Linux 6.6) is tried
// first; a kernel without it gets clsact. The thread is in the backplane and stays there.
func (f *Fabric) attachAll(forceClsact bool) error {
	f.TCX = !forceClsact
	attach := func(prog *cilium.Program, ifindex int32, ingress bool, port string) error {
		if f.TCX {
			h, err := attachTCX(prog, ifindex, ingress)
			if err == nil {
				f.hooks = append(f.hooks, h)
				return nil
			}
			if !errors.Is(err, link.ErrNotSupported) || len(f.hooks) > 0 {
				return fmt.Errorf("attach tcx to %s: %w", port, err)
			}
			f.TCX = false
		}
		if err := attachClsact(prog, ifindex, ingress); err != nil {
			return fmt.Errorf("attach clsact to %s: %w", port, err)
		}
		return nil
	}
	for i := range f.plan.Ports {
		p := &f.plan.Ports[i]
		if err := attach(f.pipelines.Egress, outerIfindex(p.ID), false, p.Name); err != nil {
			return err
		}
	}
	for i := range f.plan.Nodes {
		if err := netns.Set(f.devices[i]); err != nil {
			return fmt.Errorf("enter the namespace of %s: %w", f.plan.Nodes[i].Name, err)
		}
		for _, id := range f.plan.Nodes[i].Ports {
			p := &f.plan.Ports[id]
			if err := attach(f.pipelines.Ingress, innerIfindex(p), true, p.Name); err != nil {
				return err
			}
		}
	}
	return netns.Set(f.backplane)
}

func attachTCX(prog *cilium.Program, ifindex int32, ingress bool) (hook, error) {
	at := cilium.AttachTCXEgress
	if ingress {
		at = cilium.AttachTCXIngress
	}
	return link.AttachTCX(link.TCXOptions{Interface: int(ifindex), Program: prog, Attach: at})
}

// attachClsact needs no closing: qdisc and filter end with their interface, which is ours.
func attachClsact(prog *cilium.Program, ifindex int32, ingress bool) error {
	qdisc := &netlink.GenericQdisc{
		QdiscAttrs: netlink.QdiscAttrs{
			LinkIndex: int(ifindex), Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT,
		},
		QdiscType: "clsact",
	}
	if err := netlink.QdiscAdd(qdisc); err != nil {
		return fmt.Errorf("add the qdisc: %w", err)
	}
	parent := uint32(netlink.HANDLE_MIN_EGRESS)
	if ingress {
		parent = netlink.HANDLE_MIN_INGRESS
	}
	return netlink.FilterAdd(&netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{
			LinkIndex: int(ifindex), Parent: parent, Handle: 1, Protocol: unix.ETH_P_ALL, Priority: 1,
		},
		Fd: prog.FD(), Name: "pausenet", DirectAction: true,
	})
}

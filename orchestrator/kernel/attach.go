//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"io"

	cilium "github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
)

// hook is an attached program; closing it detaches.
type hook = io.Closer

// Hooks is the way programs are attached to interfaces.
type Hooks uint8

// Ways. HooksAuto chooses by the kernel and the size of the fabric.
const (
	HooksAuto Hooks = iota
	HooksTCX
	HooksClsact
)

// tcxHooks is the most hooks that are attached by TCX where nobody asks for one way. The kernel waits for an RCU grace
// period, some 10 ms, in each attachment and again in each detachment, under the lock that every change to the network
// needs: 240 hosts would take 12 s to come up and, if the process is killed, keep the next fabric waiting as long.
// clsact waits in neither, and costs the same per frame.
const tcxHooks = 16

// attachAll hangs the pipelines on every port: ingress on the inner end, egress on the outer. The thread is in the
// hub namespace and stays there.
func (f *Fabric) attachAll(way Hooks) error {
	switch {
	case way == HooksClsact || way == HooksAuto && 2*len(f.plan.Ports) > tcxHooks:
		return f.attachClsact()
	case way == HooksTCX:
		return f.attachTCX()
	}
	err := f.attachTCX()
	if errors.Is(err, link.ErrNotSupported) && len(f.hooks) == 0 { // before Linux 6.6
		return f.attachClsact()
	}
	return err
}

// eachNamespace calls hub in the hub namespace and then device in each device's, and returns to the former.
func (f *Fabric) eachNamespace(hub func() error, device func(n *topologies.Node) error) error {
	if err := hub(); err != nil {
		return err
	}
	for i := range f.plan.Nodes {
		n := &f.plan.Nodes[i]
		if err := netns.Set(f.devices[i]); err != nil {
			return fmt.Errorf("enter the namespace of %s: %w", n.Name, err)
		}
		if err := device(n); err != nil {
			return err
		}
	}
	return netns.Set(f.hub)
}

// attachTCX uses links (Linux 6.6): they end with the process.
func (f *Fabric) attachTCX() error {
	attach := func(prog *cilium.Program, ifindex int32, at cilium.AttachType, port string) error {
		h, err := link.AttachTCX(link.TCXOptions{Interface: int(ifindex), Program: prog, Attach: at})
		if err != nil {
			return fmt.Errorf("attach tcx to %s: %w", port, err)
		}
		f.hooks = append(f.hooks, h)
		return nil
	}
	f.TCX = true
	err := f.eachNamespace(func() error {
		for i := range f.plan.Ports {
			p := &f.plan.Ports[i]
			if err := attach(f.egress, engine.OuterIfindex(p.ID), cilium.AttachTCXEgress, p.Name); err != nil {
				return err
			}
		}
		return nil
	}, func(n *topologies.Node) error {
		for _, id := range n.Ports {
			p := &f.plan.Ports[id]
			if err := attach(f.ingress, engine.InnerIfindex(p), cilium.AttachTCXIngress, p.Name); err != nil {
				return err
			}
		}
		return nil
	})
	f.TCX = err == nil
	return err
}

// attachClsact uses a clsact qdisc and a cls_bpf filter in direct-action mode. They end with their interface, which is
// ours. All qdiscs of a namespace come before its filters: a filter that follows its qdisc at once waits for RCU.
func (f *Fabric) attachClsact() error {
	attach := func(prog *cilium.Program, ports []topologies.PortID, index func(*topologies.Port) int32, parent uint32) error {
		h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return fmt.Errorf("open a netlink socket: %w", err)
		}
		defer h.Close()
		for _, id := range ports {
			p := &f.plan.Ports[id]
			err := h.QdiscAdd(&netlink.GenericQdisc{QdiscAttrs: netlink.QdiscAttrs{
				LinkIndex: int(index(p)), Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT,
			}, QdiscType: "clsact"})
			if err != nil {
				return fmt.Errorf("add a clsact qdisc to %s: %w", p.Name, err)
			}
		}
		for _, id := range ports {
			p := &f.plan.Ports[id]
			err := h.FilterAdd(&netlink.BpfFilter{FilterAttrs: netlink.FilterAttrs{
				LinkIndex: int(index(p)), Parent: parent, Handle: 1, Protocol: unix.ETH_P_ALL, Priority: 1,
			}, Fd: prog.FD(), Name: "pausenet", DirectAction: true})
			if err != nil {
				return fmt.Errorf("add a filter to %s: %w", p.Name, err)
			}
		}
		return nil
	}
	all := make([]topologies.PortID, len(f.plan.Ports))
	for i := range all {
		all[i] = topologies.PortID(i)
	}
	outer := func(p *topologies.Port) int32 { return engine.OuterIfindex(p.ID) }
	return f.eachNamespace(func() error {
		return attach(f.egress, all, outer, netlink.HANDLE_MIN_EGRESS)
	}, func(n *topologies.Node) error {
		return attach(f.ingress, n.Ports, engine.InnerIfindex, netlink.HANDLE_MIN_INGRESS)
	})
}

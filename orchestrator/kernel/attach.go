//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"io"

	cilium "github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/rtnetlink"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/topologies"
)

// hook represents an attached program. Closing it detaches the program.
type hook = io.Closer

// Hooks selects how programs are attached to interfaces.
type Hooks uint8

// Ways of attaching programs. HooksAuto chooses by the kernel and the size of the fabric.
const (
	HooksAuto Hooks = iota
	HooksTCX
	HooksClsact
)

// tcxPorts limits the ports whose hooks HooksAuto attaches by TCX. The kernel waits for an RCU grace period, some 10
// ms, in each attachment and again in each detachment, under the lock that every change to the network needs. 240 hosts
// would take 18 s to come up. If the process is killed, the next fabric would wait as long. clsact waits in neither,
// and costs 5 % more per frame.
const tcxPorts = 8

// triesTCX reports whether to try TCX for a plan's ports.
func (way Hooks) triesTCX(plan *topologies.Plan) bool {
	return way == HooksTCX || way == HooksAuto && len(plan.Ports) <= tcxPorts
}

// attachAll attaches the pipelines to the entry and to every port: ingress to the inner end, and egress and the end of
// frames to the outer end. It leaves the thread in the hub namespace.
func (f *Fabric) attachAll(way Hooks) error {
	if !way.triesTCX(f.plan) {
		return f.attachClsact()
	}
	err := f.attachTCX()
	if way == HooksAuto && errors.Is(err, link.ErrNotSupported) && len(f.hooks) == 0 { // before Linux 6.6
		return f.attachClsact()
	}
	return err
}

// eachNamespace calls hub in the hub namespace and then device in each device's, and returns to the hub namespace.
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

// attachTCX attaches by links (Linux 6.6), which end with the process.
func (f *Fabric) attachTCX() error {
	attach := func(prog *cilium.Program, ifindex int32, at cilium.AttachType, port string) error {
		if prog == nil {
			return nil
		}
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
			if err := attach(f.egress, fill.OuterIfindex(p.ID), cilium.AttachTCXEgress, p.Name); err != nil {
				return err
			}
			if err := attach(f.end, fill.OuterIfindex(p.ID), cilium.AttachTCXIngress, p.Name); err != nil {
				return err
			}
		}
		if f.entry == nil {
			return nil
		}
		return attach(f.enter, f.entry.index, cilium.AttachTCXIngress, entryName)
	}, func(n *topologies.Node) error {
		for _, id := range n.Ports {
			p := &f.plan.Ports[id]
			if err := attach(f.ingress, fill.InnerIfindex(p), cilium.AttachTCXIngress, p.Name); err != nil {
				return err
			}
		}
		return nil
	})
	f.TCX = err == nil
	return err
}

// attachClsact attaches by a clsact qdisc and a cls_bpf filter in direct-action mode. They end with their interface,
// which the fabric owns. It adds all qdiscs of all namespaces before the filters: a filter added right after its qdisc
// waits for RCU.
func (f *Fabric) attachClsact() error {
	for _, part := range []func(*rtnetlink.Socket, hooked) error{addQdiscs, addFilters} {
		attach := func(hooks ...hooked) error {
			socket, err := rtnetlink.Open()
			if err != nil {
				return err
			}
			for _, h := range hooks {
				if err := part(socket, h); err != nil {
					return errors.Join(err, socket.Close())
				}
			}
			return socket.Close()
		}
		err := f.eachNamespace(func() error {
			return attach(append(f.hookedEntry(), f.hookedOuter())...)
		}, func(n *topologies.Node) error {
			return attach(f.hookedInner(n))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hooked holds the interfaces of one namespace, and the programs for all of them.
type hooked struct {
	names           []string
	indexes         []int32
	ingress, egress *cilium.Program // nil: none
}

func (h *hooked) add(name string, index int32) {
	h.names, h.indexes = append(h.names, name), append(h.indexes, index)
}

func (f *Fabric) hookedOuter() hooked {
	h := hooked{ingress: f.end, egress: f.egress}
	for i := range f.plan.Ports {
		p := &f.plan.Ports[i]
		h.add(p.Name, fill.OuterIfindex(p.ID))
	}
	return h
}

func (f *Fabric) hookedEntry() []hooked {
	if f.entry == nil {
		return nil
	}
	return []hooked{{names: []string{entryName}, indexes: []int32{f.entry.index}, ingress: f.enter}}
}

func (f *Fabric) hookedInner(n *topologies.Node) hooked {
	h := hooked{ingress: f.ingress}
	for _, id := range n.Ports {
		p := &f.plan.Ports[id]
		h.add(p.Name, fill.InnerIfindex(p))
	}
	return h
}

// ingressBlock and egressBlock number the blocks that the interfaces of a namespace share, if it has several. One
// filter then serves all interfaces. Only one filter takes room in the processor's cache. The kernel keeps a list of
// blocks, which it searches for each new one. A host's only interface has its own blocks, as expected by programs that
// add filters to it.
const ingressBlock, egressBlock = 1, 2

func (h *hooked) shared() bool { return len(h.indexes) > 1 }

// addQdiscs gives each interface a clsact qdisc.
func addQdiscs(socket *rtnetlink.Socket, h hooked) error {
	for i, index := range h.indexes {
		req := nl.NewNetlinkRequest(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
		req.AddData(&nl.TcMsg{Ifindex: index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT})
		req.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated("clsact")))
		if h.shared() {
			req.AddData(nl.NewRtAttr(nl.TCA_INGRESS_BLOCK, nl.Uint32Attr(ingressBlock)))
			req.AddData(nl.NewRtAttr(nl.TCA_EGRESS_BLOCK, nl.Uint32Attr(egressBlock)))
		}
		if err := socket.Add(req, "add a clsact qdisc to", h.names[i]); err != nil {
			return err
		}
	}
	return socket.Flush()
}

// addFilters attaches the programs to the hooks.
func addFilters(socket *rtnetlink.Socket, h hooked) error {
	for _, hook := range []struct {
		program       *cilium.Program
		parent, block uint32
	}{{h.ingress, netlink.HANDLE_MIN_INGRESS, ingressBlock}, {h.egress, netlink.HANDLE_MIN_EGRESS, egressBlock}} {
		if hook.program == nil {
			continue
		}
		at := nl.TcMsg{Ifindex: h.indexes[0], Parent: hook.parent}
		if h.shared() {
			const magicBlock = -1 // TCM_IFINDEX_MAGIC_BLOCK of linux/rtnetlink.h
			at = nl.TcMsg{Ifindex: magicBlock, Parent: hook.block}
		}
		at.Handle, at.Info = 1, netlink.MakeHandle(1, hostToNetwork(unix.ETH_P_ALL))
		req := nl.NewNetlinkRequest(unix.RTM_NEWTFILTER, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
		req.AddData(&at)
		req.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated("bpf")))
		options := nl.NewRtAttr(nl.TCA_OPTIONS, nil)
		options.AddRtAttr(nl.TCA_BPF_FD, nl.Uint32Attr(uint32(hook.program.FD())))
		options.AddRtAttr(nl.TCA_BPF_NAME, nl.ZeroTerminated("pausenet"))
		options.AddRtAttr(nl.TCA_BPF_FLAGS, nl.Uint32Attr(nl.TCA_BPF_FLAG_ACT_DIRECT))
		req.AddData(options)
		if err := socket.Add(req, "add a filter to", h.names[0]); err != nil {
			return err
		}
	}
	return socket.Flush()
}

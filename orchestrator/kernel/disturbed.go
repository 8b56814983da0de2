//go:build linux

package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/rtnetlink"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/topologies"
)

// Disturbance describes a change of a live fabric's interface by someone else: no frame passes meanwhile.
type Disturbance struct {
	Port topologies.PortID
	What string // the change, and whether it persists: "is down"
}

// carrierDowns returns how often the interfaces of the thread's namespace have lost their carrier so far, by index.
// Each port has an end in the hub namespace, which loses its carrier when the other end is taken down. The kernel
// counts each loss. A notification would be lost if the interface came up again before the kernel sent it.
func carrierDowns() (map[int32]uint32, error) {
	const carrierDownCount = 48 // IFLA_CARRIER_DOWN_COUNT of linux/if_link.h
	req := nl.NewNetlinkRequest(unix.RTM_GETLINK, unix.NLM_F_DUMP)
	req.AddData(nl.NewIfInfomsg(unix.AF_UNSPEC))
	messages, err := req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
	if err != nil {
		return nil, fmt.Errorf("list the interfaces of the hub namespace: %w", err)
	}
	downs := make(map[int32]uint32, len(messages))
	for _, m := range messages {
		attributes, err := nl.ParseRouteAttr(m[unix.SizeofIfInfomsg:])
		if err != nil {
			return nil, fmt.Errorf("read the kernel's message about an interface: %w", err)
		}
		for _, a := range attributes {
			if a.Attr.Type == carrierDownCount {
				downs[nl.DeserializeIfInfomsg(m).Index] = binary.NativeEndian.Uint32(a.Value)
			}
		}
	}
	return downs, nil
}

// Disturbed returns a live fabric's interfaces that someone, such as a program on a node, has deleted, moved or
// taken down since bring-up, in the order of ports.
func (p *programFrames) Disturbed() (all []Disturbance) {
	var downs map[int32]uint32
	// it could be listed as the fabric came up
	_ = p.fabric.inHub(func() (err error) { downs, err = carrierDowns(); return err })
	for i := range p.fabric.plan.Ports {
		port := &p.fabric.plan.Ports[i]
		if p.managed && p.fabric.plan.Nodes[port.Node].Kind == topologies.Switch {
			continue
		}
		up, err := carrier(p.outside.rx, port.Name) // of the outer end
		switch {
		case errors.Is(err, unix.ENODEV):
			all = append(all, Disturbance{port.ID, "was deleted"})
		case err == nil && !up && p.movedOrDeleted(port):
			all = append(all, Disturbance{port.ID, "was moved out of its namespace"})
		case err == nil && !up:
			all = append(all, Disturbance{port.ID, "is down"})
		case downs[fill.OuterIfindex(port.ID)] > p.downs[fill.OuterIfindex(port.ID)]:
			all = append(all, Disturbance{port.ID, "was down for a while"})
		}
	}
	return all
}

// movedOrDeleted reports whether a port's inner end is not in its node's namespace.
func (p *programFrames) movedOrDeleted(port *topologies.Port) (missing bool) {
	_ = onOwnThread(func() error {
		if err := netns.Set(p.fabric.devices[port.Node]); err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, err = carrier(fd, port.Name)
		missing = errors.Is(err, unix.ENODEV)
		return nil
	})
	return missing
}

// UpWatch waits for interfaces that come up.
type UpWatch struct {
	socket *os.File
	done   chan struct{}
}

// AnyPeer stands for all interfaces.
const AnyPeer = -1

// WatchUps watches the peer interfaces of the veth pairs with an end in the calling thread's namespace. It calls up
// each time one of them comes up, with the index of its end in this namespace, or with AnyPeer if messages were lost.
// An interface of another namespace may have the same index.
func WatchUps(up func(peer int32)) (*UpWatch, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open a netlink socket: %w", err)
	}
	// of the namespaces that this one has an id of
	err = errors.Join(unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_LISTEN_ALL_NSID, 1),
		unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_LINK}))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("watch interfaces: %w", err), unix.Close(fd))
	}
	w := &UpWatch{os.NewFile(uintptr(fd), "netlink"), make(chan struct{})}
	go func() {
		defer close(w.done)
		buffer := make([]byte, 1<<16)
		for {
			n, err := w.socket.Read(buffer)
			switch {
			case errors.Is(err, unix.ENOBUFS):
				up(AnyPeer)
			case err != nil:
				return
			}
			messages, err := syscall.ParseNetlinkMessage(buffer[:max(0, n)])
			if err != nil {
				continue
			}
			for _, m := range messages {
				if peer, came := cameUp(&m); came {
					up(peer)
				}
			}
		}
	}()
	return w, nil
}

// cameUp reports whether a message announces an interface that has just come up, and the index of its veth pair's other
// end.
func cameUp(m *syscall.NetlinkMessage) (peer int32, came bool) {
	if m.Header.Type != unix.RTM_NEWLINK || len(m.Data) < unix.SizeofIfInfomsg {
		return 0, false
	}
	if info := nl.DeserializeIfInfomsg(m.Data); info.Flags&info.Change&unix.IFF_UP == 0 {
		return 0, false
	}
	attributes, err := nl.ParseRouteAttr(m.Data[unix.SizeofIfInfomsg:])
	if err != nil {
		return 0, false
	}
	for _, a := range attributes {
		if a.Attr.Type == unix.IFLA_LINK && len(a.Value) == 4 {
			return int32(binary.NativeEndian.Uint32(a.Value)), true
		}
	}
	return 0, false
}

// Close ends the watch. Afterwards up is not running.
func (w *UpWatch) Close() error {
	err := w.socket.Close()
	<-w.done
	return err
}

// restoreRoutes restores the routes of the host's port at a veth pair's end in the hub namespace, because the kernel
// removes them when the port goes down. It keeps existing routes, including a program's replacements.
func (f *Fabric) restoreRoutes(outer int32) {
	for i := range f.plan.Ports {
		p := &f.plan.Ports[i]
		n := &f.plan.Nodes[p.Node]
		if n.Kind != topologies.Host || outer != AnyPeer && outer != fill.OuterIfindex(p.ID) {
			continue
		}
		_ = In(f.Namespace(n.ID), func() error { // or it is down again, and this comes once more
			socket, err := rtnetlink.Open()
			if err != nil {
				return err
			}
			defer socket.Close()
			for _, s := range f.routes(n, uint8(slices.Index(n.Ports, p.ID))) {
				_ = socket.Add(s.req, s.action, n.Name)
			}
			return socket.Flush()
		})
	}
}

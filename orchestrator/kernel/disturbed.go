//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
)

// Disturbance is what somebody has done to an interface of a live fabric: nothing gets through it meanwhile.
type Disturbance struct {
	Port topologies.PortID
	What string // what it was, and whether it still is: "is down"
}

// changes tell of the interfaces in the hub namespace. There all ports have an end, and one that loses its other end has no carrier.
type changes struct{ fd int }

// newChanges subscribes to them, in the calling thread's namespace. What is told waits in the socket until somebody asks.
func newChanges() (*changes, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open a netlink socket: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1 << (unix.RTNLGRP_LINK - 1)}); err != nil {
		return nil, errors.Join(fmt.Errorf("subscribe to changes of interfaces: %w", err), unix.Close(fd))
	}
	return &changes{fd}, nil
}

func (c *changes) Close() error { return os.NewSyscallError("close", unix.Close(c.fd)) }

// take are the indexes of the interfaces that have had no carrier, or were deleted, since the last call. Of more changes than the socket
// holds the last are lost.
func (c *changes) take() (indexes []int32) {
	buffer := make([]byte, 1<<16)
	for {
		n, _, err := unix.Recvfrom(c.fd, buffer, 0)
		switch {
		case errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return indexes
		}
		messages, err := syscall.ParseNetlinkMessage(buffer[:n])
		if err != nil {
			continue // not the kernel's
		}
		for _, m := range messages {
			if len(m.Data) < unix.SizeofIfInfomsg {
				continue
			}
			link := nl.DeserializeIfInfomsg(m.Data)
			if kind := m.Header.Type; kind == unix.RTM_DELLINK || kind == unix.RTM_NEWLINK && link.Flags&unix.IFF_LOWER_UP == 0 {
				indexes = append(indexes, link.Index)
			}
		}
	}
}

// Disturbed says which of a live fabric's interfaces somebody, a program on a node say, has deleted, moved or taken down since it came up, in
// the order of ports.
func (p *Plane) Disturbed() (all []Disturbance) {
	told := p.live.changes.take()
	for i := range p.fabric.plan.Ports {
		port := &p.fabric.plan.Ports[i]
		up, err := carrier(p.ring.tx, port.Name) // of the outer end
		switch {
		case errors.Is(err, unix.ENODEV):
			all = append(all, Disturbance{port.ID, "was deleted"})
		case err == nil && !up && p.isGone(port):
			all = append(all, Disturbance{port.ID, "was moved out of its namespace"})
		case err == nil && !up:
			all = append(all, Disturbance{port.ID, "is down"})
		case slices.Contains(told, engine.OuterIfindex(port.ID)):
			all = append(all, Disturbance{port.ID, "was down for a while"})
		}
	}
	return all
}

// isGone says whether a port's inner end is not in its node's namespace.
func (p *Plane) isGone(port *topologies.Port) (gone bool) {
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
		gone = errors.Is(err, unix.ENODEV)
		return nil
	})
	return gone
}

//go:build linux

package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"

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

// carrierDowns is how often the interfaces of the thread's namespace have lost their carrier so far, by index. In the hub namespace all ports have
// an end, and one whose other end is taken down has no carrier. The kernel counts each loss; of a notification nothing is left if the interface is
// up again before it is sent.
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
			return nil, fmt.Errorf("read what the kernel says of an interface: %w", err)
		}
		for _, a := range attributes {
			if a.Attr.Type == carrierDownCount {
				downs[nl.DeserializeIfInfomsg(m).Index] = binary.NativeEndian.Uint32(a.Value)
			}
		}
	}
	return downs, nil
}

// Disturbed says which of a live fabric's interfaces somebody, a program on a node say, has deleted, moved or taken down since it came up, in
// the order of ports.
func (p *programFrames) Disturbed() (all []Disturbance) {
	var downs map[int32]uint32
	_ = p.fabric.inHub(func() (err error) { downs, err = carrierDowns(); return err }) // it could be listed as the fabric came up
	for i := range p.fabric.plan.Ports {
		port := &p.fabric.plan.Ports[i]
		up, err := carrier(p.outside.rx, port.Name) // of the outer end
		switch {
		case errors.Is(err, unix.ENODEV):
			all = append(all, Disturbance{port.ID, "was deleted"})
		case err == nil && !up && p.isGone(port):
			all = append(all, Disturbance{port.ID, "was moved out of its namespace"})
		case err == nil && !up:
			all = append(all, Disturbance{port.ID, "is down"})
		case downs[engine.OuterIfindex(port.ID)] > p.downs[engine.OuterIfindex(port.ID)]:
			all = append(all, Disturbance{port.ID, "was down for a while"})
		}
	}
	return all
}

// isGone says whether a port's inner end is not in its node's namespace.
func (p *programFrames) isGone(port *topologies.Port) (gone bool) {
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

//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/rtnetlink"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/topologies"
)

// entryName holds the entry's name in the hub namespace. No port has it.
const entryName = "entry"

// entry puts frames into the pipelines: a TAP interface in the hub namespace. Its program runs the egress pipeline and
// redirects the frame to the inner end of the port that it enters. All of that happens within the system call that
// writes the frame. Through a packet socket and a veth pair, a frame waits in a queue of the processor in between, and
// takes half as much time again.
type entry struct {
	fd    int
	index int32
}

// errNoEntry means that the machine offers no TAP interfaces, like many containers.
var errNoEntry = errors.New("no TAP interfaces")

// openEntry creates the entry in the calling thread's namespace, the hub.
func openEntry(plan *topologies.Plan) (e *entry, err error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: open /dev/net/tun: %w", errNoEntry, err)
	}
	e = &entry{fd, fill.OuterIfindex(topologies.PortID(len(plan.Ports)))}
	if err := e.create(); err != nil {
		return nil, errors.Join(fmt.Errorf("create the entry: %w", err), e.Close())
	}
	return e, nil
}

func (e *entry) create() error {
	if err := unix.IoctlSetPointerInt(e.fd, unix.TUNSETIFINDEX, int(e.index)); err != nil {
		return err
	}
	request, err := unix.NewIfreq(entryName)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(e.fd, unix.TUNSETIFF, request); err != nil {
		return err
	}
	socket, err := rtnetlink.Open()
	if err != nil {
		return err
	}
	up := nl.NewNetlinkRequest(unix.RTM_SETLINK, 0)
	up.AddData(linkMessage(e.index, unix.IFF_UP|unix.IFF_NOARP))
	return errors.Join(socket.Add(up, "set up", entryName), socket.Flush(), socket.Close())
}

// put puts a frame into the pipelines: one system call, no allocation.
func (e *entry) put(frame []byte) error {
	_, _, number := unix.RawSyscall(unix.SYS_WRITE, uintptr(e.fd), uintptr(unsafe.Pointer(unsafe.SliceData(frame))),
		uintptr(len(frame)))
	if number != 0 {
		return number
	}
	return nil
}

// Close removes the entry.
func (e *entry) Close() error { return unix.Close(e.fd) }

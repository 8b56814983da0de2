//go:build linux

package kernel

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/rtnetlink"
)

// loopbackIndex holds the index of lo, which is equal in all namespaces.
const loopbackIndex = 1

// owner identifies the process that made a namespace. A PID is not enough: PIDs are reused, and each PID namespace,
// such as a container's, has its own.
type owner struct {
	Process
	pidSpace uint64 // inode of the pid namespace
}

// ownMark holds the part of the mark that all namespaces of this process share.
var ownMark = sync.OnceValues(func() (string, error) {
	own, err := ThisProcess()
	if err != nil {
		return "", err
	}
	space, err := inode("/proc/self/ns/pid")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("pausenet %d %d %d ", own.PID, own.Start, space), nil
})

// mark returns a namespace's owner and node as text for the alias of its lo (`ip link` shows it), by which Clean
// recognises pausenet's namespaces. It must be lo: the ports of a device vanish with the hub namespace, and Clean must
// recognise a namespace that outlives it.
func mark(socket *rtnetlink.Socket, node string) error {
	prefix, err := ownMark()
	if err != nil {
		return fmt.Errorf("find the fabric's owner: %w", err)
	}
	req := nl.NewNetlinkRequest(unix.RTM_SETLINK, 0)
	req.AddData(linkMessage(loopbackIndex, 0))
	req.AddData(nl.NewRtAttr(unix.IFLA_IFALIAS, nl.NonZeroTerminated(prefix+node)))
	return socket.Add(req, "mark the namespace of", node)
}

// markOwn marks the thread's namespace.
func markOwn(node string) error {
	socket, err := rtnetlink.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", node, err)
	}
	defer socket.Close()
	if err := mark(socket, node); err != nil {
		return err
	}
	return socket.Flush()
}

// parseMark parses a mark. ok is false for any other alias.
func parseMark(alias string) (by owner, node string, ok bool) {
	fields := strings.Split(alias, " ")
	if len(fields) != 5 || fields[0] != "pausenet" || fields[4] == "" {
		return owner{}, "", false
	}
	var errs [3]error
	by.PID, errs[0] = strconv.Atoi(fields[1])
	by.Start, errs[1] = strconv.ParseUint(fields[2], 10, 64)
	by.pidSpace, errs[2] = strconv.ParseUint(fields[3], 10, 64)
	return by, fields[4], errs == [3]error{} && by.PID > 0
}

func inode(path string) (uint64, error) {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return s.Ino, nil
}

// linkMessage returns the header of a request that sets flags of a link.
func linkMessage(index int32, flags uint32) *nl.IfInfomsg {
	m := nl.NewIfInfomsg(unix.AF_UNSPEC)
	m.Index = index
	m.Flags = flags
	m.Change = flags
	return m
}

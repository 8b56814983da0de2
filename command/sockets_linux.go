package command

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// hungUp reports whether the peer has closed the connection. One that has only ended its requests has not.
func hungUp(c *net.UnixConn) (gone bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	err = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd)}}
		_, _ = unix.Poll(fds, 0)
		gone = fds[0].Revents&unix.POLLHUP != 0
	})
	return gone || err != nil
}

// private makes the file of a socket that is about to be bound accessible to this user only: on Linux the file has the
// mode of the socket.
func private(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) { failed = unix.Fchmod(int(fd), 0o600) })
	return errors.Join(err, failed)
}

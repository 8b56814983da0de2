//go:build unix

package files

import "golang.org/x/sys/unix"

// Flags of opening: not to wait for the other end of a pipe, nor to take a terminal over; not to go where a link leads.
const (
	noWait = unix.O_NONBLOCK | unix.O_NOCTTY
	noLink = unix.O_NOFOLLOW
)

//go:build unix

package files

import "golang.org/x/sys/unix"

// Flags for opening files: do not wait for the other end of a pipe, do not acquire a terminal; do not follow links.
const (
	noWait = unix.O_NONBLOCK | unix.O_NOCTTY
	noLink = unix.O_NOFOLLOW
)

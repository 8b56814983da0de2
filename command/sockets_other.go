//go:build !linux

package command

import (
	"net"
	"syscall"
)

// hungUp returns false here: a command whose client has gone runs to its end.
func hungUp(*net.UnixConn) bool { return false }

// private does nothing here: the file is readable to others until its mode has been set.
func private(_, _ string, _ syscall.RawConn) error { return nil }

//go:build linux

package live

import (
	"errors"
	"net"
	"time"
)

// How long Accept rests after an error: the first time, and at most.
const firstRest, longestRest = time.Millisecond, 100 * time.Millisecond

// patientListener is a listener whose Accept fails only once it is closed. Whatever else it fails for passes: a want of descriptors
// (EMFILE, ENFILE) or of memory (ENOBUFS, ENOMEM), or a connection that was gone before it was taken (ECONNABORTED). Until then who
// connects waits in the kernel's queue.
type patientListener struct{ net.Listener }

func (l patientListener) Accept() (net.Conn, error) {
	for rest := firstRest; ; rest = min(2*rest, longestRest) {
		conn, err := l.Listener.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return conn, err
		}
		time.Sleep(rest)
	}
}

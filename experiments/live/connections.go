//go:build linux

package live

import (
	"errors"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// idleTimeout is how long a connection may be there without a request under way.
	idleTimeout = time.Minute
	// replyTimeout is how long a client has to read a reply that is not a stream.
	replyTimeout = 10 * time.Second
	// lastTimeout is how long, at the fabric's end, a client has to read the rest.
	lastTimeout = 2 * time.Second
	// mostConnections bounds the connections to a fabric's socket. Each program that exec runs has one.
	mostConnections = 1024
)

// connectionLimit is how many connections a fabric's socket has at once: no more than a quarter of the files that the
// process may have open, so that what the fabric itself opens is never in want.
func connectionLimit() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return mostConnections
	}
	return int(min(mostConnections, max(8, limit.Cur/4)))
}

// connection is another terminal's.
type connection struct {
	*net.UnixConn
	inside bool      // of a program on a node
	busy   bool      // a request is under way
	idle   time.Time // since when none is
}

// admit takes a connection, unless there are as many as may be and a request is under way on each. An idle one makes
// room: that which has been so for longest.
func (s *server) admit(conn *net.UnixConn, inside bool) *connection {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.open) >= s.most {
		var longest *connection
		for c := range s.open {
			if !c.busy && (longest == nil || c.idle.Before(longest.idle)) {
				longest = c
			}
		}
		if longest == nil {
			return nil
		}
		delete(s.open, longest)
		longest.Close()
	}
	c := &connection{UnixConn: conn, inside: inside, idle: time.Now()}
	s.open[c] = true
	s.handlers.Add(1)
	return c
}

// leave closes a connection.
func (s *server) leave(c *connection) {
	s.mutex.Lock()
	delete(s.open, c)
	s.mutex.Unlock()
	c.Close()
	s.handlers.Done()
}

// rests notes that no request is under way on a connection, and for how long it may be so.
func (s *server) rests(c *connection) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	c.busy, c.idle = false, time.Now()
	_ = c.SetReadDeadline(c.idle.Add(idleTimeout))
}

// works notes that a request is under way.
func (s *server) works(c *connection) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	c.busy = true
	if s.verdict == nil { // or the last deadlines stand
		_ = c.SetDeadline(time.Time{})
	}
}

// replies has the other end read what follows within the timeout.
func (s *server) replies(c *connection) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.verdict == nil {
		_ = c.SetWriteDeadline(time.Now().Add(replyTimeout))
	}
}

// ownedByUs says whether the process at the other end is root's or our own user's.
func ownedByUs(conn *net.UnixConn) bool {
	peer, err := peerOf(conn)
	return err == nil && (peer.Uid == 0 || int(peer.Uid) == os.Geteuid())
}

// peerOf is the process at the other end of a connection, or that listens there.
func peerOf(conn *net.UnixConn) (peer *unix.Ucred, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	if cerr := raw.Control(func(fd uintptr) {
		peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); cerr != nil {
		return nil, cerr
	}
	return peer, err
}

// How long Accept rests after an error: the first time, and at most.
const firstRest, longestRest = time.Millisecond, 100 * time.Millisecond

// patientListener is a listener whose Accept fails only once it is closed. Whatever else it fails for passes: a want of
// descriptors (EMFILE, ENFILE) or of memory (ENOBUFS, ENOMEM), or a connection that was gone before it was taken
// (ECONNABORTED). Until then who connects waits in the kernel's queue.
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

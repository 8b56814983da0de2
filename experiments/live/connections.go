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
	// idleTimeout limits how long a connection may exist without a request in progress.
	idleTimeout = time.Minute
	// replyTimeout limits how long a client may take to read a reply that is not a stream.
	replyTimeout = 10 * time.Second
	// lastTimeout limits how long, at the fabric's end, a client may take to read the rest.
	lastTimeout = 2 * time.Second
	// mostConnections limits the connections to a fabric's socket. Each program that exec runs has one.
	mostConnections = 1024
)

// connectionLimit returns the number of concurrent connections to a fabric's socket: at most a quarter of the
// process's open files, so that the fabric itself never lacks any.
func connectionLimit() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return mostConnections
	}
	return int(min(mostConnections, max(8, limit.Cur/4)))
}

// connection represents a connection from another terminal.
type connection struct {
	*net.UnixConn
	inside bool      // from a program on a node
	busy   bool      // a request is in progress
	idle   time.Time // start of the idle time
}

// admit accepts a connection, unless the limit is reached and all have a request in progress. Otherwise it closes
// the one that has been idle longest.
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

// rests marks a connection as idle and starts its timeout.
func (s *server) rests(c *connection) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	c.busy, c.idle = false, time.Now()
	_ = c.SetReadDeadline(c.idle.Add(idleTimeout))
}

// works marks a connection as busy.
func (s *server) works(c *connection) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	c.busy = true
	if s.verdict == nil { // otherwise the last deadlines remain
		_ = c.SetDeadline(time.Time{})
	}
}

// replies sets the deadline by which the client must read what follows.
func (s *server) replies(c *connection) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.verdict == nil {
		_ = c.SetWriteDeadline(time.Now().Add(replyTimeout))
	}
}

// ownedByUs reports whether the process at the other end belongs to root or our own user.
func ownedByUs(conn *net.UnixConn) bool {
	peer, err := peerOf(conn)
	return err == nil && (peer.Uid == 0 || int(peer.Uid) == os.Geteuid())
}

// peerOf returns the process at the other end of a connection, or behind a listening socket.
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

// Pauses of Accept after an error: the first, and the longest.
const firstRest, longestRest = time.Millisecond, 100 * time.Millisecond

// patientListener wraps a listener so that Accept fails only after Close. Other errors are temporary: a lack of
// descriptors (EMFILE, ENFILE) or memory (ENOBUFS, ENOMEM), or a connection that was closed before Accept
// (ECONNABORTED). Meanwhile clients wait in the kernel's queue.
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

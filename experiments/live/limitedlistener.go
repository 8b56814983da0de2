//go:build linux

package live

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Limits on connections to the metrics or a page: of all clients, of strangers, and of any one stranger. A stranger is
// another machine, or a user other than root and the fabric's owner. The limits protect the fabric's descriptors and
// its owner's connections.
const mostScrapers, mostStrangers, mostOfStranger = 64, 48, 16

// limitedListener wraps a listener that any user of the machine can reach. It limits the connections.
type limitedListener struct {
	net.Listener
	diag      *nl.NetlinkSocket // nil if users cannot be identified
	mutex     sync.Mutex
	open      map[*limitedConn]bool
	strangers map[string]int // by user or address
}

// Limit returns a listener that limits connections of other users, so that enough remain for the fabric and its
// owner.
func Limit(inner net.Listener) net.Listener { return newLimitedListener(inner) }

func newLimitedListener(inner net.Listener) *limitedListener {
	l := &limitedListener{Listener: patientListener{inner}, open: map[*limitedConn]bool{}, strangers: map[string]int{}}
	l.diag, _ = nl.GetNetlinkSocketAt(netns.None(), netns.None(), unix.NETLINK_INET_DIAG)
	return l
}

// limitedConn represents an accepted connection.
type limitedConn struct {
	net.Conn
	stranger string // empty for root and the fabric's owner
	of       *limitedListener
	busy     bool      // a request is in progress
	idle     time.Time // start of the idle time
}

// State records whether a request is in progress on a connection of Limit. http.Server calls it as its ConnState.
func State(conn net.Conn, state http.ConnState) {
	c, ok := conn.(*limitedConn)
	if !ok {
		return
	}
	c.of.mutex.Lock()
	defer c.of.mutex.Unlock()
	if c.busy = state == http.StateActive; !c.busy {
		c.idle = time.Now()
	}
}

// Accept returns connections within the limits, and resets others.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if own := l.admit(conn, l.strangerOf(conn)); own != nil {
			return own, nil
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		conn.Close()
	}
}

// admit accepts a connection within the limits, or returns nil. At the limit of all clients or of one stranger, it
// makes room: it closes the connection that has been idle longest. A stranger gets room only from its own connections.
func (l *limitedListener) admit(conn net.Conn, stranger string) net.Conn {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	others := 0
	for _, n := range l.strangers {
		others += n
	}
	room := true
	switch {
	case stranger != "" && l.strangers[stranger] >= mostOfStranger:
		room = l.makeRoom(func(c *limitedConn) bool { return c.stranger == stranger })
	case stranger != "" && others >= mostStrangers:
		room = false
	case len(l.open) >= mostScrapers:
		room = l.makeRoom(func(c *limitedConn) bool { return stranger == "" || c.stranger == stranger })
	}
	if !room {
		return nil
	}
	if stranger != "" {
		l.strangers[stranger]++
	}
	c := &limitedConn{Conn: conn, stranger: stranger, of: l, idle: time.Now()}
	l.open[c] = true
	return c
}

// makeRoom closes the connection selected by of that has been idle longest. It returns false if none is idle.
func (l *limitedListener) makeRoom(of func(c *limitedConn) bool) bool {
	var longest *limitedConn
	for c := range l.open {
		if !c.busy && of(c) && (longest == nil || c.idle.Before(longest.idle)) {
			longest = c
		}
	}
	if longest == nil {
		return false
	}
	l.leave(longest)
	_ = longest.Conn.Close()
	return true
}

// leave removes a connection from the counts. The mutex must be locked.
func (l *limitedListener) leave(c *limitedConn) {
	if !l.open[c] {
		return
	}
	delete(l.open, c)
	if c.stranger != "" {
		if l.strangers[c.stranger]--; l.strangers[c.stranger] == 0 {
			delete(l.strangers, c.stranger)
		}
	}
}

// Close closes the connection and removes it from the counts.
func (c *limitedConn) Close() error {
	c.of.mutex.Lock()
	c.of.leave(c)
	c.of.mutex.Unlock()
	return c.Conn.Close()
}

// Close closes the listener.
func (l *limitedListener) Close() error {
	err := l.Listener.Close()
	if l.diag != nil {
		l.diag.Close()
	}
	return err
}

// strangerOf returns a stranger's user on this machine, or address; empty for root and the fabric's owner.
func (l *limitedListener) strangerOf(conn net.Conn) string {
	remote, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return conn.RemoteAddr().String()
	}
	local, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err == nil {
		if uid, known := l.userOf(remote, local); known {
			if uid == 0 || int(uid) == os.Geteuid() {
				return ""
			}
			return fmt.Sprintf("user %d", uid)
		}
	}
	return remote.Addr().String()
}

// userOf returns the user of a connection's client, if it is on this machine; see sock_diag(7).
func (l *limitedListener) userOf(from, to netip.AddrPort) (uid uint32, known bool) {
	if l.diag == nil {
		return 0, false
	}
	const byFamily = 20 // SOCK_DIAG_BY_FAMILY
	request := nl.NewNetlinkRequest(byFamily, 0)
	request.AddData(diagRequest{from, to})
	request.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_INET_DIAG: {Socket: l.diag}}
	messages, err := request.Execute(unix.NETLINK_INET_DIAG, byFamily)
	const userAt, inodeAt, length = 64, 68, 72 // of struct inet_diag_msg
	if err != nil || len(messages) != 1 || len(messages[0]) < length {
		return 0, false
	}
	m := messages[0]
	if binary.NativeEndian.Uint32(m[inodeAt:]) == 0 { // no process owns it any more, and the user is reported as root
		return 0, false
	}
	return binary.NativeEndian.Uint32(m[userAt:]), true
}

// diagRequest represents a struct inet_diag_req_v2 for the TCP socket between two addresses.
type diagRequest struct{ own, peer netip.AddrPort }

func (diagRequest) Len() int { return 56 }

func (r diagRequest) Serialize() []byte {
	b := make([]byte, r.Len())
	own, peer := r.own.Addr().Unmap(), r.peer.Addr().Unmap()
	b[0], b[1] = unix.AF_INET6, unix.IPPROTO_TCP
	if own.Is4() {
		b[0] = unix.AF_INET
	}
	binary.NativeEndian.PutUint32(b[4:], 0xffffffff) // in any state
	binary.BigEndian.PutUint16(b[8:], r.own.Port())
	binary.BigEndian.PutUint16(b[10:], r.peer.Port())
	copy(b[12:28], own.AsSlice())
	copy(b[28:44], peer.AsSlice())
	binary.NativeEndian.PutUint64(b[48:], ^uint64(0)) // no cookie
	return b
}

// strangerKey marks the context of requests by strangers.
type strangerKey struct{}

// markStranger marks the context of a connection's requests if a stranger sends them.
func markStranger(ctx context.Context, conn net.Conn) context.Context {
	if c, ok := conn.(*limitedConn); ok && c.stranger != "" {
		return context.WithValue(ctx, strangerKey{}, true)
	}
	return ctx
}

// byClient routes requests of strangers to their own handler.
func byClient(own, strangers http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(strangerKey{}) != nil {
			strangers.ServeHTTP(w, r)
			return
		}
		own.ServeHTTP(w, r)
	})
}

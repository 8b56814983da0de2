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

// How many connections the metrics, or a page, have at once: of all, of those who are neither root nor the fabric's own
// user, and of one user or one other machine of those. So nobody can take the descriptors that the fabric needs, nor
// the places of its owner.
const mostScrapers, mostStrangers, mostOfStranger = 64, 48, 16

// guests is a listener that any user of the machine can reach, with its connections counted.
type guests struct {
	net.Listener
	diag      *nl.NetlinkSocket // nil: users cannot be told apart
	mutex     sync.Mutex
	open      map[*guest]bool
	strangers map[string]int // by user or address
}

// Guests is a listener of a fabric's, on which other users of the machine can take no more connections than leave it
// and its owner enough.
func Guests(l net.Listener) net.Listener { return newGuests(l) }

func newGuests(l net.Listener) *guests {
	g := &guests{Listener: patientListener{l}, open: map[*guest]bool{}, strangers: map[string]int{}}
	g.diag, _ = nl.GetNetlinkSocketAt(netns.None(), netns.None(), unix.NETLINK_INET_DIAG)
	return g
}

// guest is a connection that was admitted.
type guest struct {
	net.Conn
	stranger string // empty: root's or the fabric's own user's
	guests   *guests
	busy     bool      // a request is under way
	idle     time.Time // since when none is
}

// State takes note of whether a request is under way on a connection of Guests; http.Server calls it as its ConnState.
func State(conn net.Conn, state http.ConnState) {
	c, ok := conn.(*guest)
	if !ok {
		return
	}
	c.guests.mutex.Lock()
	defer c.guests.mutex.Unlock()
	if c.busy = state == http.StateActive; !c.busy {
		c.idle = time.Now()
	}
}

// Accept gives out the connections that are admitted, and resets the others.
func (g *guests) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if own := g.admit(conn, g.whose(conn)); own != nil {
			return own, nil
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		conn.Close()
	}
}

// admit takes a connection, unless there are too many with a request under way. The connection that has been idle for
// longest makes room, a stranger's own only for a stranger.
func (g *guests) admit(conn net.Conn, stranger string) net.Conn {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	others := 0
	for _, n := range g.strangers {
		others += n
	}
	room := true
	switch {
	case stranger != "" && g.strangers[stranger] >= mostOfStranger:
		room = g.makeRoom(func(c *guest) bool { return c.stranger == stranger })
	case stranger != "" && others >= mostStrangers:
		room = false
	case len(g.open) >= mostScrapers:
		room = g.makeRoom(func(c *guest) bool { return stranger == "" || c.stranger == stranger })
	}
	if !room {
		return nil
	}
	if stranger != "" {
		g.strangers[stranger]++
	}
	c := &guest{Conn: conn, stranger: stranger, guests: g, idle: time.Now()}
	g.open[c] = true
	return c
}

// makeRoom closes the connection that has been idle for longest, of some. It returns false if none of these is idle.
func (g *guests) makeRoom(of func(c *guest) bool) bool {
	var longest *guest
	for c := range g.open {
		if !c.busy && of(c) && (longest == nil || c.idle.Before(longest.idle)) {
			longest = c
		}
	}
	if longest == nil {
		return false
	}
	g.leave(longest)
	_ = longest.Conn.Close()
	return true
}

// leave gives the place of a connection away.
func (g *guests) leave(c *guest) {
	if !g.open[c] {
		return
	}
	delete(g.open, c)
	if c.stranger != "" {
		if g.strangers[c.stranger]--; g.strangers[c.stranger] == 0 {
			delete(g.strangers, c.stranger)
		}
	}
}

// Close closes the connection and gives its place away.
func (c *guest) Close() error {
	c.guests.mutex.Lock()
	c.guests.leave(c)
	c.guests.mutex.Unlock()
	return c.Conn.Close()
}

// Close closes the listener.
func (g *guests) Close() error {
	err := g.Listener.Close()
	if g.diag != nil {
		g.diag.Close()
	}
	return err
}

// whose says who is at the other end: empty for root and the fabric's own user, else a user of this machine, or an
// address.
func (g *guests) whose(conn net.Conn) string {
	remote, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return conn.RemoteAddr().String()
	}
	local, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err == nil {
		if uid, known := g.userOf(remote, local); known {
			if uid == 0 || int(uid) == os.Geteuid() {
				return ""
			}
			return fmt.Sprintf("user %d", uid)
		}
	}
	return remote.Addr().String()
}

// userOf is the user whose socket the connection from one address to another begins at, if that is on this machine;
// sock_diag(7).
func (g *guests) userOf(from, to netip.AddrPort) (uid uint32, known bool) {
	if g.diag == nil {
		return 0, false
	}
	const byFamily = 20 // SOCK_DIAG_BY_FAMILY
	request := nl.NewNetlinkRequest(byFamily, 0)
	request.AddData(diagRequest{from, to})
	request.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_INET_DIAG: {Socket: g.diag}}
	messages, err := request.Execute(unix.NETLINK_INET_DIAG, byFamily)
	const userAt, inodeAt, length = 64, 68, 72 // of struct inet_diag_msg
	if err != nil || len(messages) != 1 || len(messages[0]) < length {
		return 0, false
	}
	m := messages[0]
	if binary.NativeEndian.Uint32(m[inodeAt:]) == 0 { // no process has it any more, and its user reads as root
		return 0, false
	}
	return binary.NativeEndian.Uint32(m[userAt:]), true
}

// diagRequest is struct inet_diag_req_v2 for the TCP socket between two addresses.
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

// strangerKey marks the context of a stranger's requests.
type strangerKey struct{}

// inContext says in the context of a connection's requests whose they are.
func inContext(ctx context.Context, conn net.Conn) context.Context {
	if c, ok := conn.(*guest); ok && c.stranger != "" {
		return context.WithValue(ctx, strangerKey{}, true)
	}
	return ctx
}

// apart has strangers' requests dealt with by a handler of their own.
func apart(own, strangers http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(strangerKey{}) != nil {
			strangers.ServeHTTP(w, r)
			return
		}
		own.ServeHTTP(w, r)
	})
}

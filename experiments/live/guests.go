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

// Limits on connections to the metrics or a page: in all, by users other than root and the fabric's owner, and by
// any one of these users or other machines. They protect the fabric's descriptors and its owner's connections.
const mostScrapers, mostStrangers, mostOfStranger = 64, 48, 16

// guests is a listener that any user of the machine can reach. It counts connections.
type guests struct {
	net.Listener
	diag      *nl.NetlinkSocket // nil if users cannot be identified
	mutex     sync.Mutex
	open      map[*guest]bool
	strangers map[string]int // by user or address
}

// Guests returns a listener that limits connections of other users, so that enough remain for the fabric and its
// owner.
func Guests(l net.Listener) net.Listener { return newGuests(l) }

func newGuests(l net.Listener) *guests {
	g := &guests{Listener: patientListener{l}, open: map[*guest]bool{}, strangers: map[string]int{}}
	g.diag, _ = nl.GetNetlinkSocketAt(netns.None(), netns.None(), unix.NETLINK_INET_DIAG)
	return g
}

// guest is an accepted connection.
type guest struct {
	net.Conn
	stranger string // empty for root and the fabric's owner
	guests   *guests
	busy     bool      // a request is under way
	idle     time.Time // since when none is
}

// State records whether a request is in progress on a connection of Guests. http.Server calls it as its ConnState.
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

// Accept returns connections within the limits, and resets others.
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

// admit accepts a connection, unless too many have a request in progress. The connection that has been idle longest
// makes room; a connection of the owner only for another of the owner.
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

// makeRoom closes the connection selected by of that has been idle longest. It returns false if none is idle.
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

// leave releases a connection's place.
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

// Close closes the connection and releases its place.
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

// whose identifies the client: empty for root and the fabric's owner, else a user of this machine, or an address.
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

// userOf returns the owner of the socket that a connection starts from, if it is on this machine; see sock_diag(7).
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
	if binary.NativeEndian.Uint32(m[inodeAt:]) == 0 { // no process owns it any more, and the user is reported as root
		return 0, false
	}
	return binary.NativeEndian.Uint32(m[userAt:]), true
}

// diagRequest returns a struct inet_diag_req_v2 for the TCP socket between two addresses.
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

// strangerKey marks the context of requests by other users.
type strangerKey struct{}

// inContext adds a connection's user to the context of its requests.
func inContext(ctx context.Context, conn net.Conn) context.Context {
	if c, ok := conn.(*guest); ok && c.stranger != "" {
		return context.WithValue(ctx, strangerKey{}, true)
	}
	return ctx
}

// apart routes requests of other users to a handler of their own.
func apart(own, strangers http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(strangerKey{}) != nil {
			strangers.ServeHTTP(w, r)
			return
		}
		own.ServeHTTP(w, r)
	})
}

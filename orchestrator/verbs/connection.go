//go:build linux

package verbs

import (
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/hostagent/qp"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

// connection is one program's, by one open device or its connection manager.
type connection struct {
	server *Server
	host   *host
	conn   *net.UnixConn

	// On the engine's goroutine alone.
	place   uint8 // of the device's interface
	memory  *addressSpace
	page    *page
	events  *channel
	objects map[uint32]any // *domain, *region, *channel, *queue, *receives, *pair
	regions map[uint32]*region
	handles uint32
	keys    uint32

	has holdings // beside the connection itself

	// On the connection's goroutine.
	opened  bool // a device
	process int  // of the program, by its number here; 0: this process does not see it

	// Of the connection manager, with its mutex.
	ids      map[uint32]*cmID
	channels map[uint32]*channel
	idCount  uint32
}

func newConnection(s *Server, h *host, conn *net.UnixConn) *connection {
	c := &connection{
		server: s, host: h, conn: conn, objects: map[uint32]any{}, regions: map[uint32]*region{},
		ids: map[uint32]*cmID{}, channels: map[uint32]*channel{},
	}
	if raw, err := conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			if peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
				c.process = int(peer.Pid)
			}
		})
	}
	return c
}

// sentFiles is how many files a request may come with.
const sentFiles = 2

// replyTimeout is how long a program has to take a reply. It waits for each, and so does this connection alone.
const replyTimeout = 10 * time.Second

// serve answers requests until the program closes the connection, or the server does.
func (c *connection) serve() {
	defer c.end()
	message := make([]byte, messageWords*8)
	control := make([]byte, unix.CmsgSpace(4*sentFiles))
	var out []byte
	for {
		n, controls, flags, _, err := c.conn.ReadMsgUnix(message, control)
		files := filesIn(control[:controls])
		if err != nil || n == 0 {
			closeAll(files)
			return
		}
		var r reply
		if n%8 != 0 || flags&unix.MSG_TRUNC != 0 {
			r = failed(unix.EMSGSIZE)
		} else {
			r = c.answer(&request{words: message[:n]}, &files)
		}
		closeAll(files)
		out = r.encode(out[:0])
		var rights []byte
		if len(r.files) > 0 {
			rights = unix.UnixRights(r.files...)
		}
		_ = c.conn.SetWriteDeadline(time.Now().Add(replyTimeout))
		_, _, err = c.conn.WriteMsgUnix(out, rights, nil)
		closeAll(r.files)
		if err != nil {
			return
		}
	}
}

// filesIn returns the files that came with a message.
func filesIn(control []byte) (files []int) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil
	}
	for i := range messages {
		if fds, err := unix.ParseUnixRights(&messages[i]); err == nil {
			files = append(files, fds...)
		}
	}
	return files
}

func closeAll(files []int) {
	for _, f := range files {
		_ = unix.Close(f)
	}
}

// answer does a request. It takes the files that it keeps from the list.
func (c *connection) answer(r *request, files *[]int) (answered reply) {
	op := r.next()
	switch {
	case r.bad || op == 0 || op > opLast:
		return failed(unix.EINVAL)
	case op == opDevices:
		if r.next() != protocolVersion {
			return failed(unix.EPROTO)
		}
		return answer(c.server.devices(c.host.id)...)
	case !c.opened && op != opOpen && op != opChannel && op != opDestroy && op < opCMID:
		return failed(unix.EBADF)
	}
	switch { // these may wait for files of the program's, which the engine may not
	case op == opOpen && len(*files) == 1:
		if isMemory((*files)[0], c.process) != nil {
			return failed(unix.EINVAL)
		}
	case op == opRegMR:
		if status := c.probe(*r); status != 0 {
			return failed(status)
		}
	}
	m, opened := &c.server.manager, c.opened
	err := c.server.Do(func(e *engine.Engine) error {
		switch {
		case op >= opCMID:
			m.hold(e, func() { answered = m.do(c, op, r) })
		case !opened && op != opOpen:
			m.hold(e, func() { answered = m.objects(c, op, r) })
		default:
			answered = c.control(e, op, r, files)
		}
		return nil
	})
	if err != nil { // the fabric has ended
		return failed(unix.ENODEV)
	}
	c.opened = c.opened || op == opOpen && answered.status == 0
	return answered
}

// end frees all that the program had.
func (c *connection) end() {
	c.conn.Close()
	m := &c.server.manager
	leave := func() { m.leave(c) }
	if c.server.Do(func(e *engine.Engine) error { m.hold(e, leave); c.freePairs(); c.free(); return nil }) != nil {
		m.hold(nil, leave)
		c.free() // the engine has ended: it calls nobody, and is not to be called
	}
}

// errAccess is a key, an address or a right that a program has not.
var errAccess = qp.ErrAccess

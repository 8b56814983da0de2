//go:build linux

package verbs

import (
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/hostagent/qp"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

// connection represents a program's connection to the server: for one open device, or for its connection manager.
type connection struct {
	server *Server
	host   *host
	conn   *net.UnixConn

	// Only the engine's goroutine uses these fields.
	position uint8 // position of the device's interface on the host
	memory   *addressSpace
	page     *page
	events   *channel
	objects  map[uint32]any // *domain, *region, *channel, *queue, *receives, *pair
	regions  map[uint32]*region
	handles  uint32
	keys     uint32

	has holdings // resources, beside the connection itself

	// Only the connection's goroutine uses these fields.
	opened  bool // a device is open
	process int  // PID of the program in this PID namespace; 0: not visible
	clock   int  // 1 plus its slot of the clock; 0: none

	// The connection manager uses these fields, with its mutex.
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

// sentFiles limits the files that come with a request.
const sentFiles = 2

// replyTimeout limits how long a program may take to read a reply. The program waits for each reply, so a delay affects
// only its own connection.
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

// filesIn returns the files sent with a message.
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

// answer executes a request. It removes the files that it keeps from the list.
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
	case op == opClock && (len(*files) != 1 || c.clock != 0):
		return failed(unix.EINVAL)
	case op == opClock:
		err := c.server.Do(func(*engine.Engine) error {
			slot, file, err := c.server.Clock.Register(c.process, int(c.host.id), (*files)[0])
			if err != nil {
				return err
			}
			*files, c.clock = nil, slot+1
			answered = reply{words: []uint64{uint64(slot)}, files: []int{file}}
			return nil
		})
		if err != nil {
			return failed(statusOf(err))
		}
		return answered
	case !c.opened && op != opOpen && op != opChannel && op != opDestroy && op < opCMID:
		return failed(unix.EBADF)
	}
	switch { // these may wait for files of the program's, which the engine may not
	case op == opOpen && len(*files) == 1:
		if isMemory((*files)[0], c.process) != nil {
			return failed(unix.EINVAL)
		}
	case op == opRegMR || op == opReregMR:
		if status := c.probe(*r); status != 0 {
			return failed(status)
		}
	}
	m, opened := &c.server.manager, c.opened
	err := c.server.Do(func(e *engine.Engine) error {
		c.server.Clock.Asked(c.process)
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

// end frees all objects of the program.
func (c *connection) end() {
	c.conn.Close()
	m := &c.server.manager
	leave := func() { m.leave(c) }
	if c.clock != 0 {
		_ = c.server.Do(func(*engine.Engine) error { c.server.Clock.Release(c.clock - 1); return nil })
	}
	if c.server.Do(func(e *engine.Engine) error { m.hold(e, leave); c.freePairs(); c.free(); return nil }) != nil {
		m.hold(nil, leave)
		c.free() // the engine has ended: it makes no calls, and must not be called
	}
}

// errAccess reports a key or an address that does not exist, or a missing right.
var errAccess = qp.ErrAccess

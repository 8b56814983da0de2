//go:build linux

package verbs

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/hostagent/qp"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
)

// Events of objects other than queue pairs, as in enum ibv_event_type.
const (
	eventQueueError = 0  // a completion queue overran
	eventSRQLimit   = 15 // a shared receive queue is below its limit
)

// Bits of enum ibv_qp_attr_mask.
const (
	attributeOfState  = 1 << 0
	attributeOfAccess = 1 << 3
	attributeOfQKey   = 1 << 6
)

// endpoint represents the engine's side of a queue pair.
type endpoint interface {
	Number() uint32
	State() qp.State
	Init() error
	PostReceive(*qp.ReceiveRequest) error
	Fail()
	Reset()
	Close()
}

// sharedReceiveQueue represents a receive queue that several queue pairs share.
type sharedReceiveQueue struct {
	queue  *qp.ReceiveQueue
	pd     *domain
	depth  int
	limit  int // below it the program is notified, once; 0: never
	cookie uint64
	users  int
}

// pair represents a queue pair of a program. hostagent calls its methods on behalf of the program.
type pair struct {
	endpoint   // *engine.Pair or *engine.Datagrams
	engine     *engine.Engine
	connection *connection
	pd         *domain
	send, recv *queue
	shared     *sharedReceiveQueue // nil: it has its own receive queue
	access     uint64              // rights of peers; a region must grant them, too
	work       int                 // capacity of its queues in work requests
	cookie     uint64
}

// pairControl executes a request about queue pairs, on the engine's goroutine.
func (c *connection) pairControl(e *engine.Engine, op uint64, r *request) reply {
	switch op {
	case opCreateSRQ:
		return c.makeSharedReceiveQueue(r)
	case opCreateQP:
		return c.makePair(e, r)
	case opModifySRQ:
		s, ok := object[sharedReceiveQueue](c, r.small())
		limit := r.small()
		if r.bad || !ok || limit > maxWork {
			return failed(unix.EINVAL)
		}
		s.limit = int(limit)
		c.notifyBelowLimit(s)
		return reply{}
	case opPostRecv:
		return c.postReceives(r)
	}
	p, ok := object[pair](c, r.small())
	if r.bad || !ok {
		return failed(unix.EINVAL)
	}
	switch op {
	case opModifyQP:
		return failed(c.modify(p, r))
	case opQueryQP:
		return answer(uint64(p.State()))
	default: // opPostSend
		return c.postSends(p, r)
	}
}

func (c *connection) makeSharedReceiveQueue(r *request) reply {
	pd, ok := object[domain](c, r.small())
	depth, cookie := r.small(), r.next()
	if r.bad || !ok || depth == 0 || depth > maxWork {
		return failed(unix.EINVAL)
	}
	if !c.take(holdings{work: int(depth)}) {
		return failed(unix.ENOMEM)
	}
	answered := c.made(&sharedReceiveQueue{
		queue: qp.NewReceiveQueue(int(depth)), pd: pd, depth: int(depth), cookie: cookie,
	})
	if answered.status != 0 {
		c.give(holdings{work: int(depth)})
		return answered
	}
	pd.users++
	return answered
}

func (c *connection) makePair(e *engine.Engine, r *request) reply {
	pd, ok1 := object[domain](c, r.small())
	send, ok2 := object[queue](c, r.small())
	recv, ok3 := object[queue](c, r.small())
	srq := r.small()
	shared, ok4 := object[sharedReceiveQueue](c, srq)
	sends, receiving, all, cookie, service := r.small(), r.small(), r.next(), r.next(), r.next()
	if r.bad || service > serviceDatagram || !ok1 || !ok2 || !ok3 || !ok4 && srq != 0 || sends == 0 || sends > maxWork ||
		receiving > maxWork {
		return failed(unix.EINVAL)
	}
	p := &pair{engine: e, connection: c, pd: pd, send: send, recv: recv, shared: shared, cookie: cookie, work: int(sends)}
	config := engine.PairConfig{
		Interface: c.server.Plan.Ports[c.server.Plan.Nodes[c.host.id].Ports[c.position]].Interface, Program: p,
		SendDepth: int(sends), SignalAll: all != 0,
	}
	if shared != nil {
		config.Receives = shared.queue
	} else {
		config.ReceiveDepth = int(receiving)
		p.work += int(receiving)
	}
	if !c.take(holdings{work: p.work}) {
		return failed(unix.ENOMEM)
	}
	var err error
	if service == serviceDatagram {
		p.endpoint, err = e.OpenDatagrams(config)
	} else {
		p.endpoint, err = e.OpenPair(config)
	}
	if err != nil {
		c.give(holdings{work: p.work})
		return failed(unix.EOPNOTSUPP)
	}
	answered := c.made(p, uint64(p.Number()))
	if answered.status != 0 {
		p.Close()
		c.give(holdings{work: p.work})
		return answered
	}
	pd.users++
	send.users++
	recv.users++
	if shared != nil {
		shared.users++
	}
	return answered
}

// destroyPair destroys a queue pair or a shared receive queue.
func (c *connection) destroyPair(o any) unix.Errno {
	switch o := o.(type) {
	case *sharedReceiveQueue:
		if o.users > 0 {
			return unix.EBUSY
		}
		o.pd.users--
		c.give(holdings{work: o.depth})
	case *pair:
		o.Close()
		o.pd.users--
		o.send.users--
		o.recv.users--
		if o.shared != nil {
			o.shared.users--
		}
		c.give(holdings{work: o.work})
	default:
		return unix.EINVAL
	}
	return 0
}

// freePairs ends all queue pairs.
func (c *connection) freePairs() {
	for _, o := range c.objects {
		if p, ok := o.(*pair); ok {
			p.Close()
		}
	}
}

// modify sets attributes of a queue pair, and its state.
func (c *connection) modify(p *pair, r *request) unix.Errno {
	state, mask, access := r.small(), r.small(), r.next()
	to := r.address()
	remote := qp.Remote{QP: r.small(), PSN: r.small() & 0xffffff}
	mtu := r.small()
	remote.Reads, remote.RNRTimer = int(r.small()), uint8(r.small()&31)
	own := qp.Requester{PSN: r.small() & 0xffffff, Reads: int(r.small()), Timeout: uint8(r.small() & 31)}
	own.Retry, own.RNRRetry = uint8(r.small()&7), uint8(r.small()&7)
	qkey, class := r.small(), r.next()
	if r.bad || access&^accessKnown != 0 {
		return unix.EINVAL
	}
	if mask&attributeOfAccess != 0 {
		p.access = access
	}
	d, datagrams := p.endpoint.(*engine.Datagrams)
	if datagrams && mask&attributeOfQKey != 0 {
		d.SetKey(qkey)
	}
	if mask&attributeOfState == 0 {
		return 0
	}
	var err error
	switch now := p.State(); qp.State(state) {
	case qp.StateReset:
		p.Reset()
	case qp.StateInit:
		if now != qp.StateInit {
			err = p.Init()
		}
	case qp.StateRTR:
		if datagrams {
			err = d.Ready()
			break
		}
		remote.MTU = min(int(mtu), c.server.Plan.MTU&^3)
		err = c.connect(p.endpoint.(*engine.Pair), to, remote, mtu, class)
	case qp.StateRTS:
		switch {
		case now == qp.StateRTS:
		case datagrams:
			err = d.Start(own.PSN)
		default:
			err = p.endpoint.(*engine.Pair).Send(own)
		}
	case qp.StateError:
		p.Fail()
	default:
		err = unix.EOPNOTSUPP
	}
	return statusOf(err)
}

// connect makes a queue pair receive from another host.
func (c *connection) connect(p *engine.Pair, to netip.Addr, remote qp.Remote, mtu uint32, class uint64) error {
	destination, known := c.server.ends[to]
	switch {
	case !known:
		return unix.ENETUNREACH
	case mtu < 256 || mtu > 4096 || remote.Reads > qp.MaxReads:
		return unix.EINVAL
	}
	remote.IP = versionOf(to)
	priority, err := c.server.priority(class)
	if err != nil {
		return err
	}
	flow, err := c.server.Flow(c.host.id, destination.host, topologies.Pair{From: c.position, To: destination.position},
		uint64(p.Number()), priority)
	if err != nil {
		return err
	}
	return p.Ready(remote, flow)
}

// priority returns the priority that a class selects: Data for class 0, priority n-1 for class n.
func (s *Server) priority(class uint64) (uint8, error) {
	switch {
	case class == 0:
		return s.Data, nil
	case class > 8:
		return 0, unix.EINVAL
	}
	priority := uint8(class - 1)
	if priority != s.Data && s.Lossless>>priority&1 == 0 {
		return 0, unix.EPROTONOSUPPORT
	}
	return priority, nil
}

// statusOf returns the error number for an error.
func statusOf(err error) unix.Errno {
	var n unix.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &n):
		return n
	case errors.Is(err, qp.ErrFull):
		return unix.ENOMEM
	case errors.Is(err, qp.ErrLength):
		return unix.EMSGSIZE
	}
	return unix.EINVAL
}

// sges reads n elements of a scatter or gather list.
func (r *request) sges(n uint64, into []qp.SGE) []qp.SGE {
	if n > maxSGE {
		r.bad = true
		return nil
	}
	for range n {
		a, l := r.next(), r.next()
		into = append(into, qp.SGE{Addr: a, Length: uint32(l), LKey: uint32(l >> 32)})
	}
	return into
}

// postSends posts work requests until one fails.
func (c *connection) postSends(p *pair, r *request) reply {
	var space [maxSGE]qp.SGE
	count := r.next()
	for done := range count {
		id, what, remote, key, compare, swap, size := r.next(), r.next(), r.next(), r.next(), r.next(), r.next(), r.next()
		flags, op := what>>32, uint32(what)
		w := qp.WorkRequest{
			ID: id, Op: qp.WorkOp(op), Remote: remote, RKey: uint32(key), Imm: uint32(key >> 32), Compare: compare, Swap: swap,
			Signaled: flags&flagSignaled != 0, Solicited: flags&flagSolicited != 0, Fence: flags&flagFence != 0,
		}
		switch {
		case flags&flagInline == 0:
			w.SGEs = r.sges(size, space[:0])
		case size>>32 > maxInline:
			r.bad = true
		default:
			if w.Inline = r.bytes(int(size >> 32)); w.Inline == nil {
				w.Inline = []byte{}
			}
		}
		err := error(unix.EINVAL)
		if !r.bad && op <= uint32(qp.WorkFetchAdd) {
			err = c.postSend(p, &w)
		}
		if err != nil {
			return reply{status: statusOf(err), words: []uint64{done}}
		}
	}
	return answer(count)
}

// postSend posts a work request. In a request for a datagram, Remote holds the destination's address, Compare and RKey
// the number and Q_Key of the queue pair there, and Swap the class.
func (c *connection) postSend(p *pair, w *qp.WorkRequest) error {
	d, ok := p.endpoint.(*engine.Datagrams)
	if !ok {
		return p.endpoint.(*engine.Pair).PostSend(w)
	}
	address := addressOf(w.Remote)
	to, known := c.server.ends[address]
	switch {
	case w.Remote>>(addressIPv6+1) != 0 || w.Compare > 1<<24-1:
		return unix.EINVAL
	case !known:
		return unix.ENETUNREACH
	}
	priority, err := c.server.priority(w.Swap)
	if err != nil {
		return err
	}
	return d.PostSend(w, c.server.Plan.Nodes[to.host].Ports[to.position], versionOf(address), uint32(w.Compare), w.RKey,
		priority)
}

// postReceives posts receive requests to a queue pair's own queue, or to a shared one, until one fails.
func (c *connection) postReceives(r *request) reply {
	var space [maxSGE]qp.SGE
	handle, count := r.small(), r.next()
	var post func(w *qp.ReceiveRequest) error
	if p, ok := object[pair](c, handle); ok && p.shared == nil {
		post = p.PostReceive
	} else if s, ok := object[sharedReceiveQueue](c, handle); ok {
		post = s.queue.Post
	}
	if r.bad || post == nil {
		return reply{status: unix.EINVAL, words: []uint64{0}}
	}
	for done := range count {
		w := qp.ReceiveRequest{ID: r.next()}
		w.SGEs = r.sges(r.next(), space[:0])
		err := error(unix.EINVAL)
		if !r.bad {
			err = post(&w)
		}
		if err != nil {
			return reply{status: statusOf(err), words: []uint64{done}}
		}
	}
	return answer(count)
}

// walk calls part for each piece of memory of a message in a scatter-gather list, starting at offset.
func (p *pair) walk(sges []qp.SGE, offset uint32, b []byte, access uint64,
	part func(address uint64, b []byte) error,
) error {
	for i := range sges {
		s := &sges[i]
		if offset >= s.Length {
			offset -= s.Length
			continue
		}
		n := min(int(s.Length-offset), len(b))
		if n == 0 {
			return nil
		}
		at, err := p.connection.find(p.pd, s.LKey, s.Addr+uint64(offset), uint64(n), access)
		if err != nil {
			return err
		}
		if err := part(at, b[:n]); err != nil {
			return err
		}
		b, offset = b[n:], 0
	}
	if len(b) > 0 {
		return errAccess
	}
	return nil
}

// Gather reads a part of a message.
func (p *pair) Gather(sges []qp.SGE, offset uint32, into []byte) error {
	return p.walk(sges, offset, into, 0, p.connection.memory.read)
}

// Scatter writes a part of a message.
func (p *pair) Scatter(sges []qp.SGE, offset uint32, from []byte) error {
	return p.walk(sges, offset, from, accessLocalWrite, p.connection.memory.write)
}

// rights lists the rights that each kind of access needs.
var rights = [...]uint64{
	qp.AccessRead: accessRemoteRead, qp.AccessWrite: accessRemoteWrite,
	qp.AccessAtomic: accessRemoteAtomic,
}

// Allows returns an error if the other end may not access the memory.
func (p *pair) Allows(_, key uint32, address, length uint64, a qp.Access) error {
	need := rights[a]
	if p.access&need == 0 {
		return errAccess
	}
	_, err := p.connection.find(p.pd, key, address, length, need)
	return err
}

// RemoteRead reads memory for the other end.
func (p *pair) RemoteRead(_, key uint32, address uint64, into []byte) error {
	at, err := p.connection.find(p.pd, key, address, uint64(len(into)), accessRemoteRead)
	if err != nil {
		return err
	}
	return p.connection.memory.read(at, into)
}

// RemoteWrite writes memory for the other end.
func (p *pair) RemoteWrite(_, key uint32, address uint64, from []byte) error {
	at, err := p.connection.find(p.pd, key, address, uint64(len(from)), accessRemoteWrite)
	if err != nil {
		return err
	}
	defer p.wrote()
	return p.connection.memory.write(at, from)
}

// wrote wakes threads in lock step that poll for data.
func (p *pair) wrote() { p.connection.server.Clock.Wrote(p.connection.process) }

// RemoteAtomic executes an atomic operation for the other end. It is atomic among all operations of the NIC, but not
// with those of processors (IBV_ATOMIC_HCA).
func (p *pair) RemoteAtomic(_, key uint32, address uint64, op qp.WorkOp, compare,
	swap uint64,
) (before uint64, err error) {
	at, err := p.connection.find(p.pd, key, address, 8, accessRemoteAtomic)
	if err != nil {
		return 0, err
	}
	var b [8]byte
	if err := p.connection.memory.read(at, b[:]); err != nil {
		return 0, err
	}
	before = binary.NativeEndian.Uint64(b[:])
	after := before + swap
	if op == qp.WorkCompareSwap {
		if before != compare {
			return before, nil
		}
		after = swap
	}
	binary.NativeEndian.PutUint64(b[:], after)
	defer p.wrote()
	return before, p.connection.memory.write(at, b[:])
}

// Complete sends the program the completion of a work request.
func (p *pair) Complete(done qp.Completion) {
	c, q := p.connection, p.send
	if done.Receive {
		q = p.recv
	}
	e := completion{
		id: done.ID, status: uint32(done.Status), opcode: uint32(done.Op), length: done.Length, immediate: done.Imm,
		qp: done.QP, src: done.Remote, at: uint64(p.engine.Now().Nanoseconds()),
	}
	if done.WithImm {
		e.flags = doneImm
	}
	if _, ok := p.endpoint.(*engine.Datagrams); ok && done.Receive {
		e.flags |= doneGRH
		if done.IP == wire.V6 {
			e.flags |= doneIPv6
		}
	}
	if !q.push(&e) {
		if !q.overrun {
			q.overrun = true
			c.events.notify(eventQueueError, q.cookie)
			c.server.Clock.Touch()
		}
		return
	}
	c.page.completed()
	p.wrote()
	c.server.Clock.Touch()
	q.notify(done.Solicited || done.Status != qp.StatusOK)
	if done.Receive && p.shared != nil {
		c.notifyBelowLimit(p.shared)
	}
}

// notifyBelowLimit notifies the program, once, when a shared receive queue is below its limit.
func (c *connection) notifyBelowLimit(s *sharedReceiveQueue) {
	if s.limit > 0 && s.queue.Len() < s.limit {
		s.limit = 0
		c.events.notify(eventSRQLimit, s.cookie)
		c.server.Clock.Touch()
	}
}

// Event sends the program an event of a queue pair.
func (p *pair) Event(_ uint32, kind qp.EventKind) {
	p.connection.events.notify(uint64(kind), p.cookie)
	p.connection.server.Clock.Touch()
}

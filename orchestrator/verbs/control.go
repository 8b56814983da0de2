//go:build linux

package verbs

import (
	"crypto/rand"
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/engine"
)

// control executes a request about objects, on the engine's goroutine.
func (c *connection) control(e *engine.Engine, op uint64, r *request, files *[]int) reply {
	if op == opOpen {
		return c.openDevice(r, files)
	}
	switch op {
	case opDestroy:
		return failed(c.destroy(r.small()))
	case opAllocPD:
		return c.made(&domain{})
	case opRegMR, opReregMR:
		return c.register(op, r)
	case opTime:
		return answer(uint64(e.Now().Nanoseconds()))
	case opChannel:
		return c.makeChannel()
	case opCreateCQ:
		return c.makeQueue(r)
	case opNotify:
		q, ok := object[queue](c, r.small())
		solicited := r.next() != 0
		if r.bad || !ok {
			return failed(unix.EINVAL)
		}
		how := armedAlways
		if solicited {
			how = armedSolicited
		}
		q.arm(how)
		return reply{}
	}
	return c.pairControl(e, op, r)
}

// object returns the object of a handle, if it has the type T.
func object[T any](c *connection, handle uint32) (*T, bool) {
	o, ok := c.objects[handle].(*T)
	return o, ok
}

// take reserves resources of the host for the connection.
func (c *connection) take(h holdings) bool {
	if !c.host.quota.take(h) {
		return false
	}
	c.has = c.has.minus(holdings{}.minus(h))
	return true
}

func (c *connection) give(h holdings) {
	c.has = c.has.minus(h)
	c.host.quota.give(h)
}

// made assigns a handle to an object.
func (c *connection) made(o any, words ...uint64) reply {
	if !c.take(holdings{objects: 1}) {
		return failed(unix.ENOMEM)
	}
	for c.handles++; c.handles == 0 || c.objects[c.handles] != nil; c.handles++ { // 0 is none
	}
	c.objects[c.handles] = o
	return answer(append([]uint64{uint64(c.handles)}, words...)...)
}

// openDevice opens one of the host's devices for the connection. The program sends its memory as a file.
func (c *connection) openDevice(r *request, files *[]int) reply {
	version, device := r.next(), r.next()
	ports := len(c.server.Plan.Nodes[c.host.id].Ports)
	switch {
	case r.bad || device >= uint64(min(ports, maxDevices)) || len(*files) != 1:
		return failed(unix.EINVAL)
	case version != protocolVersion:
		return failed(unix.EPROTO)
	case c.memory != nil:
		return failed(unix.EBUSY)
	}
	if !c.take(holdings{files: 2, mappings: 1}) {
		return failed(unix.EMFILE)
	}
	s, err := newShared("pausenet-page", pageSize)
	if err != nil {
		c.give(holdings{files: 2, mappings: 1})
		return failed(unix.ENOMEM)
	}
	events, theirs, err := newChannel()
	if err != nil {
		s.close()
		c.give(holdings{files: 2, mappings: 1})
		return failed(unix.EMFILE)
	}
	c.memory, c.page, c.events, c.position = &addressSpace{(*files)[0]}, &page{shared: s}, events, uint8(device)
	*files = nil
	var seed [4]byte
	_, _ = rand.Read(seed[:])
	c.keys = binary.NativeEndian.Uint32(seed[:])
	return reply{files: []int{s.give(), theirs}}
}

// register makes a memory region of memory that probe has checked, or changes one that keeps its key.
func (c *connection) register(op uint64, r *request) reply {
	pd, ok := object[domain](c, r.small())
	m := &region{pd: pd, address: r.next(), length: r.next(), base: r.next(), access: r.next()}
	// IBTA section 10.6.3.1: without the local right to write there is no remote one
	const needLocal = accessRemoteWrite | accessRemoteAtomic
	switch {
	case r.bad || !ok || m.access&^accessKnown != 0 || m.address+m.length < m.address || m.base+m.length < m.base:
		return failed(unix.EINVAL)
	case m.access&needLocal != 0 && m.access&accessLocalWrite == 0:
		return failed(unix.EINVAL)
	}
	if op == opReregMR {
		old, ok := object[region](c, r.small())
		if r.bad || !ok {
			return failed(unix.EINVAL)
		}
		old.pd.users--
		pd.users++
		m.key = old.key
		*old = *m
		return reply{}
	}
	for c.keys++; c.keys == 0 || c.regions[c.keys] != nil; c.keys++ {
	}
	m.key = c.keys
	answered := c.made(m, uint64(m.key))
	if answered.status == 0 {
		c.regions[m.key] = m
		pd.users++
	}
	return answered
}

func (c *connection) makeChannel() reply {
	if !c.take(holdings{files: 1}) {
		return failed(unix.EMFILE)
	}
	own, theirs, err := newChannel()
	if err != nil {
		c.give(holdings{files: 1})
		return failed(unix.EMFILE)
	}
	answered := c.made(own)
	if answered.status != 0 {
		own.close()
		_ = unix.Close(theirs)
		c.give(holdings{files: 1})
		return answered
	}
	answered.files = []int{theirs}
	return answered
}

func (c *connection) makeQueue(r *request) reply {
	entries, handle, cookie := r.next(), r.small(), r.next()
	ch, ok := object[channel](c, handle)
	if r.bad || entries == 0 || entries >= maxCQE || !ok && handle != 0 {
		return failed(unix.EINVAL)
	}
	size := ringSize(uint32(entries))
	bytes := ringHeader + int(size)*ringEntry
	if !c.take(holdings{ring: bytes, mappings: 1}) {
		return failed(unix.ENOMEM)
	}
	s, err := newShared("pausenet-cq", bytes)
	if err != nil {
		c.give(holdings{ring: bytes, mappings: 1})
		return failed(unix.ENOMEM)
	}
	answered := c.made(&queue{shared: s, size: size, cookie: cookie, channel: ch}, uint64(size))
	if answered.status != 0 {
		s.close()
		c.give(holdings{ring: bytes, mappings: 1})
		return answered
	}
	if ch != nil {
		ch.users++
	}
	answered.files = []int{s.give()}
	return answered
}

// destroy destroys an object that no other object uses.
func (c *connection) destroy(handle uint32) unix.Errno {
	switch o := c.objects[handle].(type) {
	case *domain:
		if o.users > 0 {
			return unix.EBUSY
		}
	case *region:
		delete(c.regions, o.key)
		o.pd.users--
	case *channel:
		if o.users > 0 {
			return unix.EBUSY
		}
		o.close()
		c.give(holdings{files: 1})
	case *queue:
		if o.users > 0 {
			return unix.EBUSY
		}
		c.freeQueue(o)
	default:
		if status := c.destroyPair(o); status != 0 {
			return status
		}
	}
	delete(c.objects, handle)
	c.give(holdings{objects: 1})
	return 0
}

func (c *connection) freeQueue(q *queue) {
	if q.channel != nil {
		q.channel.users--
	}
	c.give(holdings{ring: len(q.memory), mappings: 1})
	q.close()
}

// free frees all objects except queue pairs, which must have ended before.
func (c *connection) free() {
	for _, o := range c.objects {
		switch o := o.(type) {
		case *channel:
			o.close()
		case *queue:
			o.close()
		}
	}
	clear(c.objects)
	clear(c.regions)
	if c.memory != nil {
		c.memory.close()
		c.page.close()
		c.events.close()
		c.memory = nil
	}
	c.host.quota.give(c.has)
	c.has = holdings{}
}

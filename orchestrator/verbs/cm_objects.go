//go:build linux

package verbs

import "golang.org/x/sys/unix"

// objects executes a request about a connection's channels and ids that needs no device.
func (m *manager) objects(c *connection, op uint64, r *request) reply {
	if op == opChannel {
		return m.makeChannel(c)
	}
	handle := r.small()
	if id := c.ids[handle]; id != nil {
		m.forget(id)
		return reply{}
	}
	ch := c.channels[handle]
	if ch == nil {
		return failed(unix.EINVAL)
	}
	if ch.users > 0 {
		return failed(unix.EBUSY)
	}
	delete(c.channels, handle)
	c.closeChannel(ch)
	return reply{}
}

func (m *manager) makeChannel(c *connection) reply {
	if !c.host.quota.take(holdings{files: 1, objects: 1}) {
		return failed(unix.EMFILE)
	}
	own, theirs, err := newChannel()
	if err != nil {
		c.host.quota.give(holdings{files: 1, objects: 1})
		return failed(unix.EMFILE)
	}
	handle := c.nextHandle()
	c.channels[handle] = own
	return reply{words: []uint64{uint64(handle)}, files: []int{theirs}}
}

func (c *connection) closeChannel(ch *channel) {
	ch.close()
	ch.fd = -1 // an id whose end is on its way may have it
	c.host.quota.give(holdings{files: 1, objects: 1})
}

// leave ends all ids and channels of a connection.
func (m *manager) leave(c *connection) {
	for _, id := range c.ids {
		m.forget(id)
	}
	for _, ch := range c.channels {
		c.closeChannel(ch)
	}
	clear(c.channels)
}

package hostagent

import (
	"math/bits"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/vtime"
)

// class holds one data priority of a NIC: its flows, and the answers that share the data's priority.
type class struct {
	priority uint8 // unused in a NIC's only class: Settings.DataPriority, which may change, applies

	acks      frame.Queue // ACKs and NAKs that do not have the control priority
	waiting   pacer       // flows not yet eligible, by the time they will be
	ready     []*Sender   // eligible flows, served in turn; a ring
	readyHead int
	readyLen  int

	next *Sender // flow to serve before the ring: another class was served instead, or its turn continues
	turn *Sender // the flow whose turn continues, by its weight; nil: none
	left int     // packets that it may still send in its turn
}

// classes holds the classes of a NIC whose flows have several data priorities.
type classes struct {
	all     []*class // by priority, descending; nil: the NIC's own is the only one
	deficit [8]int64 // state of deficit weighted round robin
	round   uint8    // the priority whose turn it is
	fresh   bool     // the priority of this round has received its quantum
}

// classOf returns the class of a data priority.
func (n *NIC) classOf(priority uint8) *class {
	if priority == n.settings.DataPriority {
		return &n.class
	}
	for _, c := range n.several.all {
		if c.priority == priority {
			return c
		}
	}
	if n.several.all == nil {
		n.class.priority = n.settings.DataPriority
		n.several.all = []*class{&n.class}
	}
	c := &class{priority: priority}
	at := 0
	for at < len(n.several.all) && n.several.all[at].priority > priority {
		at++
	}
	n.several.all = append(n.several.all, nil)
	copy(n.several.all[at+1:], n.several.all[at:])
	n.several.all[at] = c
	return c
}

// eachClass calls f with each class.
func (n *NIC) eachClass(f func(*class)) {
	if n.several.all == nil {
		f(&n.class)
		return
	}
	for _, c := range n.several.all {
		f(c)
	}
}

// candidate removes and returns the flow of a class whose packet may leave now; nil if there is none.
func (n *NIC) candidate(c *class, now vtime.Time) *Sender {
	for c.waiting.len() > 0 && c.waiting.first().eligible <= now {
		s := c.waiting.pop()
		if s == c.turn && c.next == nil {
			s.state, c.next = senderReady, s
			continue
		}
		c.makeReady(s)
	}
	if c.turn != nil && c.next != c.turn { // it cannot continue now
		c.turn = nil
	}
	for c.next != nil || c.readyLen > 0 {
		s := c.next
		if c.next = nil; s == nil {
			s = c.takeReady()
		}
		if s.state == senderDone { // fully acknowledged while it was ready to retransmit
			continue
		}
		if s.ext != nil && !s.admitted(now) {
			continue
		}
		n.calling = s.caller()
		if q := s.connection(); q != nil && q.messages.Responding() { // a window limits only requests
			return s
		}
		if s.blocked(now) {
			s.block(now)
			continue
		}
		return s
	}
	return nil
}

// block removes a flow from service until an answer opens its window, or credit arrives.
func (s *Sender) block(now vtime.Time) {
	s.state = senderBlocked
	if s.nic.Recorder != nil {
		s.nic.Recorder.Blocked(now, s.Flow)
	}
	if c := s.credit(); c != nil && c.lacks() {
		s.starve(now)
		s.rearm()
	}
}

// admitted reports whether a flow's extensions let its next packet leave. If not, it has moved the flow to the queue in
// which it waits.
func (s *Sender) admitted(now vtime.Time) bool {
	if r := s.ext.selective; r != nil && r.idle(s) {
		s.state = senderDrained
		if s.nic.Recorder != nil {
			s.nic.Recorder.Blocked(now, s.Flow) // until an answer arrives
		}
		return false
	}
	if t := s.ext.traits; t != nil && !s.traitsAdmit(t, now) {
		return false
	}
	return s.ext.connection == nil || s.ext.connection.admit(now)
}

// served counts a packet that a flow of the class has sent, which may be one of several in its turn.
func (c *class) served(s *Sender, weight int) {
	if c.turn == s {
		c.left--
	} else {
		c.turn, c.left = s, weight-1
	}
	if c.left <= 0 {
		c.turn = nil
	}
}

// dequeueSeveral implements Dequeue for a NIC whose flows have several data priorities. Like a switch, it serves them
// by strict priority, or by deficit weighted round robin (Settings.Quantum). off has a bit for each paused priority,
// and stopped for each priority whose ACKs wait too.
func (n *NIC) dequeueSeveral(now vtime.Time, off, stopped uint8) (f *frame.Frame, wake vtime.Time) {
	for _, c := range n.several.all {
		if c.acks.Packets > 0 && stopped>>c.priority&1 == 0 {
			return c.acks.Pop(), 0
		}
	}
	wake = vtime.Never
	open := uint8(0)
	for _, c := range n.several.all {
		if off>>c.priority&1 != 0 {
			continue
		}
		if s := n.candidate(c, now); s != nil {
			c.next = s
			open |= 1 << c.priority
		}
		if c.waiting.len() > 0 {
			wake = min(wake, c.waiting.first().eligible)
		}
	}
	n.calling = 0
	if open == 0 {
		return nil, wake
	}
	priority := n.choose(open)
	for _, c := range n.several.all {
		if c.priority == priority {
			s := c.next
			c.next = nil
			n.calling = s.caller()
			if f = s.send(now); f == nil { // the program's memory no longer exists
				n.calling = 0
				return n.dequeueSeveral(now, off, stopped)
			}
			if t := s.flowTraits(); t != nil {
				c.served(s, t.Weight)
			}
			n.calling = 0
		}
	}
	if n.settings.Quantum[priority] > 0 {
		n.several.deficit[priority] -= int64(f.Length)
	}
	return f, 0
}

// choose picks one of the priorities in open, which have packets to send: the highest without a quantum, or by deficit
// weighted round robin (Shreedhar and Varghese, SIGCOMM 1995). There a priority that has sent more than its deficit
// carries the debt over.
func (n *NIC) choose(open uint8) uint8 {
	strict := uint8(0)
	for p, quantum := range n.settings.Quantum {
		if quantum == 0 {
			strict |= 1 << p
		} else if open>>p&1 == 0 {
			n.several.deficit[p] = 0
		}
	}
	if strict &= open; strict != 0 {
		return uint8(bits.Len8(strict) - 1)
	}
	for d := &n.several; ; d.round, d.fresh = (d.round+1)%8, false {
		if open>>d.round&1 == 0 {
			continue
		}
		if !d.fresh {
			d.deficit[d.round] += int64(n.settings.Quantum[d.round])
			d.fresh = true
		}
		if d.deficit[d.round] > 0 {
			return d.round
		}
	}
}

// waits reports whether the class has a frame that may be ready as soon as the port is free.
func (c *class) waits() bool {
	return c.acks.Packets > 0 || c.next != nil || c.readyLen > 0 || c.waiting.len() > 0
}

// pacing reports whether the class's next flow waits for the send time that its rate sets.
func (c *class) pacing(now vtime.Time) bool {
	return c.waiting.len() > 0 && c.waiting.first().eligible >= now && c.waiting.first().eligible != vtime.Never
}

func (c *class) makeReady(s *Sender) {
	s.state = senderReady
	if c.readyLen == len(c.ready) {
		grown := make([]*Sender, max(8, 2*len(c.ready)))
		for i := range c.readyLen {
			grown[i] = c.ready[(c.readyHead+i)%len(c.ready)]
		}
		c.ready, c.readyHead = grown, 0
	}
	c.ready[(c.readyHead+c.readyLen)%len(c.ready)] = s
	c.readyLen++
}

func (c *class) takeReady() *Sender {
	s := c.ready[c.readyHead]
	c.ready[c.readyHead] = nil
	c.readyHead = (c.readyHead + 1) % len(c.ready)
	c.readyLen--
	return s
}

package hostagent

import (
	"math/bits"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/vtime"
)

// class is what a NIC has of one data priority: flows, and answers that go with the data.
type class struct {
	priority uint8 // of the NIC's own class that of its settings, which may change

	acks      frame.Queue // ACK and NAK if they have not the control priority
	waiting   pacer       // flows not yet eligible, by the time they will be
	ready     []*Sender   // eligible flows, served in turn; a ring
	readyHead int
	readyLen  int

	next *Sender // is before those of the ring: another class was served when its turn came, or its turn goes on
	turn *Sender // whose turn goes on, by its weight; nil: nobody's
	left int     // packets that it may still send in it
}

// classes is what a NIC has besides where its flows have several data priorities.
type classes struct {
	all     []*class // by priority, descending; nil: there is one, the NIC's own
	deficit [8]int64 // of deficit weighted round robin
	round   uint8    // the priority whose turn it is in it
	fresh   bool     // it has had its quantum
}

// classOf is that of a data priority.
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

// each calls f with each class.
func (n *NIC) each(f func(*class)) {
	if n.several.all == nil {
		f(&n.class)
		return
	}
	for _, c := range n.several.all {
		f(c)
	}
}

// candidate takes the flow of a class whose packet may leave now; nil if there is none.
func (n *NIC) candidate(c *class, now vtime.Time) *Sender {
	for c.waiting.len() > 0 && c.waiting.first().eligible <= now {
		s := c.waiting.pop()
		if s == c.turn && c.next == nil {
			s.state, c.next = senderReady, s
			continue
		}
		c.makeReady(s)
	}
	if c.turn != nil && c.next != c.turn { // it cannot go on now
		c.turn = nil
	}
	for c.next != nil || c.readyLen > 0 {
		s := c.next
		if c.next = nil; s == nil {
			s = c.takeReady()
		}
		if s.state == senderDone { // acknowledged in full after it had gone back
			continue
		}
		if s.special && !s.admitted(now) {
			continue
		}
		n.calling = s.caller()
		if s.pair != nil && len(s.pair.jobs) > 0 { // the window is one for requests
			return s
		}
		if s.blocked(now) {
			s.state = senderBlocked
			if n.Recorder != nil {
				n.Recorder.Blocked(now, s.Flow)
			}
			if s.credit != nil && s.credit.lacks() {
				s.starve(now)
				s.rearm()
			}
			continue
		}
		return s
	}
	return nil
}

// admitted says whether what a flow has that most have not lets its next packet go. If not, the flow has been put where it belongs.
func (s *Sender) admitted(now vtime.Time) bool {
	if s.spent() {
		s.state = senderDrained
		if s.nic.Recorder != nil {
			s.nic.Recorder.Blocked(now, s.Flow) // until an answer comes
		}
		return false
	}
	return (s.traits == nil || s.mayGo(now)) && (s.pair == nil || s.pair.mayGo(now))
}

// served notes that a flow of the class has sent a packet, which may be one of several in its turn.
func (c *class) served(s *Sender) {
	if c.turn == s {
		c.left--
	} else {
		c.turn, c.left = s, s.traits.Weight-1
	}
	if c.left <= 0 {
		c.turn = nil
	}
}

// dequeueSeveral is Dequeue of a NIC whose flows have several data priorities. They are served as switches serve theirs: by strict priority, or by
// deficit weighted round robin (Settings.Quantum).
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
			if f = s.send(now); f == nil { // a program's memory is gone
				n.calling = 0
				return n.dequeueSeveral(now, off, stopped)
			}
			if s.traits != nil {
				c.served(s)
			}
			n.calling = 0
		}
	}
	if n.settings.Quantum[priority] > 0 {
		n.several.deficit[priority] -= int64(f.Length)
	}
	return f, 0
}

// choose picks one of the priorities that have something to send: the highest without a quantum, or by deficit weighted round robin (Shreedhar and
// Varghese, SIGCOMM 1995), where one that has sent more than its deficit owes it.
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

// holds says whether it has a frame that may be ready as soon as the port is free.
func (c *class) holds() bool {
	return c.acks.Packets > 0 || c.next != nil || c.readyLen > 0 || c.waiting.len() > 0
}

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

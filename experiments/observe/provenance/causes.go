package provenance

import (
	"sort"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/vtime"
)

// pausing represents a PAUSE that a port built, and its reason.
type pausing struct {
	at       vtime.Time
	priority uint8
	why      engine.PauseCause
	egress   int32 // of PauseAccount: the egress port for which most of the account's bytes wait; -1: nothing waits
	hold     int32 // the hold that caused that queue, or that now holds it; 0: the port was congested
}

// CauseKind selects the kind of a Cause.
type CauseKind uint8

// Kinds of causes.
const (
	Congestion   CauseKind = iota // a root: the egress port received more than its link carries
	PFCStorm                      // a root: the host's NIC malfunctions
	SlowReceiver                  // a root: the host's NIC accepts less than its link delivers
	Cycle                         // a root: the chain returns to the port, a cyclic buffer dependency
	NoCredits                     // a root: the port waits for credits that are in flight
	Unknown                       // a root: the sender of the PAUSE is unknown
	Pause                         // the port was paused by its peer, because of another cause
	CauseKinds
)

// Cause represents the reason for a queue, or for a port that does not send.
type Cause struct {
	Kind    CauseKind
	Port    int32 // the egress port, or the host's
	Because int32 // of Pause: the number of the cause of the PAUSE; else -1
}

// causes numbers causes: equal chains have one number.
type causes struct {
	of      *Recorder
	all     []Cause
	numbers map[Cause]int32
	chain   []int32 // reused memory for ports
}

func (c *causes) number(x Cause) int32 {
	n, known := c.numbers[x]
	if !known {
		n = int32(len(c.all))
		c.all = append(c.all, x)
		c.numbers[x] = n
	}
	return n
}

// cause returns the number of the cause of a queue or pause at a port: the pause that it is due to, followed to its
// root.
func (c *causes) cause(port, hold int32) int32 {
	c.chain = c.chain[:0]
	root := Cause{Congestion, port, -1}
	for hold != 0 {
		if c.passes(port) {
			root = Cause{Cycle, port, -1}
			break
		}
		c.chain = append(c.chain, port)
		h := &c.of.lines[port].holds[hold-1]
		far := int32(c.of.plan.Ports[port].Peer)
		p := c.of.lines[far].pausing(h)
		if p == nil {
			root = Cause{Unknown, port, -1}
			break
		}
		if p.egress < 0 {
			root = rootOf(p.why, port, far)
			break
		}
		port, hold = p.egress, p.hold
		root = Cause{Congestion, port, -1}
	}
	n := c.number(root)
	for i := len(c.chain) - 1; i >= 0; i-- {
		n = c.number(Cause{Pause, c.chain[i], n})
	}
	return n
}

// rootOf returns the root of a PAUSE that no egress port caused: the host at the far end of a port. Under credits
// nothing waits there: credits are in flight.
func rootOf(why engine.PauseCause, port, far int32) Cause {
	switch why {
	case engine.PauseStorm:
		return Cause{PFCStorm, far, -1}
	case engine.PauseReceiver:
		return Cause{SlowReceiver, far, -1}
	}
	return Cause{NoCredits, port, -1}
}

func (c *causes) passes(port int32) bool {
	for _, p := range c.chain {
		if p == port {
			return true
		}
	}
	return false
}

// pausing returns the PAUSE that began a hold of the port's peer; nil: there is none.
func (l *line) pausing(h *hold) *pausing {
	if h.by != 0 {
		return &l.pausings[h.by-1]
	}
	for i := sort.Search(len(l.pausings), func(i int) bool { return l.pausings[i].at > h.sentAt }) - 1; i >= 0; i-- {
		if l.pausings[i].priority == h.priority {
			return &l.pausings[i]
		}
	}
	return nil
}

// Share identifies the cause of a part of a flow's time. It is complete at the end of the run.
type Share struct {
	Stage         Stage
	What          What
	Retransmitted bool  // while the flow retransmitted
	Answer        bool  // on the path of an ACK
	Class         int16 // Queued: behind frames of this class
	Port          int32 // -1: none
	Cause         int32 // number of a Cause, of Queued and Paused; -1: none
	// Of Pacing and Awaiting: the last event that made the congestion control lower its rate or its window.
	Signal      SignalKind
	SignalPort  int32 // the port of the mark or delay; -1: none
	SignalCause int32 // the cause of that port's queue; -1: none
}

// FlowTime divides a flow's time among its causes.
type FlowTime struct {
	Flow   int
	Time   vtime.Time // the flow's completion time, or its time so far
	Ended  bool
	Shares []Share // in an order that depends only on the shares
	Times  []vtime.Time
}

// Record holds the results of a run's record.
type Record struct {
	Causes []Cause
	Flows  []FlowTime // started flows, by number
}

// Blamed returns the bytes, by class, in a port's queue at the PAUSEs whose root it was, summed; nil if it never was
// one.
func (r *Recorder) Blamed(port int) []int64 { return r.lines[port].blamed }

package provenance

import (
	"sort"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/vtime"
)

// pausing is a PAUSE that a port has had built, and why.
type pausing struct {
	at       vtime.Time
	priority uint8
	why      engine.PauseCause
	egress   int32 // of PauseAccount: the one for which most of the account's bytes wait; -1: nothing waits
	hold     int32 // to which that queue was owed, or that holds it; 0: it was congested
}

// CauseKind says what a Cause is.
type CauseKind uint8

// Kinds of causes.
const (
	Congestion   CauseKind = iota // a root: more came for the egress port than its link takes
	PFCStorm                      // a root: the host's NIC malfunctions
	SlowReceiver                  // a root: the host's NIC takes less than its link brings
	Cycle                         // a root: the chain comes back to the port, a cyclic buffer dependency
	NoCredits                     // a root: the port waits for credits that are on their way
	Unknown                       // a root: nobody is known to have paused the port
	Pause                         // the port was paused by its peer, because of another cause
	CauseKinds
)

// Cause is why a queue stands or a port does not send.
type Cause struct {
	Kind    CauseKind
	Port    int32 // the egress port, or the host's
	Because int32 // of Pause: the number of the cause before it; else -1
}

// causes numbers causes: equal chains have one number.
type causes struct {
	of      *Recorder
	all     []Cause
	numbers map[Cause]int32
	chain   []int32 // of ports, for use again
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

// rootOf returns the root of a PAUSE for which no egress is to blame: that of a host at the far end of a port. Under
// credits nothing waits there, and they are on their way.
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
	for i := sort.Search(len(l.pausings), func(i int) bool { return l.pausings[i].at > h.told }) - 1; i >= 0; i-- {
		if l.pausings[i].priority == h.priority {
			return &l.pausings[i]
		}
	}
	return nil
}

// Share is what some of a flow's time is owed to, by the run's end.
type Share struct {
	Stage  Stage
	What   What
	Again  bool  // while the flow sent again what it had sent
	Answer bool  // on the way of an ACK
	Class  int16 // Queued: behind frames of this class
	Port   int32 // -1: none
	Cause  int32 // number of a Cause, of Queued and Paused; -1: none
	// Of Pacing and Awaiting: what had the congestion control lower its rate or its window last.
	Signal      SignalKind
	SignalPort  int32 // the port whose mark or delay it was; -1: none
	SignalCause int32 // why that port's queue stood; -1: none
}

// FlowTime is where a flow's time went.
type FlowTime struct {
	Flow   int
	Time   vtime.Time // the flow's completion time, or what it has come to
	Ended  bool
	Shares []Share // in an order that only depends on what they are
	Times  []vtime.Time
}

// Record is what a run's record comes to.
type Record struct {
	Causes []Cause
	Flows  []FlowTime // that have started, by number
}

// Owed returns the bytes, by class, in a port's queue at the PAUSEs of which it was the root, summed; nil if it
// never was one.
func (r *Recorder) Owed(port int) []int64 { return r.lines[port].owed }

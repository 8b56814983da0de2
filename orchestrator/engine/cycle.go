package engine

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// A deadlock is a cyclic buffer dependency: a cycle of egress queues, each paused by flow control until the next has sent. The search
// is exact. A paused queue waits for good if the account that pauses it, of the ingress port at the other end, stays above XON even
// when all has left that can leave. That is all but what is queued in queues that wait for good themselves. The search takes queues
// for which this is not so away, again and again; what is left is the largest set for which it is. A chain of pauses that ends at a
// queue that drains, or at a host, vanishes altogether.

// deadlockPoll is the time between two searches for a deadlock.
const deadlockPoll = 100 * vtime.Microsecond

// PortPriority is a priority of a port: its egress queue, or its ingress account.
type PortPriority struct {
	Port     int
	Priority uint8
}

// Deadlock is a cycle of queues of which each waits for the next, and the last for the first.
type Deadlock struct {
	Since vtime.Time     // when the last of them was paused
	Seen  vtime.Time     // when it was found
	Ended vtime.Time     // when it was found to be over; vtime.Never while it lasts
	Cycle []PortPriority // the least port first
}

// deadlockSearch is when the next search is due, and what has been found.
type deadlockSearch struct {
	next  vtime.Time // search
	found []Deadlock // the last may last
}

// Deadlocks are those found so far, in the order of time.
func (e *Engine) Deadlocks() []Deadlock { return e.deadlocks.found }

// Deadlocked is the deadlock that the fabric is in; nil without one.
func (e *Engine) Deadlocked() *Deadlock {
	if n := len(e.deadlocks.found); n > 0 && e.deadlocks.found[n-1].Ended == vtime.Never {
		return &e.deadlocks.found[n-1]
	}
	return nil
}

// pollDeadlock searches for one at the time that is due. The next event is at coming; all that comes before has happened, so that it
// is one and the same fabric until then.
func (e *Engine) pollDeadlock(coming vtime.Time) {
	e.now = max(e.now, e.deadlocks.next)
	e.deadlocks.next = coming/deadlockPoll*deadlockPoll + deadlockPoll
	e.searchDeadlock()
}

// searchDeadlock searches for a deadlock now, and finds out whether the present one is over.
func (e *Engine) searchDeadlock() {
	cycle, since := e.dependencyCycle()
	if d := e.Deadlocked(); d != nil {
		if slices.Equal(d.Cycle, cycle) {
			return
		}
		if waits := e.waitingForGood(); !slices.ContainsFunc(d.Cycle, func(h PortPriority) bool { _, still := waits[h]; return !still }) {
			return // it lasts; another was found first
		}
		d.Ended = e.now
		e.note(d.Cycle[0].Port, EventDeadlockEnd, "%s", e.DescribeCycle(d))
	}
	if cycle == nil {
		return
	}
	d := Deadlock{Since: since, Seen: e.now, Ended: vtime.Never, Cycle: cycle}
	e.deadlocks.found = append(e.deadlocks.found, d)
	e.note(cycle[0].Port, EventDeadlock, "since %v: %s", since, e.DescribeCycle(&d))
}

// DescribeCycle is a deadlock in words: "S1-eth2 > L1-eth1 > S1-eth2 (priority 3)".
func (e *Engine) DescribeCycle(d *Deadlock) string {
	var b strings.Builder
	name := func(h PortPriority) {
		p := &e.plan.Ports[h.Port]
		fmt.Fprintf(&b, "%s (to %s)", p.Name, e.plan.PeerNode(p.ID).Name)
	}
	for _, h := range d.Cycle {
		name(h)
		b.WriteString(" waits for ")
	}
	name(d.Cycle[0])
	priorities := map[uint8]bool{}
	for _, h := range d.Cycle {
		priorities[h.Priority] = true
	}
	if len(priorities) == 1 {
		fmt.Fprintf(&b, ", priority %d", d.Cycle[0].Priority)
	}
	return b.String()
}

// dependencyCycle is a cycle of queues that wait for good, and when its last queue was paused; nil if there is none.
func (e *Engine) dependencyCycle() (cycle []PortPriority, since vtime.Time) {
	waits := e.waitingForGood()
	if len(waits) == 0 {
		return nil, 0
	}
	starts := make([]PortPriority, 0, len(waits))
	for h := range waits {
		starts = append(starts, h)
	}
	slices.SortFunc(starts, comparePortPriority)
	// Each waits for one of the others, so that following them ends in a cycle.
	at := map[PortPriority]int{}
	var path []PortPriority
	h := starts[0]
	for {
		if i, been := at[h]; been {
			cycle = path[i:]
			break
		}
		at[h] = len(path)
		path = append(path, h)
		h = waits[h]
	}
	least := slices.IndexFunc(cycle, func(h PortPriority) bool { return h == slices.MinFunc(cycle, comparePortPriority) })
	cycle = slices.Concat(cycle[least:], cycle[:least])
	for _, h := range cycle {
		since = max(since, vtime.Time(e.state.Ports[h.Port].Class[h.Priority].OffSince))
	}
	return cycle, since
}

func comparePortPriority(a, b PortPriority) int {
	return (a.Port-b.Port)*switchagent.Priorities + int(a.Priority) - int(b.Priority)
}

// waitingForGood are the queues that wait for good, each with one that it waits for.
func (e *Engine) waitingForGood() map[PortPriority]PortPriority {
	var paused []PortPriority
	for i := range e.ports {
		p := &e.ports[i]
		far := &e.ports[p.peer]
		if !p.isSwitch || !far.isSwitch { // a host sends no PAUSE for what waits elsewhere
			continue
		}
		for m := e.settings[p.index].Lossless(); m != 0; m &= m - 1 {
			priority := uint8(bits.TrailingZeros8(m))
			if !e.state.Paused(i, priority, e.now) || e.switches[p.index].Ignores(i, priority) {
				continue
			}
			if _, packets := e.switches[p.index].Port(i).Queue(priority); packets > 0 {
				paused = append(paused, PortPriority{i, priority})
			}
		}
	}
	if len(paused) < 2 {
		return nil
	}
	waits := make(map[PortPriority]PortPriority, len(paused))
	for _, h := range paused {
		waits[h] = h
	}
	for {
		stuck := e.stuckBytes(waits)
		before := len(waits)
		for _, h := range paused {
			if _, in := waits[h]; in && !e.staysPaused(h, waits, stuck) {
				delete(waits, h)
			}
		}
		if len(waits) == before {
			return waits
		}
	}
}

// stuckAt is what of an ingress port's frames is in queues that wait for good.
type stuckAt struct {
	bytes map[PortPriority]uint64                 // by ingress port and priority
	most  map[PortPriority]map[PortPriority]int64 // and by the queue that they are in
	used  []uint64                                // of the shared buffer, by switch
}

func (e *Engine) stuckBytes(waits map[PortPriority]PortPriority) *stuckAt {
	s := &stuckAt{map[PortPriority]uint64{}, map[PortPriority]map[PortPriority]int64{}, make([]uint64, len(e.switches))}
	for h := range waits {
		index := e.ports[h.Port].index
		e.switches[index].Port(h.Port).EachOf(h.Priority, func(f *frame.Frame) {
			if f.InPort < 0 {
				return
			}
			from := PortPriority{int(f.InPort), f.Priority}
			size := e.state.Switches[index].Counted(int(f.Length))
			s.bytes[from] += size
			s.used[index] += size
			if s.most[from] == nil {
				s.most[from] = map[PortPriority]int64{}
			}
			s.most[from][h] += int64(size)
		})
	}
	for from, bytes := range s.bytes {
		s.used[e.ports[from.Port].index] -= e.headroomOf(from, bytes)
	}
	return s
}

// headroomOf is what of an account is in its headroom when it holds so many bytes: what leaves is taken off the headroom first.
func (e *Engine) headroomOf(account PortPriority, bytes uint64) uint64 {
	r := &e.state.Ports[account.Port]
	in := uint64(r.HeadroomBuffered[account.Priority])
	return in - min(in, r.Class[account.Priority].Buffered-bytes)
}

// staysPaused says whether what is stuck keeps a queue paused for good. It notes in waits which queue it waits for: the one with most
// of it.
func (e *Engine) staysPaused(h PortPriority, waits map[PortPriority]PortPriority, stuck *stuckAt) bool {
	peer := int(e.ports[h.Port].peer)
	account := PortPriority{peer, h.Priority}
	bytes := stuck.bytes[account]
	if !e.flowControl.staysPaused(e, account, bytes, stuck.used[e.ports[peer].index]) {
		return false
	}
	best := PortPriority{-1, 0}
	for to, n := range stuck.most[account] {
		if best.Port < 0 || n > stuck.most[account][best] || n == stuck.most[account][best] && comparePortPriority(to, best) < 0 {
			best = to
		}
	}
	if best.Port < 0 {
		return false
	}
	waits[h] = best
	return true
}

package engine

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/orchestrator/engine/cycle"
	"github.com/pausenet/pausenet/vtime"
)

// deadlockPoll separates two searches for a deadlock (package cycle).
const deadlockPoll = 100 * vtime.Microsecond

// Deadlock describes a cycle of egress queues, each paused until the next one has sent.
type Deadlock struct {
	Since vtime.Time           // time at which the last queue of the cycle was paused
	Seen  vtime.Time           // time at which a search found the cycle
	Ended vtime.Time           // time of the first search that no longer found it; vtime.Never while it lasts
	Cycle []cycle.PortPriority // the least port first
}

// deadlocks holds the deadlocks of a run.
type deadlocks struct {
	next  vtime.Time // time of the next search
	found []Deadlock // only the last may still exist

	searcher cycle.Searcher
	paused   []cycle.PortPriority // queues paused at the last search
}

// Deadlocks returns the deadlocks found so far, in the order of time.
func (d *deadlocks) Deadlocks() []Deadlock { return d.found }

// Deadlocked returns the deadlock that the fabric is in; nil without one.
func (d *deadlocks) Deadlocked() *Deadlock {
	if n := len(d.found); n > 0 && d.found[n-1].Ended == vtime.Never {
		return &d.found[n-1]
	}
	return nil
}

// pollDeadlock runs the search that is due. The next event is at coming, and all earlier ones have happened: until then
// the fabric does not change.
func (e *Engine) pollDeadlock(coming vtime.Time) {
	e.now = max(e.now, e.deadlocks.next)
	e.deadlocks.next = coming/deadlockPoll*deadlockPoll + deadlockPoll
	e.searchDeadlock()
}

// searchDeadlock searches for a deadlock now, and checks whether the current one still exists.
func (e *Engine) searchDeadlock() {
	e.findPaused()
	waits := e.deadlocks.searcher.Search(e.deadlocks.paused, dependencies{e})
	found := waits.Cycle()
	if d := e.Deadlocked(); d != nil {
		if !slices.ContainsFunc(d.Cycle, func(q cycle.PortPriority) bool { _, still := waits[q]; return !still }) {
			return // it still exists, even if another was found first
		}
		d.Ended = e.now
		e.note(d.Cycle[0].Port, EventDeadlockEnd, "%s", e.DescribeCycle(d))
	}
	if found == nil {
		return
	}
	since := vtime.Time(0)
	for _, q := range found {
		since = max(since, vtime.Time(e.state.Ports[q.Port].Class[q.Priority].OffSince))
	}
	d := Deadlock{Since: since, Seen: e.now, Ended: vtime.Never, Cycle: found}
	e.deadlocks.found = append(e.deadlocks.found, d)
	e.note(found[0].Port, EventDeadlock, "since %v: %s", since, e.DescribeCycle(&d))
}

// DescribeCycle describes a deadlock, such as "S1-eth2 (to L1) waits for L1-eth1 (to S1) waits for S1-eth2 (to L1),
// priority 3".
func (e *Engine) DescribeCycle(d *Deadlock) string {
	var b strings.Builder
	name := func(h cycle.PortPriority) {
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

// findPaused finds the queues of switches that flow control has paused and that hold frames for another switch.
// Hosts are never part of a cycle: they forward no frames.
func (e *Engine) findPaused() {
	e.deadlocks.paused = e.deadlocks.paused[:0]
	for i := range e.ports {
		p := &e.ports[i]
		if !p.isSwitch || !e.ports[p.peer].isSwitch {
			continue
		}
		for m := e.settings[p.index].Lossless(); m != 0; m &= m - 1 {
			priority := uint8(bits.TrailingZeros8(m))
			if !e.state.Paused(i, priority, e.now) || e.switches[p.index].Ignores(i, priority) {
				continue
			}
			if _, packets := e.switches[p.index].Port(i).Queue(priority); packets > 0 {
				e.deadlocks.paused = append(e.deadlocks.paused, cycle.PortPriority{Port: i, Priority: priority})
			}
		}
	}
}

// dependencies provides an engine's fabric to package cycle.
type dependencies struct{ *Engine }

// Account returns the ingress account at the peer of a queue's port.
func (d dependencies) Account(q cycle.PortPriority) cycle.PortPriority {
	return cycle.PortPriority{Port: int(d.ports[q.Port].peer), Priority: q.Priority}
}

// Frames calls f with each frame in a queue that an ingress account counts.
func (d dependencies) Frames(q cycle.PortPriority, f func(account cycle.PortPriority, size uint64)) {
	index := d.ports[q.Port].index
	d.switches[index].Port(q.Port).EachOf(q.Priority, func(x *frame.Frame) {
		if x.InPort >= 0 {
			f(cycle.PortPriority{Port: int(x.InPort), Priority: x.Priority}, d.state.Switches[index].Counted(int(x.Length)))
		}
	})
}

// Switch returns the index of a port's switch.
func (d dependencies) Switch(port cycle.PortPriority) int { return int(d.ports[port.Port].index) }

// Headroom returns how much of an account is in its headroom when it counts the given bytes. Frames that leave free the
// headroom first.
func (d dependencies) Headroom(account cycle.PortPriority, bytes uint64) uint64 {
	in := uint64(d.state.Extras[account.Port].HeadroomBuffered[account.Priority])
	return in - min(in, uint64(d.state.Ports[account.Port].Class[account.Priority].Buffered)-bytes)
}

// StaysPaused asks flow control whether the queue of an account stays paused.
func (d dependencies) StaysPaused(account cycle.PortPriority, bytes, used uint64) bool {
	return d.flowControl.staysPaused(d, account, bytes, used)
}

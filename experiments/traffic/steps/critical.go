package steps

import (
	"slices"
	"sort"

	"github.com/pausenet/pausenet/vtime"
)

// Collective returns the collective of a ring.
func (g *Graph) Collective(ring int) *Collective { return &g.Collectives[g.Rings[ring].Collective] }

// critical returns, by rank, the earliest time at which all its messages can have ended. enter has the time at which
// each rank enters the ring.
func (r *Ring) critical(enter []vtime.Time, alone func(message int32, started vtime.Time) Alone) (ended []vtime.Time) {
	n := r.Ranks
	sent, ended := slices.Clone(enter), make([]vtime.Time, n)
	arrived := make([]vtime.Time, n*r.Chunks) // arrival of the last message of each chunk, by receiving rank
	next := make([]vtime.Time, n*r.Chunks)
	for number, step := int32(r.Message), 0; step < r.Steps; step++ {
		for rank := range n {
			to := (rank + 1) % n
			for chunk := range r.Chunks {
				started := sent[rank]
				if step > 0 {
					started = max(started, arrived[rank*r.Chunks+chunk])
				}
				took := alone(number, started)
				number++
				sent[rank] = started + took.Sent
				next[to*r.Chunks+chunk] = started + took.Delivered
				ended[rank] = max(ended[rank], started+took.Acknowledged)
				ended[to] = max(ended[to], next[to*r.Chunks+chunk])
			}
		}
		arrived, next = next, arrived
	}
	return ended
}

// Alone holds the times of a message alone in the fabric, from its start: until its last packet leaves, until it has
// been delivered, and until that has been acknowledged.
type Alone struct{ Sent, Delivered, Acknowledged vtime.Time }

// Critical returns the least time that the operations [first, end) can take, however fast all others are. It is the
// time of their longest chain if every message is alone in the fabric. Other operations on which they depend have ended
// at time 0. order is the result of Order, or nil if the operations are already in such an order. Critical calls alone
// once for each message, with the earliest time at which it can start.
func (g *Graph) Critical(order []int32, first, end int32,
	alone func(message int32, started vtime.Time) Alone,
) vtime.Time {
	type times struct{ started, sent, ended vtime.Time }
	at := make([]times, end-first)
	longest := vtime.Time(0)
	in := func(o int32) bool { return o >= first && o < end }
	ring := sort.Search(len(g.Rings), func(i int) bool { return g.Collective(i).First >= first })
	for k := range max(int32(len(order)), end-first) {
		id := first + k
		if order != nil {
			id = order[k]
		}
		if !in(id) {
			continue
		}
		o, t := g.Operation(id), &at[id-first]
		for w := range g.Waits(id) {
			if !in(w.Operation) {
				continue
			}
			before := &at[w.Operation-first]
			t.started = max(t.started, [...]vtime.Time{before.ended, before.sent, before.started}[w.Until])
		}
		// A receive already has the arrival of its message in ended.
		t.ended = max(t.ended, t.started)
		if ring < len(g.Rings) && id == g.Collective(ring).Leave[0] { // all ranks have entered
			c := g.Collective(ring)
			enter := make([]vtime.Time, len(c.Enter))
			for rank, id := range c.Enter {
				enter[rank] = at[id-first].ended
			}
			for rank, ended := range g.Rings[ring].critical(enter, alone) {
				leave := &at[c.Leave[rank]-first]
				leave.ended = max(leave.ended, ended)
			}
			ring++
		}
		switch o.Kind {
		case Compute:
			t.ended = max(t.ended, t.started+o.Duration)
		case Send:
			took := alone(o.Message, t.started)
			t.sent, t.ended = t.started+took.Sent, t.started+took.Acknowledged
			if r := g.Messages[o.Message].Receive; in(r) {
				at[r-first].ended = max(at[r-first].ended, t.started+took.Delivered)
				longest = max(longest, at[r-first].ended)
			}
		}
		longest = max(longest, t.ended)
	}
	return longest
}

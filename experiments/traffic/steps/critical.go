package steps

import "github.com/pausenet/pausenet/vtime"

// Alone is what a message takes by itself, from its start: until its last packet leaves, until it has been delivered,
// and until that has been acknowledged.
type Alone struct{ Sent, Delivered, Acknowledged vtime.Time }

// Critical is the least time that some operations can take, however fast all others are: what their longest chain takes
// if every message has the fabric to itself. The operations are those from first to before end, in an order that Order
// gave, or nil if they stand in such an order; what they wait for of others has happened at 0. alone is called once for
// each message, with the earliest that it can begin.
func (g *Graph) Critical(order []int32, first, end int32,
	alone func(message int32, begun vtime.Time) Alone,
) vtime.Time {
	type times struct{ begun, sent, ended vtime.Time }
	at := make([]times, end-first)
	longest := vtime.Time(0)
	in := func(o int32) bool { return o >= first && o < end }
	for k := range max(int32(len(order)), end-first) {
		id := first + k
		if order != nil {
			id = order[k]
		}
		if !in(id) {
			continue
		}
		o, t := &g.Operations[id], &at[id-first]
		for _, w := range g.Waits(id) {
			if !in(w.Operation) {
				continue
			}
			before := &at[w.Operation-first]
			t.begun = max(t.begun, [...]vtime.Time{before.ended, before.sent, before.begun}[w.Until])
		}
		if t.ended == 0 { // not so of a receive whose message came later than it began
			t.ended = t.begun
		}
		t.ended = max(t.ended, t.begun)
		switch o.Kind {
		case Compute:
			t.ended = t.begun + o.Duration
		case Send:
			took := alone(o.Message, t.begun)
			t.sent, t.ended = t.begun+took.Sent, t.begun+took.Acknowledged
			if r := g.Messages[o.Message].Receive; in(r) {
				at[r-first].ended = max(at[r-first].ended, t.begun+took.Delivered)
				longest = max(longest, at[r-first].ended)
			}
		}
		longest = max(longest, t.ended)
	}
	return longest
}

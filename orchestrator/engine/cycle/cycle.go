// Package cycle finds deadlocks of lossless fabrics: cyclic buffer dependencies. In one, each of several egress
// queues is paused by flow control until the next has sent.
//
// The search is exact. A paused queue waits for good if the account that pauses it, of the ingress port at the other
// end of its link, keeps it paused even when all has left that can leave: all except what is in queues that wait for
// good themselves. The search removes queues for which this is false until none is left to remove. The rest is the
// largest set for which it is true. A chain of pauses that ends at a queue that drains, or at a host, is removed as a
// whole.
package cycle

import (
	"cmp"
	"maps"
	"slices"
)

// PortPriority is a priority of a port: its egress queue, or its ingress account.
type PortPriority struct {
	Port     int
	Priority uint8
}

// Compare orders by port and then by priority.
func Compare(a, b PortPriority) int {
	return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Priority, b.Priority))
}

// Fabric is what a search must know about queues and accounts.
type Fabric interface {
	// Account returns the account, at the other end of a queue's link, that pauses the queue.
	Account(queue PortPriority) PortPriority
	// Frames calls f with the size of each frame in a queue and the account that counts it, if one does.
	Frames(queue PortPriority, f func(account PortPriority, size uint64))
	// Switch returns the index of the switch that an account belongs to.
	Switch(account PortPriority) int
	// Headroom returns how much of an account is in its headroom when it counts so many bytes.
	Headroom(account PortPriority, bytes uint64) uint64
	// StaysPaused reports whether an account keeps its queue paused when it counts so many bytes, and used bytes of
	// its switch's shared buffer are in use.
	StaysPaused(account PortPriority, bytes, used uint64) bool
}

// Waits maps each queue that waits for good to a queue that it waits for.
type Waits map[PortPriority]PortPriority

// Search returns which of the paused queues wait for good; nil if none does.
func Search(paused []PortPriority, f Fabric) Waits {
	if len(paused) < 2 {
		return nil
	}
	waits := make(Waits, len(paused))
	for _, q := range paused {
		waits[q] = q
	}
	for len(waits) > 0 {
		s := stuckIn(waits, f)
		before := len(waits)
		for _, q := range paused {
			if _, in := waits[q]; !in {
				continue
			}
			if next, stays := s.keeps(f.Account(q), f); stays {
				waits[q] = next
			} else {
				delete(waits, q)
			}
		}
		if len(waits) == before {
			return waits
		}
	}
	return nil
}

// Cycle returns a cycle of queues, of which each waits for the next and the last for the first, with the least queue
// first; nil if no queue waits.
func (w Waits) Cycle() []PortPriority {
	if len(w) == 0 {
		return nil
	}
	// Each queue waits for one of w: following them ends in a cycle.
	q := slices.MinFunc(slices.Collect(maps.Keys(w)), Compare)
	at := map[PortPriority]int{}
	var path []PortPriority
	for {
		if i, seen := at[q]; seen {
			path = path[i:]
			break
		}
		at[q] = len(path)
		path = append(path, q)
		q = w[q]
	}
	i := slices.Index(path, slices.MinFunc(path, Compare))
	return slices.Concat(path[i:], path[:i])
}

// stuck holds what is in queues that wait for good.
type stuck struct {
	bytes map[PortPriority]uint64                  // by account
	in    map[PortPriority]map[PortPriority]uint64 // by account and queue
	used  map[int]uint64                           // of the shared buffer, by switch
}

func stuckIn(w Waits, f Fabric) *stuck {
	s := &stuck{map[PortPriority]uint64{}, map[PortPriority]map[PortPriority]uint64{}, map[int]uint64{}}
	for q := range w {
		f.Frames(q, func(account PortPriority, size uint64) {
			s.bytes[account] += size
			if s.in[account] == nil {
				s.in[account] = map[PortPriority]uint64{}
			}
			s.in[account][q] += size
		})
	}
	for account, bytes := range s.bytes {
		s.used[f.Switch(account)] += bytes - f.Headroom(account, bytes)
	}
	return s
}

// keeps reports whether what is stuck in an account keeps its queue paused for good, and which queue has most of it.
func (s *stuck) keeps(account PortPriority, f Fabric) (next PortPriority, stays bool) {
	if !f.StaysPaused(account, s.bytes[account], s.used[f.Switch(account)]) {
		return PortPriority{}, false
	}
	most := uint64(0)
	for q, n := range s.in[account] {
		if n > most || n == most && (!stays || Compare(q, next) < 0) {
			next, most, stays = q, n, true
		}
	}
	return next, stays
}

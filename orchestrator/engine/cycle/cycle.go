// Package cycle finds deadlocks of lossless fabrics: cyclic buffer dependencies. In one, each of several egress
// queues is paused by flow control until the next has sent.
//
// The search is exact. A paused queue waits for good if the account that pauses it, of the ingress port at the other
// end of its link, keeps it paused even when all frames have left except those in queues that wait for good themselves.
// The search removes queues for which this is false until none is left to remove. The rest is the largest set for which
// it is true. A chain of pauses that ends at a queue that drains, or at a host, is removed as a whole. Most chains are
// removed by their switches alone: a queue waits for queues of the switch that it leads to. The search reads only the
// frames of the remaining queues, once.
package cycle

import (
	"cmp"
	"maps"
	"slices"
)

// PortPriority names a priority of a port: its egress queue, or its ingress account.
type PortPriority struct {
	Port     int
	Priority uint8
}

// Compare orders by port and then by priority.
func Compare(a, b PortPriority) int {
	return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Priority, b.Priority))
}

// Fabric provides the state of queues and accounts to a search.
type Fabric interface {
	// Account returns the account, at the other end of a queue's link, that pauses the queue.
	Account(queue PortPriority) PortPriority
	// Frames calls f with the size of each frame in a queue and the account, of the queue's switch, that counts it, if
	// one does.
	Frames(queue PortPriority, f func(account PortPriority, size uint64))
	// Switch returns the index of the switch that a port belongs to.
	Switch(port PortPriority) int
	// Headroom returns the bytes of an account that are in its headroom when it counts the given bytes.
	Headroom(account PortPriority, bytes uint64) uint64
	// StaysPaused reports whether an account keeps its queue paused when it counts the given bytes, and used bytes of
	// its switch's shared buffer are in use.
	StaysPaused(account PortPriority, bytes, used uint64) bool
}

// Waits maps each queue that waits for good to a queue that it waits for.
type Waits map[PortPriority]PortPriority

// Searcher searches for deadlocks. It keeps its memory between searches. The zero value is ready for use.
type Searcher struct {
	queues []queue // queues that may wait for good

	// Memory of peel.
	waiting []int32 // by switch: how many of its queues may wait for good
	towards []int32 // by switch: position in paused, plus 1, of the last queue that leads to it; 0: none
	next    []int32 // by position in paused: the same of the next queue that leads to the same switch
	done    []int32 // switches without such queues, whose towards are not removed yet

	// The frames in queues.
	accounts []account
	parts    []part
	index    []int32  // by port and priority: position in accounts, plus 1; 0: none
	used     []uint64 // by switch: bytes in the shared buffer
}

// Search returns which of the paused queues wait for good; nil if none does.
func (s *Searcher) Search(paused []PortPriority, f Fabric) Waits {
	if len(paused) < 2 {
		return nil
	}
	if s.peel(paused, f); len(s.queues) == 0 {
		return nil
	}
	s.read(f)
	for before := -1; before != len(s.queues); {
		before = len(s.queues)
		s.queues = slices.DeleteFunc(s.queues, func(q queue) bool {
			if s.keeps(&q, f) {
				return false
			}
			for _, p := range s.parts[q.first:q.end] {
				s.move(&s.accounts[p.account], -p.bytes, f)
			}
			return true
		})
	}
	return s.waits(f)
}

// peel sets queues to the paused queues, without queues that lead to a switch of which no queue waits for good. All
// frames that pause such a queue can leave, so it does not wait for good either: its own switch may then be the next
// such switch.
func (s *Searcher) peel(paused []PortPriority, f Fabric) {
	clear(s.waiting)
	clear(s.towards)
	s.next, s.done, s.queues = s.next[:0], s.done[:0], s.queues[:0]
	for i, q := range paused {
		from, to := f.Switch(q), f.Switch(f.Account(q))
		s.waiting, s.towards = grown(s.waiting, max(from, to)), grown(s.towards, max(from, to))
		s.waiting[from]++
		s.next = append(s.next, s.towards[to])
		s.towards[to] = int32(i + 1)
	}
	for sw, n := range s.waiting {
		if n == 0 {
			s.done = append(s.done, int32(sw))
		}
	}
	for len(s.done) > 0 {
		sw := s.done[len(s.done)-1]
		s.done = s.done[:len(s.done)-1]
		for i := s.towards[sw]; i != 0; i = s.next[i-1] {
			from := f.Switch(paused[i-1])
			if s.waiting[from]--; s.waiting[from] == 0 {
				s.done = append(s.done, int32(from))
			}
		}
	}
	for _, q := range paused {
		if s.waiting[f.Switch(f.Account(q))] > 0 {
			s.queues = append(s.queues, queue{PortPriority: q})
		}
	}
}

// queue represents a paused queue, whose frames are in parts[first:end].
type queue struct {
	PortPriority
	first, end int
}

// part holds the bytes of one queue that one account counts.
type part struct {
	account int
	bytes   int64
}

// account holds the state of an account that counts frames in queues.
type account struct {
	PortPriority
	owner int          // the switch
	bytes int64        // bytes in queues
	part  int          // position of its part of the last queue with any; -1: none
	next  PortPriority // the queue with most of its bytes
	most  int64        // number of these bytes
}

// read reads the frames of all queues.
func (s *Searcher) read(f Fabric) {
	for _, a := range s.accounts { // of the search before
		s.index[positionOf(a.PortPriority)] = 0
	}
	s.accounts, s.parts = s.accounts[:0], s.parts[:0]
	clear(s.used)
	first := 0
	add := func(a PortPriority, size uint64) {
		at := positionOf(a)
		s.index = grown(s.index, at)
		if s.index[at] == 0 {
			s.accounts = append(s.accounts, account{PortPriority: a, owner: f.Switch(a), part: -1})
			s.index[at] = int32(len(s.accounts))
		}
		i := int(s.index[at]) - 1
		if s.accounts[i].part < first {
			s.accounts[i].part = len(s.parts)
			s.parts = append(s.parts, part{account: i})
		}
		s.parts[s.accounts[i].part].bytes += int64(size)
	}
	for i := range s.queues {
		q := &s.queues[i]
		first = len(s.parts)
		f.Frames(q.PortPriority, add)
		q.first, q.end = first, len(s.parts)
	}
	for _, p := range s.parts {
		a := &s.accounts[p.account]
		s.used = grown(s.used, a.owner)
		s.move(a, p.bytes, f)
	}
}

// move adds bytes to an account and to the shared buffer of its switch.
func (s *Searcher) move(a *account, bytes int64, f Fabric) {
	shared := func() uint64 { return uint64(a.bytes) - f.Headroom(a.PortPriority, uint64(a.bytes)) }
	before := shared()
	a.bytes += bytes
	s.used[a.owner] += shared() - before
}

// keeps reports whether the frames in queues keep a queue paused.
func (s *Searcher) keeps(q *queue, f Fabric) bool {
	a := s.counting(f.Account(q.PortPriority))
	return a != nil && a.bytes > 0 && f.StaysPaused(a.PortPriority, uint64(a.bytes), s.used[a.owner])
}

// counting returns an account; nil if it counts no frame of the queues.
func (s *Searcher) counting(a PortPriority) *account {
	if at := positionOf(a); at < len(s.index) && s.index[at] != 0 {
		return &s.accounts[s.index[at]-1]
	}
	return nil
}

// waits returns the queues, each with the queue that has most of the bytes that pause it.
func (s *Searcher) waits(f Fabric) Waits {
	if len(s.queues) == 0 {
		return nil
	}
	for _, q := range s.queues {
		for _, p := range s.parts[q.first:q.end] {
			a := &s.accounts[p.account]
			if p.bytes > a.most || p.bytes == a.most && Compare(q.PortPriority, a.next) < 0 {
				a.next, a.most = q.PortPriority, p.bytes
			}
		}
	}
	waits := make(Waits, len(s.queues))
	for _, q := range s.queues {
		waits[q.PortPriority] = s.counting(f.Account(q.PortPriority)).next
	}
	return waits
}

// positionOf returns the index of a priority of a port in a slice by both.
func positionOf(p PortPriority) int { return p.Port<<3 | int(p.Priority&7) }

// grown returns a slice that has an index.
func grown[T any](s []T, index int) []T {
	if index < len(s) {
		return s
	}
	return append(s, make([]T, index+1-len(s))...)
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

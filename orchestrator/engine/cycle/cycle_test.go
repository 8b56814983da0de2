package cycle

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// fabric has one switch per ten ports. The queue of port p is paused by the account of port paused[p], which keeps it
// paused while it counts more than limit[account] bytes.
type fabric struct {
	pausedBy map[int]int
	frames   map[int][]part // by the port of the queue
	limit    map[int]uint64
	headroom map[int]uint64
	shared   uint64 // limit of a switch's shared buffer; 0: none
}

type part struct {
	account int
	size    uint64
}

func (f *fabric) Account(q PortPriority) PortPriority {
	return PortPriority{f.pausedBy[q.Port], q.Priority}
}

func (f *fabric) Frames(q PortPriority, each func(PortPriority, uint64)) {
	for _, p := range f.frames[q.Port] {
		each(PortPriority{p.account, q.Priority}, p.size)
	}
}

func (f *fabric) Switch(a PortPriority) int { return a.Port / 10 }

func (f *fabric) Headroom(a PortPriority, bytes uint64) uint64 { return min(bytes, f.headroom[a.Port]) }

func (f *fabric) StaysPaused(a PortPriority, bytes, used uint64) bool {
	return bytes > f.limit[a.Port] || f.shared > 0 && used > f.shared
}

func queues(ports ...int) (all []PortPriority) {
	for _, p := range ports {
		all = append(all, PortPriority{p, 3})
	}
	return all
}

// TestSearch finds the queues that wait for good in a triangle of switches 0, 1 and 2, whose ports 0, 10 and 20 lead
// to the next.
func TestSearch(t *testing.T) {
	triangle := func() *fabric {
		return &fabric{
			pausedBy: map[int]int{0: 11, 10: 21, 20: 1, 5: 11},
			frames:   map[int][]part{0: {{1, 100}}, 10: {{11, 100}}, 20: {{21, 100}}, 5: {{2, 100}}},
			limit:    map[int]uint64{1: 50, 11: 50, 21: 50},
		}
	}
	for _, c := range []struct {
		name   string
		paused []PortPriority
		change func(f *fabric)
		want   []PortPriority // waiting for good
		cycle  []PortPriority
	}{
		{"a cycle", queues(0, 10, 20), func(*fabric) {}, queues(0, 10, 20), queues(0, 10, 20)},
		{"one that is not paused", queues(0, 10), func(*fabric) {}, nil, nil},
		{"frames for another port", queues(0, 10, 20), func(f *fabric) { f.frames[20] = []part{{22, 100}} }, nil, nil},
		{"too few bytes", queues(0, 10, 20), func(f *fabric) { f.frames[10] = []part{{11, 50}} }, nil, nil},
		{
			"a queue outside that waits for the cycle", queues(0, 5, 10, 20), func(*fabric) {}, queues(0, 5, 10, 20),
			queues(0, 10, 20),
		},
		{"a shared buffer that is full", queues(0, 10, 20), func(f *fabric) {
			f.limit, f.shared = map[int]uint64{1: 200, 11: 200, 21: 200}, 90
		}, queues(0, 10, 20), queues(0, 10, 20)},
		{"a shared buffer with the rest in headroom", queues(0, 10, 20), func(f *fabric) {
			f.limit, f.shared, f.headroom = map[int]uint64{1: 200, 11: 200, 21: 200}, 90, map[int]uint64{11: 20}
		}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := triangle()
			c.change(f)
			w := Search(c.paused, f)
			if got := slices.SortedFunc(maps.Keys(w), Compare); !slices.Equal(got, c.want) {
				t.Errorf("%v wait for good, want %v", got, c.want)
			}
			if got := w.Cycle(); !slices.Equal(got, c.cycle) {
				t.Errorf("cycle %v, want %v", got, c.cycle)
			}
		})
	}
}

// TestSearchIsLargest compares the search with a trial of every set of queues: the union of all sets that keep
// themselves paused is one.
func TestSearchIsLargest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(t, "queues")
		ports := make([]int, n)
		f := &fabric{pausedBy: map[int]int{}, frames: map[int][]part{}, limit: map[int]uint64{}}
		for i := range n {
			ports[i] = i
			f.pausedBy[i] = rapid.IntRange(0, n-1).Draw(t, "paused by")
			f.limit[i] = rapid.Uint64Range(0, 4).Draw(t, "limit")
			for range rapid.IntRange(0, 3).Draw(t, "frames") {
				f.frames[i] = append(f.frames[i], part{
					rapid.IntRange(0, n-1).Draw(t, "account"),
					rapid.Uint64Range(1, 3).Draw(t, "size"),
				})
			}
		}
		paused := queues(ports...)
		var want []PortPriority
		for set := range 1 << n {
			var some []PortPriority
			for i, q := range paused {
				if set>>i&1 != 0 {
					some = append(some, q)
				}
			}
			bytes := map[PortPriority]uint64{}
			for _, q := range some {
				f.Frames(q, func(a PortPriority, size uint64) { bytes[a] += size })
			}
			if slices.ContainsFunc(some, func(q PortPriority) bool {
				return !f.StaysPaused(f.Account(q), bytes[f.Account(q)], 0)
			}) {
				continue
			}
			for _, q := range some {
				if !slices.Contains(want, q) {
					want = append(want, q)
				}
			}
		}
		slices.SortFunc(want, Compare)
		w := Search(paused, f)
		if got := slices.SortedFunc(maps.Keys(w), Compare); !slices.Equal(got, want) {
			t.Fatalf("%v wait for good, want %v", got, want)
		}
		if cycle := w.Cycle(); cycle != nil {
			for i, q := range cycle {
				if next := cycle[(i+1)%len(cycle)]; w[q] != next {
					t.Fatalf("%v is no cycle of %v", cycle, w)
				}
			}
		} else if len(want) > 0 {
			t.Fatal("no cycle")
		}
	})
}

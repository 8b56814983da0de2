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
	frames   map[int][]amount // by the port of the queue
	limit    map[int]uint64
	headroom map[int]uint64
	shared   uint64 // limit of a switch's shared buffer; 0: none
}

type amount struct {
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
			frames:   map[int][]amount{0: {{1, 100}}, 10: {{11, 100}}, 20: {{21, 100}}, 5: {{2, 100}}},
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
		{"frames for another port", queues(0, 10, 20), func(f *fabric) { f.frames[20] = []amount{{22, 100}} }, nil, nil},
		{"too few bytes", queues(0, 10, 20), func(f *fabric) { f.frames[10] = []amount{{11, 50}} }, nil, nil},
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
			w := new(Searcher).Search(c.paused, f)
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
	var searcher Searcher
	rapid.Check(t, func(t *rapid.T) {
		f, paused := drawFabric(t, 7)
		largest := map[PortPriority]bool{}
		for set := range 1 << len(paused) {
			some := map[PortPriority]bool{}
			for i, q := range paused {
				if set>>i&1 != 0 {
					some[q] = true
				}
			}
			if len(f.released(some)) == 0 {
				maps.Copy(largest, some)
			}
		}
		compare(t, searcher.Search(paused, f), largest)
	})
}

// TestSearchByRounds compares the search with one that removes queues in rounds, until each that is left stays paused
// by what is in the others. One searcher searches all fabrics, and must remember nothing of those before.
func TestSearchByRounds(t *testing.T) {
	var searcher Searcher
	rapid.Check(t, func(t *rapid.T) {
		f, paused := drawFabric(t, 60)
		left := map[PortPriority]bool{}
		for _, q := range paused {
			left[q] = true
		}
		for released := f.released(left); len(released) > 0; released = f.released(left) {
			for _, q := range released {
				delete(left, q)
			}
		}
		compare(t, searcher.Search(paused, f), left)
	})
}

// released returns the queues of a set that would not stay paused if all other queues were empty.
func (f *fabric) released(set map[PortPriority]bool) (queues []PortPriority) {
	bytes, used := map[PortPriority]uint64{}, map[int]uint64{}
	for q := range set {
		f.Frames(q, func(a PortPriority, size uint64) { bytes[a] += size })
	}
	for a, n := range bytes {
		used[f.Switch(a)] += n - f.Headroom(a, n)
	}
	for q := range set {
		if a := f.Account(q); bytes[a] == 0 || !f.StaysPaused(a, bytes[a], used[f.Switch(a)]) {
			queues = append(queues, q)
		}
	}
	return queues
}

// compare checks that exactly the wanted queues wait for good, and that there is a cycle of them if there are any.
func compare(t *rapid.T, w Waits, want map[PortPriority]bool) {
	if got, want := slices.SortedFunc(maps.Keys(w), Compare), slices.SortedFunc(maps.Keys(want), Compare); !slices.Equal(
		got, want) {
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
}

// drawFabric returns a random fabric, with the queues of two to most ports paused.
func drawFabric(t *rapid.T, most int) (*fabric, []PortPriority) {
	n := rapid.IntRange(2, most).Draw(t, "queues")
	f := &fabric{
		pausedBy: map[int]int{}, frames: map[int][]amount{}, limit: map[int]uint64{}, headroom: map[int]uint64{},
		shared: rapid.Uint64Range(0, 6).Draw(t, "shared"),
	}
	perSwitch := rapid.IntRange(1, 8).Draw(t, "queues of a switch")
	port := func(i int) int { return i/perSwitch*10 + i%perSwitch }
	var ports []int
	for i := range n {
		p, first := port(i), port(i)/10*10
		ports = append(ports, p)
		f.pausedBy[p] = port(rapid.IntRange(0, n-1).Draw(t, "paused by"))
		f.limit[p] = rapid.Uint64Range(0, 4).Draw(t, "limit")
		f.headroom[p] = rapid.Uint64Range(0, 2).Draw(t, "headroom")
		for range rapid.IntRange(0, 3).Draw(t, "frames") {
			f.frames[p] = append(f.frames[p], amount{
				first + rapid.IntRange(0, perSwitch-1).Draw(t, "account"),
				rapid.Uint64Range(1, 3).Draw(t, "size"),
			})
		}
	}
	return f, queues(ports...)
}

// TestSearchOfTree checks that a tree of pauses costs no allocation and no look at frames.
func TestSearchOfTree(t *testing.T) {
	f := &fabric{pausedBy: map[int]int{}}
	var ports []int
	for i := 1; i < 100; i++ { // switch i waits for switch i/2
		ports, f.pausedBy[10*i] = append(ports, 10*i), i/2*10
	}
	paused := queues(ports...)
	var s Searcher
	ring := &fabric{pausedBy: map[int]int{10: 20, 20: 10}, frames: map[int][]amount{10: {{10, 1}}, 20: {{20, 1}}}}
	if w := s.Search(queues(10, 20), ring); len(w) != 2 {
		t.Errorf("%v wait for good in a ring", w)
	}
	if n := testing.AllocsPerRun(10, func() {
		if w := s.Search(paused, noFrames{f}); w != nil {
			t.Fatalf("%v wait for good", w)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// noFrames implements a fabric whose frames must not be read.
type noFrames struct{ *fabric }

func (noFrames) Frames(PortPriority, func(PortPriority, uint64)) { panic("frames are read") }

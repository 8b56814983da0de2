package collective

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/experiments/traffic/steps"
	"github.com/pausenet/pausenet/vtime"
)

// content counts, for a block at a rank, how often it contains each rank's data.
type content map[int]int

// flow follows data through a collective's graph.
type dataFlow struct {
	*testing.T
	g       steps.Graph
	spec    *Spec
	n       int
	carries map[int32]carried // by send
	data    [][][]content     // by chunk, rank and block
	c       *steps.Collective
}

type carried struct {
	transfer
	chunk    int
	contents []content // as it was when the send began
}

// home returns the block that belongs to a rank.
func (d *dataFlow) home(rank int) int {
	if d.spec.Algorithm == Hierarchical && d.spec.Kind != Broadcast {
		groups := d.n / d.spec.Group
		return rank%d.spec.Group*groups + rank/d.spec.Group
	}
	return rank
}

// first returns the content of a rank's block before the collective.
func (d *dataFlow) first(rank, block int) content {
	switch d.spec.Kind {
	case AllGather:
		if block == d.home(rank) {
			return content{rank: 1}
		}
		return content{}
	case Broadcast:
		if rank == d.spec.Root {
			return content{rank: 1}
		}
		return content{}
	}
	return content{rank: 1}
}

// last returns the wanted content after the collective; nil: any.
func (d *dataFlow) last(rank, block int) content {
	everyone := content{}
	for r := range d.n {
		everyone[r] = 1
	}
	switch d.spec.Kind {
	case AllReduce:
		return everyone
	case ReduceScatter, AllToAll:
		if block == d.home(rank) {
			return everyone
		}
		return nil
	case AllGather:
		for r := range d.n {
			if d.home(r) == block {
				return content{r: 1}
			}
		}
	}
	return content{d.spec.Root: 1}
}

// run executes the graph in a random order that its waits allow. A message has the data from the start of its send, and
// arrives at the end of its receive.
func (d *dataFlow) run(random *rand.Rand) {
	n := int(d.g.Added())
	needs, done := make([]int, n), make([]bool, n)
	followers := make([][]int32, n)
	for i := range d.g.Added() {
		waits := slices.Collect(d.g.Waits(i))
		needs[i] = len(waits)
		for _, w := range waits {
			followers[w.Operation] = append(followers[w.Operation], i)
		}
		if d.g.Operation(i).Kind == steps.Receive {
			needs[i]++
			send := d.g.Messages[d.g.Operation(i).Message].Send
			followers[send] = append(followers[send], i)
		}
	}
	var ready []int32
	for i := range needs {
		if needs[i] == 0 {
			ready = append(ready, int32(i))
		}
	}
	for len(ready) > 0 {
		k := random.IntN(len(ready))
		id := ready[k]
		ready = slices.Delete(ready, k, k+1)
		d.do(id)
		done[id] = true
		for _, f := range followers[id] {
			if needs[f]--; needs[f] == 0 {
				ready = append(ready, f)
			}
		}
	}
	if i := slices.Index(done, false); i >= 0 {
		d.Fatalf("%s never happens", d.g.Describe(int32(i)))
	}
}

func (d *dataFlow) do(id int32) {
	o := d.g.Operation(id)
	switch o.Kind {
	case steps.Send:
		c := d.carries[id]
		for b := c.first; b < c.first+c.count; b++ {
			snapshot := content{}
			for r, n := range d.data[c.chunk][c.from][b] {
				snapshot[r] = n
			}
			c.contents = append(c.contents, snapshot)
		}
		d.carries[id] = c
	case steps.Receive:
		c := d.carries[d.g.Messages[o.Message].Send]
		for i, came := range c.contents {
			into := &d.data[c.chunk][c.to][c.first+i]
			if !c.reduce {
				*into = came
				continue
			}
			for r, n := range came {
				(*into)[r] += n
			}
		}
	}
}

func (d *dataFlow) check() {
	d.Helper()
	for chunk := range d.data {
		for r := range d.data[chunk] {
			for b, got := range d.data[chunk][r] {
				want := d.last(r, b)
				if want != nil && fmt.Sprint(got) != fmt.Sprint(want) {
					d.Fatalf("chunk %d: rank %d has %v of block %d, want %v", chunk, r, got, b, want)
				}
			}
		}
	}
}

// each calls f with every collective by every algorithm that there is, among several numbers of ranks.
func each(t *testing.T, f func(t *testing.T, s *Spec, ranks int)) {
	for _, kind := range Kinds {
		for _, algorithm := range Algorithms {
			for _, ranks := range []int{2, 3, 4, 6, 8, 12, 16} {
				for _, chunks := range []int{0, 1, 3} {
					s := &Spec{
						Kind: kind, Algorithm: algorithm, Size: 1000 + int64(ranks), Chunks: chunks, Group: 2,
						Root: (ranks - 1) / 2,
					}
					if ranks%3 == 0 {
						s.Group = 3
					}
					if s.Check(ranks) != nil {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%d/%d", kind, algorithm, ranks, chunks), func(t *testing.T) { f(t, s, ranks) })
				}
			}
		}
	}
}

// TestData checks that each rank ends with the right data, whatever the order in which messages arrive: each rank's
// part once.
func TestData(t *testing.T) {
	tested := 0
	each(t, func(t *testing.T, s *Spec, ranks int) {
		tested++
		for seed := range uint64(5) {
			d := &dataFlow{T: t, spec: s, n: ranks, carries: map[int32]carried{}}
			d.g.Ranks = ranks
			all := make([]int32, ranks)
			for r := range all {
				all[r] = int32(r)
			}
			blocks := 0
			d.c = s.expand(&d.g, all, func(int) []steps.Wait { return nil }, func(t transfer, chunk int, send, _ int32) {
				blocks = max(blocks, t.first+t.count)
				d.carries[send] = carried{transfer: t, chunk: chunk}
			})
			if order, cycle := d.g.Order(); len(order) != int(d.g.Added()) {
				t.Fatal(d.g.DescribeCycle(cycle))
			}
			for chunk := range max(s.Chunks, 1) {
				d.data = append(d.data, make([][]content, ranks))
				for r := range ranks {
					for b := range blocks {
						d.data[chunk][r] = append(d.data[chunk][r], d.first(r, b))
					}
				}
			}
			d.run(rand.New(rand.NewPCG(seed, 1)))
			d.check()
		}
	})
	if tested < 200 {
		t.Errorf("%d collectives: the test tests little", tested)
	}
}

// TestBytes checks that each rank sends and receives the bytes that the algorithm's authors state, which for
// bandwidth-optimal algorithms is nccl-tests' factor.
func TestBytes(t *testing.T) {
	each(t, func(t *testing.T, s *Spec, ranks int) {
		n := int64(ranks)
		s.Size = 6000 * n * int64(max(s.Chunks, 1)) // whole blocks
		var g steps.Graph
		all := make([]int32, ranks)
		for r := range all {
			all[r] = int32(r)
		}
		s.Expand(&g, all, func(int) []steps.Wait { return nil })
		if got := s.Messages(ranks); got != len(g.Messages) {
			t.Errorf("%d messages were counted, and there are %d", got, len(g.Messages))
		}
		sent := make([]int64, ranks)
		for i := range g.Messages {
			m := &g.Messages[i]
			if m.Size < 1 {
				t.Fatalf("message %d has %d bytes", i, m.Size)
			}
			sent[g.Operation(m.Send).Rank] += m.Size
		}
		if s.Algorithm == Tree || s.Kind == Broadcast {
			return // not the same for all ranks
		}
		want := int64(s.Factor(ranks)*float64(s.Size) + 0.5)
		// within the group for all groups, and then between groups for all of the group
		if s.Algorithm == Hierarchical && s.Kind == AllToAll {
			size := int64(s.Group)
			want = s.Size / n * ((size-1)*(n/size) + (n/size-1)*size)
		}
		for r, bytes := range sent {
			if bytes != want {
				t.Errorf("rank %d sends %d bytes, want %d", r, bytes, want)
			}
		}
	})
}

// TestCheck checks that impossible collectives are refused, and that the errors name possible ones.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		spec  Spec
		ranks int
		want  string
	}{
		{
			Spec{AllReduce, HalvingDoubling, 1000, 1, 0, 0},
			6,
			"halving-doubling needs 2, 4, 8, ... ranks, but there are 6: use ring",
		},
		{Spec{AllToAll, Tree, 1000, 1, 0, 0}, 4, "alltoall has no algorithm tree: use ring, direct, hierarchical"},
		{
			Spec{AllReduce, Hierarchical, 1000, 1, 3, 0},
			8,
			"8 ranks do not form several groups of 3: the number of ranks must be a multiple of group, at least twice, and group at least 2",
		},
		{Spec{AllReduce, Ring, 10, 3, 0, 0}, 8, "10 bytes are too few for 8 ranks and 3 chunks: each rank needs at least one byte per chunk"},
		{Spec{AllReduce, Ring, 10, 1, 0, 0}, 1, "a collective needs at least two ranks, but this one has 1"},
		{Spec{Broadcast, Ring, 10, 1, 0, 4}, 4, "root 4 is not a rank: choose one of the 4"},
	} {
		if err := c.spec.Check(c.ranks); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.spec, err, c.want)
		}
	}
}

// TestJob: iterations follow each other at each rank, and an overlapping collective holds up the iteration's end alone.
func TestJob(t *testing.T) {
	job := Job{Iterations: 3, Start: vtime.Microsecond, Steps: []Step{
		{Compute: &Compute{Time: 10 * vtime.Microsecond, Slow: map[int]bool{1: true}, Factor: 2}},
		{Collective: &Spec{Kind: AllReduce, Algorithm: Ring, Size: 4000}, Overlap: true},
		{Compute: &Compute{Time: 5 * vtime.Microsecond}},
		{Barrier: true},
	}}
	const ranks = 4
	var g steps.Graph
	job.Expand(&g, ranks, func(uint64) float64 { return 0 })
	order, cycle := g.Order()
	if cycle != nil {
		t.Fatal(g.DescribeCycle(cycle))
	}
	if len(g.Messages) != job.Messages(ranks) || len(g.Messages) != 3*(6*4+2*4) {
		t.Errorf("%d messages, %d counted", len(g.Messages), job.Messages(ranks))
	}
	if len(g.Collectives) != 6 || g.Collectives[4].Iteration != 2 || g.Collectives[5].Factor != 0 {
		t.Errorf("%+v", g.Collectives)
	}
	// A message that takes no time leaves the slow rank's computes: 20 and 5 us an iteration, and the barrier has all
	// wait for it.
	nothing := func(int32, vtime.Time) steps.Alone { return steps.Alone{} }
	if got := g.Critical(order, 0, g.Added(), nothing); got != 76*vtime.Microsecond {
		t.Errorf("%v, want 76us", got)
	}
	// A message of 2 us, acknowledged after 3: an all-reduce of 6 steps after 20 us, beside a compute of 5 us, and two
	// rounds of the barrier.
	job.Iterations = 1
	g = steps.Graph{Ranks: ranks}
	job.Expand(&g, ranks, func(uint64) float64 { return 0 })
	order, _ = g.Order()
	two := func(int32, vtime.Time) steps.Alone {
		return steps.Alone{Delivered: 2 * vtime.Microsecond, Acknowledged: 3 * vtime.Microsecond}
	}
	if got, want := g.Critical(order, 0, g.Added(), two), vtime.Microsecond*(1+20+13+5); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestJobOfSomeRanks checks that the collectives of two halves of a job run concurrently, and that a rank in neither
// continues.
func TestJobOfSomeRanks(t *testing.T) {
	half := func(ranks ...int32) Step {
		return Step{Ranks: ranks, Collective: &Spec{Kind: AllReduce, Algorithm: Ring, Size: 4000}}
	}
	job := Job{Iterations: 1, Steps: []Step{half(3, 1), half(0, 2), {Compute: &Compute{Time: vtime.Microsecond}}}}
	const ranks = 5
	g := steps.Graph{Ranks: ranks}
	job.Expand(&g, ranks, func(uint64) float64 { return 0 })
	order, cycle := g.Order()
	if cycle != nil {
		t.Fatal(g.DescribeCycle(cycle))
	}
	if len(g.Messages) != 8 || job.Messages(ranks) != 8 || !slices.Equal(g.Collectives[0].Ranks, []int32{3, 1}) {
		t.Errorf("%d messages, %d counted: %+v", len(g.Messages), job.Messages(ranks), g.Collectives)
	}
	for _, m := range g.Messages {
		if from, to := g.Operation(m.Send).Rank, g.Operation(m.Receive).Rank; from+to != 4 && from+to != 2 || from == 4 ||
			to == 4 {
			t.Errorf("rank %d sends to rank %d", from, to)
		}
	}
	two := func(int32, vtime.Time) steps.Alone {
		return steps.Alone{Delivered: 2 * vtime.Microsecond, Acknowledged: 3 * vtime.Microsecond}
	}
	// two steps of a ring of two, not four
	if got, want := g.Critical(order, 0, g.Added(), two), vtime.Microsecond*(2+3+1); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestBarrier checks that no rank leaves a barrier before the last has arrived, for any number of ranks.
func TestBarrier(t *testing.T) {
	for ranks := 2; ranks <= 17; ranks++ {
		for late := range ranks {
			var g steps.Graph
			all := make([]int32, ranks)
			for r := range all {
				all[r] = int32(r)
			}
			slow := g.Add(steps.Operation{Rank: int32(late), Duration: vtime.Second})
			barrier := Step{Barrier: true}
			c := barrier.spec().Expand(&g, all, func(position int) []steps.Wait {
				if position == late {
					return []steps.Wait{{Operation: slow}}
				}
				return nil
			})
			after := map[int32]bool{slow: true} // operations that happen after the late rank has come
			order, _ := g.Order()
			for _, id := range order {
				for w := range g.Waits(id) {
					after[id] = after[id] || after[w.Operation]
				}
				if o := g.Operation(id); o.Kind == steps.Send && after[id] {
					after[g.Messages[o.Message].Receive] = true
				}
			}
			for position, leave := range c.Leave {
				if !after[leave] {
					t.Errorf("%d ranks: rank %d leaves before rank %d comes", ranks, position, late)
				}
			}
		}
	}
}

// TestPairwiseRounds checks that a rank's message of a round waits until all of its messages of the previous round have
// left and all messages to it have arrived.
func TestPairwiseRounds(t *testing.T) {
	for _, chunks := range []int{1, 3} {
		const ranks = 4
		s := &Spec{Kind: AllToAll, Algorithm: Ring, Size: 6000 * ranks * int64(chunks), Chunks: chunks}
		g := steps.Graph{Ranks: ranks}
		var sends, receives [ranks][]int32 // by rank, in order; the same number a round
		s.expand(&g, []int32{0, 1, 2, 3}, func(int) []steps.Wait { return nil },
			func(t transfer, _ int, send, receive int32) {
				sends[t.from] = append(sends[t.from], send)
				receives[t.to] = append(receives[t.to], receive)
			})
		for r := range ranks {
			for k, send := range sends[r] {
				var want []steps.Wait
				if round := k / chunks; round > 0 {
					for i := (round - 1) * chunks; i < round*chunks; i++ {
						want = append(want, steps.Wait{Operation: sends[r][i], Until: steps.Sent}, steps.Wait{Operation: receives[r][i]})
					}
				}
				// of its round, and of the collective's begin
				got := slices.DeleteFunc(slices.Collect(g.Waits(send)), func(w steps.Wait) bool {
					return !slices.Contains(sends[r][:k/chunks*chunks], w.Operation) && !slices.Contains(receives[r], w.Operation)
				})
				order := func(a, b steps.Wait) int { return int(a.Operation - b.Operation) }
				slices.SortFunc(got, order)
				slices.SortFunc(want, order)
				if !slices.Equal(got, want) {
					t.Errorf("%d chunks: send %d of rank %d waits for %v, want %v", chunks, k, r, got, want)
				}
			}
		}
	}
}

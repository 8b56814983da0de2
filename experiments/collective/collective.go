// Package collective has the algorithms of collective operations as graphs of messages (package steps). It is pure.
//
// What a collective's size is, and what makes a bus bandwidth of its bandwidth, is as nccl-tests have it
// (doc/PERFORMANCE.md): of all-reduce and broadcast the bytes of a rank's buffer, of all-gather what each rank has in
// the end, of reduce-scatter and all-to-all what each rank has at first. To reduce takes no time of its own.
//
// The algorithms:
//
//   - ring: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 2009: n-1
//     steps of reduce-scatter, and
//     n-1 of all-gather, each to the next rank. A broadcast goes along the ring. An all-to-all has n-1 rounds, the k-th
//     to rank + k (the pairwise
//     exchange of Thakur, Rabenseifner and Gropp).
//   - halving-doubling: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
//     IJHPCA 2005:
//     reduce-scatter by recursive vector halving and distance halving, all-gather by recursive doubling; a broadcast is
//     a binomial scatter and that
//     all-gather (van de Geijn's). For 2^k ranks.
//   - tree: a reduction up two binary trees, each of half the data, and a broadcast down, in a pipeline of chunks
//     (Sanders, Speck and Träff, "Two-tree
//     algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 2009). An all-reduce has the
//     trees of NCCL.
//   - direct: every rank to every other at once.
//   - hierarchical: in groups, then between the ranks of one place in all groups, by rings (Cho et al., "BlueConnect",
//     MLSys 2019); an all-to-all is
//     direct in both, as NCCL's PXN has it.
package collective

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/steps"
)

// Names of collectives.
const (
	AllReduce     = "allreduce"
	AllGather     = "allgather"
	ReduceScatter = "reducescatter"
	AllToAll      = "alltoall"
	Broadcast     = "broadcast"
	barrier       = "barrier"
)

// Names of algorithms.
const (
	Ring            = "ring"
	Tree            = "tree"
	HalvingDoubling = "halving-doubling"
	Direct          = "direct"
	Hierarchical    = "hierarchical"
	dissemination   = "dissemination"
)

// Kinds are the collectives that users may name; Algorithms the algorithms.
var (
	Kinds      = []string{AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast}
	Algorithms = []string{Ring, Tree, HalvingDoubling, Direct, Hierarchical}
)

// lacking are the algorithms that a collective has not got.
var lacking = map[string][]string{
	AllGather: {Tree}, ReduceScatter: {Tree}, AllToAll: {Tree, HalvingDoubling},
}

// Spec is a collective operation.
type Spec struct {
	Kind, Algorithm string
	Size            int64 // bytes; see the package
	// Chunks is into how many parts the data is cut: each goes through the algorithm by itself, and those between two
	// ranks leave one after the other. 0 is the algorithm's default: see Parts.
	Chunks int
	// Group is how many ranks a group has (hierarchical).
	Group int
	// Root is who has the data of a broadcast.
	Root int
}

// Factor is what a bandwidth is multiplied by to be a bus bandwidth.
func (s *Spec) Factor(ranks int) float64 {
	n := float64(ranks)
	switch s.Kind {
	case AllReduce:
		return 2 * (n - 1) / n
	case AllGather, ReduceScatter, AllToAll:
		return (n - 1) / n
	case Broadcast:
		return 1
	}
	return 0
}

// Check says what is wrong with a collective among so many ranks.
func (s *Spec) Check(ranks int) error {
	switch {
	case ranks < 2:
		return fmt.Errorf("a collective has at least two ranks, this one %d", ranks)
	case slices.Contains(lacking[s.Kind], s.Algorithm):
		return fmt.Errorf("there is no %s by algorithm %s: use %s", s.Kind, s.Algorithm,
			strings.Join(slices.DeleteFunc(slices.Clone(Algorithms), func(a string) bool {
				return slices.Contains(lacking[s.Kind], a)
			}), ", "))
	case s.Algorithm == HalvingDoubling && ranks&(ranks-1) != 0:
		return fmt.Errorf("%s is for 2, 4, 8, ... ranks, and these are %d: use %s", HalvingDoubling, ranks, Ring)
	case s.Algorithm == Hierarchical && (s.Group < 2 || ranks%s.Group != 0 || ranks == s.Group):
		return fmt.Errorf("%d ranks are not several groups of %d: the number of ranks is to be twice the group's or more of it, and a group has at least 2", ranks, s.Group)
	case s.Root < 0 || s.Root >= ranks:
		return fmt.Errorf("rank %d is none of the %d", s.Root, ranks)
	case s.Size < int64(ranks)*int64(s.Parts(ranks)):
		return fmt.Errorf("%d bytes are less than one for each of %d ranks and %d chunks", s.Size, ranks, s.Parts(ranks))
	}
	return nil
}

// Messages is how many messages the collective is among so many ranks.
func (s *Spec) Messages(ranks int) int {
	b := builder{ranks: make([]int32, ranks), spec: s, count: true, chunks: s.Parts(ranks)}
	b.build()
	return b.messages * b.chunks
}

// Expand adds the collective to a graph: the ranks given, each of which enters it when what after has for it has
// happened. Check has found nothing wrong. The collective is the last of the graph's then.
func (s *Spec) Expand(g *steps.Graph, ranks []int32, after func(place int) []steps.Wait) *steps.Collective {
	return s.expand(g, ranks, after, nil)
}

// transfer is one message of an algorithm, of each chunk: the places of two ranks, and the blocks of data that go from
// one to the other. reduce says that they are added to what is there. A block holds times as much as at first, where
// ranks' own are put together; 0 is 1. Messages between two ranks leave in order if they have one lane.
type transfer struct {
	from, to     int
	first, count int
	reduce       bool
	times        int
	lane         int
}

// expand tells seen of each message.
func (s *Spec) expand(g *steps.Graph, ranks []int32, after func(place int) []steps.Wait,
	seen func(t transfer, chunk int, send, receive int32),
) *steps.Collective {
	b := builder{g: g, spec: s, ranks: ranks, seen: seen, chunks: s.Parts(len(ranks)), c: steps.Collective{
		Kind: s.Kind, Algorithm: s.Algorithm, Size: s.Size, Factor: s.Factor(len(ranks)), Ranks: ranks,
		First: int32(len(g.Operations)), Iteration: -1,
	}}
	for place, rank := range ranks {
		b.c.Enter = append(b.c.Enter, g.Join(rank, after(place)...))
	}
	b.leave = make([][]steps.Wait, len(ranks))
	b.last = map[[3]int]int32{}
	b.writers = make([]int32, b.chunks*len(ranks)*b.blocks())
	b.writes = []write{{}}
	b.build()
	for place, rank := range ranks {
		b.c.Leave = append(b.c.Leave, g.Join(rank, append(b.leave[place], steps.Wait{Operation: b.c.Enter[place]})...))
	}
	b.c.End = int32(len(g.Operations))
	g.Collectives = append(g.Collectives, b.c)
	return &g.Collectives[len(g.Collectives)-1]
}

// builder makes messages of transfers. What a message waits for follows from what is in it: all that has come to its
// sender of these blocks.
type builder struct {
	g      *steps.Graph
	spec   *Spec
	ranks  []int32
	chunks int
	seen   func(t transfer, chunk int, send, receive int32)
	c      steps.Collective

	writers []int32 // by chunk, place and block: the last of writes, 0 none
	writes  []write
	last    map[[3]int]int32 // by two ranks and lane, the last send
	leave   [][]steps.Wait   // by place: what ends the collective there
	round   [][]steps.Wait   // by place: what the next message waits for besides; nil: nothing

	atOnce   bool
	arrivals []arrival

	count    bool // messages are only counted
	messages int
}

// write is a receive that has brought a block, and the one before that this one was added to.
type write struct{ receive, before int32 }

// blocks is into how many blocks a chunk is divided.
func (b *builder) blocks() int {
	switch {
	case b.spec.Algorithm == Tree:
		return 2 // one for each of the two trees
	case b.spec.Kind == barrier, b.spec.Kind == Broadcast && b.spec.Algorithm != HalvingDoubling:
		return 1
	}
	return len(b.ranks)
}

// bytes are those of some blocks of a chunk.
func (b *builder) bytes(chunk, first, count int) int64 {
	chunks, blocks := int64(b.chunks), int64(b.blocks())
	size := b.spec.Size*int64(chunk+1)/chunks - b.spec.Size*int64(chunk)/chunks
	return size*int64(first+count)/blocks - size*int64(first)/blocks
}

func (b *builder) writer(chunk, place, block int) *int32 {
	return &b.writers[(chunk*len(b.ranks)+place)*b.blocks()+block]
}

// joined is the last write of a block, which has all before it in it: what several have been added up to is joined
// once, however often it is sent.
func (b *builder) joined(chunk, place, block int) int32 {
	at := b.writer(chunk, place, block)
	if *at == 0 || b.writes[*at].before == 0 {
		return *at
	}
	var all []steps.Wait
	for w := *at; w != 0; w = b.writes[w].before {
		all = append(all, steps.Wait{Operation: b.writes[w].receive})
	}
	b.writes = append(b.writes, write{receive: b.g.Join(b.ranks[place], all...)})
	*at = int32(len(b.writes) - 1)
	return *at
}

// arrival is a block that a receive brings, to where its last write stands.
type arrival struct {
	at      *int32
	receive int32
	reduce  bool
}

func (b *builder) arrived(a arrival) {
	if b.atOnce {
		b.arrivals = append(b.arrivals, a)
		return
	}
	w := write{receive: a.receive}
	if a.reduce {
		w.before = *a.at
	}
	b.writes = append(b.writes, w)
	*a.at = int32(len(b.writes) - 1)
}

// together adds transfers of which none waits for another, though they are about the same blocks.
func (b *builder) together(add func()) {
	b.atOnce = true
	add()
	b.atOnce = false
	for _, a := range b.arrivals {
		b.arrived(a)
	}
	b.arrivals = b.arrivals[:0]
}

// add adds a transfer, of every chunk. Transfers are added in an order in which each comes after those that it needs.
func (b *builder) add(t transfer) {
	b.messages++
	if b.count {
		return
	}
	for chunk := range b.chunks {
		wait := []steps.Wait{}
		for block := t.first; block < t.first+t.count; block++ {
			if w := b.joined(chunk, t.from, block); w != 0 {
				if r := (steps.Wait{Operation: b.writes[w].receive}); !slices.Contains(wait, r) {
					wait = append(wait, r)
				}
			}
		}
		if len(wait) == 0 {
			wait = append(wait, steps.Wait{Operation: b.c.Enter[t.from]})
		}
		queue := [3]int{t.from, t.to, t.lane}
		if before, is := b.last[queue]; is {
			wait = append(wait, steps.Wait{Operation: before, Until: steps.Sent})
		}
		if b.round != nil {
			wait = append(wait, b.round[t.from]...)
		}
		size := b.bytes(chunk, t.first, t.count) * int64(max(t.times, 1))
		send, receive := b.g.Message(b.ranks[t.from], b.ranks[t.to], size, wait, []steps.Wait{{Operation: b.c.Enter[t.to]}})
		b.last[queue] = send
		for block := t.first; block < t.first+t.count; block++ {
			b.arrived(arrival{b.writer(chunk, t.to, block), receive, t.reduce})
		}
		b.leave[t.from] = append(b.leave[t.from], steps.Wait{Operation: send})
		b.leave[t.to] = append(b.leave[t.to], steps.Wait{Operation: receive})
		if b.seen != nil {
			b.seen(t, chunk, send, receive)
		}
	}
}

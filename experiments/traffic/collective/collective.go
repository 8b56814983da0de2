// Package collective implements collective operations as graphs of messages (package steps). It does no I/O.
//
// nccl-tests define the size of a collective, and the factor between its algorithm bandwidth and its bus bandwidth
// (doc/PERFORMANCE.md). For all-reduce and broadcast the size is that of a rank's buffer, for all-gather that of a
// rank's result, for reduce-scatter and all-to-all that of a rank's input. Reduction takes no time.
//
// The algorithms:
//
//   - ring: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 2009: n-1
//     steps of reduce-scatter, and n-1 of all-gather, each to the next rank. A broadcast goes along the ring. An
//     all-to-all has n-1 rounds, the k-th to rank + k (the pairwise exchange of Thakur, Rabenseifner and Gropp).
//   - halving-doubling: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
//     IJHPCA 2005: reduce-scatter by recursive vector halving and distance halving, all-gather by recursive doubling. A
//     broadcast is a binomial scatter followed by that all-gather (van de Geijn's). For 2^k ranks.
//   - tree: a reduction up two binary trees, each of half the data, and a broadcast down, in a pipeline of chunks
//     (Sanders, Speck and Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
//     Computing 2009). An all-reduce has the trees of NCCL.
//   - direct: every rank to every other at once.
//   - hierarchical: rings within each group, and rings between the ranks with the same position in their groups (Cho et
//     al., "BlueConnect", MLSys 2019). An all-to-all sends directly in both stages, as NCCL's PXN does.
package collective

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/traffic/steps"
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

// Kinds lists the collectives that users may name; Algorithms lists the algorithms.
var (
	Kinds      = []string{AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast}
	Algorithms = []string{Ring, Tree, HalvingDoubling, Direct, Hierarchical}
)

// lacking lists the algorithms that a collective does not have.
var lacking = map[string][]string{
	AllGather: {Tree}, ReduceScatter: {Tree}, AllToAll: {Tree, HalvingDoubling},
}

// Spec describes a collective operation.
type Spec struct {
	Kind, Algorithm string
	Size            int64 // in bytes, as the package comment defines it
	// Chunks sets the number of parts of the data. Each part runs through the algorithm on its own, and parts between
	// two ranks leave one after the other. 0: the algorithm's default (see Parts).
	Chunks int
	// Group sets the number of ranks in a group (hierarchical).
	Group int
	// Root selects the rank with the data of a broadcast.
	Root int
}

// Factor returns the factor from algorithm bandwidth to bus bandwidth.
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

// Check returns an error if the collective is impossible among this number of ranks.
func (s *Spec) Check(ranks int) error {
	switch {
	case ranks < 2:
		return fmt.Errorf("a collective needs at least two ranks, but this one has %d", ranks)
	case slices.Contains(lacking[s.Kind], s.Algorithm):
		return fmt.Errorf("%s has no algorithm %s: use %s", s.Kind, s.Algorithm,
			strings.Join(slices.DeleteFunc(slices.Clone(Algorithms), func(a string) bool {
				return slices.Contains(lacking[s.Kind], a)
			}), ", "))
	case s.Algorithm == HalvingDoubling && ranks&(ranks-1) != 0:
		return fmt.Errorf("%s needs 2, 4, 8, ... ranks, but there are %d: use %s", HalvingDoubling, ranks, Ring)
	case s.Algorithm == Hierarchical && (s.Group < 2 || ranks%s.Group != 0 || ranks == s.Group):
		return fmt.Errorf("%d ranks do not form several groups of %d: the number of ranks must be a multiple of group, "+
			"at least twice, and group at least 2", ranks, s.Group)
	case s.Root < 0 || s.Root >= ranks:
		return fmt.Errorf("root %d is not a rank: choose one of the %d", s.Root, ranks)
	case s.Size < int64(ranks)*int64(s.Parts(ranks)):
		return fmt.Errorf("%d bytes are too few for %d ranks and %d chunks: each rank needs at least one byte per "+
			"chunk", s.Size, ranks, s.Parts(ranks))
	}
	return nil
}

// Messages returns the number of messages of the collective among some ranks.
func (s *Spec) Messages(ranks int) int {
	b := builder{ranks: make([]int32, ranks), spec: s, count: true, chunks: s.Parts(ranks)}
	b.build()
	return b.messages * b.chunks
}

// Expand adds the collective to a graph, for the given ranks. Each rank enters it once the operations that after
// returns have ended. Check must have succeeded. It returns the collective, which is the graph's last.
func (s *Spec) Expand(g *steps.Graph, ranks []int32, after func(position int) []steps.Wait) *steps.Collective {
	return s.expand(g, ranks, after, nil)
}

// transfer represents one message of an algorithm, for each chunk: the positions of two ranks, and the blocks of data
// that one sends to the other. If reduce is set, the receiver adds them to its own. times multiplies the blocks' size,
// if the message carries the data of several ranks; 0 means 1. Messages between two ranks on one lane leave in order.
type transfer struct {
	from, to     int
	first, count int
	reduce       bool
	times        int
	lane         int
}

// expand works like Expand, and calls seen, if it is not nil, for each message of each chunk.
func (s *Spec) expand(g *steps.Graph, ranks []int32, after func(position int) []steps.Wait,
	seen func(t transfer, chunk int, send, receive int32),
) *steps.Collective {
	b := builder{g: g, spec: s, ranks: ranks, seen: seen, chunks: s.Parts(len(ranks)), c: steps.Collective{
		Kind: s.Kind, Algorithm: s.Algorithm, Size: s.Size, Factor: s.Factor(len(ranks)), Ranks: ranks,
		First: g.Added(), Iteration: -1,
	}}
	if !g.ByRule || !s.ByRule() {
		g.Reserve(s.Messages(len(ranks)), 2*len(ranks))
	}
	for position, rank := range ranks {
		b.c.Enter = append(b.c.Enter, g.Join(rank, after(position)...))
	}
	b.leave = make([][]steps.Wait, len(ranks))
	b.last = map[[3]int]int32{}
	b.writers = make([]int32, b.chunks*len(ranks)*b.blocks())
	b.writes = []write{{}}
	b.build()
	for position, rank := range ranks {
		b.c.Leave = append(b.c.Leave, g.Join(rank, append(b.leave[position], steps.Wait{Operation: b.c.Enter[position]})...))
	}
	b.c.End = g.Added()
	g.Collectives = append(g.Collectives, b.c)
	return &g.Collectives[len(g.Collectives)-1]
}

// builder turns transfers into messages. A message waits until its sender has received all earlier ones of its blocks.
type builder struct {
	g      *steps.Graph
	spec   *Spec
	ranks  []int32
	chunks int
	seen   func(t transfer, chunk int, send, receive int32)
	c      steps.Collective

	writers []int32 // by chunk, position and block: index of the last write in writes; 0: none
	writes  []write
	last    map[[3]int]int32 // by two ranks and lane: the last send
	leave   [][]steps.Wait   // by position: the operations that end the collective there
	round   [][]steps.Wait   // by position: additional operations that the next message waits for; nil: none

	atOnce   bool
	arrivals []arrival

	count    bool // only count messages
	messages int
}

// write represents a receive that delivered a block, and the previous write of this block to which it was added.
type write struct{ receive, before int32 }

// blocks returns the number of blocks in a chunk.
func (b *builder) blocks() int {
	switch {
	case b.spec.Algorithm == Tree:
		return 2 // one for each of the two trees
	case b.spec.Kind == barrier, b.spec.Kind == Broadcast && b.spec.Algorithm != HalvingDoubling:
		return 1
	}
	return len(b.ranks)
}

// bytes returns the size of some blocks of a chunk.
func (b *builder) bytes(chunk, first, count int) int64 {
	chunks, blocks := int64(b.chunks), int64(b.blocks())
	size := b.spec.Size*int64(chunk+1)/chunks - b.spec.Size*int64(chunk)/chunks
	return size*int64(first+count)/blocks - size*int64(first)/blocks
}

func (b *builder) writer(chunk, position, block int) *int32 {
	return &b.writers[(chunk*len(b.ranks)+position)*b.blocks()+block]
}

// joined returns the last write of a block, which includes all earlier ones. A sum of several writes is joined once,
// however often it is sent.
func (b *builder) joined(chunk, position, block int) int32 {
	at := b.writer(chunk, position, block)
	if *at == 0 || b.writes[*at].before == 0 {
		return *at
	}
	var all []steps.Wait
	for w := *at; w != 0; w = b.writes[w].before {
		all = append(all, steps.Wait{Operation: b.writes[w].receive})
	}
	b.writes = append(b.writes, write{receive: b.g.Join(b.ranks[position], all...)})
	*at = int32(len(b.writes) - 1)
	return *at
}

// arrival represents a block that a receive delivers, and where its last write is stored.
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

// together adds transfers that do not wait for each other, although they concern the same blocks.
func (b *builder) together(add func()) {
	b.atOnce = true
	add()
	b.atOnce = false
	for _, a := range b.arrivals {
		b.arrived(a)
	}
	b.arrivals = b.arrivals[:0]
}

// add adds a transfer for every chunk. Callers add transfers after those that they depend on.
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

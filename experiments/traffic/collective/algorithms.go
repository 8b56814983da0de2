package collective

import (
	"math/bits"
	"slices"

	"github.com/pausenet/pausenet/experiments/traffic/steps"
)

// part represents a range of blocks: the first, and the number of blocks.
type part struct{ first, count int }

// build adds the transfers of the collective.
func (b *builder) build() {
	all := make([]int, len(b.ranks))
	for i := range all {
		all[i] = i
	}
	own := func(place int) part { return part{place, 1} }
	reduces := b.spec.Kind == AllReduce || b.spec.Kind == ReduceScatter
	gathers := b.spec.Kind == AllReduce || b.spec.Kind == AllGather
	switch {
	case b.spec.Kind == barrier:
		b.disseminate()
	case b.spec.Algorithm == Hierarchical:
		b.hierarchical(reduces, gathers)
	case b.spec.Kind == Broadcast:
		b.broadcast(all)
	case b.spec.Kind == AllToAll && b.spec.Algorithm == Ring:
		b.pairwise()
	case b.spec.Kind == AllToAll:
		b.scatterDirect(all, own, 1)
	case b.spec.Algorithm == Tree:
		b.doubleTree(doubleTree(len(b.ranks)), true)
	case b.spec.Algorithm == Ring && !b.count && b.g.ByRule:
		b.ring(reduces, gathers)
	case b.spec.Algorithm == Ring:
		b.when(reduces, func() { b.ringReduceScatter(all, own) })
		b.when(gathers, func() { b.ringAllGather(all, own) })
	case b.spec.Algorithm == HalvingDoubling:
		b.when(reduces, b.halve)
		b.when(gathers, b.double)
	case b.spec.Algorithm == Direct:
		b.when(reduces, func() { b.scatterDirect(all, own, 1) })
		b.when(gathers, func() { b.gatherDirect(all, own) })
	}
}

func (b *builder) when(is bool, do func()) {
	if is {
		do()
	}
}

// ByRule reports whether the collective's messages follow the rule of steps.Ring.
func (s *Spec) ByRule() bool {
	return s.Algorithm == Ring && (s.Kind == AllReduce || s.Kind == AllGather || s.Kind == ReduceScatter)
}

// ring adds ringReduceScatter and ringAllGather among all ranks, or one of them, as a rule.
func (b *builder) ring(reduces, gathers bool) {
	n, reducing, steps := len(b.ranks), 0, 0
	b.when(reduces, func() { reducing, steps = n-1, n-1 })
	b.when(gathers, func() { steps += n - 1 })
	own := *b
	b.g.AddRing(n, steps, b.chunks, func(rank, message int) int64 {
		step := message / own.chunks
		block := rank - step - 1
		if step >= reducing {
			block = rank - (step - reducing)
		}
		return own.bytes(message%own.chunks, (block+n)%n, 1)
	})
}

// ringReduceScatter gives each member its own part, reduced over all members. It takes n-1 steps, in each of which a
// part goes to the next member and is added to that member's.
func (b *builder) ringReduceScatter(members []int, own func(int) part) {
	n := len(members)
	for step := range n - 1 {
		for i, from := range members {
			p := own((i - step - 1 + n) % n)
			b.add(transfer{from: from, to: members[(i+1)%n], first: p.first, count: p.count, reduce: true})
		}
	}
}

// ringAllGather gives each member all parts.
func (b *builder) ringAllGather(members []int, own func(int) part) {
	n := len(members)
	for step := range n - 1 {
		for i, from := range members {
			p := own((i - step + n) % n)
			b.add(transfer{from: from, to: members[(i+1)%n], first: p.first, count: p.count})
		}
	}
}

// scatterDirect sends each member its part of every other member's data, whose blocks hold times as much as at first.
func (b *builder) scatterDirect(members []int, own func(int) part, times int) {
	n := len(members)
	for k := 1; k < n; k++ {
		for i, from := range members {
			to := (i + k) % n
			p := own(to)
			b.add(transfer{from: from, to: members[to], first: p.first, count: p.count, reduce: true, times: times})
		}
	}
}

// gatherDirect sends each member's part to every other.
func (b *builder) gatherDirect(members []int, own func(int) part) {
	n := len(members)
	for k := 1; k < n; k++ {
		for i, from := range members {
			p := own(i)
			b.add(transfer{from: from, to: members[(i+k)%n], first: p.first, count: p.count})
		}
	}
}

// pairwise adds an all-to-all in rounds. A rank starts a round when the last packet of its messages of the previous
// round leaves and all messages to it in that round have arrived. It does not wait for ACKs, like an exchange of
// messages between processes.
func (b *builder) pairwise() {
	n := len(b.ranks)
	for k := 1; k < n; k++ {
		for from := range n {
			to := (from + k) % n
			b.add(transfer{from: from, to: to, first: to, count: 1, reduce: true})
		}
		if b.count {
			continue
		}
		b.round = make([][]steps.Wait, n)
		for place := range n {
			done := b.leave[place]
			for _, w := range done[len(done)-2*b.chunks:] {
				if b.g.Operation(w.Operation).Kind == steps.Send {
					w.Until = steps.Sent
				}
				b.round[place] = append(b.round[place], w)
			}
		}
	}
	b.round = nil
}

// halve adds a reduce-scatter by recursive halving: each rank exchanges half of its current data with a rank at half
// the previous distance.
func (b *builder) halve() {
	n := len(b.ranks)
	for d := n / 2; d > 0; d /= 2 {
		for r := range n {
			first := r &^ (2*d - 1)
			if r&d == 0 {
				first += d
			}
			b.add(transfer{from: r, to: r ^ d, first: first, count: d, reduce: true})
		}
	}
}

// double adds an all-gather by recursive doubling.
func (b *builder) double() {
	n := len(b.ranks)
	for d := 1; d < n; d *= 2 {
		for r := range n {
			b.add(transfer{from: r, to: r ^ d, first: r &^ (d - 1), count: d})
		}
	}
}

// doubleTree adds the transfers of two trees of the same ranks, each of which carries half of every chunk: the
// reduction up to their roots (if reduces is set), and the broadcast down.
func (b *builder) doubleTree(trees [2]tree, reduces bool) {
	for k, t := range trees {
		if reduces {
			for _, place := range slices.Backward(t.order[1:]) {
				b.add(transfer{from: place, to: t.parent[place], first: k, count: 1, lane: k, reduce: true})
			}
		}
		for _, place := range t.order[1:] {
			b.add(transfer{from: t.parent[place], to: place, first: k, count: 1, lane: k})
		}
	}
}

// broadcast sends the root's data to all.
func (b *builder) broadcast(all []int) {
	n, root := len(all), b.spec.Root
	switch b.spec.Algorithm {
	case Ring:
		for i := range n - 1 {
			b.add(transfer{from: (root + i) % n, to: (root + i + 1) % n, count: 1})
		}
	case Tree:
		b.doubleTree(broadcastTrees(n, root), false)
	case Direct:
		for i := 1; i < n; i++ {
			b.add(transfer{from: root, to: (root + i) % n, count: 1})
		}
	case HalvingDoubling:
		for d := n / 2; d > 0; d /= 2 { // binomial scatter: a rank with 2d blocks sends the upper d on
			for r := 0; r < n; r += 2 * d {
				// Ranks are numbered by exclusive or with the root's, so that each rank of the doubling below has the
				// block of its number.
				b.add(transfer{from: r ^ root, to: (r + d) ^ root, first: (r + d) ^ root&^(d-1), count: d})
			}
		}
		b.double()
	}
}

// hierarchical works within groups, and among the ranks of one position in all groups. A rank's block is numbered by
// its position in the group first.
func (b *builder) hierarchical(reduces, gathers bool) {
	size := b.spec.Group
	groups := len(b.ranks) / size
	inside, across := make([][]int, groups), make([][]int, size)
	for r := range b.ranks {
		g, i := r/size, r%size
		inside[g], across[i] = append(inside[g], r), append(across[i], r)
	}
	place := func(i int) part { return part{i * groups, groups} }
	blockOf := func(i int) func(int) part { return func(g int) part { return part{i*groups + g, 1} } }
	switch b.spec.Kind {
	case AllToAll:
		for _, members := range inside {
			b.scatterDirect(members, place, 1)
		}
		for i, members := range across {
			b.scatterDirect(members, blockOf(i), size)
		}
		return
	case Broadcast:
		g, i := b.spec.Root/size, b.spec.Root%size
		for k := range groups - 1 {
			b.add(transfer{from: across[i][(g+k)%groups], to: across[i][(g+k+1)%groups], count: 1})
		}
		for _, members := range inside {
			for k := range size - 1 {
				b.add(transfer{from: members[(i+k)%size], to: members[(i+k+1)%size], count: 1})
			}
		}
		return
	}
	if reduces {
		for _, members := range inside {
			b.ringReduceScatter(members, place)
		}
		for i, members := range across {
			b.ringReduceScatter(members, blockOf(i))
		}
	}
	if gathers {
		for i, members := range across {
			b.ringAllGather(members, blockOf(i))
		}
		for _, members := range inside {
			b.ringAllGather(members, place)
		}
	}
}

// disseminate adds a barrier of ceil(log2 n) rounds. In the k-th round each rank notifies the rank 2^k further on, and
// at the end every rank knows that all have arrived (Hensgen, Finkel and Manber, "Two algorithms for barrier
// synchronization", IJPP 1988).
func (b *builder) disseminate() {
	n := len(b.ranks)
	for k := range bits.Len(uint(n - 1)) {
		b.together(func() {
			for r := range n {
				b.add(transfer{from: r, to: (r + 1<<k) % n, count: 1, reduce: true})
			}
		})
	}
}

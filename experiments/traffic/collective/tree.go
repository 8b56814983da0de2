package collective

import "math/bits"

// tree represents a binary tree of ranks, by position.
type tree struct {
	parent []int // -1 at the root
	order  []int // all positions, each after its parent
}

// doubleTree returns NCCL's two binary trees of n ranks (ncclGetDtree, src/graph/trees.cc). The second is the first
// mirrored if n is even, and shifted by one rank if n is odd. So a rank with children in one tree has none or one in
// the other.
func doubleTree(n int) [2]tree {
	return [2]tree{
		inOrder(n, func(v int) int { return v }),
		inOrder(n, func(v int) int {
			if n%2 == 0 {
				return n - 1 - v
			}
			return (v + 1) % n
		}),
	}
}

// broadcastTrees returns the two trees of n ranks by which a root broadcasts (Sanders, Speck and Träff 2009, section
// 2). The root has one child in each tree. The other ranks form two trees: the second mirrors the first if their
// number is even, and is shifted by one rank if it is odd.
func broadcastTrees(n, root int) [2]tree {
	others := n - 1
	return [2]tree{
		inOrder(n, func(v int) int { return (root + v) % n }),
		inOrder(n, func(v int) int {
			switch {
			case v == 0:
				return root
			case others%2 == 0:
				return (root + n - v) % n
			}
			return (root + v%others + 1) % n
		}),
	}
}

// inOrder returns the tree with root 0 and the numbers 1 to n-1 below it in order: odd numbers are leaves, and a
// number's height is its number of trailing zero bits. rankOf maps a number to its rank.
func inOrder(n int, rankOf func(v int) int) tree {
	t := tree{parent: make([]int, n)}
	t.parent[rankOf(0)], t.order = -1, []int{rankOf(0)}
	for bit := 1 << bits.Len(uint(n)); bit > 0; bit /= 2 { // from the top: parents come first
		for v := bit; v < n; v += 2 * bit {
			up := v ^ bit | bit<<1
			if up >= n {
				up = v ^ bit
			}
			t.parent[rankOf(v)] = rankOf(up)
			t.order = append(t.order, rankOf(v))
		}
	}
	return t
}

// Chunks of a tree: their sizes, and the minimum number of them as a multiple of the depth before chunks get no
// smaller than a size. The values are those of NCCL 2.4.8 (src/enqueue.cc, ncclPatternTreeUpDown), with the two trees
// as channels.
const greatestChunk = 512 << 10

var smallerChunks = []struct{ least, depths int64 }{{128 << 10, 8}, {64 << 10, 4}, {32 << 10, 1}}

// Parts returns the number of chunks among some ranks: Chunks, or if that is 0, as many as keep trees busy by NCCL's
// rule, and 1 for other algorithms.
func (s *Spec) Parts(ranks int) int {
	if s.Chunks > 0 || s.Algorithm != Tree {
		return max(s.Chunks, 1)
	}
	depth, chunk := int64(bits.Len(uint(ranks-1))), int64(greatestChunk)
	for _, to := range smallerChunks {
		for chunk > to.least && s.Size < 2*chunk*depth*to.depths {
			chunk /= 2
		}
	}
	return int(max(1, (s.Size+2*chunk-1)/(2*chunk)))
}

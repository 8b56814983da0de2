package why

import (
	"errors"

	"github.com/pausenet/pausenet/experiments/results/rundir"
)

// Shares holds the causes of flows' times as numbers. A page computes from them the trees that WriteFlow prints.
type Shares struct {
	Words []Word     // of nodes and of roots
	Nodes []TreeNode // nodes of the trees of all flows; a parent precedes its children
}

// Word holds the words of a node or a root. Port is the interface that they concern; empty: none.
type Word struct{ What, Port string }

// TreeNode holds the words of a node, and its parent.
type TreeNode struct {
	Parent int // index of the parent node; -1: at the top
	Word   int
}

// Share holds a part of a flow's time: the node of its tree that it belongs to, and the word of its root.
type Share struct {
	Node, Root  int
	Picoseconds int64
}

// ReadShares reads the record in a run's folder. It calls each for every started flow in order of their numbers, with
// the flow's parts. each may keep the slice.
func ReadShares(folder string, each func(flow int, parts []Share)) (*Shares, error) {
	r, err := open(folder)
	if err != nil {
		return nil, err
	}
	s := &Shares{}
	words, nodes := map[word]int{}, map[TreeNode]int{}
	number := func(w word) int {
		n, known := words[w]
		if !known {
			n = len(s.Words)
			words[w] = n
			s.Words = append(s.Words, Word{w.what, w.port})
		}
		return n
	}
	flow, parts, at := -1, []Share(nil), map[[2]int]int{}
	flush := func() {
		if len(parts) > 0 {
			each(flow, parts)
		}
		parts = nil
		clear(at)
	}
	err = r.eachRow(func(x *rundir.WhyRow) error {
		if x.Flow < flow {
			return errors.New("flows are not in order: the file is damaged")
		}
		if x.Flow > flow {
			flush()
			flow = x.Flow
		}
		node := -1
		for _, w := range r.path(x) {
			treeNode := TreeNode{node, number(w)}
			n, known := nodes[treeNode]
			if !known {
				n = len(s.Nodes)
				nodes[treeNode] = n
				s.Nodes = append(s.Nodes, treeNode)
			}
			node = n
		}
		key := [2]int{node, number(r.root(x))}
		k, known := at[key]
		if !known {
			k = len(parts)
			at[key] = k
			parts = append(parts, Share{Node: key[0], Root: key[1]})
		}
		parts[k].Picoseconds += x.Picoseconds
		return nil
	})
	if err != nil {
		return nil, err
	}
	flush()
	return s, nil
}

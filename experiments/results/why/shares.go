package why

import (
	"errors"

	"github.com/pausenet/pausenet/experiments/results/rundir"
)

// Shares is where the time of a run's flows went, as numbers: a page makes of them the trees that WriteFlow prints.
type Shares struct {
	Words []Word  // of nodes and of roots
	Nodes []Place // of the trees of all flows; a node's parent comes before it
}

// Word is what a node or a root says, and the interface that it is about; "": none.
type Word struct{ What, Port string }

// Place is where a node stands.
type Place struct {
	Parent int // node; -1: it is at the top
	Word   int
}

// Share is a part of a flow's time: the node of its tree that it belongs to, and the word of its root.
type Share struct {
	Node, Root  int
	Picoseconds int64
}

// ReadShares reads the record in a run's folder. each is given each flow that has started, by number, and its parts,
// which are the caller's.
func ReadShares(folder string, each func(flow int, parts []Share)) (*Shares, error) {
	r, err := open(folder)
	if err != nil {
		return nil, err
	}
	s := &Shares{}
	words, nodes := map[word]int{}, map[Place]int{}
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
			place := Place{node, number(w)}
			n, known := nodes[place]
			if !known {
				n = len(s.Nodes)
				nodes[place] = n
				s.Nodes = append(s.Nodes, place)
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

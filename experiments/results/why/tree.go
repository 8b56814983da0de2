package why

import (
	"cmp"
	"slices"
)

// Node represents a part of some flows' time. The times of its children, if it has any, add up to its own.
type Node struct {
	What        string  `json:"what"`
	Port        string  `json:"port,omitempty"` // interface that it concerns
	Picoseconds int64   `json:"ps"`
	Parts       []*Node `json:"parts,omitempty"`
}

// part returns the child with the words of w, and creates it if there is none. Parallel cables share words, and so a
// child, which has the port of the first.
func (n *Node) part(w word) *Node {
	for _, p := range n.Parts {
		if p.What == w.what {
			return p
		}
	}
	p := &Node{What: w.what, Port: w.port}
	n.Parts = append(n.Parts, p)
	return p
}

// order sorts parts, the largest first.
func (n *Node) order() {
	slices.SortFunc(n.Parts, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(b.Picoseconds, a.Picoseconds), cmp.Compare(a.What, b.What))
	})
	for _, p := range n.Parts {
		p.order()
	}
}

// Tree returns a tree of the parts of flows' time, from the coarsest to the finest.
func (r *Run) Tree(flows []*Flow) *Node {
	top := &Node{What: "all"}
	for _, f := range flows {
		for i := range f.rows {
			x := &f.rows[i]
			at := top
			at.Picoseconds += x.Picoseconds
			for _, w := range r.path(x) {
				at = at.part(w)
				at.Picoseconds += x.Picoseconds
			}
		}
	}
	top.order()
	return top
}

// Roots returns the root causes of the time of flows.
func (r *Run) Roots(flows []*Flow) *Node {
	top := &Node{What: "all"}
	for _, f := range flows {
		for i := range f.rows {
			x := &f.rows[i]
			top.Picoseconds += x.Picoseconds
			top.part(r.root(x)).Picoseconds += x.Picoseconds
		}
	}
	top.order()
	return top
}

// View holds the causes of flows' times for JSON. Picoseconds are whole numbers; the parts of each flow's tree add up
// to its time, and so do its roots.
type View struct {
	Scenario   string     `json:"scenario"`
	Controller string     `json:"cc"`
	Seed       uint64     `json:"seed"`
	Partial    bool       `json:"partial"`
	Flows      []FlowView `json:"flows"`
}

// FlowView holds the causes of one flow's time.
type FlowView struct {
	Flow        int     `json:"flow"`
	Tag         string  `json:"tag"`
	Source      string  `json:"src"`
	Destination string  `json:"dst"`
	Size        int64   `json:"size_bytes"`
	Ended       bool    `json:"ended"`
	Picoseconds int64   `json:"time_ps"`
	Roots       []*Node `json:"roots"`
	Parts       []*Node `json:"parts"`
}

// View returns the flows for structured output, in their order.
func (r *Run) View(flows []*Flow) *View {
	v := &View{r.Scenario, r.Controller, r.Seed, r.Partial, []FlowView{}}
	for _, f := range flows {
		one := []*Flow{f}
		v.Flows = append(v.Flows, FlowView{
			f.Number, f.Tag, f.Source, f.Destination, f.Size, f.Ended, f.Picoseconds, r.Roots(one).Parts, r.Tree(one).Parts,
		})
	}
	return v
}

package replay

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"slices"

	"github.com/pausenet/pausenet/experiments/results/why"
)

// Why holds the causes of flows' times.
type Why struct {
	Words   []string `json:"words"`   // of nodes and of roots
	Ports   []int    `json:"ports"`   // port of each word; -1: none
	Slowest int      `json:"slowest"` // only so many flows, the slowest by slowdown, have parts; 0: all flows have
}

// mostShown limits the flows whose causes a replay has. A flow has about thirty parts of five bytes.
const mostShown = 20_000

// why copies the causes of flows' times into the replay, if the run recorded them.
func (r *reading) why() error {
	w := &Why{}
	wanted := r.slowest(w)
	nodes, roots, times := make([]row, len(r.slowdowns)), make([]row, len(r.slowdowns)), make([]row, len(r.slowdowns))
	shares, err := why.ReadShares(r.path, func(flow int, parts []why.Share) {
		if wanted != nil && !wanted[flow] {
			return
		}
		slices.SortFunc(parts, func(a, b why.Share) int {
			return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Root, b.Root))
		})
		for _, p := range parts {
			nodes[flow].add(int64(p.Node))
			roots[flow].add(int64(p.Root))
			times[flow].add(p.Picoseconds)
		}
	})
	var none *why.NoRecordError
	if errors.As(err, &none) || errors.Is(err, fs.ErrNotExist) { // reading the tables has reported missing files
		return nil
	}
	if err != nil {
		return err
	}
	for _, x := range shares.Words {
		port, known := r.ports[x.Port]
		if !known {
			port = -1
		}
		w.Words, w.Ports = append(w.Words, x.What), append(w.Ports, port)
	}
	var parents, words row
	for _, n := range shares.Nodes {
		parents.add(int64(n.Parent))
		words.add(int64(n.Word))
	}
	r.head.Why = w
	r.put("why.parent", parents)
	r.put("why.word", words)
	r.put("why.node", nodes...)
	r.put("why.root", roots...)
	r.put("why.time", times...)
	return nil
}

// slowest returns the flows whose parts a replay has; nil means all.
func (r *reading) slowest(w *Why) (wanted []bool) {
	if len(r.slowdowns) <= mostShown {
		return nil
	}
	order := make([]int, len(r.slowdowns))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(r.slowdowns[b], r.slowdowns[a]), cmp.Compare(a, b))
	})
	wanted = make([]bool, len(order))
	for _, i := range order[:mostShown] {
		wanted[i] = true
	}
	w.Slowest = mostShown
	return wanted
}

// endless stands for the slowdown of a flow that has not ended.
const endless = math.MaxInt64

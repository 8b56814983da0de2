package animation

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pausenet/pausenet/internal/lists"
)

// layout places a run's nodes: tiers in rows, hosts at the bottom under their switches, as
// experiments/pages/view/page/layout.js does.
type layout struct {
	run                      *run
	at                       []box // by node
	dots                     bool  // hosts are dots without names
	left, right, top, bottom float64
	tiers                    [][]int
	cellWide, cellHigh       float64
}

// box holds the centre of a node, and half its width and height.
type box struct{ x, y, w, h float64 }

// block holds hosts that are connected to the same switches, and those of the switches that no earlier block has.
type block struct{ hosts, above []int }

const (
	mostNamed  = 48 // hosts; with more, each host is a dot
	switchGap  = 14.0
	blockGap   = 26.0
	upperGap   = 20.0
	leastFirst = 110.0 // between hosts and their switches
	leastTier  = 96.0
)

// newLayout fills an area of the given aspect, width by height.
func newLayout(r *run, aspect float64) *layout {
	l := &layout{run: r, at: make([]box, len(r.Nodes))}
	hosts, longestHost, longestSwitch := 0, 0, 0
	for _, n := range r.Nodes {
		if n.Host {
			hosts, longestHost = hosts+1, max(longestHost, len(n.Name))
		} else {
			longestSwitch = max(longestSwitch, len(n.Name))
		}
	}
	l.dots = hosts > mostNamed
	host := box{w: 5, h: 5}
	l.cellWide, l.cellHigh = 15, 15
	if !l.dots {
		l.cellWide, l.cellHigh = max(30, float64(longestHost)*7+16), 30
		host = box{w: l.cellWide/2 - 4, h: 11}
	}
	for i, n := range r.Nodes {
		if l.at[i] = host; !n.Host {
			l.at[i] = box{w: max(23, float64(longestSwitch)*4+10), h: 15}
		}
		for len(l.tiers) <= n.Tier {
			l.tiers = append(l.tiers, nil)
		}
		l.tiers[n.Tier] = append(l.tiers[n.Tier], i)
	}
	blocks := l.blocks()
	deepest := l.placeHosts(blocks)
	width := l.placeSwitches(host.w)
	step := min(width/2, max(leastTier, (width/aspect-deepest)/max(1, float64(len(l.tiers))-0.2)))
	for tier, nodes := range l.tiers {
		for _, n := range nodes {
			if tier > 0 {
				l.at[n].y = -step * float64(tier-1)
			}
		}
	}
	first := min(step*0.8, max(leastFirst, step*0.6))
	for _, b := range blocks {
		for _, h := range b.hosts {
			l.at[h].y += first
		}
	}
	l.bottom = deepest
	for _, n := range l.at {
		l.left, l.right = min(l.left, n.x-n.w), max(l.right, n.x+n.w)
		l.top, l.bottom = min(l.top, n.y-n.h), max(l.bottom, n.y+n.h)
	}
	return l
}

// neighbours returns the nodes of a tier that a node has cables to.
func (l *layout) neighbours(node, tier int) (all []int) {
	for _, id := range l.run.nodePorts[node] {
		if n := l.run.ports[id].peerNode; l.run.Nodes[n].Tier == tier {
			all = append(all, n)
		}
	}
	return all
}

func (l *layout) blocks() (all []block) {
	if len(l.tiers) < 2 {
		return []block{{hosts: slices.Concat(l.tiers...)}}
	}
	taken := make([]bool, len(l.at))
	of := map[string]int{} // block by its switches
	for _, leaf := range l.tiers[1] {
		for _, h := range l.neighbours(leaf, 0) {
			if taken[h] {
				continue
			}
			taken[h] = true
			switches := lists.Map(l.run.nodePorts[h], func(id int) int { return l.run.ports[id].peerNode })
			slices.Sort(switches)
			switches = slices.Compact(switches)
			key := fmt.Sprint(switches)
			i, known := of[key]
			if !known {
				i = len(all)
				of[key] = i
				all = append(all, block{above: slices.DeleteFunc(switches, func(s int) bool { return taken[s] })})
				for _, s := range all[i].above {
					taken[s] = true
				}
			}
			all[i].hosts = append(all[i].hosts, h)
		}
	}
	return all
}

// placeHosts places blocks beside each other, and returns how deep the last row of hosts is.
func (l *layout) placeHosts(blocks []block) (deepest float64) {
	x := 0.0
	for _, b := range blocks {
		n := len(b.hosts)
		columns := max(1, n)
		if n > 6 {
			columns = (n + 1) / 2
			if l.dots {
				columns = dotColumns(n, len(blocks))
			}
		}
		over := -switchGap
		for _, s := range b.above {
			over += 2*l.at[s].w + switchGap
		}
		wide := float64(columns)
		if n > columns {
			wide += 0.5
		}
		span := max(wide*l.cellWide, over)
		for i, h := range b.hosts {
			column, row := i%columns, i/columns
			// Rows stand between each other's hosts, so that lines to the lower pass the upper.
			aside, high := 0.0, 1.0
			if !l.dots {
				aside, high = []float64{-0.25, 0.25}[row%2], 1.5
			}
			l.at[h].x = x + span/2 + (float64(column)-float64(columns-1)/2+aside)*l.cellWide
			l.at[h].y = float64(row) * l.cellHigh * high
			deepest = max(deepest, l.at[h].y)
		}
		left := x + (span-over)/2
		for _, s := range b.above {
			l.at[s].x = left + l.at[s].w
			left += 2*l.at[s].w + switchGap
		}
		x += span + blockGap
		if l.dots {
			x += switchGap - blockGap
		}
	}
	return deepest
}

// dotColumns returns how many columns a block of hosts that are dots has.
func dotColumns(hosts, blocks int) int {
	width := 1.6
	if blocks > 6 {
		width = 0.6
	}
	columns := min(12, int(math.Ceil(math.Sqrt(float64(hosts)*width))))
	for columns > 1 && hosts%columns != 0 && hosts%(columns-1) == 0 {
		columns--
	}
	return columns
}

// placeSwitches spreads the upper tiers, each ordered by where its neighbours below stand, and returns the width of
// all.
func (l *layout) placeSwitches(hostHalf float64) (width float64) {
	right := 0.0
	for _, n := range l.at {
		right = max(right, n.x+hostHalf)
	}
	width = right
	for _, tier := range l.tiers[min(2, len(l.tiers)):] {
		need := 0.0
		for _, n := range tier {
			need += 2*l.at[n].w + upperGap
		}
		width = max(width, need)
	}
	for i := range l.at {
		l.at[i].x += (width - right) / 2
	}
	for k := 2; k < len(l.tiers); k++ {
		middle := map[int]float64{}
		for _, n := range l.tiers[k] {
			below := l.neighbours(n, k-1)
			for _, b := range below {
				middle[n] += l.at[b].x / float64(len(below))
			}
		}
		order := slices.Clone(l.tiers[k])
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(math.Round(middle[a]-middle[b]), 0), cmp.Compare(a, b))
		})
		for i, n := range order {
			l.at[n].x = (float64(i) + 0.5) * width / float64(len(order))
		}
	}
	return width
}

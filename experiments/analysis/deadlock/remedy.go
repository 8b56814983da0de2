package deadlock

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/topologies"
)

// mostLayers is the number of priorities.
const mostLayers = 8

// Remedies holds what excludes the cycles of a proof that does not hold, for its first class with one.
type Remedies struct {
	Class int
	// Layers holds the lossless priority of each pair of leaves, from 0 on, in the order of the class's pairs: within a
	// layer no case has a cycle. Nil: eight priorities are not enough for this search.
	Layers     []uint8
	LayerCount int
	// Bumps counts the priorities that are needed if switches raise a frame's priority at each turn against the order
	// by tiers: from a lower tier up again, or along a tier.
	Bumps int
	// Without turns from a lower tier up again, or along a tier, no case has a cycle. Severed counts the pairs of leaves,
	// over all cases, that then have no shortest path left, of Joined.
	Severed, Joined int
}

// Remedy computes what would exclude the cycles of the first class that has any.
func (p *Proof) Remedy(ctx context.Context) (*Remedies, error) {
	r := &Remedies{Class: p.Cycles[0].Class}
	pairs := p.Classes[r.Class].Pairs
	layer := make([]uint8, len(pairs))
	for again := true; again; {
		again = false
		at := -1
		eachCase(p.network.links, p.Failures, func(failed []int) bool {
			if ctx.Err() != nil {
				return false
			}
			if at++; p.Assigned[r.Class][at] >= 0 { // fewer pairs have no cycle either
				return true
			}
			moved, ok := p.network.spread(p.network.routes(failed), pairs, layer)
			again = again || moved
			if !ok {
				layer, again = nil, false
			}
			return ok
		})
	}
	if layer != nil {
		r.Layers, r.LayerCount = layer, int(slices.Max(layer))+1
	}
	eachCase(p.network.links, p.Failures, func(failed []int) bool {
		bumps, severed, joined := p.network.upDown(p.network.routes(failed), pairs)
		r.Bumps = max(r.Bumps, bumps+1)
		r.Severed += severed
		r.Joined += joined
		return ctx.Err() == nil
	})
	return r, ctx.Err()
}

// spread moves pairs to higher layers until no layer has a cycle in one case. Of a cycle it moves the fewest pairs that
// open it. ok is false if there are too few layers.
func (n *network) spread(r *topologies.Routes, pairs []Pair, layer []uint8) (moved, ok bool) {
	for l := uint8(0); l < mostLayers; l++ {
		for {
			own := ofLayer(pairs, layer, l)
			g := n.graph(r, own)
			components := g.components()
			if len(components) == 0 {
				break
			}
			if moved = true; l == mostLayers-1 {
				return moved, false
			}
			cycle := g.shortest(components[0])
			var fewest []Pair
			for i, port := range cycle {
				if makers := n.makers(r, own, turn{port, cycle[(i+1)%len(cycle)]}); fewest == nil || len(makers) < len(fewest) {
					fewest = makers
				}
			}
			for i, pair := range pairs {
				if layer[i] == l && slices.Contains(fewest, pair) {
					layer[i]++
				}
			}
		}
	}
	return moved, true
}

// ofLayer returns the pairs of one layer.
func ofLayer(pairs []Pair, layer []uint8, l uint8) (own []Pair) {
	for i, pair := range pairs {
		if layer[i] == l {
			own = append(own, pair)
		}
	}
	return own
}

// against reports whether a turn leads from a lower tier up again, or along a tier twice or after a way down.
func (n *network) against(t turn) bool { return n.tiers[t.from] >= n.tiers[t.to] }

// upDown returns the most turns against the order by tiers on a path of one case, and how many of the pairs that are
// joined have no path without one.
func (n *network) upDown(r *topologies.Routes, pairs []Pair) (most, severed, joined int) {
	type bumps struct{ fewest, most int }
	leaf := int32(-1)
	var known map[topologies.PortID]bumps
	var after func(port topologies.PortID) bumps // the turns after a port on the way to leaf
	after = func(port topologies.PortID) bumps {
		if b, found := known[port]; found {
			return b
		}
		b := bumps{}
		for i, next := range group(r, int32(n.plan.PeerNode(port).Index), leaf) {
			onward := after(next)
			if n.against(turn{port, next}) {
				onward.fewest++
				onward.most++
			}
			if b.most = max(b.most, onward.most); i == 0 || onward.fewest < b.fewest {
				b.fewest = onward.fewest
			}
		}
		known[port] = b
		return b
	}
	for _, pair := range pairs {
		if leaf != pair.To {
			leaf, known = pair.To, map[topologies.PortID]bumps{}
		}
		ports := group(r, n.switches[pair.From], leaf)
		fewest := -1
		for _, port := range ports {
			b := after(port)
			if most = max(most, b.most); fewest < 0 || b.fewest < fewest {
				fewest = b.fewest
			}
		}
		if len(ports) > 0 {
			joined++
		}
		if fewest > 0 {
			severed++
		}
	}
	return most, severed, joined
}

// Trial holds the result of a remedy.
type Trial struct {
	Runs        int    `json:"runs"` // 0: no traffic is left
	Deadlocked  bool   `json:"deadlocked"`
	Fingerprint string `json:"fingerprint"`
}

// TryLayers runs the traffic that deadlocked along a cycle with the priorities of Layers.
func (p *Proof) TryLayers(ctx context.Context, c *Cycle, d *Demonstration, of Settings, r *Remedies,
	priorities []uint8,
) (*Trial, error) {
	list := "switch.pfc.priorities=" + bracketed(priorities[:r.LayerCount])
	of.Sets = append(slices.Clone(of.Sets), list)
	pairs := p.Classes[r.Class].Pairs
	return p.again(ctx, c, d, of, func(to *route) (uint8, bool) {
		return priorities[r.Layers[slices.Index(pairs, to.pair)]], true
	})
}

// TryUpDown runs that traffic without the flows whose paths turn against the order by tiers. If none is left, it makes
// no run.
func (p *Proof) TryUpDown(ctx context.Context, c *Cycle, d *Demonstration, of Settings) (*Trial, error) {
	return p.again(ctx, c, d, of, func(to *route) (uint8, bool) {
		rank := int32(-1)
		for i := 1; i < len(to.via); i++ {
			port := p.Plan.PortsBetween(to.via[i-1], to.via[i])[0]
			if p.network.tiers[port] <= rank {
				return 0, false
			}
			rank = p.network.tiers[port]
		}
		return p.Classes[c.Class].Priorities[0], true
	})
}

// again runs what deadlocked with other priorities, or without some routes.
func (p *Proof) again(ctx context.Context, c *Cycle, d *Demonstration, of Settings,
	choose func(*route) (uint8, bool),
) (*Trial, error) {
	text := p.scenario(c, of, attempts[d.Runs-1], choose)
	if text == nil {
		return &Trial{}, nil
	}
	after, err := run(ctx, text, of.Sets)
	if err != nil {
		return nil, err
	}
	return &Trial{Runs: 1, Deadlocked: after.Deadlocked, Fingerprint: after.Fingerprint}, nil
}

// bracketed formats priorities as a YAML list.
func bracketed(priorities []uint8) string {
	return strings.ReplaceAll(fmt.Sprint(priorities), " ", ", ")
}

// LayerPriorities returns the priorities for layers: those that are lossless first, then others without the hosts'
// control priority.
func LayerPriorities(lossless []uint8, control uint8) []uint8 {
	all := slices.Clone(lossless)
	for i := range uint8(8) {
		if p := (lossless[0] + i) % 8; p != control && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

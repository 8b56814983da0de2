package draw

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/topologies"
)

// Dimensions of the drawing, in SVG user units (CSS pixels at natural size).
const (
	margin        = 28.0
	tierLabel     = 64.0  // space for "tier 2" at the left
	titleHeight   = 64.0  // space for the title above
	tierGap       = 116.0 // minimum distance between the centres of two tiers
	switchHeight  = 30.0
	hostHeight    = 22.0
	cellGap       = 6.0
	blockGap      = 26.0 // between the hosts of two switches
	blockPadding  = 8.0
	fontWidth     = 7.0 // approximate width of a character at 12 px
	smallFont     = 5.9 // at 10 px
	legendFont    = 6.6 // of a legend at 12 px, for at least 20 characters
	titleFont     = 11.0
	legendLine    = 18.0
	sampleWidth   = 26.0 // of a line in the legend, with the gap to its text
	openRow       = 6    // maximum number of a switch's hosts in a row with individual lines
	mostHostCells = 480  // above this number, a switch's hosts are one box with a count
	nodeGap       = 18.0
)

// box represents a rectangle, given by its centre.
type box struct{ x, y, w, h float64 }

// hostBlock holds the hosts of one switch, or of the same switches. It is an open row with a line for each host, a
// frame with one line from each switch, or a single box with a count.
type hostBlock struct {
	above  []topologies.NodeID // the switches above it that no earlier block has above it
	hosts  []topologies.NodeID
	frame  box
	framed bool
	summed bool
}

// layout holds the positions of all parts: tiers in rows, hosts at the bottom under their switches.
type layout struct {
	blockOf       map[topologies.NodeID]int // of each host
	width, height float64
	nodes         map[topologies.NodeID]box // without the hosts of blocks that are a single box
	blocks        []hostBlock
	tierY         []float64 // centre of each tier's row
}

func arrange(p *topologies.Plan) *layout {
	tiers := tiersOf(p)
	l := &layout{
		nodes:   make(map[topologies.NodeID]box, len(p.Nodes)),
		blockOf: make(map[topologies.NodeID]int, len(p.Hosts)),
	}
	arrangeHosts(p, l, tiers[1])
	arrangeSwitches(p, l, tiers)
	placeRows(l, tiers)
	return l
}

func switchWidth(p *topologies.Plan, id topologies.NodeID) float64 {
	return math.Max(46, float64(len(p.Nodes[id].Name))*fontWidth+18)
}

// arrangeHosts sets the shapes and x positions of the hosts' blocks, and the x positions of the switches above them.
func arrangeHosts(p *topologies.Plan, l *layout, access []topologies.NodeID) {
	cell := 0.0
	for _, h := range p.Hosts {
		cell = math.Max(cell, math.Max(24, float64(len(p.Nodes[h].Name))*smallFont+9))
	}
	summed := len(p.Hosts) > mostHostCells
	gap := blockGap
	if summed {
		gap = cellGap
	}
	x := margin + tierLabel
	l.blocks = hostBlocks(p, access)
	for i := range l.blocks {
		b := &l.blocks[i]
		b.summed = summed
		for _, h := range b.hosts {
			l.blockOf[h] = i
		}
		columns := len(b.hosts)
		w := 0.0
		switch {
		case summed:
			w = math.Max(56, float64(len(b.label(p)))*smallFont+8)
			b.frame = box{w: w, h: 38}
		case columns > openRow:
			b.framed = true
			columns = gridColumns(len(b.hosts), len(l.blocks))
			rows := (len(b.hosts) + columns - 1) / columns
			w = float64(columns)*(cell+cellGap) - cellGap + 2*blockPadding
			b.frame = box{w: w, h: float64(rows)*(hostHeight+cellGap) - cellGap + 2*blockPadding}
		default:
			w = float64(columns)*(cell+cellGap) - cellGap
			b.frame = box{w: w, h: hostHeight}
		}
		over := -nodeGap
		for _, id := range b.above {
			over += switchWidth(p, id) + nodeGap
		}
		span := math.Max(w, over)
		middle := x + span/2
		b.frame.x = middle
		if !summed {
			left := middle - float64(columns)*(cell+cellGap)/2 + (cell+cellGap)/2
			for i, h := range b.hosts {
				// y is relative to the block's first row until the rows are placed.
				l.nodes[h] = box{
					x: left + float64(i%columns)*(cell+cellGap), y: float64(i/columns) * (hostHeight + cellGap),
					w: cell, h: hostHeight,
				}
			}
		}
		at := middle - over/2
		for _, id := range b.above {
			w := switchWidth(p, id)
			l.nodes[id] = box{x: at + w/2, w: w, h: switchHeight}
			at += w + nodeGap
		}
		x += span + gap
	}
	l.width = x - gap + margin
}

// hostBlocks groups the hosts by the switches that they are linked to, in the order of the first of these.
func hostBlocks(p *topologies.Plan, access []topologies.NodeID) (blocks []hostBlock) {
	taken := map[topologies.NodeID]bool{}
	block := map[string]int{} // by switches
	for _, id := range access {
		for _, port := range p.Nodes[id].Ports {
			n := p.PeerNode(port)
			if n.Kind != topologies.Host || taken[n.ID] {
				continue
			}
			taken[n.ID] = true
			above := lists.Map(n.Ports, func(own topologies.PortID) topologies.NodeID { return p.PeerNode(own).ID })
			slices.Sort(above)
			above = slices.Compact(above)
			key := fmt.Sprint(above)
			if _, known := block[key]; !known {
				block[key] = len(blocks)
				above = slices.DeleteFunc(above, func(id topologies.NodeID) bool { return taken[id] })
				for _, id := range above {
					taken[id] = true
				}
				blocks = append(blocks, hostBlock{above: above})
			}
			b := &blocks[block[key]]
			b.hosts = append(b.hosts, n.ID)
		}
	}
	return blocks
}

// gridColumns returns the number of columns of a frame of hosts. It is about square in a fabric of few switches and
// narrow in one of many, with a column less if that avoids empty cells.
func gridColumns(hosts, blocks int) int {
	width := 0.8
	if blocks > 6 {
		width = 0.4
	}
	columns := min(12, int(math.Ceil(math.Sqrt(float64(hosts)*width))))
	if columns > 1 && hosts%columns != 0 && hosts%(columns-1) == 0 {
		columns--
	}
	return columns
}

// arrangeSwitches sets the x positions of the upper tiers, sorted by the positions of their neighbours below and
// spread over the width.
func arrangeSwitches(p *topologies.Plan, l *layout, tiers [][]topologies.NodeID) {
	left := margin + tierLabel
	for t := 2; t < len(tiers); t++ {
		need := 0.0
		for _, id := range tiers[t] {
			need += switchWidth(p, id) + nodeGap
		}
		l.width = math.Max(l.width, left+need+margin)
	}
	if lower := l.width - margin - left; lower > 0 && len(l.blocks) > 0 {
		// Centre the lower rows if an upper one is wider.
		last := l.blocks[len(l.blocks)-1]
		right := last.frame.x + last.frame.w/2
		if n := len(last.above); n > 0 {
			top := l.nodes[last.above[n-1]]
			right = math.Max(right, top.x+top.w/2)
		}
		l.shift((l.width - margin - right) / 2)
	}
	for t := 2; t < len(tiers); t++ {
		order := slices.Clone(tiers[t])
		middle := make(map[topologies.NodeID]float64, len(order))
		for _, id := range order {
			sum, count := 0.0, 0.0
			for _, port := range p.Nodes[id].Ports {
				if n := p.PeerNode(port); n.Tier == t-1 {
					sum += l.nodes[n.ID].x
					count++
				}
			}
			middle[id] = math.Round(sum / count)
		}
		slices.SortStableFunc(order, func(a, b topologies.NodeID) int { return cmp.Compare(middle[a], middle[b]) })
		step := (l.width - margin - left) / float64(len(order))
		for i, id := range order {
			l.nodes[id] = box{x: left + (float64(i)+0.5)*step, w: switchWidth(p, id), h: switchHeight}
		}
	}
}

func (l *layout) shift(dx float64) {
	for id, b := range l.nodes {
		b.x += dx
		l.nodes[id] = b
	}
	for i := range l.blocks {
		l.blocks[i].frame.x += dx
	}
}

// placeRows sets every y position.
func placeRows(l *layout, tiers [][]topologies.NodeID) {
	l.tierY = make([]float64, len(tiers))
	y := margin + titleHeight + switchHeight/2
	for t := len(tiers) - 1; t >= 1; t-- {
		l.tierY[t] = y
		for _, id := range tiers[t] {
			b := l.nodes[id]
			b.y = y
			l.nodes[id] = b
		}
		// Lines that run far to the side need height to stay apart.
		y += tierGap + math.Min(320, math.Max(0, (l.width-900)/14))
		if t == 1 {
			y = l.tierY[1] + tierGap*0.7
		}
	}
	top := y - hostHeight/2
	deepest := 0.0
	l.tierY[0] = y
	for i := range l.blocks {
		b := &l.blocks[i]
		b.frame.y = top + b.frame.h/2
		deepest = math.Max(deepest, b.frame.h)
		if b.summed {
			continue
		}
		first := y
		if b.framed {
			first += blockPadding
		}
		for _, h := range b.hosts {
			n := l.nodes[h]
			n.y += first
			l.nodes[h] = n
		}
	}
	l.height = top + deepest + margin
}

// label returns the text of a block that is a single box.
func (b *hostBlock) label(p *topologies.Plan) string {
	first, last := p.Nodes[b.hosts[0]].Name, p.Nodes[b.hosts[len(b.hosts)-1]].Name
	if first == last {
		return first
	}
	return first + "–" + last
}

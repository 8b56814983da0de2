package draw

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/topologies"
)

// lineClasses is the number of line styles. Link classes use them in turn, the slowest first; any further classes share
// the last.
const lineClasses = 5

// The drawing has its own colours for light and dark, so that it is readable as a file, in a page and in an issue.
const svgStyle = `
  .fabric { --bg: #ffffff; --ink: #1f2430; --muted: #687083; --line: #9aa3b5; --frame: #d5dae4; --pad: #f6f7fa;
    --switch: #dce6fb; --switch-edge: #4469b8; --host: #e9f3ec; --host-edge: #5b9a72;
    --l0: #97a1b4; --l1: #4469b8; --l2: #b8652f; --l3: #7d4fb0; --l4: #2f8f83; }
  @media (prefers-color-scheme: dark) {
    .fabric { --bg: #14171e; --ink: #e7eaf1; --muted: #98a1b3; --line: #5d6780; --frame: #343c4d; --pad: #1a1f29;
      --switch: #24365f; --switch-edge: #86a8f0; --host: #1f3a2b; --host-edge: #74c08f;
      --l0: #66718a; --l1: #86a8f0; --l2: #e39a62; --l3: #b994ea; --l4: #63c7ba; }
  }
  .fabric { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
  .fabric .bg { fill: var(--bg); }
  .fabric text { fill: var(--ink); font-size: 12px; text-anchor: middle; dominant-baseline: central; }
  .fabric .title { font-size: 18px; font-weight: 600; text-anchor: start; }
  .fabric .sub, .fabric .tier { fill: var(--muted); text-anchor: start; }
  .fabric .host text { font-size: 10px; }
  .fabric .switch rect { fill: var(--switch); stroke: var(--switch-edge); stroke-width: 1.4; }
  .fabric .switch text { font-weight: 600; }
  .fabric .host rect { fill: var(--host); stroke: var(--host-edge); }
  .fabric .frame { fill: var(--pad); stroke: var(--frame); }
  .fabric path { fill: none; stroke-linecap: round; }
  .fabric path:hover { stroke-opacity: 1; stroke-width: 4; }
  .fabric .l0 { stroke: var(--l0); } .fabric .l1 { stroke: var(--l1); } .fabric .l2 { stroke: var(--l2); }
  .fabric .l3 { stroke: var(--l3); } .fabric .l4 { stroke: var(--l4); }
`

// SVG writes the plan as a self-contained drawing with tiers in rows, hosts under their switches, and a colour for
// each kind of cable. The same plan always gives the same bytes.
func SVG(w io.Writer, p *topologies.Plan) error {
	l := arrange(p)
	d := &drawing{plan: p, layout: l}
	classes, class := p.LinkClasses()

	// The title needs space, too, whatever the fabric's shape.
	width := max(l.width, float64(len(p.Name))*titleFont+2*margin, 360)
	left := (l.width - width) / 2
	legend := legendOf(p, width-2*margin, classes)
	shift := legend[len(legend)-1].y // how far a legend of several lines moves the fabric down
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="fabric" width="%.0f" height="%.0f" viewBox="%.1f 0 %.1f %.1f" role="img">`+"\n",
		width, l.height+shift, left, width, l.height+shift)
	d.printf("<title>%s: %s</title>\n<style>%s</style>\n", html.EscapeString(p.Name), html.EscapeString(p.Summary()),
		svgStyle)
	d.printf(`<rect class="bg" x="%.1f" width="%.1f" height="%.1f"/>`+"\n", left, width, l.height+shift)
	d.printf(`<text class="title" x="%.1f" y="%.1f">%s</text>`+"\n", left+margin, margin, html.EscapeString(p.Name))
	d.legend(left+margin, margin+26, legend)
	if shift > 0 {
		d.printf(`<g transform="translate(0 %.1f)">`+"\n", shift)
	}
	for t, y := range l.tierY {
		name := fmt.Sprintf("tier %d", t)
		if t == 0 {
			name = "hosts"
		}
		d.printf(`<text class="tier" x="%.1f" y="%.1f">%s</text>`+"\n", left+margin, y, name)
	}
	d.links(class)
	for i := range l.blocks {
		d.block(&l.blocks[i])
	}
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.Kind == topologies.Switch {
			d.node(n, "switch", 6)
		}
	}
	if shift > 0 {
		d.printf("</g>\n")
	}
	d.printf("</svg>\n")
	_, err := io.WriteString(w, d.String())
	return err
}

type drawing struct {
	strings.Builder
	plan   *topologies.Plan
	layout *layout
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(d, format, args...) }

// legendItem represents a part of the line under the title: the summary, or a kind of cable with a sample of its line.
type legendItem struct {
	x, y  float64 // from the start of the legend
	class int     // -1: no sample
	text  string
}

// legendOf returns the summary, followed by each kind of cable with a sample of its line if there are several. It
// takes as many lines as the width requires.
func legendOf(p *topologies.Plan, width float64, classes []topologies.LinkClass) []legendItem {
	items := []legendItem{{class: -1, text: p.Summary()}}
	if len(classes) > 1 {
		items[0].text = fmt.Sprintf("%s, %s, %s:", p.HostSummary(), topologies.Plural(len(p.Switch), "switch"),
			topologies.Plural(len(p.Links), "link"))
		for i, c := range classes {
			items = append(items, legendItem{class: min(i, lineClasses-1), text: fmt.Sprintf("%d of %v", c.Count, c)})
		}
	} else if float64(len(items[0].text))*legendFont > width {
		cables := strings.LastIndex(items[0].text, " of ") // the last: a host count may be "16 hosts of 8 ports"
		items = []legendItem{{class: -1, text: items[0].text[:cables]}, {class: -1, text: items[0].text[cables+1:]}}
	}
	x, y := 0.0, 0.0
	for i := range items {
		item := &items[i]
		itemWidth := float64(len(item.text)) * legendFont
		if item.class >= 0 {
			itemWidth += sampleWidth
		}
		if x > 0 && x+itemWidth > width {
			x, y = 0, y+legendLine
		}
		item.x, item.y = x, y
		x += itemWidth + 18
	}
	return items
}

func (d *drawing) legend(x, y float64, items []legendItem) {
	for _, item := range items {
		at := x + item.x
		if item.class >= 0 {
			d.printf(`<path class="l%d" stroke-width="%.1f" d="M%.1f %.1fh20"/>`+"\n", item.class, lineWidth(item.class), at,
				y+item.y)
			at += sampleWidth
		}
		d.printf(`<text class="sub" x="%.1f" y="%.1f">%s</text>`+"\n", at, y+item.y, html.EscapeString(item.text))
	}
}

func lineWidth(class int) float64 { return 1.4 + 0.7*float64(min(class, lineClasses-1)) }

// links draws the cables, but only one from a switch to all hosts of a frame.
func (d *drawing) links(class []int) {
	between := 0
	for i := range d.plan.Links {
		if low, _ := ends(d.plan, i); low.Kind == topologies.Switch {
			between++
		}
	}
	// Many lines that cross are easier to read if they are faint.
	opacity := math.Max(0.22, math.Min(0.9, 40/float64(max(between, 1))))
	drawn := map[[2]int]bool{} // blocks and switches whose line is drawn
	d.printf("<g>\n")
	for i := range d.plan.Links {
		low, high := ends(d.plan, i)
		from, to := d.layout.nodes[low.ID], d.layout.nodes[high.ID]
		strength := opacity
		if low.Kind == topologies.Host {
			strength = 0.9
			at := d.layout.blockOf[low.ID]
			if block := &d.layout.blocks[at]; block.framed || block.summed {
				line := [2]int{at, int(high.ID)}
				if drawn[line] {
					continue
				}
				drawn[line] = true
				from = block.frame
			}
		}
		parallel := d.plan.PortsBetween(low.ID, high.ID)
		position := slices.IndexFunc(parallel, func(id topologies.PortID) bool { return d.plan.Ports[id].Link == i })
		aside := 6 * (float64(position) - float64(len(parallel)-1)/2)
		name := fmt.Sprintf("%s – %s: %v, %v", d.lowEnd(i), high.Name, d.plan.Links[i].Rate, d.plan.Links[i].Delay)
		if w := d.plan.Links[i].Weight; w > 1 {
			name += fmt.Sprintf(", weight %d", w)
		}
		d.printf(`<path class="l%d" stroke-width="%.1f" stroke-opacity="%.2f" d="%s"><title>%s</title></path>`+"\n",
			min(class[i], lineClasses-1), lineWidth(class[i]), strength, curve(from, to, aside), html.EscapeString(name))
	}
	d.printf("</g>\n")
}

// lowEnd returns the name of a link's lower end, with the port's number for a host of several ports.
func (d *drawing) lowEnd(link int) string {
	low, _ := ends(d.plan, link)
	port := &d.plan.Ports[d.plan.Links[link].A]
	if port.Node != low.ID {
		port = &d.plan.Ports[d.plan.Links[link].B]
	}
	if low.Kind == topologies.Host {
		return d.plan.EndName(low.ID, uint8(port.Number-1))
	}
	return low.Name
}

// curve returns a path from the top of one box to the bottom of another above it, or an arc between two boxes of one
// row. aside is the distance of parallel links from the middle.
func curve(from, to box, aside float64) string {
	if from.y == to.y {
		y := from.y + from.h/2
		depth := math.Min(48, 14+math.Abs(to.x-from.x)/10) + aside
		return fmt.Sprintf("M%.1f %.1fQ%.1f %.1f %.1f %.1f", from.x, y, (from.x+to.x)/2, y+2*depth, to.x, y)
	}
	return fmt.Sprintf("M%.1f %.1fL%.1f %.1f", from.x+aside, from.y-from.h/2, to.x+aside, to.y+to.h/2)
}

func (d *drawing) block(b *hostBlock) {
	if b.framed {
		d.rect("frame", b.frame, 8)
	}
	if b.summed {
		d.printf(`<g class="host">`)
		d.rect("", b.frame, 8)
		d.printf(`<text x="%.1f" y="%.1f">%s</text><text x="%.1f" y="%.1f">%s</text></g>`+"\n",
			b.frame.x, b.frame.y-7, topologies.Plural(len(b.hosts), "host"), b.frame.x, b.frame.y+8, b.label(d.plan))
		return
	}
	for _, h := range b.hosts {
		d.node(&d.plan.Nodes[h], "host", 5)
	}
}

func (d *drawing) node(n *topologies.Node, class string, radius float64) {
	b := d.layout.nodes[n.ID]
	d.printf(`<g class="%s"><title>%s: %s</title>`, class, n.Name, d.describe(n))
	d.rect("", b, radius)
	d.printf(`<text x="%.1f" y="%.1f">%s</text></g>`+"\n", b.x, b.y, n.Name)
}

func (d *drawing) describe(n *topologies.Node) string {
	if n.Kind == topologies.Host {
		addresses := lists.Map(n.Ports, func(id topologies.PortID) string { return d.plan.Address(id).String() })
		return strings.Join(addresses, ", ")
	}
	return topologies.Plural(len(n.Ports), "port")
}

func (d *drawing) rect(class string, b box, radius float64) {
	if class != "" {
		class = fmt.Sprintf(` class="%s"`, class)
	}
	d.printf(`<rect%s x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.0f"/>`, class, b.x-b.w/2, b.y-b.h/2, b.w, b.h,
		radius)
}

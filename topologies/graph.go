package topologies

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// linkClass is a kind of cable of a fabric: the links of one rate and delay.
type linkClass struct {
	Rate  units.Rate
	Delay vtime.Time
	Count int
}

func (c linkClass) String() string { return fmt.Sprintf("%v, %v", c.Rate, c.Delay) }

// linkClasses are the plan's kinds of cables, the slowest first, and the class of each link.
func (p *Plan) linkClasses() (classes []linkClass, of []int) {
	for i := range p.Links {
		c := linkClass{Rate: p.Links[i].Rate, Delay: p.Links[i].Delay}
		if !slices.Contains(classes, c) {
			classes = append(classes, c)
		}
	}
	slices.SortFunc(classes, func(a, b linkClass) int {
		return cmp.Or(cmp.Compare(a.Rate, b.Rate), cmp.Compare(a.Delay, b.Delay))
	})
	of = make([]int, len(p.Links))
	for i := range p.Links {
		of[i] = slices.IndexFunc(classes, func(c linkClass) bool {
			return c.Rate == p.Links[i].Rate && c.Delay == p.Links[i].Delay
		})
	}
	for _, c := range of {
		classes[c].Count++
	}
	return classes, of
}

// Summary is the plan in a line: "18 hosts, 5 switches, 24 links of 40Gbps, 5us".
func (p *Plan) Summary() string {
	classes, _ := p.linkClasses()
	parts := make([]string, len(classes))
	for i, c := range classes {
		parts[i] = fmt.Sprintf("%d of %v", c.Count, c)
	}
	links := fmt.Sprintf("%s: %s", plural(len(p.Links), "link"), strings.Join(parts, "; "))
	if len(classes) == 1 {
		links = fmt.Sprintf("%s of %v", plural(len(p.Links), "link"), classes[0])
	}
	return fmt.Sprintf("%s, %s, %s", plural(len(p.Hosts), "host"), plural(len(p.Switch), "switch"), links)
}

func plural(n int, word string) string {
	switch {
	case n == 1:
		return "1 " + word
	case strings.HasSuffix(word, "ch"):
		return fmt.Sprintf("%d %ses", n, word)
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// tiers are the nodes by tier: the hosts first.
func (p *Plan) tiers() [][]NodeID {
	var tiers [][]NodeID
	for i := range p.Nodes {
		n := &p.Nodes[i]
		for len(tiers) <= n.Tier {
			tiers = append(tiers, nil)
		}
		tiers[n.Tier] = append(tiers[n.Tier], n.ID)
	}
	return tiers
}

// Dot writes the plan as a Graphviz graph.
func (p *Plan) Dot(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "graph %q {\n  rankdir=BT; ranksep=1; node [fontname=\"sans-serif\"]; edge [fontname=\"sans-serif\", fontsize=9];\n", p.Name)
	for tier, nodes := range p.tiers() {
		shape := "box, style=rounded"
		if tier == 0 {
			shape = "ellipse"
		}
		fmt.Fprintf(&b, "  { rank=same; node [shape=%s];", shape)
		for _, id := range nodes {
			fmt.Fprintf(&b, " %q;", p.Nodes[id].Name)
		}
		b.WriteString(" }\n")
	}
	_, class := p.linkClasses()
	one := !slices.ContainsFunc(class, func(c int) bool { return c != 0 })
	if one && len(p.Links) > 0 {
		fmt.Fprintf(&b, "  label=\"every link: %v, %v\";\n", p.Links[0].Rate, p.Links[0].Delay)
	}
	for i := range p.Links {
		low, high := p.ends(i)
		label := ""
		if !one {
			label = fmt.Sprintf(" [label=\"%v, %v\"]", p.Links[i].Rate, p.Links[i].Delay)
		}
		fmt.Fprintf(&b, "  %q -- %q%s;\n", low.Name, high.Name, label)
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// Mermaid writes the plan as a Mermaid flowchart. Nodes are called by number there, since a name such as "end" would be
// a keyword.
func (p *Plan) Mermaid(w io.Writer) error {
	var b strings.Builder
	b.WriteString("flowchart BT\n")
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if n.Kind == Host {
			fmt.Fprintf(&b, "  n%d([%q])\n", n.ID, n.Name)
		} else {
			fmt.Fprintf(&b, "  n%d[%q]\n", n.ID, n.Name)
		}
	}
	_, class := p.linkClasses()
	one := !slices.ContainsFunc(class, func(c int) bool { return c != 0 })
	for i := range p.Links {
		low, high := p.ends(i)
		label := ""
		if !one {
			label = fmt.Sprintf("|\"%v, %v\"|", p.Links[i].Rate, p.Links[i].Delay)
		}
		fmt.Fprintf(&b, "  n%d ---%s n%d\n", low.ID, label, high.ID)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ends are the nodes of a link, the one in the lower tier first.
func (p *Plan) ends(link int) (low, high *Node) {
	l := &p.Links[link]
	low, high = &p.Nodes[p.Ports[l.A].Node], &p.Nodes[p.Ports[l.B].Node]
	if high.Tier < low.Tier {
		low, high = high, low
	}
	return low, high
}

// Package draw draws plans as SVG, as a Graphviz graph and as a Mermaid flowchart. The same plan always gives the same
// bytes.
package draw

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/topologies"
)

// tiersOf returns the nodes by tier, the hosts first.
func tiersOf(p *topologies.Plan) [][]topologies.NodeID {
	var tiers [][]topologies.NodeID
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
func Dot(w io.Writer, p *topologies.Plan) error {
	var b strings.Builder
	fmt.Fprintf(&b, "graph %q {\n  rankdir=BT; ranksep=1; node [fontname=\"sans-serif\"]; "+
		"edge [fontname=\"sans-serif\", fontsize=9];\n", p.Name)
	for tier, nodes := range tiersOf(p) {
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
	_, class := p.LinkClasses()
	uniform := !slices.ContainsFunc(class, func(c int) bool { return c != 0 })
	if uniform && len(p.Links) > 0 {
		fmt.Fprintf(&b, "  label=\"every link: %v, %v\";\n", p.Links[0].Rate, p.Links[0].Delay)
	}
	for i := range p.Links {
		low, high := ends(p, i)
		label := ""
		if !uniform {
			label = fmt.Sprintf(" [label=\"%v, %v\"]", p.Links[i].Rate, p.Links[i].Delay)
		}
		fmt.Fprintf(&b, "  %q -- %q%s;\n", low.Name, high.Name, label)
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// Mermaid writes the plan as a Mermaid flowchart. It names nodes by number, because a name such as "end" would be a
// keyword.
func Mermaid(w io.Writer, p *topologies.Plan) error {
	var b strings.Builder
	b.WriteString("flowchart BT\n")
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if n.Kind == topologies.Host {
			fmt.Fprintf(&b, "  n%d([%q])\n", n.ID, n.Name)
		} else {
			fmt.Fprintf(&b, "  n%d[%q]\n", n.ID, n.Name)
		}
	}
	_, class := p.LinkClasses()
	uniform := !slices.ContainsFunc(class, func(c int) bool { return c != 0 })
	for i := range p.Links {
		low, high := ends(p, i)
		label := ""
		if !uniform {
			label = fmt.Sprintf("|\"%v, %v\"|", p.Links[i].Rate, p.Links[i].Delay)
		}
		fmt.Fprintf(&b, "  n%d ---%s n%d\n", low.ID, label, high.ID)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ends returns the nodes of a link, the one in the lower tier first.
func ends(p *topologies.Plan, link int) (low, high *topologies.Node) {
	l := &p.Links[link]
	low, high = &p.Nodes[p.Ports[l.A].Node], &p.Nodes[p.Ports[l.B].Node]
	if high.Tier < low.Tier {
		low, high = high, low
	}
	return low, high
}

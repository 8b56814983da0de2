package topologies

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// LinkClass describes a kind of cable: the links of one rate and delay.
type LinkClass struct {
	Rate  units.Rate
	Delay vtime.Time
	Count int
}

func (c LinkClass) String() string { return fmt.Sprintf("%v, %v", c.Rate, c.Delay) }

// LinkClasses returns the plan's kinds of cables, the slowest first, and the class of each link.
func (p *Plan) LinkClasses() (classes []LinkClass, of []int) {
	for i := range p.Links {
		c := LinkClass{Rate: p.Links[i].Rate, Delay: p.Links[i].Delay}
		if !slices.Contains(classes, c) {
			classes = append(classes, c)
		}
	}
	slices.SortFunc(classes, func(a, b LinkClass) int {
		return cmp.Or(cmp.Compare(a.Rate, b.Rate), cmp.Compare(a.Delay, b.Delay))
	})
	of = make([]int, len(p.Links))
	for i := range p.Links {
		of[i] = slices.IndexFunc(classes, func(c LinkClass) bool {
			return c.Rate == p.Links[i].Rate && c.Delay == p.Links[i].Delay
		})
	}
	for _, c := range of {
		classes[c].Count++
	}
	return classes, of
}

// Summary returns the plan in one line: "18 hosts, 5 switches, 24 links of 40Gbps, 5us".
func (p *Plan) Summary() string {
	classes, _ := p.LinkClasses()
	parts := lists.Map(classes, func(c LinkClass) string { return fmt.Sprintf("%d of %v", c.Count, c) })
	links := fmt.Sprintf("%s: %s", Plural(len(p.Links), "link"), strings.Join(parts, "; "))
	if len(classes) == 1 {
		links = fmt.Sprintf("%s of %v", Plural(len(p.Links), "link"), classes[0])
	}
	return fmt.Sprintf("%s, %s, %s", p.HostSummary(), Plural(len(p.Switch), "switch"), links)
}

// HostSummary returns the number of hosts, with their ports if any has several: "16 hosts of 8 ports", "3 hosts with 5
// ports".
func (p *Plan) HostSummary() string {
	hosts := Plural(len(p.Hosts), "host")
	each := len(p.Nodes[p.Hosts[0]].Ports)
	switch {
	case p.SinglePort():
		return hosts
	case slices.ContainsFunc(p.Hosts, func(id NodeID) bool { return len(p.Nodes[id].Ports) != each }):
		return fmt.Sprintf("%s with %d ports", hosts, len(p.Interfaces))
	}
	return fmt.Sprintf("%s of %d ports", hosts, each)
}

// Plural returns a count in words: "1 host", "2 switches".
func Plural(n int, word string) string {
	switch {
	case n == 1:
		return "1 " + word
	case strings.HasSuffix(word, "ch"):
		return fmt.Sprintf("%d %ses", n, word)
	}
	return fmt.Sprintf("%d %ss", n, word)
}

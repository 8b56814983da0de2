package why

import (
	"fmt"
	"io"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/units"
)

// least sets the fraction of the total below which parts are printed together.
const least = 0.005

// span returns a time with three significant digits; View has picoseconds.
func span(ps int64) string { return measure.KindTime.Text(float64(ps) / 1e3) }

// Name describes a flow for people: "flow 161 (burst), 64KB from H7 to R1".
func (f *Flow) Name() string {
	tag := ""
	if f.Tag != "" {
		tag = " (" + f.Tag + ")"
	}
	size := "unbounded"
	if f.Size > 0 {
		size = units.Bytes(f.Size).String()
	}
	return fmt.Sprintf("flow %d%s, %s from %s to %s", f.Number, tag, size, f.Source, f.Destination)
}

func (r *Run) head(w io.Writer) {
	fmt.Fprintf(w, "%s under %s, seed %d", r.Scenario, r.Controller, r.Seed)
	if r.Partial {
		fmt.Fprint(w, " (partial)")
	}
	fmt.Fprintln(w)
}

// WriteFlow prints where a flow's time went; all: every part, however small.
func (r *Run) WriteFlow(w io.Writer, f *Flow, all bool) {
	r.head(w)
	fmt.Fprintf(w, "%s: %s\n", f.Name(), f.took())
	one := []*Flow{f}
	fmt.Fprint(w, "\nRoot causes:\n\n")
	writeParts(w, r.Roots(one), all, 1)
	fmt.Fprint(w, "\nWhere the time went:\n\n")
	writeParts(w, r.Tree(one), all, 1)
}

// took returns how long the flow took, or has taken so far.
func (f *Flow) took() string {
	if !f.Ended {
		return "unfinished after " + span(f.Picoseconds)
	}
	return fmt.Sprintf("FCT %s, slowdown %s", span(f.Picoseconds), measure.KindCount.Text(f.Slowdown))
}

// Top returns a line with the time of a flow and its largest root cause.
func (r *Run) Top(f *Flow) string {
	top := r.Roots([]*Flow{f}).Parts[0]
	return fmt.Sprintf("%s: %s; %.1f %% %s", f.Name(), f.took(), 100*fraction(top.Picoseconds, f.Picoseconds), top.What)
}

// WriteFlows prints the causes of the times of several flows, the slowest first. name describes the set of flows.
func (r *Run) WriteFlows(w io.Writer, name string, flows []*Flow, all bool) {
	r.head(w)
	open := 0
	for _, f := range flows {
		if !f.Ended {
			open++
		}
	}
	fmt.Fprintf(w, "%s: %d flows", name, len(flows))
	if open > 0 {
		fmt.Fprintf(w, " (%d unfinished)", open)
	}
	n := int64(len(flows))
	tree, roots := r.Tree(flows), r.Roots(flows)
	fmt.Fprintf(w, "; mean time %s, median %s, max %s\n\n", span(tree.Picoseconds/n), span(flows[n/2].Picoseconds),
		span(flows[0].Picoseconds))
	slow := flows[:(n+9)/10]
	slowest := r.Roots(slow)
	fmt.Fprintf(w, "Root causes, as %% of the time of all flows, and of the slowest %d:\n\n", len(slow))
	other := map[string]int64{}
	for _, p := range slowest.Parts {
		other[p.What] = p.Picoseconds
	}
	restAll, restSlow, rest := int64(0), int64(0), 0
	for _, p := range roots.Parts {
		if !all && max(fraction(p.Picoseconds, roots.Picoseconds), fraction(other[p.What], slowest.Picoseconds)) < least {
			restAll, restSlow, rest = restAll+p.Picoseconds, restSlow+other[p.What], rest+1
			continue
		}
		fmt.Fprintf(w, "  %5.1f  %5.1f  %s\n", 100*fraction(p.Picoseconds, roots.Picoseconds),
			100*fraction(other[p.What], slowest.Picoseconds), p.What)
	}
	if rest > 0 {
		fmt.Fprintf(w, "  %5.1f  %5.1f  %s\n", 100*fraction(restAll, roots.Picoseconds),
			100*fraction(restSlow, slowest.Picoseconds), smaller(rest))
	}
	fmt.Fprint(w, "\nWhere the time went, mean per flow:\n\n")
	writeParts(w, tree, all, n)
	fmt.Fprint(w, "\nSlowest flows:\n\n")
	for _, f := range flows[:min(n, 5)] {
		fmt.Fprintf(w, "  %s\n", r.Top(f))
	}
}

func fraction(part, of int64) float64 {
	if of == 0 {
		return 0
	}
	return float64(part) / float64(of)
}

func smaller(n int) string {
	if n == 1 {
		return "a smaller part"
	}
	return fmt.Sprintf("%d smaller parts", n)
}

// writeParts prints a tree's parts below its top, of so many flows.
func writeParts(w io.Writer, top *Node, all bool, flows int64) {
	var write func(n *Node, depth int)
	line := func(ps int64, depth int, what string) {
		fmt.Fprintf(w, "  %8s  %5.1f %%  %s%s\n", span(ps/flows), 100*fraction(ps, top.Picoseconds),
			strings.Repeat("  ", depth), what)
	}
	write = func(n *Node, depth int) {
		rest, count := int64(0), 0
		for _, p := range n.Parts {
			if !all && fraction(p.Picoseconds, top.Picoseconds) < least {
				rest += p.Picoseconds
				count++
				continue
			}
			if len(n.Parts) == 1 && depth > 0 { // it is all of what it is a part of
				fmt.Fprintf(w, "%21s%s%s\n", "", strings.Repeat("  ", depth), p.What)
			} else {
				line(p.Picoseconds, depth, p.What)
			}
			write(p, depth+1)
		}
		if count > 0 && (depth == 0 || count < len(n.Parts)) {
			line(rest, depth, smaller(count))
		}
	}
	write(top, 0)
}

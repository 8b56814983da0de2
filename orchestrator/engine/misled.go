package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/vtime"
)

// sendableInvariant is the invariant that a congestion control breaks by what cannot be done.
const sendableInvariant = "controllers say what can be sent"

// mostMisled is how many flows whose congestion controls broke it are named.
const mostMisled = 3

// misled is a flow whose congestion control said what cannot be done.
type misled struct {
	flow   int // number
	place  string
	broken hostagent.Broken
}

// misled is what the flow's congestion control said that cannot be done; nil: nothing.
func (e *Engine) misled(f *Flow) *misled {
	if f.Sender == nil {
		return nil
	}
	broken := f.Sender.Broken(e.now, f.Start)
	if broken == nil {
		return nil
	}
	place := fmt.Sprintf("flow %d (%s to %s)", f.Number, e.plan.Nodes[f.Source].Name, e.plan.Nodes[f.Destination].Name)
	if f.Controller != "" {
		place = f.Controller + ", " + place
	}
	return &misled{f.Number, place, *broken}
}

// Misled is how many flows have not ended of which the congestion control said what cannot be done.
func (e *Engine) Misled() (n int) {
	for i := range e.flows {
		if f := &e.flows[i]; f.Finished == vtime.Never && e.misled(f) != nil {
			n++
		}
	}
	return n
}

// checkControllers: congestion controls say what can be done. The first flows of which that was not so are named.
func (e *Engine) checkControllers() {
	all := slices.Clone(e.misledBefore)
	for i := range e.flows {
		if m := e.misled(&e.flows[i]); m != nil {
			all = append(all, *m)
		}
	}
	slices.SortFunc(all, func(a, b misled) int {
		return cmp.Or(cmp.Compare(a.broken.At, b.broken.At), cmp.Compare(a.flow, b.flow))
	})
	for i := range all[:min(len(all), mostMisled)] {
		m := &all[i]
		detail := m.broken.String()
		if more := len(all) - mostMisled; more > 0 && i == mostMisled-1 {
			detail += fmt.Sprintf("; and of %d more", more)
		}
		e.broken = append(e.broken, Violation{Invariant: sendableInvariant, Place: m.place, Time: m.broken.At, Detail: detail})
	}
}

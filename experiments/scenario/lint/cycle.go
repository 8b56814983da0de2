package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// mostReroutes limits the states of the links that are searched for a cycle.
const mostReroutes = 64

// cycles warns of routes by which queues can wait for one another in a cycle: the topology's routes, and the routes
// after faults.
func (w *warner) cycles() {
	plan := w.s.Topology
	if w.s.Switch.Lossless()&w.data() == 0 || len(w.only) > 0 {
		return
	}
	every, free, paths := w.trips()
	d := plan.DependenciesOf(plan.Routes(), free)
	for _, path := range paths {
		d.AddPath(path)
	}
	w.cycle(d, "")
	for _, state := range w.reroutes() {
		routes := plan.RoutesOver(func(id topologies.PortID) bool { return !state.down[plan.Ports[id].Link] })
		w.cycle(plan.DependenciesOf(&routes, every), fmt.Sprintf(" from %v on", state.at))
	}
}

// cycle warns if the dependencies have a cycle.
func (w *warner) cycle(d *topologies.Dependencies, when string) {
	cycle := d.Cycle()
	if cycle == nil {
		return
	}
	names := lists.Map(cycle, func(id topologies.PortID) string { return scenario.PortLabel(w.s.Topology, id) })
	remedy := ""
	if w.s.Switch.FlowControl == switchagent.FlowPFC {
		remedy = "; switch.pfc.watchdog ends a deadlock by dropping frames"
	}
	w.warn("the routes%s allow a cyclic buffer dependency: %s. Each of these queues can wait for the next, and the last "+
		"for the first, which can become a deadlock. Routes that never go up again after they went down have no such cycle%s",
		when, strings.Join(names, " > "), remedy)
}

// trips returns the pairs of leaves between which packets travel (every), those of them that may use any shortest path
// (free), and the paths of the others. An interface stands for all of its leaf, which have the same paths between
// switches. In a live fabric any interface may send to any other.
func (w *warner) trips() (every, free [][2]int, paths [][]topologies.PortID) {
	plan := w.s.Topology
	routes := plan.Routes()
	first := map[int32]int{} // one interface of each leaf
	for h, leaf := range routes.Leaf {
		if _, found := first[leaf]; !found {
			first[leaf] = h
		}
	}
	if w.live {
		for _, a := range first {
			for _, b := range first {
				every = append(every, [2]int{a, b})
			}
		}
		slices.SortFunc(every, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
		return every, every, nil
	}
	back := scenario.HostSettings(w.s, w.needs).ACKsWithData
	all, some := map[[2]int]bool{}, map[[2]int]bool{}
	add := func(seen map[[2]int]bool, to *[][2]int, trip [2]int) {
		if !seen[trip] {
			seen[trip] = true
			*to = append(*to, trip)
		}
	}
	for i := range w.s.Flows {
		f := &w.s.Flows[i]
		trip := [2]int{
			first[routes.Leaf[plan.Interface(f.Source, f.Pair.From)]],
			first[routes.Leaf[plan.Interface(f.Destination, f.Pair.To)]],
		}
		add(all, &every, trip)
		if back {
			answers := [2]int{trip[1], trip[0]}
			add(all, &every, answers)
			add(some, &free, answers)
		}
		if via := f.Extra().Via; len(via) > 0 {
			paths = append(paths, plan.PathVia(f.Source, f.Destination, via, f.Pair)[1:])
		} else {
			add(some, &free, trip)
		}
	}
	return every, free, paths
}

// linkState holds the links that are down when routes change, by index.
type linkState struct {
	at   vtime.Time
	down map[int]bool
}

// reroutes returns the first distinct states of the links to which routes adapt.
func (w *warner) reroutes() (states []linkState) {
	plan := w.s.Topology
	type change struct {
		at   vtime.Time
		link int // negative: routes adapt
		up   bool
	}
	var changes []change
	for i := range w.s.Faults {
		f := &w.s.Faults[i]
		if f.Kind != settings.FaultDown {
			continue
		}
		for n, at := 1, f.At; at <= w.s.Duration; n, at = n+1, at+f.Every {
			note := func(at vtime.Time, up bool) {
				for _, id := range f.Ports {
					changes = append(changes, change{at, plan.Ports[id].Link, up})
				}
				if f.Reroute != vtime.Never {
					changes = append(changes, change{at: at + f.Reroute, link: -1})
				}
			}
			note(at, f.Up)
			if f.For > 0 {
				note(at+f.For, true)
			}
			if f.Every == 0 || n == f.Times || n == mostReroutes {
				break
			}
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return int(min(max(a.at-b.at, -1), 1)) })
	down := map[int]bool{}
	seen := map[string]bool{fmt.Sprint(down): true}
	for _, c := range changes {
		if c.link >= 0 {
			if delete(down, c.link); !c.up {
				down[c.link] = true
			}
			continue
		}
		if key := fmt.Sprint(down); !seen[key] && len(states) < mostReroutes { // Sprint sorts a map's keys
			seen[key] = true
			states = append(states, linkState{c.at, maps.Clone(down)})
		}
	}
	return states
}

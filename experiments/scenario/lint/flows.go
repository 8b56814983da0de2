package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/units"
)

// weights warns of a flow's weight if no other flow competes with it.
func (w *warner) weights() {
	type class struct {
		host           topologies.NodeID
		port, priority uint8
	}
	of := func(f *scenario.Flow) class {
		c := class{f.Source, f.Pair.From, w.s.Host.DataPriority}
		if own := f.Extra().Own; own.Priority > 0 {
			c.priority = own.Priority - 1
		}
		return c
	}
	// 1 + the index of the only flow of a class, if it has a weight; -1: the class has several flows
	alone := map[class]int{}
	for i := range w.s.Flows {
		if own := w.s.Flows[i].Extra().Own; own.Weight > 0 && alone[of(&w.s.Flows[i])] == 0 {
			alone[of(&w.s.Flows[i])] = 1 + i
		}
	}
	if len(alone) == 0 {
		return
	}
	for i := range w.s.Flows {
		if c := of(&w.s.Flows[i]); alone[c] > 0 && alone[c] != 1+i {
			alone[c] = -1
		}
	}
	for _, i := range slices.Sorted(maps.Values(alone)) {
		if i > 0 {
			f := &w.s.Flows[i-1]
			w.warn("the weight of flow %d (%s) has no effect: no other flow of %s has its priority; remove weight", i-1,
				f.Tag, w.s.Topology.Nodes[f.Source].Name)
		}
	}
}

// periods warns of flows whose first on period lasts to the end of the run.
func (w *warner) periods() {
	end := w.s.Duration
	if w.s.Drain {
		end += w.s.DrainLimit
	}
	for i := range w.s.Flows {
		f := &w.s.Flows[i]
		if own := f.Extra().Own; own.Off > 0 && f.Start+own.On >= end {
			w.warn("on_off of flows %s has no effect: their first on period of %v lasts to the end of the run, at %v",
				f.Tag, own.On, end)
		}
	}
}

// qps warns of QPs without packets: no flow of the tag has that many packets or messages.
func (w *warner) qps() {
	type kind struct {
		tag string
		of  scenario.QPs
	}
	var all []kind
	longest := map[kind]units.Bytes{} // the largest size of the flows; 0: a flow is unbounded
	for i := range w.s.Flows {
		f := &w.s.Flows[i]
		k := kind{f.Tag, f.Extra().Own.QPs}
		if k.of.Count <= 1 {
			continue
		}
		size, seen := longest[k]
		if !seen {
			all = append(all, k)
		}
		if seen && size == 0 || f.Size == 0 {
			longest[k] = 0
		} else {
			longest[k] = max(size, f.Size)
		}
	}
	for _, k := range all {
		used := len(k.of.Split(longest[k], w.s.Topology.MTU))
		if used == k.of.Count {
			continue
		}
		unit := fmt.Sprintf("%d packets of %dB", used, w.s.Topology.MTU)
		if k.of.Message > 0 {
			unit = fmt.Sprintf("%d messages of %v", used, k.of.Message)
		}
		if used == 1 {
			unit = strings.Replace(unit, "s of ", " of ", 1)
		}
		w.warn("flows %s have %d QPs, but the longest flow is %v, %s: the other QPs carry nothing; set qps to %d", k.tag,
			k.of.Count, longest[k], unit, used)
	}
}

// controllerOf returns the congestion control of a flow; nil: it does not exist, which Check reports.
func (w *warner) controllerOf(f *scenario.Flow) *cc.Spec {
	name := f.Extra().Own.CC
	if name == "" {
		return w.spec
	}
	spec, err := w.s.Lookup(name)
	if err != nil {
		return nil
	}
	return spec
}

// grants warns of a start_rate under a congestion control whose receivers grant every byte.
func (w *warner) grants() {
	for i := range w.s.Flows {
		f := &w.s.Flows[i]
		if spec := w.controllerOf(f); spec != nil && spec.Needs.Grants && f.Extra().StartRate > 0 {
			w.warn("start_rate has no effect under %s, because flows send what their receivers grant: "+
				"remove it or set cc.%s.initial_credit", spec.Name, spec.Name)
		}
	}
}

// constants warns of constants that are set but that the flows' congestion controls ignore.
func (w *warner) constants() {
	seen := []string{}
	for i := range w.s.Flows {
		spec := w.controllerOf(&w.s.Flows[i])
		if spec == nil || slices.Contains(seen, spec.Name) {
			continue
		}
		seen = append(seen, spec.Name)
		var reasons groups[string]
		for _, name := range slices.Sorted(maps.Keys(w.s.ControllerSettings[spec.Name])) {
			if why := w.s.IdleConstant(spec, name); why != "" {
				reasons.add(why, "cc."+spec.Name+"."+name)
			}
		}
		for _, why := range reasons.keys {
			w.warn("%s", noEffect(reasons.names[why], why))
		}
	}
}

// controllers warns of a congestion control that no flow uses.
func (w *warner) controllers() {
	for i := range w.s.Flows {
		if own := w.s.Flows[i].Extra().Own; own.CC == "" {
			return
		}
	}
	if len(w.s.Flows) > 0 {
		w.warn("no flow uses %s: each has a congestion control of its own (cc), so controllers and --cc only name the runs",
			w.spec.Name)
	}
}

// programs warns of settings for programs, which a run does not execute.
func (w *warner) programs() {
	plan := w.s.Topology
	var nodes, keys, verbs, links []string
	for i := range plan.Nodes {
		n := &plan.Nodes[i]
		own := spec.SetKeys(n.Programs)
		if len(own) > 0 {
			nodes = append(nodes, n.Name)
		}
		for _, key := range own {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	if len(nodes) > 0 {
		w.warn("%s of %s: no effect in a run, which executes no programs on nodes; pausenet up uses them",
			strings.Join(keys, ", "), lists.Few(nodes))
	}
	for _, c := range plan.Commands {
		verbs = append(verbs, c.Name)
	}
	if len(verbs) > 0 {
		w.warn("commands %s: no effect in a run, which has no shell; they are verbs of pausenet up", lists.Few(verbs))
	}
	if plan.LearnGateway {
		w.warn("l2: learn: no effect in a run, whose hosts send no ARP or neighbour discovery")
	}
	pfc := w.s.Switch.FlowControl == switchagent.FlowPFC && w.s.Switch.PFC.Priorities != 0
	for i := range plan.Links {
		// a larger one counts in the headroom
		if a := &plan.Ports[plan.Links[i].A]; a.MTU != plan.UsualInterfaceMTU() &&
			(!pfc || a.MTU < plan.UsualInterfaceMTU()) {
			links = append(links, scenario.PortLabel(plan, a.ID))
		}
	}
	if len(links) > 0 {
		w.warn("interface_mtu of %s: no effect in a run, which executes no programs; packets of flows use topology.mtu, %d",
			lists.Few(links), plan.MTU)
	}
}

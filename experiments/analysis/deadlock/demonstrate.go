package deadlock

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// Settings holds what a demonstration keeps of the scenario that is checked: the keys switch and host as YAML, which
// may be empty, and changes of them as for --set.
type Settings struct {
	YAML []byte
	Sets []string
}

// Demonstration describes traffic that fills a cycle, and its run.
type Demonstration struct {
	Scenario    []byte // its file
	Runs        int    // how many scenarios were run, this one included
	Deadlocked  bool
	Since       vtime.Time // when the last queue of the deadlock was paused
	Cycle       []string   // the queues of the deadlock, as "node:peer"
	Fingerprint string
	Verdict     measure.Verdict
}

// traffic describes one attempt.
type traffic struct {
	pairs int        // pairs of leaves for each turn of the cycle
	stall vtime.Time // for which the receivers accept nothing at first
	seed  uint64
}

// attempts lists traffic from the simplest to the most adverse.
var attempts = []traffic{
	{pairs: 1, seed: 1},
	{pairs: 1, stall: 300 * vtime.Microsecond, seed: 1},
	{pairs: 4, stall: 300 * vtime.Microsecond, seed: 1},
	{pairs: 1, stall: vtime.Millisecond, seed: 2},
	{pairs: 4, stall: vtime.Millisecond, seed: 3},
}

const (
	mostSenders = 8 // of each pair of leaves
	flowTag     = "cycle"
)

// Demonstrate runs traffic that fills a cycle, with each pair of leaves of the cycle sending along it, until one run
// deadlocks. It returns the first that does, or otherwise the last. The scenario lacks the failed links, so that its
// routes are those after the failure.
func (p *Proof) Demonstrate(ctx context.Context, c *Cycle, of Settings) (*Demonstration, error) {
	var d *Demonstration
	for i, a := range attempts {
		text := p.scenario(c, of, a, nil)
		var err error
		if d, err = run(ctx, text, of.Sets); err != nil {
			return nil, err
		}
		d.Runs = i + 1
		if d.Deadlocked {
			break
		}
	}
	return d, nil
}

// run runs a scenario on the plane in this process.
func run(ctx context.Context, text []byte, sets []string) (*Demonstration, error) {
	s, err := scenario.Reading{Sets: sets}.Parse("demonstration.yaml", text)
	if err != nil {
		return nil, fmt.Errorf("the demonstration: %w", err)
	}
	sum, err := runner.Watch(ctx, s, runner.Options{Controller: s.Controllers[0], Seed: s.Seed}, runner.Watching{})
	if err != nil {
		return nil, err
	}
	d := &Demonstration{Scenario: text, Fingerprint: sum.Fingerprint, Verdict: sum.Verdict}
	if sum.Faults != nil {
		for _, found := range sum.Faults.Deadlocks {
			if found.EndedNS != 0 {
				continue
			}
			d.Deadlocked, d.Since = true, vtime.Time(found.SinceNS)*vtime.Nanosecond
			for _, q := range found.Cycle {
				d.Cycle = append(d.Cycle, q.Node+":"+q.Peer)
			}
		}
	}
	return d, nil
}

// route is a path from one leaf to another along a cycle.
type route struct {
	pair  Pair
	via   []topologies.NodeID
	along int // ports of the cycle
}

// routesAlong returns paths that make a turn of the cycle, those that follow it longest first.
func (p *Proof) routesAlong(c *Cycle, i int) (all []route) {
	n := p.network
	r := n.routes(c.Failed)
	for _, pair := range c.Pairs[i] {
		at := n.plan.Nodes[n.plan.Ports[c.Ports[i]].Node].Index
		path := n.lead(r, n.switches[pair.From], int32(at), pair.To)
		if path == nil {
			continue
		}
		to := route{pair: pair}
		for _, sw := range path {
			to.via = append(to.via, n.plan.Switch[sw])
		}
		sw := int32(at)
		for follow := true; ; to.along++ {
			ports := group(r, sw, pair.To)
			if len(ports) == 0 {
				break
			}
			next := c.Ports[(i+to.along)%len(c.Ports)]
			if follow = follow && slices.Contains(ports, next); !follow {
				next = ports[0]
				to.along-- // undo the loop's
			}
			sw = int32(n.plan.PeerNode(next).Index)
			to.via = append(to.via, n.plan.Switch[sw])
		}
		all = append(all, to)
	}
	slices.SortStableFunc(all, func(a, b route) int {
		return cmp.Or(cmp.Compare(b.along, a.along), cmp.Compare(len(a.via), len(b.via)))
	})
	return all
}

// lead returns the switches of a path from one switch to another on the way to a leaf, both included; nil if there is
// none.
func (n *network) lead(r *topologies.Routes, from, to, leaf int32) []int32 {
	if from == to {
		return []int32{from}
	}
	for _, port := range group(r, from, leaf) {
		if rest := n.lead(r, int32(n.plan.PeerNode(port).Index), to, leaf); rest != nil {
			return append([]int32{from}, rest...)
		}
	}
	return nil
}

// scenario returns the file of a scenario whose flows fill a cycle. choose, if set, returns the priority of a route's
// flows, and whether they are sent; the result is nil if none is.
func (p *Proof) scenario(c *Cycle, of Settings, how traffic, choose func(*route) (uint8, bool)) []byte {
	plan := p.Plan
	ends := make([][]string, len(p.network.switches)) // the interfaces of each leaf
	owner := map[string]topologies.NodeID{}
	for i, id := range plan.Interfaces {
		port := &plan.Ports[id]
		leaf := plan.Routes().Leaf[i]
		name := plan.EndName(port.Node, uint8(port.Number-1))
		ends[leaf] = append(ends[leaf], name)
		owner[name] = port.Node
	}
	used := map[topologies.NodeID]bool{}
	var flows bytes.Buffer
	var receivers []string
	seen := map[string]bool{}
	for i := range c.Ports {
		routes := p.routesAlong(c, i)
		for _, to := range routes[:min(how.pairs, len(routes))] {
			priority := p.Classes[c.Class].Priorities[0]
			if choose != nil {
				chosen, sent := choose(&to)
				if priority = chosen; !sent {
					continue
				}
			}
			from, into := ends[to.pair.From], ends[to.pair.To]
			via := plan.NamesOf(to.via)
			for j := range min(mostSenders, len(from)) {
				receiver := into[(j+i)%len(into)]
				line := fmt.Sprintf("  - {tag: %s, from: %s, to: %s, size: unbounded, priority: %d, expect_unfinished: true, "+
					"via: [%s]}\n",
					flowTag, from[j], receiver, priority, strings.Join(via, ", "))
				if seen[line] {
					continue
				}
				seen[line] = true
				flows.WriteString(line)
				used[owner[from[j]]], used[owner[receiver]] = true, true
				if name := plan.Nodes[owner[receiver]].Name; !slices.Contains(receivers, name) {
					receivers = append(receivers, name)
				}
			}
		}
	}
	if flows.Len() == 0 {
		return nil
	}
	var longest vtime.Time
	for i := range plan.Links {
		longest = max(longest, plan.Links[i].Delay)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Written by \"pausenet check deadlock\": traffic along a cycle of buffers of %s.\n", plan.Name)
	names := lists.Map(c.Ports, func(id topologies.PortID) string { return scenario.PortLabel(plan, id) })
	fmt.Fprintf(&b, "# The cycle: %s.\n", strings.Join(names, " > "))
	for _, l := range c.Failed {
		fmt.Fprintf(&b, "# The failed link %s is left out.\n", scenario.PortLabel(plan, plan.Links[l].A))
	}
	fmt.Fprintf(&b, "name: %s-deadlock\n", plan.Name)
	writeTopology(&b, plan, c.Failed, p.part(c, func(id topologies.NodeID) bool { return used[id] }))
	b.Write(of.YAML)
	fmt.Fprintf(&b, "controllers: [none]\nseed: %d\nflows:\n%s", how.seed, flows.Bytes())
	if how.stall > 0 {
		fmt.Fprintf(&b, "faults:\n  - {at: 0s, for: %v, host: [%s], receiver: {rate: 1Mbps, buffer: 1GB, xoff: 1B, xon: "+
			"0B}}\n",
			how.stall, strings.Join(receivers, ", "))
	}
	fmt.Fprintf(&b, "duration: %v\n", 4*vtime.Millisecond+how.stall+100*longest)
	fmt.Fprintf(&b, "sample: {interval: 10us, flows: none}\nexpect_unused: [controller, ecn]\n")
	return b.Bytes()
}

// part returns whether a node is a switch that the failed links leave joined to the cycle, or a used host.
func (p *Proof) part(c *Cycle, used func(topologies.NodeID) bool) func(topologies.NodeID) bool {
	plan := p.Plan
	first := plan.Ports[c.Ports[0]].Node
	seen := map[topologies.NodeID]bool{first: true}
	for queue := []topologies.NodeID{first}; len(queue) > 0; queue = queue[1:] {
		for _, id := range plan.Nodes[queue[0]].Ports {
			peer := plan.PeerNode(id)
			if peer.Kind == topologies.Switch && !seen[peer.ID] && !slices.Contains(c.Failed, plan.Ports[id].Link) {
				seen[peer.ID] = true
				queue = append(queue, peer.ID)
			}
		}
	}
	return func(id topologies.NodeID) bool { return seen[id] || used(id) }
}

// writeTopology writes the key topology: a plan without some of its links, nodes that are not kept, and nodes that then
// have no link.
func writeTopology(b *bytes.Buffer, plan *topologies.Plan, failed []int, keep func(topologies.NodeID) bool) {
	linked := map[topologies.NodeID]bool{}
	type cable struct {
		from, to string
		rate     fmt.Stringer
		delay    vtime.Time
		mtu      int
		weight   int
	}
	counts := map[cable]int{}
	var cables []cable
	for i := range plan.Links {
		l := &plan.Links[i]
		a, z := plan.Ports[l.A].Node, plan.Ports[l.B].Node
		if slices.Contains(failed, i) || !keep(a) || !keep(z) {
			continue
		}
		linked[a], linked[z] = true, true
		c := cable{plan.Nodes[a].Name, plan.Nodes[z].Name, l.Rate, l.Delay, plan.Ports[l.A].MTU, l.Weight}
		if counts[c] == 0 {
			cables = append(cables, c)
		}
		counts[c]++
	}
	fmt.Fprintf(b, "topology:\n  name: %s\n  framing: %v\n  mtu: %d\n  nodes:\n", plan.Name, plan.Framing, plan.MTU)
	for i := range plan.Nodes {
		n := &plan.Nodes[i]
		if !linked[n.ID] {
			continue
		}
		buffer := ""
		if n.Buffer > 0 {
			buffer = fmt.Sprintf(", buffer: %v", n.Buffer)
		}
		fmt.Fprintf(b, "    - {name: %s, kind: %v%s}\n", n.Name, n.Kind, buffer)
	}
	b.WriteString("  links:\n")
	for _, c := range cables {
		fmt.Fprintf(b, "    - {from: %s, to: %s, rate: %v, delay: %v, interface_mtu: %d", c.from, c.to, c.rate, c.delay,
			c.mtu)
		if n := counts[c]; n > 1 {
			fmt.Fprintf(b, ", count: %d", n)
		}
		if c.weight > 1 {
			fmt.Fprintf(b, ", weight: %d", c.weight)
		}
		b.WriteString("}\n")
	}
}

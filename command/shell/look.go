//go:build linux

package shell

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
)

// lookVerbs print the fabric's state.
var lookVerbs = []verb{
	{"nodes", "", "print the nodes", (*Shell).nodes, nil},
	{"net", "", "print each port's neighbor", (*Shell).net, nil},
	{"links", "", "print the links, their rates and states", (*Shell).links, nil},
	{"dump", "", "print each node's addresses, or its switch settings", (*Shell).dump, nil},
	{"intfs", "", "print each node's interfaces", (*Shell).intfs, nil},
	{"top", "", "watch queues, pauses, marks and rates, busiest first; q quits", (*Shell).top, nil},
}

func (s *Shell) nodes([]string) error {
	var hosts, switches []string
	for i := range s.Fabric.Plan.Nodes {
		n := &s.Fabric.Plan.Nodes[i]
		if n.Kind == topologies.Host {
			hosts = append(hosts, n.Name)
		} else {
			switches = append(switches, n.Name)
		}
	}
	fmt.Fprintf(s.Out, "hosts: %s\nswitches: %s\n", strings.Join(hosts, " "), strings.Join(switches, " "))
	return nil
}

func (s *Shell) net([]string) error {
	plan := s.Fabric.Plan
	for i := range plan.Nodes {
		fmt.Fprintf(s.Out, "%s", plan.Nodes[i].Name)
		for _, id := range plan.Nodes[i].Ports {
			p := &plan.Ports[id]
			fmt.Fprintf(s.Out, " %s:%s", p.Name, plan.Ports[p.Peer].Name)
		}
		fmt.Fprintln(s.Out)
	}
	return nil
}

func (s *Shell) links([]string) error {
	plan := s.Fabric.Plan
	return s.table(func(e *engine.Engine, w io.Writer) {
		for i := range plan.Links {
			l := &plan.Links[i]
			there, back := e.Wire(int(l.A)), e.Wire(int(l.B))
			state := linkState(l, there)
			if other := linkState(l, back); other != state {
				state += "; back: " + other
			}
			fmt.Fprintf(w, "%s<->%s\t%v\t%v\t%s\n", plan.Ports[l.A].Name, plan.Ports[l.B].Name, there.Rate, there.Delay, state)
		}
	})
}

// linkState describes whether a link is up, and the faults of one direction, in the words of the command link.
func linkState(l *topologies.Link, w engine.Wire) string {
	state := "up"
	if !w.Up {
		state = "down"
	}
	if w.Loss > 0 {
		state += fmt.Sprintf(" loss=%.4g%%", 100*w.Loss)
	}
	if w.Corruption.Frame > 0 {
		state += fmt.Sprintf(" corrupt=%.4g%%", 100*w.Corruption.Frame)
	}
	if w.Corruption.Bit > 0 {
		state += fmt.Sprintf(" ber=%.3g", w.Corruption.Bit)
	}
	if w.Delay != l.Delay {
		state += fmt.Sprintf(" delay=%v", w.Delay)
	}
	if w.Rate != l.Rate {
		state += fmt.Sprintf(" rate=%v", w.Rate)
	}
	return state
}

// table prints columns that fill computes between two events. Printing happens afterwards, so that a slow reader
// does not delay the engine.
func (s *Shell) table(fill func(e *engine.Engine, w io.Writer)) error {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
	if err := s.Fabric.Do(func(e *engine.Engine) error { fill(e, w); return nil }); err != nil {
		return err
	}
	_ = w.Flush() // writes only to memory
	_, err := text.WriteTo(s.Out)
	return err
}

func (s *Shell) dump([]string) error {
	plan := s.Fabric.Plan
	return s.table(func(e *engine.Engine, w io.Writer) {
		for i := range plan.Nodes {
			n := &plan.Nodes[i]
			if n.Kind == topologies.Host {
				for place, id := range n.Ports {
					o := e.HostStack(plan.Ports[id].Interface)
					a := plan.Address(id)
					fmt.Fprintf(w, "%s\t%v, %v\tprograms: %d frames sent, %d delivered, %d dropped in the host, %d in the fabric\n",
						plan.EndName(n.ID, uint8(place)), a, topologies.IPv6(a),
						o.Sent.Frames, o.Delivered.Frames, o.HostDrops+o.Unknown, o.Refused)
				}
				continue
			}
			t := &e.State().Switches[n.Index]
			fmt.Fprintf(w, "%s\t%d ports\t%v queued\n", n.Name, len(n.Ports), units.Bytes(t.Used))
			for _, k := range kinds(e, n) {
				p := &t.Profiles[k.profile]
				fmt.Fprintf(w, "\t%d ports\t%v, %v: XOFF %v, XON %v, headroom %v, ECN %v to %v\n", k.ports, k.wire.Rate,
					k.wire.Delay,
					units.Bytes(p.Xoff), units.Bytes(p.Xon), units.Bytes(k.headroom), units.Bytes(p.EcnKmin), units.Bytes(p.EcnKmax))
			}
		}
	})
}

// kind represents a switch's ports with equal rate, delay and thresholds.
type kind struct {
	wire     engine.Wire // without faults
	profile  uint8
	headroom uint64
	ports    int
}

func kinds(e *engine.Engine, n *topologies.Node) []kind {
	var all []kind
	for _, id := range n.Ports {
		w := e.Wire(int(id))
		k := kind{
			engine.Wire{Rate: w.Rate, Delay: w.Delay},
			e.State().Ports[id].Profile, e.Switch(n.Index).Headroom(int(id)),
			0,
		}
		at := slices.IndexFunc(all, func(a kind) bool { a.ports = 0; return a == k })
		if at < 0 {
			at, all = len(all), append(all, k)
		}
		all[at].ports++
	}
	return all
}

func (s *Shell) intfs([]string) error {
	plan := s.Fabric.Plan
	for i := range plan.Nodes {
		names := []string{"lo"}
		for _, id := range plan.Nodes[i].Ports {
			names = append(names, plan.Ports[id].Name)
		}
		fmt.Fprintf(s.Out, "%s: %s\n", plan.Nodes[i].Name, strings.Join(names, ","))
	}
	return nil
}

//go:build linux

package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// LinkWords lists the states of a link in Fault.
var LinkWords = linkWords()

func linkWords() []string {
	words := []string{"down", "up", "normal", "reroute="}
	for _, kind := range wireFaults() {
		words = append(words, kind+"=")
	}
	return words
}

// wireFaults returns the kinds of link faults that combine with others and apply to both directions.
func wireFaults() (kinds []string) {
	for i := range settings.Faults {
		if f := &settings.Faults[i]; !f.OfHost && f.Kind != settings.FaultDown {
			kinds = append(kinds, string(f.Kind))
		}
	}
	return kinds
}

// linkFault parses A [B] STATE...: links from a node or port, or only those to another one, and their new state: down,
// up, normal (as in the topology), loss=1%, corrupt=1%, ber=1e-9, delay=20us, rate=10Gbps. All but down and up apply to
// both directions. When a link goes down or comes up, routes change at once, after reroute=TIME, or never with
// reroute=never.
func (f *Fabric) linkFault(words []string) (*fault, error) {
	ports, states, err := f.linksOf(words)
	if err != nil {
		return nil, err
	}
	made := &fault{route: vtime.Never}
	moves, rerouted := false, false
	route := settings.Effect{} // only its delay until routes change matters
	for _, word := range states {
		key, value, _ := strings.Cut(word, "=")
		own := scenario.Fault{Effect: settings.NewEffect(settings.FaultKind(key))}
		switch {
		case word == "down" || word == "up":
			moves = true
			made.lasting = made.lasting || word == "up"
			for _, p := range ports {
				made.steps = append(made.steps, f.moveLink(p, word == "up"))
			}
			continue
		case word == "normal":
			moves, made.lasting = true, true
			for _, p := range ports {
				made.steps = append(made.steps, f.repairLink(p)...)
			}
			continue
		case key == "reroute":
			rerouted = true
			if err := settings.Fault(&route).Set(key, value); err != nil {
				return nil, fmt.Errorf("%s: %w", word, err)
			}
			continue
		case slices.Contains(wireFaults(), key):
			if err := settings.Fault(&own.Effect).Set(key, value); err != nil {
				return nil, fmt.Errorf("%s: %w", word, err)
			}
		default:
			return nil, fmt.Errorf("unknown link state %q: expected down, up, normal, loss=1%%, corrupt=1%%, ber=1e-9, "+
				"delay=20us or rate=10Gbps", word)
		}
		for _, p := range ports {
			own.Ports = []topologies.PortID{p}
			made.steps = append(made.steps, effectStep(f.linkPlace(p, own.Kind), own))
		}
	}
	switch {
	case rerouted && !moves:
		return nil, fmt.Errorf("reroute works only with down or up, as in link %s down reroute=200us",
			strings.Join(words[:len(words)-len(states)], " "))
	case moves:
		made.route = route.Reroute
	}
	made.check = func() error { return f.checkPower(ports, states) }
	return made, nil
}

// linksOf returns the links that the first word, or the first two, refer to, as ports of the first, and the other
// words.
func (f *Fabric) linksOf(words []string) (ports []topologies.PortID, states []string, err error) {
	if len(words) < 2 {
		return nil, nil, ErrFaultUsage
	}
	if key, _, _ := strings.Cut(words[1], "="); f.Plan.NodeByName(words[1]) == nil && slices.ContainsFunc(LinkWords,
		func(w string) bool { return strings.TrimSuffix(w, "=") == key }) {
		if n, err := f.Node(words[0]); err == nil {
			return n.Ports, words[1:], nil
		} else if !f.isPort(words[0]) {
			return nil, nil, err
		}
		ports, err = scenario.FindPorts(f.Plan, words[0])
		return ports, words[1:], err
	}
	ports, err = f.Between(words[0], words[1])
	if err == nil && len(words) < 3 {
		err = ErrFaultUsage
	}
	return ports, words[2:], err
}

func (f *Fabric) linkPlace(p topologies.PortID, kind settings.FaultKind) place {
	return place{kind, int(min(p, f.Plan.Ports[p].Peer))}
}

// moveLink returns the step that takes a port's link down or up.
func (f *Fabric) moveLink(p topologies.PortID, up bool) step {
	return step{f.linkPlace(p, settings.FaultDown), func(e *engine.Engine) (undo func() error, err error) {
		undo = func() error { return nil }
		if e.LinkUp(int(p)) && !up {
			undo = func() error { return f.raise(e, p) }
		}
		return undo, e.SetLink(int(p), up)
	}}
}

// raise brings a link up, or leaves that to the start of a switch that is stopped.
func (f *Fabric) raise(e *engine.Engine, p topologies.PortID) error {
	for _, end := range [2]topologies.PortID{p, f.Plan.Ports[p].Peer} {
		node := f.Plan.Ports[end].Node
		if down, stopped := f.stopped[node]; stopped {
			f.stopped[node] = append(down, end)
			return nil
		}
	}
	return e.SetLink(int(p), true)
}

// repairLink returns the steps that remove all faults of a port's link.
func (f *Fabric) repairLink(p topologies.PortID) (steps []step) {
	for _, kind := range append(wireFaults(), string(settings.FaultDown)) {
		steps = append(steps, step{f.linkPlace(p, settings.FaultKind(kind)), func(e *engine.Engine) (func() error, error) {
			return nil, f.normal(e, []topologies.PortID{p})
		}})
	}
	return steps
}

// normal removes all faults of the links of some ports.
func (f *Fabric) normal(e *engine.Engine, ports []topologies.PortID) error {
	for _, port := range ports {
		for _, end := range [2]topologies.PortID{port, f.Plan.Ports[port].Peer} {
			if err := e.RepairWire(int(end)); err != nil {
				return err
			}
		}
		if err := e.SetLink(int(port), true); err != nil {
			return err
		}
	}
	return nil
}

// switchFault parses SWITCH stop|start. stop takes all links of a switch down, as in a power failure; start brings
// those up that were up before. Routes change at once.
func (f *Fabric) switchFault(words []string) (*fault, error) {
	if len(words) != 2 || words[1] != "stop" && words[1] != "start" {
		return nil, ErrFaultUsage
	}
	n, err := f.Node(words[0])
	switch {
	case err != nil:
		return nil, err
	case n.Kind != topologies.Switch:
		return nil, fmt.Errorf("%s is a host: only switches stop and start", n.Name)
	}
	start := words[1] == "start"
	return &fault{
		lasting: start,
		steps: []step{{place{faultPower, int(n.ID)}, func(e *engine.Engine) (func() error, error) {
			return func() error { return f.power(e, n, true) }, f.power(e, n, start)
		}}},
	}, nil
}

// power switches a switch on or off.
func (f *Fabric) power(e *engine.Engine, n *topologies.Node, start bool) error {
	down, is := f.stopped[n.ID]
	switch {
	case start && !is:
		return fmt.Errorf("%s is not stopped", n.Name)
	case !start && is:
		return fmt.Errorf("%s is already stopped (start it with \"switch %s start\")", n.Name, n.Name)
	case start:
		delete(f.stopped, n.ID)
	default:
		down = slices.DeleteFunc(slices.Clone(n.Ports), func(p topologies.PortID) bool { return !e.LinkUp(int(p)) })
		f.stopped[n.ID] = down
	}
	for _, p := range down {
		peer := f.Plan.Ports[p].Peer
		// another switch started later, and brings the link up
		if other, stopped := f.stopped[f.Plan.Ports[peer].Node]; start && stopped {
			f.stopped[f.Plan.Ports[peer].Node] = append(other, peer)
			continue
		}
		if err := e.SetLink(int(p), start); err != nil {
			return err
		}
	}
	return nil
}

// checkPower returns an error if a link that comes up belongs to a stopped switch. It runs between two events.
func (f *Fabric) checkPower(ports []topologies.PortID, words []string) error {
	if !slices.Contains(words, "up") && !slices.Contains(words, "normal") {
		return nil
	}
	for _, p := range ports {
		for _, end := range [2]topologies.PortID{p, f.Plan.Ports[p].Peer} {
			n := &f.Plan.Nodes[f.Plan.Ports[end].Node]
			if _, stopped := f.stopped[n.ID]; stopped {
				return fmt.Errorf("%s is stopped (start it with \"switch %s start\")", n.Name, n.Name)
			}
		}
	}
	return nil
}

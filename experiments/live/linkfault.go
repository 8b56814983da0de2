//go:build linux

package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// LinkWords lists the words of Link.
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

// Link changes the links between two nodes: down, up, normal (as in the topology), loss=1%, corrupt=1%, ber=1e-9,
// delay=20us, rate=10Gbps. All but down and up apply to both directions. When a link goes down or comes up, routes
// change at once, after reroute=TIME, or never with reroute=never.
func (f *Fabric) Link(a, b string, words []string) error {
	ports, err := f.Between(a, b)
	if err != nil {
		return err
	}
	var changes []func(e *engine.Engine) error
	moves, rerouted := false, false
	route := settings.Effect{} // only its delay until routes change matters
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		fault := scenario.Fault{Ports: ports, Effect: settings.NewEffect(settings.FaultKind(key))}
		switch {
		case word == "down" || word == "up":
			moves = true
			fault.Kind, fault.Up = settings.FaultDown, word == "up"
		case word == "normal":
			moves = true
			changes = append(changes, func(e *engine.Engine) error { return f.normal(e, ports) })
			continue
		case key == "reroute":
			rerouted = true
			if err := settings.Fault(&route).Set(key, value); err != nil {
				return fmt.Errorf("%s: %w", word, err)
			}
			continue
		case slices.Contains(wireFaults(), key):
			if err := settings.Fault(&fault.Effect).Set(key, value); err != nil {
				return fmt.Errorf("%s: %w", word, err)
			}
		default:
			return fmt.Errorf("unknown link state %q: expected down, up, normal, loss=1%%, corrupt=1%%, ber=1e-9, delay=20us or rate=10Gbps", word)
		}
		changes = append(changes, func(e *engine.Engine) error {
			_, err := runner.ApplyFault(e, &fault)
			return err
		})
	}
	if rerouted && !moves {
		return fmt.Errorf("reroute works only with down or up, as in link %s %s down reroute=200us", a, b)
	}
	return f.Do(func(e *engine.Engine) error {
		if err := f.checkPower(ports, words); err != nil {
			return err
		}
		for _, change := range changes {
			if err := change(e); err != nil {
				return err
			}
		}
		switch {
		case !moves || route.Reroute == vtime.Never:
			return nil
		case route.Reroute == 0:
			return e.Reroute()
		}
		e.At(e.Now()+route.Reroute, func(vtime.Time) error { return e.Reroute() })
		return nil
	})
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

// Switch takes all links of a switch down, as in a power failure, or those that were up before up again. Routes
// change at once.
func (f *Fabric) Switch(name string, start bool) error {
	n, err := f.Node(name)
	if err != nil {
		return err
	}
	if n.Kind != topologies.Switch {
		return fmt.Errorf("%s is a host: only switches stop and start", name)
	}
	return f.Do(func(e *engine.Engine) error {
		down, is := f.stopped[n.ID]
		switch {
		case start && !is:
			return fmt.Errorf("%s is not stopped", name)
		case !start && is:
			return fmt.Errorf("%s is already stopped (start it with \"switch %s start\")", name, name)
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
		return e.Reroute()
	})
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

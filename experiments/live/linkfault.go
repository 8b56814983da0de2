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

// LinkWords are what Link takes.
var LinkWords = linkWords()

func linkWords() []string {
	words := []string{"down", "up", "normal", "reroute="}
	for _, kind := range wireFaults() {
		words = append(words, kind+"=")
	}
	return words
}

// wireFaults are the kinds of faults of links that are there beside others, and both ways.
func wireFaults() (kinds []string) {
	for i := range settings.Faults {
		if f := &settings.Faults[i]; !f.OfHost && f.Kind != settings.FaultDown {
			kinds = append(kinds, string(f.Kind))
		}
	}
	return kinds
}

// Link changes the links between two nodes: down, up, normal (as the topology has them), loss=1%, corrupt=1%, ber=1e-9, delay=20us,
// rate=10Gbps; those but down and up both ways. Routes follow a link that goes down or comes up: at once, or with reroute=TIME then,
// or with reroute=never not.
func (f *Fabric) Link(a, b string, words []string) error {
	ports, err := f.Between(a, b)
	if err != nil {
		return err
	}
	var changes []func(e *engine.Engine) error
	moves, rerouted := false, false
	route := settings.Effect{} // of which the time counts until routes follow
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
			return fmt.Errorf("%q is nothing that a link can be: write down, up, normal, loss=1%%, corrupt=1%%, ber=1e-9, delay=20us or rate=10Gbps", word)
		}
		changes = append(changes, func(e *engine.Engine) error {
			_, err := runner.ApplyFault(e, &fault)
			return err
		})
	}
	if rerouted && !moves {
		return fmt.Errorf("reroute is for links that go down or come up: link %s %s down reroute=200us", a, b)
	}
	return f.Do(func(e *engine.Engine) error {
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

// normal undoes all that was done to the links of some ports.
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

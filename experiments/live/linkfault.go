//go:build linux

package live

import (
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/orchestrator"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// linkFault is a change of a link, made at a port of it.
type linkFault func(e *orchestrator.Engine, port int) error

// LinkWords are what Link takes.
var LinkWords = []string{"down", "up", "normal", "reroute=", "loss=", "corrupt=", "ber=", "delay=", "rate="}

// Link changes the links between two nodes: down, up, normal (as the topology has them), loss=1%, corrupt=1%, ber=1e-9, delay=20us,
// rate=10Gbps; those but down and up both ways. Routes follow a link that goes down or comes up: at once, or with reroute=TIME then,
// or with reroute=never not.
func (f *Fabric) Link(a, b string, words []string) error {
	ports, err := f.Between(a, b)
	if err != nil {
		return err
	}
	var faults []linkFault
	moves := false
	follow := vtime.Time(0)
	rerouted := false
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		var fault linkFault
		switch {
		case word == "down" || word == "up":
			moves = true
			fault = func(e *orchestrator.Engine, port int) error { return e.SetLink(port, word == "up") }
		case word == "normal":
			moves = true
			fault = f.normal
		case key == "reroute":
			rerouted = true
			if follow = vtime.Never; value != "never" {
				if follow, err = units.ParseTime(value); err != nil {
					return fmt.Errorf("%s: never, or a time such as 200us: %w", word, err)
				}
			}
			continue
		default:
			if fault, err = wireFault(word, key, value); err != nil {
				return err
			}
		}
		faults = append(faults, fault)
	}
	if rerouted && !moves {
		return fmt.Errorf("reroute is for links that go down or come up: link %s %s down reroute=200us", a, b)
	}
	return f.Do(func(e *orchestrator.Engine) error {
		for _, p := range ports {
			for _, fault := range faults {
				if err := fault(e, int(p)); err != nil {
					return err
				}
			}
		}
		switch {
		case !moves || follow == vtime.Never:
			return nil
		case follow == 0:
			return e.Reroute()
		}
		e.At(e.Now()+follow, func(vtime.Time) error { return e.Reroute() })
		return nil
	})
}

// wireFault reads a fault of a wire, which is made both ways.
func wireFault(word, key, value string) (linkFault, error) {
	both := func(do func(e *orchestrator.Engine, port int) error) linkFault {
		return func(e *orchestrator.Engine, port int) error {
			if err := do(e, port); err != nil {
				return err
			}
			return do(e, int(e.Plan().Ports[port].Peer))
		}
	}
	switch key {
	case "loss", "corrupt", "ber":
		p, err := parseProbability(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
		if key == "loss" {
			return both(func(e *orchestrator.Engine, port int) error { return e.SetLoss(port, p) }), nil
		}
		return both(func(e *orchestrator.Engine, port int) error {
			c := e.Wire(port).Corruption
			if key == "ber" {
				c.Bit = p
			} else {
				c.Frame = p
			}
			return e.SetCorruption(port, c)
		}), nil
	case "delay":
		d, err := units.ParseTime(value)
		if err == nil && (d < vtime.Nanosecond || d > vtime.Second) {
			err = fmt.Errorf("%v is outside 1ns..1s", d)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
		return both(func(e *orchestrator.Engine, port int) error { return e.SetDelay(port, d) }), nil
	case "rate":
		r, err := units.ParseRate(value)
		if err == nil && (r < units.Mbps || r > 10*units.Tbps) {
			err = fmt.Errorf("%v is outside 1Mbps..10Tbps", r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
		return both(func(e *orchestrator.Engine, port int) error { return e.SetRate(port, r) }), nil
	}
	return nil, fmt.Errorf("%q is nothing that a link can be: write %s", word,
		"down, up, normal, loss=1%, corrupt=1%, ber=1e-9, delay=20us or rate=10Gbps")
}

// normal undoes all that was done to the link of a port.
func (f *Fabric) normal(e *orchestrator.Engine, port int) error {
	ends := [2]int{port, int(f.Plan.Ports[port].Peer)}
	for _, end := range ends {
		w, was := e.Wire(end), &f.Plan.Ports[topologies.PortID(end)]
		if w.Loss != 0 {
			if err := e.SetLoss(end, 0); err != nil {
				return err
			}
		}
		if w.Corruption != (orchestrator.Corruption{}) {
			if err := e.SetCorruption(end, orchestrator.Corruption{}); err != nil {
				return err
			}
		}
		if w.Delay != was.Delay {
			if err := e.SetDelay(end, was.Delay); err != nil {
				return err
			}
		}
		if w.Rate != was.Rate {
			if err := e.SetRate(end, was.Rate); err != nil {
				return err
			}
		}
	}
	return e.SetLink(port, true)
}

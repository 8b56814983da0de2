//go:build linux

package live

import (
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// HostWords lists the words for the states of a host, for completion.
var HostWords = []string{"receive=", "buffer=", "xoff=", "xon=", "pfc-storm", "normal"}

// hostFault parses HOST STATE... HOST names a host, for all its NICs, or one NIC (h0.2). The states are:
//
//   - receive=1Gbps [buffer=SIZE] [xoff=SIZE] [xon=SIZE]: a slow receiver; receive=normal ends it.
//   - pfc-storm on [3,4] [interval=50us]: a PFC storm of these priorities into the switch; pfc-storm off ends it.
//   - normal: ends both.
func (f *Fabric) hostFault(words []string) (*fault, error) {
	if len(words) < 2 {
		return nil, ErrFaultUsage
	}
	nics, err := f.nics(words[0])
	if err != nil {
		return nil, err
	}
	name, states := words[0], words[1:]
	key, _, _ := strings.Cut(states[0], "=")
	receiver := func(e *engine.Engine, nic int) error { return e.SetReceiver(nic, nil) }
	quiet := func(e *engine.Engine, nic int) error {
		if f.Made.Scenario.Switch.FlowControl == switchagent.FlowCBFC {
			return nil // there are no storms under credits
		}
		return e.InjectPFCStorm(nic, 0, 0)
	}
	made := &fault{route: vtime.Never, lasting: true}
	switch key {
	case "receive":
		if len(states) == 1 && states[0] == "receive=normal" {
			made.steps = healthy(nics, settings.FaultReceiver, receiver)
			return made, nil
		}
		effect, err := receive(states)
		made.affect(nics, effect)
		return made, err
	case "pfc-storm", "pause-flood": // the latter is the old name
		if len(states) == 2 && states[1] == "off" {
			made.steps = healthy(nics, settings.FaultPause,
				func(e *engine.Engine, nic int) error { return e.InjectPFCStorm(nic, 0, 0) })
			return made, nil
		}
		effect, err := f.storm(name, states[1:])
		made.affect(nics, effect)
		return made, err
	case "normal":
		if len(states) > 1 {
			return nil, fmt.Errorf("%s: cannot combine normal with other words", states[1])
		}
		made.steps = append(healthy(nics, settings.FaultReceiver, receiver), healthy(nics, settings.FaultPause, quiet)...)
		return made, nil
	}
	return nil, fmt.Errorf("unknown host state %q: expected receive=1Gbps, receive=normal, pfc-storm on, "+
		"pfc-storm off or normal", key)
}

// healthy returns the steps that end a kind of fault at NICs of a host.
func healthy(nics []topologies.PortID, kind settings.FaultKind,
	end func(e *engine.Engine, nic int) error,
) (steps []step) {
	for _, id := range nics {
		steps = append(steps, step{place{kind, int(id)}, func(e *engine.Engine) (func() error, error) {
			return nil, end(e, e.Plan().Ports[id].Interface)
		}})
	}
	return steps
}

// affect adds the steps that apply an effect to NICs of a host.
func (c *fault) affect(nics []topologies.PortID, effect settings.Effect) {
	c.lasting = false
	for _, id := range nics {
		c.steps = append(c.steps, effectStep(place{effect.Kind, int(id)},
			scenario.Fault{NICs: []topologies.PortID{id}, Effect: effect}))
	}
}

// nics returns a host's ports, or the one that a name refers to.
func (f *Fabric) nics(name string) ([]topologies.PortID, error) {
	n, position, named, err := f.end(name)
	switch {
	case err != nil:
		return nil, err
	case named:
		return n.Ports[position : position+1], nil
	}
	return n.Ports, nil
}

// receive parses receive=RATE [buffer=SIZE] [xoff=SIZE] [xon=SIZE], with the defaults of scenarios.
func receive(words []string) (effect settings.Effect, err error) {
	effect = settings.NewEffect(settings.FaultReceiver)
	effect.Receiver = hostagent.NewSlowReceiver()
	table := settings.Fault(&effect)
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		name := "receiver." + strings.Replace(key, "receive", "rate", 1)
		if table.Find(name) == nil {
			return effect, fmt.Errorf("%s: unknown option of a slow receiver (expected buffer=, xoff= or xon=)", word)
		}
		if err := table.Set(name, value); err != nil {
			return effect, fmt.Errorf("%s: %w", word, err)
		}
	}
	effect.Receiver.Complete()
	if err := settings.CheckReceiver(&effect.Receiver); err != nil {
		return effect, fmt.Errorf("%s: %w", strings.Join(words, " "), err)
	}
	return effect, nil
}

// storm parses on [3,4] [interval=50us].
func (f *Fabric) storm(host string, words []string) (effect settings.Effect, err error) {
	effect = settings.NewEffect(settings.FaultPause)
	if len(words) == 0 || words[0] != "on" {
		return effect, fmt.Errorf("usage: host %s pfc-storm on [PRIORITIES] [interval=TIME], or host %s pfc-storm off", host,
			host)
	}
	effect.Priorities = 1 << f.Made.Scenario.Host.DataPriority
	table := settings.Fault(&effect)
	for _, word := range words[1:] {
		name, value := string(settings.FaultPause), "["+strings.Trim(word, "[]")+"]"
		if interval, found := strings.CutPrefix(word, "interval="); found {
			name, value = "interval", interval
		}
		if err := table.Set(name, value); err != nil {
			return effect, fmt.Errorf("%s: %w", word, err)
		}
	}
	return effect, nil
}

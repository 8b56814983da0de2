//go:build linux

package live

import (
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// HostWords lists the words of ChangeHost.
var HostWords = []string{"receive=", "buffer=", "xoff=", "xon=", "pfc-storm", "normal"}

// ChangeHost changes a host's NICs, or the one that the name says (h0.2): receive=1Gbps (with buffer=, xoff=, xon=)
// makes it a slow receiver, receive=normal a healthy one; pfc-storm on (with priorities such as 3,4 and interval=50us)
// injects a PFC storm into its switch, pfc-storm off ends that; normal undoes both.
func (f *Fabric) ChangeHost(name string, words []string) error {
	nics, err := f.nics(name)
	if err != nil {
		return err
	}
	var change func(e *engine.Engine) error
	key := ""
	if len(words) > 0 {
		key, _, _ = strings.Cut(words[0], "=")
	}
	switch key {
	case "receive":
		change, err = receive(nics, words)
	case "pfc-storm", "pause-flood": // the latter is the old name
		change, err = f.storm(name, nics, words[1:])
	case "normal":
		if len(words) > 1 {
			err = fmt.Errorf("%s: cannot combine normal with other words", words[1])
		}
		change = func(e *engine.Engine) error {
			return each(e, nics, func(nic int) error {
				if err := e.SetReceiver(nic, nil); err != nil || f.Made.Scenario.Switch.FlowControl == switchagent.FlowCBFC {
					return err // there are no storms under credits
				}
				return e.InjectPFCStorm(nic, 0, 0)
			})
		}
	default:
		err = fmt.Errorf("unknown host state %q: expected receive=1Gbps, receive=normal, pfc-storm on, pfc-storm off or normal", key)
	}
	if err != nil {
		return err
	}
	return f.Do(change)
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

// each calls do for each NIC.
func each(e *engine.Engine, nics []topologies.PortID, do func(nic int) error) error {
	for _, id := range nics {
		if err := do(e.Plan().Ports[id].Interface); err != nil {
			return err
		}
	}
	return nil
}

// happen returns a function that applies an effect to NICs of a host.
func happen(nics []topologies.PortID, effect settings.Effect) func(e *engine.Engine) error {
	return func(e *engine.Engine) error {
		_, err := runner.ApplyFault(e, &scenario.Fault{NICs: nics, Effect: effect})
		return err
	}
}

// receive parses receive=RATE [buffer=SIZE] [xoff=SIZE] [xon=SIZE], with the defaults of scenarios.
func receive(nics []topologies.PortID, words []string) (func(e *engine.Engine) error, error) {
	if words[0] == "receive=normal" && len(words) == 1 {
		return func(e *engine.Engine) error {
			return each(e, nics, func(nic int) error { return e.SetReceiver(nic, nil) })
		}, nil
	}
	effect := settings.NewEffect(settings.FaultReceiver)
	effect.Receiver = settings.NewReceiver()
	table := settings.Fault(&effect)
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		name := "receiver." + strings.Replace(key, "receive", "rate", 1)
		if table.Find(name) == nil {
			return nil, fmt.Errorf("%s: unknown option of a slow receiver (expected buffer=, xoff= or xon=)", word)
		}
		if err := table.Set(name, value); err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
	}
	effect.Receiver.Complete()
	if err := effect.Receiver.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(words, " "), err)
	}
	return happen(nics, effect), nil
}

// storm parses on [3,4] [interval=50us], or off.
func (f *Fabric) storm(host string, nics []topologies.PortID, words []string) (func(e *engine.Engine) error, error) {
	if len(words) == 1 && words[0] == "off" {
		return func(e *engine.Engine) error {
			return each(e, nics, func(nic int) error { return e.InjectPFCStorm(nic, 0, 0) })
		}, nil
	}
	if len(words) == 0 || words[0] != "on" {
		return nil, fmt.Errorf("usage: host %s pfc-storm on [PRIORITIES] [interval=TIME], or host %s pfc-storm off", host,
			host)
	}
	effect := settings.NewEffect(settings.FaultPause)
	effect.Priorities = 1 << f.Made.Scenario.Host.DataPriority
	table := settings.Fault(&effect)
	for _, word := range words[1:] {
		name, value := string(settings.FaultPause), "["+strings.Trim(word, "[]")+"]"
		if interval, found := strings.CutPrefix(word, "interval="); found {
			name, value = "interval", interval
		}
		if err := table.Set(name, value); err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
	}
	return happen(nics, effect), nil
}

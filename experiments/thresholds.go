package experiments

import (
	"github.com/pausenet/pausenet/orchestrator"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
)

// resolved is what switches' settings come to on a topology.
type resolved struct {
	buffers []units.Bytes            // by switch index
	ports   []switchagent.Thresholds // by port; of hosts' ports nothing
}

// resolve is what settings of switches, by index, come to.
func resolve(plan *topologies.Plan, settings []*switchagent.Settings) *resolved {
	r := &resolved{buffers: make([]units.Bytes, len(plan.Switch)), ports: make([]switchagent.Thresholds, len(plan.Ports))}
	for i, id := range plan.Switch {
		buffer, ports := settings[i].Resolve(orchestrator.Cables(plan, id, false))
		r.buffers[i] = buffer
		copy(r.ports[plan.Nodes[id].Ports[0]:], ports)
	}
	return r
}

// everySwitch are the settings of each switch by index: those given, with the buffer that a switch has of its own.
func everySwitch(plan *topologies.Plan, s *switchagent.Settings) []*switchagent.Settings {
	all := make([]*switchagent.Settings, len(plan.Switch))
	for i, id := range plan.Switch {
		own := *s
		if b := plan.Nodes[id].Buffer; b > 0 {
			own.Buffer = b
		}
		all[i] = &own
	}
	return all
}

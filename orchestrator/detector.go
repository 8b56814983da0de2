package orchestrator

import (
	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/units"
	"github.com/pausenet/pausenet/internal/vtime"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// fillDetector writes what a switch's congestion detector goes by into the pipelines' tables.
func fillDetector(plan *topologies.Plan, state *ebpf.State, index int, s *switchagent.Settings) {
	if s.Detector != switchagent.DetectorTCD {
		return
	}
	t := &state.Switches[index]
	t.EcnMode = ebpf.ECNTCD
	t.Q_len = uint32(s.TCD.QLen)
	t.TrendSlack = uint32(s.TCD.TrendSlack)
	if s.TCD.RED {
		t.TcdRed = 1
	}
	for _, id := range plan.Nodes[plan.Switch[index]].Ports {
		p := &plan.Ports[id]
		fillUndetermined(&state.Ports[id], s, p.Rate, p.Delay, plan.MTU)
	}
}

// fillUndetermined writes T_max of a port, if its switch's detector goes by it.
func fillUndetermined(t *ebpf.Port, s *switchagent.Settings, rate units.Rate, delay vtime.Time, mtu int) {
	if s.Detector == switchagent.DetectorTCD {
		t.T_max = uint64(s.UndeterminedTime(rate, delay, mtu))
	}
}

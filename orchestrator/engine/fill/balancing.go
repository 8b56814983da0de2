package fill

import (
	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies"
)

// choices holds, for each mode of load balancing, how the pipelines choose among equal-cost ports.
var choices = []struct {
	usual, other uint32 // with the default of the mode's parameter, and with another value (Balancing.Other)
	most         int    // equal-cost ports that the pipelines can choose among; 0: any number
}{
	topologies.BalanceECMP:     {ebpf.ChoiceHash, ebpf.ChoiceFields, 0},
	topologies.BalanceFlowlet:  {ebpf.ChoiceFlowlet, ebpf.ChoiceFlowlet, 0},
	topologies.BalanceSpray:    {ebpf.ChoiceRandom, ebpf.ChoiceRoundRobin, 0},
	topologies.BalanceAdaptive: {ebpf.ChoiceAdaptive, ebpf.ChoiceAdaptiveFlowlet, ebpf.MostCompared},
}

// Choice writes how the switch with an index chooses among equal-cost ports.
func Choice(t *ebpf.SwitchState, plan *topologies.Plan, index int) {
	b := &plan.Balancing
	t.EcmpSeed, t.FlowletGap, t.HashFields = paths.Seed(plan, index), uint64(b.Gap), paths.Fields(b)
	switch {
	case plan.Hash == topologies.HashHPCC && b.Mode == topologies.BalanceECMP:
		t.Choice = ebpf.ChoiceHPCC
	case b.Other():
		t.Choice = choices[b.Mode].other
	default:
		t.Choice = choices[b.Mode].usual
	}
}

// CheckBalancing returns an error if load balancing does not suit the topology; nil without a topology.
func CheckBalancing(plan *topologies.Plan, b *topologies.Balancing) error {
	if plan == nil {
		return nil
	}
	if plan.Hash == topologies.HashHPCC && (b.Mode != topologies.BalanceECMP || b.Seed != topologies.OwnSeed ||
		b.Fields != topologies.HashFiveTuple) {
		return schema.Errorf("load_balancing", "has no effect with routing.hash: hpcc: remove one of the two")
	}
	for _, group := range plan.Routes().Groups {
		if most := choices[b.Mode].most; most > 0 && len(group) > most {
			return schema.Errorf("load_balancing.mode", "%v compares %d queues at most, and %s has %d equal-cost ports: "+
				"use spray", b.Mode, most, plan.Nodes[plan.Ports[group[0]].Node].Name, len(group))
		}
	}
	return nil
}

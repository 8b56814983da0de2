package fill

import (
	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies"
)

// choices holds, for each mode of load balancing, how the pipelines choose among equal-cost ports.
var choices = []struct {
	of   func(*topologies.Balancing) uint32
	most int // equal-cost ports that the pipelines can choose among; 0: any number
}{
	topologies.BalanceECMP: {of: func(b *topologies.Balancing) uint32 {
		return either(b.Fields != topologies.HashFiveTuple, ebpf.ChoiceFields, ebpf.ChoiceHash)
	}},
	topologies.BalanceFlowlet: {of: func(*topologies.Balancing) uint32 { return ebpf.ChoiceFlowlet }},
	topologies.BalanceSpray: {of: func(b *topologies.Balancing) uint32 {
		return either(b.RoundRobin, ebpf.ChoiceRoundRobin, ebpf.ChoiceRandom)
	}},
	topologies.BalanceAdaptive: {of: func(b *topologies.Balancing) uint32 {
		return either(b.ByFlowlet, ebpf.ChoiceAdaptiveFlowlet, ebpf.ChoiceAdaptive)
	}, most: ebpf.MostCompared},
}

func either(condition bool, yes, no uint32) uint32 {
	if condition {
		return yes
	}
	return no
}

// Choice writes how the switch with an index chooses among equal-cost ports.
func Choice(t *ebpf.SwitchState, plan *topologies.Plan, index int) {
	b := &plan.Balancing
	t.EcmpSeed, t.FlowletGap, t.HashFields = paths.Seed(plan, index), uint64(b.Gap), paths.Fields(b)
	t.Choice = choices[b.Mode].of(b)
	if plan.Hash == topologies.HashHPCC && b.Hashes() {
		t.Choice = ebpf.ChoiceHPCC
	}
}

// CheckBalancing returns an error if load balancing does not suit the topology; nil without a topology.
func CheckBalancing(plan *topologies.Plan, b *topologies.Balancing) error {
	if plan == nil {
		return nil
	}
	if plan.Hash == topologies.HashHPCC && (!b.Hashes() || b.Seed != topologies.OwnSeed ||
		b.Fields != topologies.HashFiveTuple) {
		return schema.Errorf("load_balancing", "has no say where routing.hash is hpcc: leave one of them out")
	}
	for _, group := range plan.Routes().Groups {
		if most := choices[b.Mode].most; most > 0 && len(group) > most {
			return schema.Errorf("load_balancing.mode", "%v compares %d queues at most, and %s has %d equal-cost ports: "+
				"take spray", b.Mode, most, plan.Nodes[plan.Ports[group[0]].Node].Name, len(group))
		}
	}
	return nil
}

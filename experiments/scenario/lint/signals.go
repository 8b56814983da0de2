package lint

import (
	"slices"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
)

// marks warns of lossy queues that drop packets before ECN marks them, so that losses are the only signal for a
// congestion control that relies on marks. It also warns of lossless queues that never grow long enough for marks.
func (w *warner) marks() {
	plan := w.s.Topology
	type kind struct {
		level
		before string // the marks that come after drops: "any is" or "all are"
		most   units.Bytes
		key    string // the setting of most
		lossy  bool
	}
	var ports groups[kind]
	switches := scenario.SwitchSettings(w.s, w.needs)
	resolved := scenario.ResolveThresholds(plan, switches)
	data := w.data()
	for i, own := range switches {
		marks := own.ECN.Mode == switchagent.ECNRED || own.ECN.Mode == switchagent.ECNStep
		marked := own.ECN.Priorities & data
		if !marks || marked == 0 || !w.isAbout(i) {
			continue
		}
		lossy := marked&^w.s.Switch.Lossless() != 0
		most, key := resolved.Buffers[i], "switch.buffer"
		if lossy && own.LossyAlpha > 0 { // the upper bound, reached if nothing else is in the buffer
			most, key = units.Bytes(float64(most)*own.LossyAlpha/(1+own.LossyAlpha)), "switch.lossy_alpha"
		}
		if lossy && own.LossyLimit <= most {
			most, key = own.LossyLimit, "switch.lossy_limit"
		}
		for _, id := range plan.Nodes[plan.Switch[i]].Ports {
			first, last := w.levels(own, &resolved.Ports[id])
			k := kind{first, "any is", most, key, lossy}
			if first.at < most {
				k.level, k.before = last, "all are"
			}
			if resolved.Ports[id].Unmarked || first.at < most && (!lossy || last.at <= most) {
				continue
			}
			ports.add(k, scenario.PortLabel(plan, id))
		}
	}
	lost := "dropped"
	if w.s.Switch.Trim {
		lost = "trimmed"
	}
	for _, k := range ports.keys {
		where := lists.Few(ports.names[k])
		if !k.lossy {
			w.warn("%s: %s is %v, but the shared buffer is %v, so no packet is marked; lower %s or raise %s", where, k.name,
				k.at, k.most, k.by, k.key)
			continue
		}
		w.warn("%s: %s is %v, but a lossy queue holds at most %v (%s), so packets are %s before %s marked; "+
			"lower %s or raise %s",
			where, k.name, k.at, k.most, k.key, lost, k.before, k.by, k.key)
	}
}

// level holds a queue length at which ECN marks, and the setting that lowers it.
type level struct {
	name, by string
	at       units.Bytes
}

// levels returns the lengths of a port's queue from which ECN marks the first packets and all of them.
func (w *warner) levels(own *switchagent.Settings, t *switchagent.Thresholds) (first, all level) {
	of := func(key string, at units.Bytes) level { return level{key, key, at} }
	red, tcd := w.s.Switch.ECN.Mode == switchagent.ECNRED, own.Detector == switchagent.DetectorTCD
	all = of("switch.ecn.kmax", t.KMax)
	switch {
	case tcd && !own.TCD.RED:
		all = of("switch.tcd.q_len", t.QLen)
	case tcd || own.ECN.Mode == switchagent.ECNRED:
		return of("switch.ecn.kmin", t.KMin), all
	case red && w.needs.CNM:
		all = of("switch.cnm.ecn_threshold", t.KMax)
	case red:
		all = level{"the congestion control's step", "switch.ecn.kmax under switch.ecn.mode: step", t.KMax}
	}
	return all, all
}

// unmarked warns of priorities that RDMA programs on a live fabric may choose but that ECN does not mark, so that a
// congestion control does not see their queues.
func (w *warner) unmarked() {
	e := &w.s.Switch.ECN
	chosen := w.s.Switch.Lossless() | 1<<w.s.Host.DataPriority
	if unmarked := chosen &^ e.Priorities; e.Mode != switchagent.ECNOff && (w.needs.ECN || w.needs.PCN) && unmarked != 0 {
		w.warn("ECN marks priorities %v, but RDMA may also use %v, where %s gets no congestion signal; change "+
			"switch.ecn.priorities",
			keys.PriorityList(e.Priorities), keys.PriorityList(unmarked), w.spec.Name)
	}
}

// telemetry warns if HPCC's counters wrap around before the next ACK at its minimum rate, so that a flow could never
// leave that rate.
func (w *warner) telemetry() {
	const leastRate = "min_rate" // a controller from a file or another module may not have it
	if !w.spec.Needs.INT || len(w.s.Flows) == 0 || !slices.ContainsFunc(w.spec.Parameters,
		func(p cc.Parameter) bool { return p.Name == leastRate }) {
		return
	}
	plan := w.s.Topology
	fastest := units.Rate(0)
	for i := range plan.Links {
		fastest = max(fastest, plan.Links[i].Rate)
	}
	limit := min(wire.INTTimeWrap, fastest.TimeFor(wire.INTTxWrap)) / 2
	env := scenario.Environment(plan, &w.s.Flows[0], w.spec.Needs)
	settings, err := w.s.Resolver().Resolve(w.spec, w.spec.Constants(w.s.ControllerSettings), env)
	if err != nil {
		return // Check reports it
	}
	least := units.Rate(settings.Rate(leastRate))
	every := scenario.HostSettings(w.s, w.spec.Needs).AckEvery
	bytes := env.LineMTU * int64(every)
	if least.TimeFor(bytes) < limit {
		return
	}
	enough := units.Mbps
	for enough.TimeFor(bytes) >= limit {
		enough += units.Mbps
	}
	or := ""
	if every > 1 {
		or = ", or lower host.ack_every"
	}
	w.warn("cc.%s.min_rate, %v, is too low: a flow at this rate would stay there, as telemetry counters wrap between "+
		"two of its ACKs; raise it to %v%s",
		w.spec.Name, least, enough, or)
}

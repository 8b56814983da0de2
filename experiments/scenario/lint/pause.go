package lint

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
)

// pauses warns of switches that send a PAUSE for each packet.
func (w *warner) pauses() {
	plan, s := w.s.Topology, &w.s.Switch
	if s.FlowControl != switchagent.FlowPFC || s.PFC.Priorities == 0 || s.PFC.Alpha > 0 {
		return
	}
	packet := units.Bytes(plan.IP.DataLen(wire.OpWriteMiddle, plan.MTU))
	switches := map[units.Bytes][]string{}
	for i, own := range scenario.EverySwitch(plan, s) {
		if xoff := own.PFC.XOFF; w.isAbout(i) && xoff != switchagent.Auto && xoff <= packet {
			switches[xoff] = append(switches[xoff], plan.Nodes[plan.Switch[i]].Name)
		}
	}
	for _, xoff := range slices.Sorted(maps.Keys(switches)) {
		w.warn("%s: pfc.xoff is %v, no more than a full packet of %v, so each packet triggers a PAUSE; raise "+
			"switch.pfc.xoff or set it to auto",
			lists.Few(switches[xoff]), xoff, packet)
	}
}

// priorities warns of flow control and marking on priorities without packets.
func (w *warner) priorities() {
	s := &w.s.Switch
	name, key, set := "PFC is", "pfc.priorities", s.Lossless()
	if s.FlowControl == switchagent.FlowCBFC {
		name, key = "credits are", "cbfc.priorities"
	}
	data := w.data()
	if idle := set &^ w.used(); idle != 0 {
		why := ""
		if set&data == 0 {
			why = ": data is lossy"
		}
		w.warn("%s enabled on priorities %v, which carry no packets: %s%s; change switch.%s",
			name, keys.PriorityList(idle), w.carries(), why, key)
	}
	if e := &s.ECN; e.Mode != switchagent.ECNOff && (w.needs.ECN || w.needs.PCN) && e.Priorities&data == 0 {
		w.warn("ECN marks priorities %v, but %s: no packet of a flow is marked; change switch.ecn.priorities",
			keys.PriorityList(e.Priorities), w.carries())
	}
}

// scheduler warns of weights that have no effect: weights of priorities without packets, or a single weighted priority
// that the scheduler serves in the same order without the weight.
func (w *warner) scheduler() {
	used, weighted := w.used(), uint8(0)
	for p, quantum := range w.s.Switch.Scheduler.Quantum {
		if quantum > 0 {
			weighted |= 1 << p
		}
	}
	shared := weighted & used
	// A single weighted priority is served after the strict ones. This does not affect strict priorities above it, but
	// it changes the order for those below.
	strict := used &^ weighted
	if weighted == 0 || bits.OnesCount8(shared) > 1 || shared != 0 && strict&(shared-1) != 0 {
		return
	}
	why := "none of them carries packets"
	if shared != 0 {
		why = fmt.Sprintf("only %v of them carries packets, so it shares with no other", keys.PriorityList(shared))
	}
	w.warn("scheduler.dwrr has no effect on priorities %v: %s (%s)",
		keys.PriorityList(weighted), why, w.carries())
}

package settings

import (
	"errors"

	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// auto in the place of a value leaves it to what it is for.
const auto = "auto"

// sizeAuto in the place of a size leaves it to each port's rate and cable.
const sizeAuto = int64(switchagent.Auto)

// mostSize is more than any switch can buffer, by orders of magnitude. A larger number is a slip.
const mostSize = "1TB"

// dataPriority is the default of what is on the priority of the hosts' data.
const dataPriority = "[host.data_priority]"

// Switch is the table of a switch's settings, bound to s.
func Switch(s *switchagent.Settings) Table {
	pfc, cbfc, ecn, tcd, cnm, dog, balancing := &s.PFC, &s.CBFC, &s.ECN, &s.TCD, &s.CNM, &s.PFC.Watchdog, &s.Balancing
	credits := func() bool { return s.FlowControl == switchagent.FlowCBFC }
	pauses := func() bool { return s.FlowControl == switchagent.FlowPFC }
	ternary := func() bool { return s.Detector == switchagent.DetectorTCD }
	balances := func() bool { return *balancing != switchagent.Default().Balancing }
	return Table{
		{
			Parameter: schema.Parameter{Name: "buffer", Kind: schema.Size, Min: "1B", Max: mostSize, Doc: "shared packet buffer; a topology's switch may have its own"},
			Word:      auto, Means: sizeAuto, value: size(&s.Buffer),
		},
		{
			Parameter: schema.Parameter{Name: "lossy_limit", Kind: schema.Size, Max: mostSize, Doc: "most bytes that one egress queue of a lossy priority holds; beyond, frames are dropped"},
			Live:      true, value: size(&s.LossyLimit),
		},
		{
			Parameter: schema.Parameter{
				Name: "lossy_alpha", Kind: schema.Number, Min: "0", Max: "64", Default: "0: none",
				Doc: "above 0, such a queue holds no more than this times what is free of the shared buffer either (Choudhury and Hahne's dynamic " +
					"threshold); what is set aside for headroom is not free",
			},
			Unset: true, Live: true, value: ratio(&s.LossyAlpha),
		},
		{
			Parameter: schema.Parameter{
				Name: "trim", Kind: schema.Flag,
				Doc: "whether a lossy data frame that finds no room is cut to its headers, which go on in the hosts' control priority; its receiver answers by " +
					"a NAK ([recovery.md](recovery.md))",
			},
			Unset: true, Live: true, value: flag{&s.Trim},
		},
		{
			Parameter: schema.Parameter{
				Name: "trim_victim", Kind: schema.Choice,
				Doc: "which frame `trim` cuts where a queue is full: the `arriving` one, or by a toss of a `coin` that or the newest of the queue, as NDP has it, so that " +
					"two flows in step share the cuts",
			},
			Unset: true, Live: true, value: word(&s.TrimVictim, switchagent.TrimVictimNames...),
		},
		{Parameter: schema.Parameter{Name: "pfc", Kind: schema.Group}, value: &group{works: pauses, instead: "to run without PFC, write pfc: {priorities: []}"}},
		{
			Parameter: schema.Parameter{Name: "pfc.priorities", Kind: schema.Priorities, Default: dataPriority, Doc: "the lossless priorities; `[]` for none"},
			value:     priorities{&pfc.Priorities},
		},
		{
			Parameter: schema.Parameter{Name: "pfc.xoff", Kind: schema.Size, Max: mostSize, Doc: "bytes of a priority buffered from one ingress port at which PAUSE is sent; the upper bound if `alpha` is set, `0B` for none"},
			Word:      auto, Means: sizeAuto, Live: true, value: size(&pfc.XOFF),
		},
		{
			Parameter: schema.Parameter{Name: "pfc.xon", Kind: schema.Size, Default: "xoff - xoff_to_xon", Max: mostSize, Doc: "RESUME is sent at or below it"},
			Word:      auto, Means: sizeAuto, Live: true, value: size(&pfc.XON),
		},
		{
			Parameter: schema.Parameter{Name: "pfc.xoff_to_xon", Kind: schema.Size, Max: mostSize, Doc: "how far below XOFF RESUME is sent"},
			Live:      true, value: size(&pfc.XOFFToXON),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.alpha", Kind: schema.Number, Min: "0", Max: "64",
				Doc: "0: XOFF is static. Above 0, XOFF is alpha times what is free of the shared buffer. What ports hold in their headroom takes nothing " +
					"of it: a frame that finds XOFF reached goes into its port's headroom, and the headroom is the first to be free again. While a " +
					"fabric works, it stays 0 or above 0",
			},
			Live: true, value: ratio(&pfc.Alpha),
		},
		{
			Parameter: schema.Parameter{Name: "pfc.headroom", Kind: schema.Size, Max: mostSize, Doc: "what a priority of an ingress port may hold beyond XOFF"},
			Word:      auto, Means: sizeAuto, Live: true, value: size(&pfc.Headroom),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.response", Kind: schema.Time, Max: "1s",
				Doc: "time that the hardware at both ends of a cable takes to send and to obey a PAUSE; only an `auto` headroom and `check headroom` count it",
			},
			value: span(&pfc.Response),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.cell_size", Kind: schema.Size, Default: "0B: none", Max: "1GB",
				Doc: "a frame takes whole cells of so many bytes of the buffer; only an `auto` headroom and `check headroom` count it",
			},
			value: size(&pfc.CellSize),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.small_packets", Kind: schema.Number, Min: "0", Max: "1",
				Doc: "with `cell_size`, the part of the packets in flight that have the length that wastes the most of its cells; the others are full",
			},
			value: ratio(&pfc.SmallPackets),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.per_rate", Kind: schema.Rate, Default: "none", Min: "1Mbps", Max: "10Tbps",
				Doc: "`alpha` and `headroom` are those of a port of this rate, and others' in proportion (alpha to 1 at most), as HPCC's simulator has them",
			},
			Zero: sameForAll, Unset: true, Live: true, value: rate(&pfc.PerRate),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.quanta", Kind: schema.Integer, Min: "1", Max: "65535",
				Doc: "pause time of a PAUSE frame, in 512 bit times; it is sent again when half has passed",
			},
			Live: true, value: integer(&pfc.Quanta),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.watchdog", Kind: schema.Group,
				Doc: "`{detect: 200ms, restore: 200ms, action: drop}`: ends PFC storms ([faults.md](faults.md#the-pfc-watchdog))",
			},
			Live: true,
			value: &group{works: dog.On, viewed: dog.On, off: func() { *dog = switchagent.Watchdog{} }, on: func() {
				dog.Detect, dog.Restore = 200*vtime.Millisecond, 200*vtime.Millisecond // SONiC's
			}},
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.watchdog.detect", Kind: schema.Time, Default: "200ms", Min: "1ps", Max: "10s",
				Doc: "a queue that PFC has paused for so long without interruption is in a storm",
			},
			Zero: "write watchdog: off for none", Unset: true, Live: true, value: span(&dog.Detect),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.watchdog.restore", Kind: schema.Time, Default: "200ms", Min: "1ps", Max: "10s",
				Doc: "the storm is over when no PAUSE has stopped the queue for so long",
			},
			Unset: true, Live: true, value: span(&dog.Restore),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.watchdog.action", Kind: schema.Choice,
				Doc: "of the queue's frames, and those to come: `drop`, or `forward`, send although it is paused",
			},
			Live: true, Resolved: func() any { return watchdogActions[index(dog.Forward)] }, value: either(&dog.Forward, watchdogActions[0], watchdogActions[1]),
		},
		{Parameter: schema.Parameter{Name: "ecn", Kind: schema.Group}, value: &group{}},
		{
			Parameter: schema.Parameter{
				Name: "ecn.mode", Kind: schema.Choice,
				Doc: "`red`: marks with a probability from 0 at `kmin` to `pmax` at `kmax`, and always above. `step`: marks what meets more than `kmax`. " +
					"`pcn`: PCN's NP-ECN marks what leaves a queue behind and was not in it when a pause ended. `off`",
			},
			Live: true, value: word(&ecn.Mode, "off", "red", "step", "pcn"),
		},
		{
			Parameter: schema.Parameter{
				Name: "ecn.at", Kind: schema.Choice, Default: "`enqueue` of `step`, `dequeue` of `red`",
				Doc: "when these two mark: `enqueue`, a packet as it comes, by the queue with itself; `dequeue`, as it leaves, by what it leaves behind, " +
					"as HPCC's simulator has it. The others mark what leaves",
			},
			Live: true, Resolved: func() any { return ecnPoints[1+index(!ecn.AtEnqueue())] }, value: word(&ecn.Point, ecnPoints...),
		},
		{
			Parameter: schema.Parameter{
				Name: "ecn.ports", Kind: schema.Choice,
				Doc: "where `red` and `step` mark, by what a switch's port leads to: `all`, `to-switches` or `to-hosts`. `auto`: all; `to-switches` where every congestion " +
					"control that goes by marks is `rccc`, whose receivers know their own links",
			},
			Unset: true, value: word(&ecn.Ports, switchagent.ECNPortsNames...),
		},
		{
			Parameter: schema.Parameter{Name: "ecn.priorities", Kind: schema.Priorities, Default: dataPriority, Doc: "which priorities are marked"},
			Live:      true, value: priorities{&ecn.Priorities},
		},
		{
			Parameter: schema.Parameter{Name: "ecn.kmin", Kind: schema.Size, Max: mostSize, Doc: "queue length from which RED marks"},
			Word:      auto, Means: sizeAuto, Live: true, value: size(&ecn.KMin),
		},
		{
			Parameter: schema.Parameter{Name: "ecn.kmax", Kind: schema.Size, Max: mostSize, Doc: "queue length above which every packet is marked"},
			Word:      auto, Means: sizeAuto, Live: true, value: size(&ecn.KMax),
		},
		{
			Parameter: schema.Parameter{Name: "ecn.pmax", Kind: schema.Number, Min: "0", Max: "1", Doc: "the probability with which RED marks at `kmax`"},
			Live:      true, value: ratio(&ecn.PMax),
		},
		{
			Parameter: schema.Parameter{
				Name: "ecn.per_rate", Kind: schema.Rate, Default: "none", Min: "1Mbps", Max: "10Tbps",
				Doc: "`kmin` and `kmax` are those of a port of this rate, and others' in proportion: `100Gbps` makes them four times as much at 400 Gb/s",
			},
			Zero: sameForAll, Unset: true, Live: true, value: rate(&ecn.PerRate),
		},
		{
			Parameter: schema.Parameter{
				Name: "flow_control", Kind: schema.Choice,
				Doc: "of the whole fabric, hosts included: `pfc`, or `cbfc`, InfiniBand's credits, without any PAUSE",
			},
			Unset: true, value: word(&s.FlowControl, "pfc", "cbfc"),
		},
		{Parameter: schema.Parameter{Name: "cbfc", Kind: schema.Group}, value: &group{works: credits, viewed: credits}},
		{
			Parameter: schema.Parameter{
				Name: "cbfc.priorities", Kind: schema.Priorities, Default: dataPriority,
				Doc: "the priorities that go by credits, and lose nothing by them",
			},
			value: priorities{&cbfc.Priorities},
		},
		{
			// Each message takes 86 bytes of line: below, a slow link would carry little else.
			Parameter: schema.Parameter{
				Name: "cbfc.period", Kind: schema.Time, Min: "1us", Max: "1s", Doc: "time between two credit messages of a port about a priority",
			},
			Word: auto, Means: int64(switchagent.AutoPeriod), value: span(&cbfc.Period),
		},
		{
			Parameter: schema.Parameter{
				Name: "cbfc.buffer", Kind: schema.Size, Min: "64B", Max: "4GB", Doc: "what a port can hold of a priority: its own, beside the shared buffer",
			},
			Word: auto, Means: sizeAuto, value: size(&cbfc.Buffer),
		},
		{
			Parameter: schema.Parameter{
				Name: "cbfc.block", Kind: schema.Size, Min: "64B", Max: "4GB",
				Doc: "what a credit is for: 64 B times a power of 2; at most 2048 can be granted at a time; `auto`: what grants the most full frames " +
					"(128 B for 280 KB and an MTU of 1000)",
			},
			Word: auto, Means: 0, Zero: "write auto for the least that fits", value: size(&cbfc.Block),
		},
		{
			Parameter: schema.Parameter{
				Name: "detector", Kind: schema.Choice,
				Doc: "how congestion is told: `threshold` as `ecn.mode` says, or `tcd`, ternary congestion detection, in its place, on `ecn.priorities`. " +
					"Under `NAME+tcd` it is `tcd` anyway, with `mark: red` where `ecn.mode` is red",
			},
			Unset: true, value: word(&s.Detector, "threshold", "tcd"),
		},
		// Its bounds hold whatever the detector is: a congestion control may turn this one on.
		{Parameter: schema.Parameter{Name: "tcd", Kind: schema.Group}, value: &group{works: ternary, viewed: ternary}},
		{
			Parameter: schema.Parameter{Name: "tcd.q_len", Kind: schema.Size, Max: "4GB", Doc: "longest queue of a port that is not congested"},
			Word:      auto, Means: sizeAuto, value: size(&tcd.QLen),
		},
		{
			Parameter: schema.Parameter{
				Name: "tcd.t_max", Kind: schema.Time, Max: "1s",
				Doc: "how long a port must have been ON before it is no longer undetermined; `auto`: of each port by the patent's formula, from its rate, " +
					"delay, MTU, `pfc.xoff` and `pfc.xon`, or `tcd.credit_periods` times `cbfc.period`",
			},
			Word: auto, Means: 0, Zero: "write auto for the patent's formula", value: span(&tcd.TMax),
		},
		{
			Parameter: schema.Parameter{Name: "tcd.epsilon", Kind: schema.Number, Min: "0.001", Max: "1", Doc: "the formula's parameter"},
			value:     ratio(&tcd.Epsilon),
		},
		{
			Parameter: schema.Parameter{
				Name: "tcd.credit_periods", Kind: schema.Number, Min: "0.001", Max: "1000", Doc: "the patent has 1: a message that waited behind a frame comes late",
			},
			value: ratio(&tcd.CreditPeriods),
		},
		{
			Parameter: schema.Parameter{
				Name: "tcd.trend_slack", Kind: schema.Size, Max: "1GB",
				Doc: "how much longer than `t_max` before an undetermined port's queue may be and still count as falling; `900B` is the simulator's of TCD's authors",
			},
			value: size(&tcd.TrendSlack),
		},
		{
			Parameter: schema.Parameter{
				Name: "tcd.mark", Kind: schema.Choice,
				Doc: "what a congested port marks CE: every packet, or `red`: those that RED with `ecn.kmin`, `kmax`, `pmax` chooses",
			},
			View: "red", value: either(&tcd.RED, "step", "red"),
		},
		{Parameter: schema.Parameter{Name: "cnm", Kind: schema.Group}, value: &group{}},
		{
			Parameter: schema.Parameter{
				Name: "cnm.ecn_threshold", Kind: schema.Size, Max: mostSize, Doc: "DCON: queue length at which congestion is persistent, and below which a burst ends",
			},
			Word: auto, Means: sizeAuto, Live: true, value: size(&cnm.QECN),
		},
		{
			Parameter: schema.Parameter{
				Name: "cnm.threshold", Kind: schema.Size, Max: mostSize,
				Doc: "DCON: queue length at which a burst begins, or `dynamic`: by the paper's section 4.4, with M taken from one ingress port: of those that " +
					"sent here within the last T, the one whose packets went to the most egress ports in a period of T",
			},
			Word: "dynamic", Means: 0, Zero: "write dynamic for the threshold of section 4.4", Live: true, value: size(&cnm.QCNM),
		},
		{
			Parameter: schema.Parameter{
				Name: "cnm.window", Kind: schema.Time,
				Doc: "DCON's T: an ingress port is shared if a packet for an uncongested egress arrived less than T before, or since",
			},
			Live: true, value: span(&cnm.Window),
		},
		{
			Parameter: schema.Parameter{
				Name: "cnm.repeat", Kind: schema.Time,
				Doc: "DCON: least time between two CNMs for a flow while the number of flows has not grown by an eighth",
			},
			Live: true, value: span(&cnm.Repeat),
		},
		{
			Parameter: schema.Parameter{
				Name: "cnm.mark", Kind: schema.Choice,
				Doc: "DCON, outside of bursts, where `ecn.mode` is `red`: `step` marks all that finds more than `cnm.ecn_threshold` (the paper's section " +
					"4.1); `red` marks by `ecn.kmin`, `kmax` and `pmax` as for other controllers",
			},
			View: "mark_red", Live: true, value: either(&cnm.RED, "step", "red"),
		},
		{
			Parameter: schema.Parameter{
				Name: "cnm.shared_at", Kind: schema.Choice,
				Doc: "DCON: before what: `onset`, the burst's begin; `packet`, each packet that a CNM may answer",
			},
			View: "shared_at_onset", Live: true, value: either(&cnm.AtOnset, "packet", "onset"),
		},
		{
			Parameter: schema.Parameter{
				Name: "cnm.shared_by", Kind: schema.Choice,
				Doc: "DCON: packets for which egress: `any`, the congested one too, from before the burst; `other`, only others; `edge`, only others at " +
					"ports to hosts, any at ports to switches, where a PAUSE stops what is still to come as well",
			},
			Live: true, value: word(&cnm.SharedBy, switchagent.SharedByNames...),
		},
		{Parameter: schema.Parameter{Name: "scheduler", Kind: schema.Group}, value: &group{}},
		{
			Parameter: schema.Parameter{
				Name: "scheduler.dwrr", Kind: schema.Weights, Default: "none",
				Doc: "quantum in bytes a priority: `{3: 3KB, 4: 1KB}` shares what is left by deficit round robin; priorities not named are strict, the highest first",
			},
			View: "/dwrr_quantum_bytes", value: weights{&s.Scheduler.Quantum},
		},
		{
			Parameter: schema.Parameter{Name: "load_balancing", Kind: schema.Group, Doc: "which of several equal-cost ports a packet takes ([below](#load-balancing))"},
			value:     &group{works: balances, viewed: balances},
		},
		{
			Parameter: schema.Parameter{
				Name: "load_balancing.mode", Kind: schema.Choice,
				Doc: "`ecmp`: by a hash, so that a flow keeps its path. `flowlet`: at random, for each flowlet. `spray`: another for each packet. " +
					"`adaptive`: the one whose queue takes the least time to send",
			},
			value: word(&balancing.Mode, switchagent.BalancingNames...),
		},
		{
			Parameter: schema.Parameter{
				Name: "load_balancing.seed", Kind: schema.Integer, Min: "0", Max: "4294967295",
				Doc: "of `ecmp`: the seed of every switch's hash, or `own`: each has another. One seed for all polarises: a switch chooses among the flows " +
					"that the one before has chosen by the same hash",
			},
			Word: "own", Means: switchagent.OwnSeed, value: integer(&balancing.Seed),
		},
		{
			Parameter: schema.Parameter{
				Name: "load_balancing.fields", Kind: schema.Choice,
				Doc: "of `ecmp`: what is hashed. `addresses` are both, without protocol and ports; `ports` are the UDP or TCP ports alone, of which RoCE's destination is always 4791",
			},
			value: word(&balancing.Fields, switchagent.HashFieldsNames...),
		},
		{
			Parameter: schema.Parameter{
				Name: "load_balancing.gap", Kind: schema.Time, Min: "1ps", Max: "1s",
				Doc: "of `flowlet`, and `adaptive` by the flowlet: a flow that has sent nothing here for so long begins another flowlet",
			},
			Zero: "write mode: spray for a choice for each packet", value: span(&balancing.Gap),
		},
		{
			Parameter: schema.Parameter{Name: "load_balancing.order", Kind: schema.Choice, Doc: "of `spray`: a port at `random`, or `round-robin`, those to a leaf in turn"},
			View:      "round_robin", value: either(&balancing.RoundRobin, "random", "round-robin"),
		},
		{
			Parameter: schema.Parameter{Name: "load_balancing.by", Kind: schema.Choice, Doc: "of `adaptive`: it chooses for each `packet`, or for each `flowlet`"},
			View:      "by_flowlet", value: either(&balancing.ByFlowlet, "packet", "flowlet"),
		},
	}
}

// sameForAll is what to do instead of naming no rate.
const sameForAll = "leave it out for thresholds that are the same for all ports"

var (
	watchdogActions = []string{"drop", "forward"}
	ecnPoints       = []string{switchagent.ECNByMode: "", switchagent.ECNEnqueue: "enqueue", switchagent.ECNDequeue: "dequeue"}
)

// index is 1 for true.
func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// DecodeSwitch reads the switch settings of v over the defaults. PFC, CBFC and ECN act on the hosts' data priority unless v names
// priorities.
func DecodeSwitch(v *yamlspec.Value, data uint8) switchagent.Settings {
	s := switchagent.Default()
	s.PFC.Priorities, s.CBFC.Priorities, s.ECN.Priorities = data, data, data
	Switch(&s).Decode(v)
	// XON follows XOFF, so that a sweep over XOFF needs to change one key.
	if s.PFC.XON == switchagent.Auto && s.PFC.XOFF != switchagent.Auto {
		s.PFC.XON = max(0, s.PFC.XOFF-s.PFC.XOFFToXON)
	}
	return s
}

// CheckSwitch says everything that is wrong with s, as joined FieldErrors; nil if it can work.
func CheckSwitch(s *switchagent.Settings) error {
	return errors.Join(Switch(s).Check(), s.Validate())
}

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
			Parameter: schema.Parameter{
				Name: "buffer", Kind: schema.Size, Min: "1B", Max: mostSize,
				Doc: "size of the shared packet buffer; a topology can set it per switch",
			},
			Word: auto, Means: sizeAuto, value: size(&s.Buffer),
		},
		{
			Parameter: schema.Parameter{
				Name: "lossy_limit", Kind: schema.Size, Max: mostSize,
				Doc: "most bytes in one egress queue of a lossy priority; frames beyond that are dropped",
			},
			Live: true, value: size(&s.LossyLimit),
		},
		{
			Parameter: schema.Parameter{
				Name: "lossy_alpha", Kind: schema.Number, Min: "0", Max: "64", Default: "0: none",
				Doc: "above 0, also limits such a queue to this number times the free part of the shared buffer (the dynamic " +
					"threshold of Choudhury and Hahne); buffer reserved for headroom does not count as free",
			},
			Unset: true, Live: true, value: ratio(&s.LossyAlpha),
		},
		{
			Parameter: schema.Parameter{
				Name: "trim", Kind: schema.Flag,
				Doc: "`true`: a lossy data frame that does not fit is cut to its headers, which are forwarded in the hosts' " +
					"control priority; its receiver answers with a NAK ([recovery.md](recovery.md))",
			},
			Unset: true, Live: true, value: flag{&s.Trim},
		},
		{
			Parameter: schema.Parameter{
				Name: "trim_victim", Kind: schema.Choice,
				Doc: "which frame `trim` cuts when a queue is full: `arriving`, the new frame; `coin`, at random the new " +
					"frame or the newest in the queue, as in NDP, so that two flows in step share the cuts",
			},
			Unset: true, Live: true, value: word(&s.TrimVictim, switchagent.TrimVictimNames...),
		},
		{Parameter: schema.Parameter{Name: "pfc", Kind: schema.Group}, value: &group{works: pauses, instead: "to run without PFC, write pfc: {priorities: []}"}},
		{
			Parameter: schema.Parameter{Name: "pfc.priorities", Kind: schema.Priorities, Default: dataPriority, Doc: "the lossless priorities; `[]` for none"},
			value:     priorities{&pfc.Priorities},
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.xoff", Kind: schema.Size, Max: mostSize,
				Doc: "PAUSE is sent when a priority has this many bytes buffered from one ingress port; with `alpha` it is " +
					"the upper bound of that threshold, and `0B` means no bound",
			},
			Word: auto, Means: sizeAuto, Live: true, value: size(&pfc.XOFF),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.xon", Kind: schema.Size, Default: "xoff - xoff_to_xon", Max: mostSize,
				Doc: "RESUME is sent when the buffered bytes have fallen to this",
			},
			Word: auto, Means: sizeAuto, Live: true, value: size(&pfc.XON),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.xoff_to_xon", Kind: schema.Size, Max: mostSize,
				Doc: "distance from XOFF down to XON",
			},
			Live: true, value: size(&pfc.XOFFToXON),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.alpha", Kind: schema.Number, Min: "0", Max: "64",
				Doc: "0: XOFF is static. Above 0: XOFF is alpha times the free part of the shared buffer. Bytes in headroom " +
					"do not reduce the free part: a frame that arrives when XOFF is reached goes into its port's headroom, " +
					"and headroom is freed first. In a running fabric alpha cannot change between 0 and above 0",
			},
			Live: true, value: ratio(&pfc.Alpha),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.headroom", Kind: schema.Size, Max: mostSize,
				Doc: "bytes that a priority of an ingress port may buffer beyond XOFF",
			},
			Word: auto, Means: sizeAuto, Live: true, value: size(&pfc.Headroom),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.response", Kind: schema.Time, Max: "1s",
				Doc: "time that the hardware at both ends of a cable needs to send and obey a PAUSE; used only by an `auto` " +
					"headroom and by `check headroom`",
			},
			value: span(&pfc.Response),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.cell_size", Kind: schema.Size, Default: "0B: none", Max: "1GB",
				Doc: "size of the buffer's allocation cells: a frame occupies whole cells; used only by an `auto` headroom " +
					"and by `check headroom`",
			},
			value: size(&pfc.CellSize),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.small_packets", Kind: schema.Number, Min: "0", Max: "1",
				Doc: "with `cell_size`, the share of the packets in flight whose length wastes the most of their cells; the " +
					"other packets are full",
			},
			value: ratio(&pfc.SmallPackets),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.per_rate", Kind: schema.Rate, Default: "none", Min: "1Mbps", Max: "10Tbps",
				Doc: "`alpha` and `headroom` are for a port of this rate, and scale with the rate of other ports (alpha up to " +
					"1), as in HPCC's simulator",
			},
			Zero: sameForAll, Unset: true, Live: true, value: rate(&pfc.PerRate),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.quanta", Kind: schema.Integer, Min: "1", Max: "65535",
				Doc: "pause time of a PAUSE frame, in units of 512 bit times; the frame is repeated after half of it",
			},
			Live: true, value: integer(&pfc.Quanta),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.watchdog", Kind: schema.Group,
				Doc: "ends PFC storms: `{detect: 200ms, restore: 200ms, action: drop}` ([faults.md](faults.md#the-pfc-watchdog))",
			},
			Live: true,
			value: &group{works: dog.On, viewed: dog.On, off: func() { *dog = switchagent.Watchdog{} }, on: func() {
				dog.Detect, dog.Restore = 200*vtime.Millisecond, 200*vtime.Millisecond // SONiC's
			}},
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.watchdog.detect", Kind: schema.Time, Default: "200ms", Min: "1ps", Max: "10s",
				Doc: "a queue is in a storm once PFC has paused it for this long without interruption",
			},
			Zero: "write watchdog: off for none", Unset: true, Live: true, value: span(&dog.Detect),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.watchdog.restore", Kind: schema.Time, Default: "200ms", Min: "1ps", Max: "10s",
				Doc: "the storm is over once no PAUSE has stopped the queue for this long",
			},
			Unset: true, Live: true, value: span(&dog.Restore),
		},
		{
			Parameter: schema.Parameter{
				Name: "pfc.watchdog.action", Kind: schema.Choice,
				Doc: "during a storm, `drop` the queue's frames and new ones, or `forward` them despite the pause",
			},
			Live: true, Resolved: func() any { return watchdogActions[index(dog.Forward)] }, value: either(&dog.Forward, watchdogActions[0], watchdogActions[1]),
		},
		{Parameter: schema.Parameter{Name: "ecn", Kind: schema.Group}, value: &group{}},
		{
			Parameter: schema.Parameter{
				Name: "ecn.mode", Kind: schema.Choice,
				Doc: "`red`: marks with a probability that rises from 0 at `kmin` to `pmax` at `kmax`, and always above. " +
					"`step`: marks packets that meet a queue above `kmax`. `pcn`: PCN's NP-ECN marks packets that leave " +
					"others behind in the queue and arrived after its last pause ended. `off`: never marks",
			},
			Live: true, value: word(&ecn.Mode, "off", "red", "step", "pcn"),
		},
		{
			Parameter: schema.Parameter{
				Name: "ecn.at", Kind: schema.Choice, Default: "`enqueue` of `step`, `dequeue` of `red`",
				Doc: "when `red` and `step` mark: `enqueue`, on arrival, by the queue including the packet; `dequeue`, on " +
					"departure, by the queue that remains, as in HPCC's simulator. Other modes mark on departure",
			},
			Live: true, Resolved: func() any { return ecnPoints[1+index(!ecn.AtEnqueue())] }, value: word(&ecn.Point, ecnPoints...),
		},
		{
			Parameter: schema.Parameter{
				Name: "ecn.ports", Kind: schema.Choice,
				Doc: "which ports of a switch mark in modes `red` and `step`: `all`, those `to-switches`, or those " +
					"`to-hosts`. `auto`: all; but `to-switches` if `rccc` is the only congestion control that reacts to " +
					"marks, since its receivers know their own links",
			},
			Unset: true, value: word(&ecn.Ports, switchagent.ECNPortsNames...),
		},
		{
			Parameter: schema.Parameter{
				Name: "ecn.priorities", Kind: schema.Priorities, Default: dataPriority,
				Doc: "priorities whose packets are marked",
			},
			Live: true, value: priorities{&ecn.Priorities},
		},
		{
			Parameter: schema.Parameter{
				Name: "ecn.kmin", Kind: schema.Size, Max: mostSize,
				Doc: "queue length at which RED starts to mark",
			},
			Word: auto, Means: sizeAuto, Live: true, value: size(&ecn.KMin),
		},
		{
			Parameter: schema.Parameter{Name: "ecn.kmax", Kind: schema.Size, Max: mostSize, Doc: "queue length above which every packet is marked"},
			Word:      auto, Means: sizeAuto, Live: true, value: size(&ecn.KMax),
		},
		{
			Parameter: schema.Parameter{
				Name: "ecn.pmax", Kind: schema.Number, Min: "0", Max: "1",
				Doc: "RED's marking probability at `kmax`",
			},
			Live: true, value: ratio(&ecn.PMax),
		},
		{
			Parameter: schema.Parameter{
				Name: "ecn.per_rate", Kind: schema.Rate, Default: "none", Min: "1Mbps", Max: "10Tbps",
				Doc: "`kmin` and `kmax` are for a port of this rate, and scale with the rate of other ports: with `100Gbps` " +
					"they are four times as large at 400 Gb/s",
			},
			Zero: sameForAll, Unset: true, Live: true, value: rate(&ecn.PerRate),
		},
		{
			Parameter: schema.Parameter{
				Name: "flow_control", Kind: schema.Choice,
				Doc: "for the whole fabric, hosts included: `pfc`; or `cbfc`, InfiniBand's credits, without PAUSE frames",
			},
			Unset: true, value: word(&s.FlowControl, "pfc", "cbfc"),
		},
		{Parameter: schema.Parameter{Name: "cbfc", Kind: schema.Group}, value: &group{works: credits, viewed: credits}},
		{
			Parameter: schema.Parameter{
				Name: "cbfc.priorities", Kind: schema.Priorities, Default: dataPriority,
				Doc: "the priorities that use credits, and so lose no frames",
			},
			value: priorities{&cbfc.Priorities},
		},
		{
			// Each message takes 86 bytes of line: below, a slow link would carry little else.
			Parameter: schema.Parameter{
				Name: "cbfc.period", Kind: schema.Time, Min: "1us", Max: "1s",
				Doc: "time between two credit messages of a port for a priority",
			},
			Word: auto, Means: int64(switchagent.AutoPeriod), value: span(&cbfc.Period),
		},
		{
			Parameter: schema.Parameter{
				Name: "cbfc.buffer", Kind: schema.Size, Min: "64B", Max: "4GB",
				Doc: "buffer of a port for a priority; it is not part of the shared buffer",
			},
			Word: auto, Means: sizeAuto, value: size(&cbfc.Buffer),
		},
		{
			Parameter: schema.Parameter{
				Name: "cbfc.block", Kind: schema.Size, Min: "64B", Max: "4GB",
				Doc: "bytes per credit: 64 B times a power of 2; at most 2048 credits can be granted at a time. `auto`: the " +
					"size that grants the most full frames (128 B for 280 KB and an MTU of 1000)",
			},
			Word: auto, Means: 0, Zero: "write auto for the least that fits", value: size(&cbfc.Block),
		},
		{
			Parameter: schema.Parameter{
				Name: "detector", Kind: schema.Choice,
				Doc: "how switches detect congestion: `threshold`, by `ecn.mode`; or `tcd`, by ternary congestion detection " +
					"instead, on `ecn.priorities`. Under `NAME+tcd` it is always `tcd`, with `mark: red` if `ecn.mode` is red",
			},
			Unset: true, value: word(&s.Detector, "threshold", "tcd"),
		},
		// Its bounds hold whatever the detector is: a congestion control may turn this one on.
		{Parameter: schema.Parameter{Name: "tcd", Kind: schema.Group}, value: &group{works: ternary, viewed: ternary}},
		{
			Parameter: schema.Parameter{
				Name: "tcd.q_len", Kind: schema.Size, Max: "4GB",
				Doc: "longest queue of a port that is not congested",
			},
			Word: auto, Means: sizeAuto, value: size(&tcd.QLen),
		},
		{
			Parameter: schema.Parameter{
				Name: "tcd.t_max", Kind: schema.Time, Max: "1s",
				Doc: "how long a port must have been ON to leave the state undetermined. `auto`: for each port by the " +
					"patent's formula, from its rate, delay, MTU, `pfc.xoff` and `pfc.xon`; or `tcd.credit_periods` times " +
					"`cbfc.period`",
			},
			Word: auto, Means: 0, Zero: "write auto for the patent's formula", value: span(&tcd.TMax),
		},
		{
			Parameter: schema.Parameter{
				Name: "tcd.epsilon", Kind: schema.Number, Min: "0.001", Max: "1",
				Doc: "the parameter epsilon of that formula",
			},
			value: ratio(&tcd.Epsilon),
		},
		{
			Parameter: schema.Parameter{
				Name: "tcd.credit_periods", Kind: schema.Number, Min: "0.001", Max: "1000",
				Doc: "`t_max` under credits, in periods. The patent has 1; a little more allows for a message that waited " +
					"behind a frame",
			},
			value: ratio(&tcd.CreditPeriods),
		},
		{
			Parameter: schema.Parameter{
				Name: "tcd.trend_slack", Kind: schema.Size, Max: "1GB",
				Doc: "an undetermined port's queue counts as falling unless it grew by more than this within `t_max`; the " +
					"simulator of TCD's authors has `900B`",
			},
			value: size(&tcd.TrendSlack),
		},
		{
			Parameter: schema.Parameter{
				Name: "tcd.mark", Kind: schema.Choice,
				Doc: "which packets a congested port marks CE: `step`, every packet; `red`, those that RED selects by " +
					"`ecn.kmin`, `kmax` and `pmax`",
			},
			View: "red", value: either(&tcd.RED, "step", "red"),
		},
		{Parameter: schema.Parameter{Name: "cnm", Kind: schema.Group}, value: &group{}},
		{
			Parameter: schema.Parameter{
				Name: "cnm.ecn_threshold", Kind: schema.Size, Max: mostSize,
				Doc: "DCON: queue length at which congestion is persistent, and below which a burst ends",
			},
			Word: auto, Means: sizeAuto, Live: true, value: size(&cnm.QECN),
		},
		{
			Parameter: schema.Parameter{
				Name: "cnm.threshold", Kind: schema.Size, Max: mostSize,
				Doc: "DCON: queue length at which a burst begins. `dynamic`: by the paper's section 4.4. Its M is taken from " +
					"one ingress port: of those that sent here within the last T, the one whose packets went to the most " +
					"egress ports within a T",
			},
			Word: "dynamic", Means: 0, Zero: "write dynamic for the threshold of section 4.4", Live: true, value: size(&cnm.QCNM),
		},
		{
			Parameter: schema.Parameter{
				Name: "cnm.window", Kind: schema.Time,
				Doc: "DCON's T: an ingress port is shared if a packet for an uncongested egress port arrived there less than " +
					"T before (see `shared_at`), or since",
			},
			Live: true, value: span(&cnm.Window),
		},
		{
			Parameter: schema.Parameter{
				Name: "cnm.repeat", Kind: schema.Time,
				Doc: "DCON: least time between two CNMs for a flow, unless the number of flows has grown by an eighth",
			},
			Live: true, value: span(&cnm.Repeat),
		},
		{
			Parameter: schema.Parameter{
				Name: "cnm.mark", Kind: schema.Choice,
				Doc: "DCON, outside of bursts, with `ecn.mode: red`: `step` marks every packet that meets a queue above " +
					"`cnm.ecn_threshold` (the paper's section 4.1); `red` marks by `ecn.kmin`, `kmax` and `pmax`, as for " +
					"other controllers",
			},
			View: "mark_red", Live: true, value: either(&cnm.RED, "step", "red"),
		},
		{
			Parameter: schema.Parameter{
				Name: "cnm.shared_at", Kind: schema.Choice,
				Doc: "DCON: what T precedes: `onset`, the beginning of the burst; `packet`, each packet that a CNM may answer",
			},
			View: "shared_at_onset", Live: true, value: either(&cnm.AtOnset, "packet", "onset"),
		},
		{
			Parameter: schema.Parameter{
				Name: "cnm.shared_by", Kind: schema.Choice,
				Doc: "DCON: which packets make an ingress port shared: `any`, for any egress port, including those for the " +
					"congested one before the burst; `other`, only for other egress ports; `edge`, as `other` at ports to " +
					"hosts, and as `any` at ports to switches, where a PAUSE also stops packets still to come",
			},
			Live: true, value: word(&cnm.SharedBy, switchagent.SharedByNames...),
		},
		{Parameter: schema.Parameter{Name: "scheduler", Kind: schema.Group}, value: &group{}},
		{
			Parameter: schema.Parameter{
				Name: "scheduler.dwrr", Kind: schema.Weights, Default: "none",
				Doc: "quantum in bytes per priority: `{3: 3KB, 4: 1KB}` shares by deficit round robin what strict priorities " +
					"leave. Priorities not listed are strict, the highest first",
			},
			View: "/dwrr_quantum_bytes", value: weights{&s.Scheduler.Quantum},
		},
		{
			Parameter: schema.Parameter{
				Name: "load_balancing", Kind: schema.Group,
				Doc: "how a switch chooses among equal-cost ports ([below](#load-balancing))",
			},
			value: &group{works: balances, viewed: balances},
		},
		{
			Parameter: schema.Parameter{
				Name: "load_balancing.mode", Kind: schema.Choice,
				Doc: "`ecmp`: by a hash, so a flow keeps its path. `flowlet`: at random for each flowlet. `spray`: anew for " +
					"each packet. `adaptive`: the port whose queue takes the least time to send",
			},
			value: word(&balancing.Mode, switchagent.BalancingNames...),
		},
		{
			Parameter: schema.Parameter{
				Name: "load_balancing.seed", Kind: schema.Integer, Min: "0", Max: "4294967295",
				Doc: "for `ecmp`: the seed of every switch's hash; `own`: each switch has its own. A common seed polarises: a " +
					"switch then chooses among flows that the previous switch selected by the same hash",
			},
			Word: "own", Means: switchagent.OwnSeed, value: integer(&balancing.Seed),
		},
		{
			Parameter: schema.Parameter{
				Name: "load_balancing.fields", Kind: schema.Choice,
				Doc: "for `ecmp`: what is hashed. `addresses`: both addresses, without protocol and ports. `ports`: only the " +
					"UDP or TCP ports, of which RoCE's destination is always 4791",
			},
			value: word(&balancing.Fields, switchagent.HashFieldsNames...),
		},
		{
			Parameter: schema.Parameter{
				Name: "load_balancing.gap", Kind: schema.Time, Min: "1ps", Max: "1s",
				Doc: "for `flowlet`, and `adaptive` by flowlet: a flow starts a new flowlet after sending nothing through " +
					"this switch for this long",
			},
			Zero: "write mode: spray for a choice for each packet", value: span(&balancing.Gap),
		},
		{
			Parameter: schema.Parameter{
				Name: "load_balancing.order", Kind: schema.Choice,
				Doc: "for `spray`: ports at `random`, or `round-robin` among the ports to each leaf",
			},
			View: "round_robin", value: either(&balancing.RoundRobin, "random", "round-robin"),
		},
		{
			Parameter: schema.Parameter{
				Name: "load_balancing.by", Kind: schema.Choice,
				Doc: "for `adaptive`: chooses for each `packet`, or for each `flowlet`",
			},
			View: "by_flowlet", value: either(&balancing.ByFlowlet, "packet", "flowlet"),
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

package settings

import (
	"errors"

	"github.com/pausenet/pausenet/internal/keys"
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
func Switch(s *switchagent.Settings) keys.Table {
	pfc, cbfc, ecn, tcd, cnm, dog, balancing := &s.PFC, &s.CBFC, &s.ECN, &s.TCD, &s.CNM, &s.PFC.Watchdog, &s.Balancing
	credits := func() bool { return s.FlowControl == switchagent.FlowCBFC }
	pauses := func() bool { return s.FlowControl == switchagent.FlowPFC }
	ternary := func() bool { return s.Detector == switchagent.DetectorTCD }
	noWatchdog := func() { *dog = switchagent.Watchdog{} }
	sonicWatchdog := func() { dog.Detect, dog.Restore = 200*vtime.Millisecond, 200*vtime.Millisecond } // SONiC's
	balances := func() bool { return *balancing != switchagent.Default().Balancing }
	return keys.Table{
		{
			Name: "buffer", Value: keys.Size(&s.Buffer), Min: "1B", Max: mostSize, Word: auto, Means: sizeAuto,
			Doc: "size of the shared packet buffer; a topology can set it per switch",
		},
		{
			Name: "lossy_limit", Value: keys.Size(&s.LossyLimit), Max: mostSize, Live: true,
			Doc: "most bytes in one egress queue of a lossy priority; frames beyond that are dropped",
		},
		{
			Name: "lossy_alpha", Value: keys.Number(&s.LossyAlpha), Default: "0: none", Min: "0", Max: "64",
			Unset: true, Live: true,
			Doc: "above 0, also limits such a queue to this number times the free part of the shared buffer (the " +
				"dynamic threshold of Choudhury and Hahne); buffer reserved for headroom does not count as free",
		},
		{
			Name: "trim", Value: keys.Flag(&s.Trim), Unset: true, Live: true,
			Doc: "`true`: a lossy data frame that does not fit is cut to its headers, which are forwarded in the " +
				"hosts' control priority; its receiver answers with a NAK ([recovery.md](recovery.md))",
		},
		{
			Name: "trim_victim", Value: keys.Word(&s.TrimVictim, switchagent.TrimVictimNames...), Unset: true,
			Live: true,
			Doc: "which frame `trim` cuts when a queue is full: `arriving`, the new frame; `coin`, at random the new " +
				"frame or the newest in the queue, as in NDP, so that two flows in step share the cuts",
		},
		{Name: "pfc", Value: &keys.Group{Works: pauses, Instead: "to run without PFC, write pfc: {priorities: []}"}},
		{
			Name: "pfc.priorities", Value: keys.Priorities(&pfc.Priorities), Default: dataPriority,
			Doc: "the lossless priorities; `[]` for none",
		},
		{
			Name: "pfc.xoff", Value: keys.Size(&pfc.XOFF), Max: mostSize, Word: auto, Means: sizeAuto, Live: true,
			Doc: "PAUSE is sent when a priority has this many bytes buffered from one ingress port; with `alpha` it " +
				"is the upper bound of that threshold, and `0B` means no bound",
		},
		{
			Name: "pfc.xon", Value: keys.Size(&pfc.XON), Default: "xoff - xoff_to_xon", Max: mostSize, Word: auto,
			Means: sizeAuto, Live: true,
			Doc: "RESUME is sent when the buffered bytes have fallen to this",
		},
		{
			Name: "pfc.xoff_to_xon", Value: keys.Size(&pfc.XOFFToXON), Max: mostSize, Live: true,
			Doc: "distance from XOFF down to XON",
		},
		{
			Name: "pfc.alpha", Value: keys.Number(&pfc.Alpha), Min: "0", Max: "64", Live: true,
			Doc: "0: XOFF is static. Above 0: XOFF is alpha times the free part of the shared buffer. Bytes in " +
				"headroom do not reduce the free part: a frame that arrives when XOFF is reached goes into its " +
				"port's headroom, and headroom is freed first. In a running fabric alpha cannot change between 0 and " +
				"above 0",
		},
		{
			Name: "pfc.headroom", Value: keys.Size(&pfc.Headroom), Max: mostSize, Word: auto, Means: sizeAuto,
			Live: true,
			Doc:  "bytes that a priority of an ingress port may buffer beyond XOFF",
		},
		{
			Name: "pfc.response", Value: keys.Time(&pfc.Response), Max: "1s",
			Doc: "time that the hardware at both ends of a cable needs to send and obey a PAUSE; used only by an " +
				"`auto` headroom and by `check headroom`",
		},
		{
			Name: "pfc.cell_size", Value: keys.Size(&pfc.CellSize), Default: "0B: none", Max: "1GB",
			Doc: "size of the buffer's allocation cells: a frame occupies whole cells; used only by an `auto` " +
				"headroom and by `check headroom`",
		},
		{
			Name: "pfc.small_packets", Value: keys.Number(&pfc.SmallPackets), Min: "0", Max: "1",
			Doc: "with `cell_size`, the share of the packets in flight whose length wastes the most of their cells; " +
				"the other packets are full",
		},
		{
			Name: "pfc.per_rate", Value: keys.Rate(&pfc.PerRate), Default: "none", Min: "1Mbps", Max: "10Tbps",
			Zero: sameForAll, Unset: true, Live: true,
			Doc: "`alpha` and `headroom` are for a port of this rate, and scale with the rate of other ports (alpha " +
				"up to 1), as in HPCC's simulator",
		},
		{
			Name: "pfc.quanta", Value: keys.Integer(&pfc.Quanta), Min: "1", Max: "65535", Live: true,
			Doc: "pause time of a PAUSE frame, in units of 512 bit times; the frame is repeated after half of it",
		},
		{
			Name: "pfc.watchdog", Value: &keys.Group{Works: dog.On, Viewed: dog.On, Off: noWatchdog, On: sonicWatchdog},
			Live: true,
			Doc: "ends PFC storms: `{detect: 200ms, restore: 200ms, action: drop}` " +
				"([faults.md](faults.md#the-pfc-watchdog))",
		},
		{
			Name: "pfc.watchdog.detect", Value: keys.Time(&dog.Detect), Default: "200ms", Min: "1ps", Max: "10s",
			Zero: "write watchdog: off for none", Unset: true, Live: true,
			Doc: "a queue is in a storm once PFC has paused it for this long without interruption",
		},
		{
			Name: "pfc.watchdog.restore", Value: keys.Time(&dog.Restore), Default: "200ms", Min: "1ps", Max: "10s",
			Unset: true, Live: true,
			Doc: "the storm is over once no PAUSE has stopped the queue for this long",
		},
		{
			Name: "pfc.watchdog.action", Value: keys.Either(&dog.Forward, watchdogActions[0], watchdogActions[1]),
			Live: true, Resolved: func() any { return watchdogActions[index(dog.Forward)] },
			Doc: "during a storm, `drop` the queue's frames and new ones, or `forward` them despite the pause",
		},
		{Name: "ecn", Value: &keys.Group{}},
		{
			Name: "ecn.mode", Value: keys.Word(&ecn.Mode, "off", "red", "step", "pcn"), Live: true,
			Doc: "`red`: marks with a probability that rises from 0 at `kmin` to `pmax` at `kmax`, and always above. " +
				"`step`: marks packets that meet a queue above `kmax`. `pcn`: PCN's NP-ECN marks packets that leave " +
				"others behind in the queue and arrived after its last pause ended. `off`: never marks",
		},
		{
			Name: "ecn.at", Value: keys.Word(&ecn.Point, ecnPoints...),
			Default: "`enqueue` of `step`, `dequeue` of `red`", Live: true,
			Resolved: func() any { return ecnPoints[1+index(!ecn.AtEnqueue())] },
			Doc: "when `red` and `step` mark: `enqueue`, on arrival, by the queue including the packet; `dequeue`, " +
				"on departure, by the queue that remains, as in HPCC's simulator. Other modes mark on departure",
		},
		{
			Name: "ecn.ports", Value: keys.Word(&ecn.Ports, switchagent.ECNPortsNames...), Unset: true,
			Doc: "which ports of a switch mark in modes `red` and `step`: `all`, those `to-switches`, or those " +
				"`to-hosts`. `auto`: all; but `to-switches` if `rccc` is the only congestion control that reacts to " +
				"marks, since its receivers know their own links",
		},
		{
			Name: "ecn.priorities", Value: keys.Priorities(&ecn.Priorities), Default: dataPriority, Live: true,
			Doc: "priorities whose packets are marked",
		},
		{
			Name: "ecn.kmin", Value: keys.Size(&ecn.KMin), Max: mostSize, Word: auto, Means: sizeAuto, Live: true,
			Doc: "queue length at which RED starts to mark",
		},
		{
			Name: "ecn.kmax", Value: keys.Size(&ecn.KMax), Max: mostSize, Word: auto, Means: sizeAuto, Live: true,
			Doc: "queue length above which every packet is marked",
		},
		{
			Name: "ecn.pmax", Value: keys.Number(&ecn.PMax), Min: "0", Max: "1", Live: true,
			Doc: "RED's marking probability at `kmax`",
		},
		{
			Name: "ecn.per_rate", Value: keys.Rate(&ecn.PerRate), Default: "none", Min: "1Mbps", Max: "10Tbps",
			Zero: sameForAll, Unset: true, Live: true,
			Doc: "`kmin` and `kmax` are for a port of this rate, and scale with the rate of other ports: with " +
				"`100Gbps` they are four times as large at 400 Gb/s",
		},
		{
			Name: "flow_control", Value: keys.Word(&s.FlowControl, "pfc", "cbfc"), Unset: true,
			Doc: "for the whole fabric, hosts included: `pfc`; or `cbfc`, InfiniBand's credits, without PAUSE frames",
		},
		{Name: "cbfc", Value: &keys.Group{Works: credits, Viewed: credits}},
		{
			Name: "cbfc.priorities", Value: keys.Priorities(&cbfc.Priorities), Default: dataPriority,
			Doc: "the priorities that use credits, and so lose no frames",
		},
		{
			Name: "cbfc.period", Value: keys.Time(&cbfc.Period), Min: "1us", Max: "1s", Word: auto,
			Means: int64(switchagent.AutoPeriod),
			Doc:   "time between two credit messages of a port for a priority",
		},
		{
			Name: "cbfc.buffer", Value: keys.Size(&cbfc.Buffer), Min: "64B", Max: "4GB", Word: auto, Means: sizeAuto,
			Doc: "buffer of a port for a priority; it is not part of the shared buffer",
		},
		{
			Name: "cbfc.block", Value: keys.Size(&cbfc.Block), Min: "64B", Max: "4GB", Word: auto, Means: 0,
			Zero: "write auto for the least that fits",
			Doc: "bytes per credit: 64 B times a power of 2; at most 2048 credits can be granted at a time. `auto`: " +
				"the size that grants the most full frames (128 B for 280 KB and an MTU of 1000)",
		},
		{
			Name: "detector", Value: keys.Word(&s.Detector, "threshold", "tcd"), Unset: true,
			Doc: "how switches detect congestion: `threshold`, by `ecn.mode`; or `tcd`, by ternary congestion " +
				"detection instead, on `ecn.priorities`. Under `NAME+tcd` it is always `tcd`, with `mark: red` if " +
				"`ecn.mode` is red",
		},
		// Its bounds hold whatever the detector is: a congestion control may turn this one on.
		{Name: "tcd", Value: &keys.Group{Works: ternary, Viewed: ternary}},
		{
			Name: "tcd.q_len", Value: keys.Size(&tcd.QLen), Max: "4GB", Word: auto, Means: sizeAuto,
			Doc: "longest queue of a port that is not congested",
		},
		{
			Name: "tcd.t_max", Value: keys.Time(&tcd.TMax), Max: "1s", Word: auto, Means: 0,
			Zero: "write auto for the patent's formula",
			Doc: "how long a port must have been ON to leave the state undetermined. `auto`: for each port by the " +
				"patent's formula, from its rate, delay, MTU, `pfc.xoff` and `pfc.xon`; or `tcd.credit_periods` " +
				"times `cbfc.period`",
		},
		{
			Name: "tcd.epsilon", Value: keys.Number(&tcd.Epsilon), Min: "0.001", Max: "1",
			Doc: "the parameter epsilon of that formula",
		},
		{
			Name: "tcd.credit_periods", Value: keys.Number(&tcd.CreditPeriods), Min: "0.001", Max: "1000",
			Doc: "`t_max` under credits, in periods. The patent has 1; a little more allows for a message that " +
				"waited behind a frame",
		},
		{
			Name: "tcd.trend_slack", Value: keys.Size(&tcd.TrendSlack), Max: "1GB",
			Doc: "an undetermined port's queue counts as falling unless it grew by more than this within `t_max`; " +
				"the simulator of TCD's authors has `900B`",
		},
		{
			Name: "tcd.mark", Value: keys.Either(&tcd.RED, "step", "red"), View: "red",
			Doc: "which packets a congested port marks CE: `step`, every packet; `red`, those that RED selects by " +
				"`ecn.kmin`, `kmax` and `pmax`",
		},
		{Name: "cnm", Value: &keys.Group{}},
		{
			Name: "cnm.ecn_threshold", Value: keys.Size(&cnm.QECN), Max: mostSize, Word: auto, Means: sizeAuto,
			Live: true,
			Doc:  "DCON: queue length at which congestion is persistent, and below which a burst ends",
		},
		{
			Name: "cnm.threshold", Value: keys.Size(&cnm.QCNM), Max: mostSize, Word: "dynamic", Means: 0,
			Zero: "write dynamic for the threshold of section 4.4", Live: true,
			Doc: "DCON: queue length at which a burst begins. `dynamic`: by the paper's section 4.4. Its M is taken " +
				"from one ingress port: of those that sent here within the last T, the one whose packets went to the " +
				"most egress ports within a T",
		},
		{
			Name: "cnm.window", Value: keys.Time(&cnm.Window), Live: true,
			Doc: "DCON's T: an ingress port is shared if a packet for an uncongested egress port arrived there less " +
				"than T before (see `shared_at`), or since",
		},
		{
			Name: "cnm.repeat", Value: keys.Time(&cnm.Repeat), Live: true,
			Doc: "DCON: least time between two CNMs for a flow, unless the number of flows has grown by an eighth",
		},
		{
			Name: "cnm.mark", Value: keys.Either(&cnm.RED, "step", "red"), Live: true, View: "mark_red",
			Doc: "DCON, outside of bursts, with `ecn.mode: red`: `step` marks every packet that meets a queue above " +
				"`cnm.ecn_threshold` (the paper's section 4.1); `red` marks by `ecn.kmin`, `kmax` and `pmax`, as for " +
				"other controllers",
		},
		{
			Name: "cnm.shared_at", Value: keys.Either(&cnm.AtOnset, "packet", "onset"), Live: true,
			View: "shared_at_onset",
			Doc: "DCON: what T precedes: `onset`, the beginning of the burst; `packet`, each packet that a CNM may " +
				"answer",
		},
		{
			Name: "cnm.shared_by", Value: keys.Word(&cnm.SharedBy, switchagent.SharedByNames...), Live: true,
			Doc: "DCON: which packets make an ingress port shared: `any`, for any egress port, including those for " +
				"the congested one before the burst; `other`, only for other egress ports; `edge`, as `other` at " +
				"ports to hosts, and as `any` at ports to switches, where a PAUSE also stops packets still to come",
		},
		{Name: "scheduler", Value: &keys.Group{}},
		{
			Name: "scheduler.dwrr", Value: keys.Weights(&s.Scheduler.Quantum), Default: "none",
			View: "/dwrr_quantum_bytes",
			Doc: "quantum in bytes per priority: `{3: 3KB, 4: 1KB}` shares by deficit round robin what strict " +
				"priorities leave. Priorities not listed are strict, the highest first",
		},
		{
			Name: "load_balancing", Value: &keys.Group{Works: balances, Viewed: balances},
			Doc: "how a switch chooses among equal-cost ports ([below](#load-balancing))",
		},
		{
			Name: "load_balancing.mode", Value: keys.Word(&balancing.Mode, switchagent.BalancingNames...),
			Doc: "`ecmp`: by a hash, so a flow keeps its path. `flowlet`: at random for each flowlet. `spray`: anew " +
				"for each packet. `adaptive`: the port whose queue takes the least time to send",
		},
		{
			Name: "load_balancing.seed", Value: keys.Integer(&balancing.Seed), Min: "0", Max: "4294967295", Word: "own",
			Means: switchagent.OwnSeed,
			Doc: "for `ecmp`: the seed of every switch's hash; `own`: each switch has its own. A common seed " +
				"polarises: a switch then chooses among flows that the previous switch selected by the same hash",
		},
		{
			Name: "load_balancing.fields", Value: keys.Word(&balancing.Fields, switchagent.HashFieldsNames...),
			Doc: "for `ecmp`: what is hashed. `addresses`: both addresses, without protocol and ports. `ports`: only " +
				"the UDP or TCP ports, of which RoCE's destination is always 4791",
		},
		{
			Name: "load_balancing.gap", Value: keys.Time(&balancing.Gap), Min: "1ps", Max: "1s",
			Zero: "write mode: spray for a choice for each packet",
			Doc: "for `flowlet`, and `adaptive` by flowlet: a flow starts a new flowlet after sending nothing " +
				"through this switch for this long",
		},
		{
			Name: "load_balancing.order", Value: keys.Either(&balancing.RoundRobin, "random", "round-robin"),
			View: "round_robin",
			Doc:  "for `spray`: ports at `random`, or `round-robin` among the ports to each leaf",
		},
		{
			Name: "load_balancing.by", Value: keys.Either(&balancing.ByFlowlet, "packet", "flowlet"),
			View: "by_flowlet",
			Doc:  "for `adaptive`: chooses for each `packet`, or for each `flowlet`",
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

// DecodeSwitch reads the switch settings of v over the defaults. PFC, CBFC and ECN act on the hosts' data priority
// unless v names priorities.
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

package settings

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// auto leaves a value to be derived from others.
const auto = "auto"

// sizeAuto leaves a size to be derived from each port's rate and cable.
const sizeAuto = int64(switchagent.Auto)

// mostSize exceeds the buffer of any switch by orders of magnitude. A larger value is a mistake.
const mostSize = "1TB"

// dataPriority documents the default of settings that apply to the hosts' data priority.
const dataPriority = "[host.data_priority]"

// Switch returns the keys of switches' settings, bound to s and b.
func Switch(s *switchagent.Settings, b *topologies.Balancing) keys.Table {
	pfc, cbfc, ecn, tcd, cnm, dog := &s.PFC, &s.CBFC, &s.ECN, &s.TCD, &s.CNM, &s.PFC.Watchdog
	credits := func() bool { return s.FlowControl == switchagent.FlowCBFC }
	pauses := func() bool { return s.FlowControl == switchagent.FlowPFC }
	ternary := func() bool { return s.Detector == switchagent.DetectorTCD }
	noWatchdog := func() { *dog = switchagent.Watchdog{} }
	// SONiC's defaults
	sonicWatchdog := func() { dog.Detect, dog.Restore = 200*vtime.Millisecond, 200*vtime.Millisecond }
	balances := func() bool { return *b != topologies.DefaultBalancing() }
	return keys.Table{
		keys.Size("buffer", &s.Buffer).Between("1B", mostSize).Or(auto, sizeAuto).Means(
			"size of the shared packet buffer, of which a switch uses at most 4 GB; a topology can set it per switch"),
		keys.Size("lossy_limit", &s.LossyLimit).AtMost(mostSize).Runtime().Means(
			"most bytes in one egress queue of a lossy priority; frames beyond that are dropped"),
		keys.Number("lossy_alpha", &s.LossyAlpha).Between("0", "64").Usually("0: none").Optional().Runtime().Means(
			"above 0, also limits such a queue to this number times the free part of the shared buffer (the " +
				"dynamic threshold of Choudhury and Hahne); buffer reserved for headroom does not count as free"),
		keys.Flag("trim", &s.Trim).Optional().Runtime().Means(
			"`true`: a lossy data frame that does not fit is cut to its headers, which are forwarded in the hosts' " +
				"control priority; its receiver answers with a NAK ([recovery.md](recovery.md))"),
		keys.Word("trim_victim", &s.TrimVictim, switchagent.TrimVictimNames...).Optional().Runtime().Means(
			"which frame `trim` cuts when a queue is full: `arriving`, the new frame; `coin`, at random the new " +
				"frame or the newest in the queue, as in NDP, so that two flows in step share the cuts"),
		keys.GroupOf("pfc", &keys.Group{Works: pauses, Instead: "to run without PFC, write pfc: {priorities: []}"}),
		keys.Priorities("pfc.priorities", &pfc.Priorities).Usually(dataPriority).Means(
			"the lossless priorities; `[]` for none"),
		keys.Size("pfc.xoff", &pfc.XOFF).AtMost(mostSize).Or(auto, sizeAuto).Runtime().Means(
			"PAUSE is sent when a priority has this many bytes buffered from one ingress port; with `alpha` it is " +
				"the upper bound of that threshold, and `0B` means no bound"),
		keys.Size("pfc.xon", &pfc.XON).AtMost(mostSize).Or(auto, sizeAuto).Usually("`xoff - xoff_to_xon`").Runtime().
			Means(
				"RESUME is sent when the buffered bytes have fallen to this"),
		keys.Size("pfc.xoff_to_xon", &pfc.XOFFToXON).AtMost(mostSize).Runtime().Means("distance from XOFF down to XON"),
		keys.Number("pfc.alpha", &pfc.Alpha).Between("0", "64").Runtime().Means(
			"0: XOFF is static. Above 0: XOFF is alpha times the free part of the shared buffer. Bytes in headroom " +
				"do not reduce the free part: a frame that arrives when XOFF is reached goes into its port's " +
				"headroom, and headroom is freed first. In a running fabric alpha cannot change between 0 and " +
				"above 0"),
		keys.Size("pfc.headroom", &pfc.Headroom).AtMost(mostSize).Or(auto, sizeAuto).Runtime().Means(
			"bytes that a priority of an ingress port may buffer beyond XOFF"),
		keys.Time("pfc.response", &pfc.Response).AtMost("1s").Means(
			"time that the hardware at both ends of a cable needs to send and obey a PAUSE; used only by an `auto` " +
				"headroom and by `check headroom`"),
		keys.Size("pfc.cell_size", &pfc.CellSize).AtMost("1GB").Usually("0B: none").Means(
			"size of the buffer's allocation cells: a frame occupies whole cells; used only by an `auto` headroom " +
				"and by `check headroom`"),
		keys.Number("pfc.small_packets", &pfc.SmallPackets).Between("0", "1").Means(
			"with `cell_size`, the fraction of the packets in flight that have the length that wastes most of their " +
				"cells; the others are full"),
		keys.Rate("pfc.per_rate", &pfc.PerRate).Between("1Mbps", "10Tbps").Usually("none").NotZero(sameForAll).
			Optional().Runtime().Means(
			"`alpha` and `headroom` are for a port of this rate, and scale with the rate of other ports (alpha up " +
				"to 1), as in HPCC's simulator"),
		keys.Integer("pfc.quanta", &pfc.Quanta).Between("1", "65535").Runtime().Means(
			"pause time of a PAUSE frame, in units of 512 bit times; PAUSE is refreshed after half of it"),
		keys.GroupOf("pfc.watchdog", &keys.Group{Works: dog.On, Viewed: dog.On, Off: noWatchdog, On: sonicWatchdog}).
			Runtime().Means(
			"ends PFC storms: `{detect: 200ms, restore: 200ms, action: drop}` " +
				"([faults.md](faults.md#the-pfc-watchdog))"),
		keys.Time("pfc.watchdog.detect", &dog.Detect).Between("1ps", "10s").Usually("200ms").
			NotZero("write watchdog: off for none").Optional().Runtime().Means(
			"a queue is in a storm once PFC has paused it for this long without interruption"),
		keys.Time("pfc.watchdog.restore", &dog.Restore).Between("1ps", "10s").Usually("200ms").Optional().Runtime().
			Means(
				"the storm is over once no PAUSE has stopped the queue for this long"),
		keys.Either("pfc.watchdog.action", &dog.Forward, watchdogActions[0], watchdogActions[1]).Runtime().
			Showing(func() any { return watchdogActions[index(dog.Forward)] }).Means(
			"during a storm, `drop` the queue's frames and new ones, or `forward` them despite the pause"),
		keys.GroupOf("ecn", &keys.Group{}),
		keys.Word("ecn.mode", &ecn.Mode, "off", "red", "step", "pcn").Runtime().Means(
			"`red`: marks with a probability that rises from 0 at `kmin` to `pmax` at `kmax`, and always above. " +
				"`step`: marks packets that meet a queue above `kmax`. `pcn`: PCN's NP-ECN marks packets that " +
				"leave others behind in the queue and arrived after its last pause ended. `off`: never marks"),
		keys.Word("ecn.at", &ecn.Point, ecnPoints...).Usually("`enqueue` of `step`, `dequeue` of `red`").Runtime().
			Showing(func() any { return ecnPoints[1+index(!ecn.AtEnqueue())] }).Means(
			"when `red` and `step` mark: `enqueue`, on arrival, by the queue including the packet; `dequeue`, on " +
				"departure, by the queue that remains, as in HPCC's simulator. Other modes mark on departure"),
		keys.Word("ecn.ports", &ecn.Ports, switchagent.ECNPortsNames...).Optional().Means(
			"which ports of a switch mark in modes `red` and `step`: `all`, those `to-switches`, or those " +
				"`to-hosts`. `auto`: all; but `to-switches` if `rccc` is the only congestion control that reacts " +
				"to marks, since its receivers know their own links"),
		keys.Priorities("ecn.priorities", &ecn.Priorities).Usually(dataPriority).Runtime().Means(
			"priorities whose packets are marked"),
		keys.Size("ecn.kmin", &ecn.KMin).AtMost(mostSize).Or(auto, sizeAuto).Runtime().Means(
			"queue length at which RED starts to mark"),
		keys.Size("ecn.kmax", &ecn.KMax).AtMost(mostSize).Or(auto, sizeAuto).Runtime().Means(
			"queue length above which every packet is marked"),
		keys.Number("ecn.pmax", &ecn.PMax).Between("0", "1").Runtime().Means("RED's marking probability at `kmax`"),
		keys.Rate("ecn.per_rate", &ecn.PerRate).Between("1Mbps", "10Tbps").Usually("none").NotZero(sameForAll).
			Optional().Runtime().Means(
			"`kmin` and `kmax` are for a port of this rate, and scale with the rate of other ports: with `100Gbps` " +
				"they are four times as large at 400 Gbps"),
		keys.Word("flow_control", &s.FlowControl, "pfc", "cbfc").Optional().Means(
			"for the whole fabric, hosts included: `pfc`; or `cbfc`, InfiniBand's credits, without PAUSE frames"),
		keys.GroupOf("cbfc", &keys.Group{Works: credits, Viewed: credits}),
		keys.Priorities("cbfc.priorities", &cbfc.Priorities).Usually(dataPriority).Means(
			"the priorities that use credits, and so lose no frames"),
		keys.Time("cbfc.period", &cbfc.Period).Between("1us", "1s").Or(auto, int64(switchagent.AutoPeriod)).Means(
			"time between two credit messages of a port for a priority"),
		keys.Size("cbfc.buffer", &cbfc.Buffer).Between("64B", "4GB").Or(auto, sizeAuto).Means(
			"buffer of a port for a priority; it is not part of the shared buffer"),
		keys.Size("cbfc.block", &cbfc.Block).Between("64B", "4GB").Or(auto, 0).
			NotZero("write auto for the least that fits").Means(
			"bytes per credit: 64 B times a power of 2; at most 2048 credits can be granted at a time. `auto`: the " +
				"size that grants the most full frames (128 B for 280 KB and an MTU of 1000)"),
		keys.Word("detector", &s.Detector, "threshold", "tcd").Optional().Means(
			"how switches detect congestion: `threshold`, by `ecn.mode`; or `tcd`, by ternary congestion detection " +
				"instead, on `ecn.priorities`. Under `NAME+tcd` it is always `tcd`, with `mark: red` if `ecn.mode` " +
				"is red"),
		// The limits apply under each detector, because a congestion control may select this one.
		keys.GroupOf("tcd", &keys.Group{Works: ternary, Viewed: ternary}),
		keys.Size("tcd.q_len", &tcd.QLen).AtMost("4GB").Or(auto, sizeAuto).Means(
			"longest queue of a port that is not congested"),
		keys.Time("tcd.t_max", &tcd.TMax).AtMost("1s").Or(auto, 0).NotZero("write auto for the patent's formula").Means(
			"how long a port must have been ON to leave the state undetermined. `auto`: for each port by the " +
				"patent's formula, from its rate, delay, MTU, `pfc.xoff` and `pfc.xon`; or `tcd.credit_periods` " +
				"times `cbfc.period`"),
		keys.Number("tcd.epsilon", &tcd.Epsilon).Between("0.001", "1").Means("the parameter epsilon of that formula"),
		keys.Number("tcd.credit_periods", &tcd.CreditPeriods).Between("0.001", "1000").Means(
			"`t_max` under credits, in periods. The patent has 1; a little more allows for a message that waited " +
				"behind a frame"),
		keys.Size("tcd.trend_slack", &tcd.TrendSlack).AtMost("1GB").Means(
			"an undetermined port's queue counts as falling unless it grew by more than this within `t_max`; the " +
				"simulator of TCD's authors has `900B`"),
		keys.Either("tcd.mark", &tcd.RED, "step", "red").As("red").Means(
			"which packets a congested port marks CE: `step`, every packet; `red`, those that RED selects by " +
				"`ecn.kmin`, `kmax` and `pmax`"),
		keys.GroupOf("cnm", &keys.Group{}),
		keys.Size("cnm.ecn_threshold", &cnm.QECN).AtMost(mostSize).Or(auto, sizeAuto).Runtime().Means(
			"DCON: queue length at which congestion is persistent, and below which a burst ends"),
		keys.Size("cnm.threshold", &cnm.QCNM).AtMost(mostSize).Or("dynamic", 0).
			NotZero("write dynamic for the threshold of section 4.4").Runtime().Means(
			"DCON: queue length at which a burst begins. `dynamic`: by the paper's section 4.4. Its M is taken " +
				"from one ingress port: of those that sent here within the last T, the one whose packets went to " +
				"the most egress ports within a T"),
		keys.Time("cnm.window", &cnm.Window).Runtime().Means(
			"DCON's T: an ingress port is shared if a packet for an uncongested egress port arrived there less " +
				"than T before (see `shared_at`), or since"),
		keys.Time("cnm.repeat", &cnm.Repeat).Runtime().Means(
			"DCON: least time between two CNMs for a flow, unless the number of flows has grown by an eighth"),
		keys.Either("cnm.mark", &cnm.RED, "step", "red").Runtime().As("mark_red").Means(
			"DCON, outside of bursts, with `ecn.mode: red`: `step` marks every packet that meets a queue above " +
				"`cnm.ecn_threshold` (the paper's section 4.1); `red` marks by `ecn.kmin`, `kmax` and `pmax`, as " +
				"for other controllers"),
		keys.Either("cnm.shared_at", &cnm.AtOnset, "packet", "onset").Runtime().As("shared_at_onset").Means(
			"DCON: what T precedes: `onset`, the beginning of the burst; `packet`, each packet that a CNM may " +
				"answer"),
		keys.Word("cnm.shared_by", &cnm.SharedBy, switchagent.SharedByNames...).Runtime().Means(
			"DCON: which packets make an ingress port shared: `any`, for any egress port, including those for the " +
				"congested one before the burst; `other`, only for other egress ports; `edge`, as `other` at ports " +
				"to hosts, and as `any` at ports to switches, where a PAUSE also stops packets still to come"),
		keys.GroupOf("scheduler", &keys.Group{}),
		keys.Weights("scheduler.dwrr", &s.Scheduler.Quantum).Usually("none").As("/dwrr_quantum_bytes").Means(
			"quantum in bytes per priority: `{3: 3KB, 4: 1KB}` shares by deficit round robin what strict " +
				"priorities leave. Priorities not listed are strict, the highest first"),
		keys.GroupOf("load_balancing", &keys.Group{Works: balances, Viewed: balances}).Means(
			"how a switch chooses among equal-cost ports ([below](#load-balancing))"),
		keys.Word("load_balancing.mode", &b.Mode, topologies.BalancingNames()...).Means(balancingModes()),
		keys.Integer("load_balancing.seed", &b.Seed).Between("0", "4294967295").Or("own", topologies.OwnSeed).Means(
			usersOf("seed") + "the seed of every switch's hash; `own`: each switch has its own. A common seed " +
				"polarises: a switch then chooses among flows that the previous switch selected by the same hash"),
		keys.Word("load_balancing.fields", &b.Fields, topologies.HashFieldsNames...).Means(
			usersOf("fields") + "what is hashed. `addresses`: both addresses, without protocol and ports. `ports`: " +
				"only the UDP or TCP ports, of which RoCE's destination is always 4791"),
		keys.Time("load_balancing.gap", &b.Gap).Between("1ps", "1s").
			NotZero("write mode: spray for a choice for each packet").Means(
			usersOf("gap") + "a flow starts a new flowlet after sending nothing through this switch for this long"),
		keys.Either("load_balancing.order", &b.RoundRobin, "random", "round-robin").As("round_robin").Means(
			usersOf("order") + "ports at `random`, or `round-robin` among the ports to each leaf"),
		keys.Either("load_balancing.by", &b.ByFlowlet, "packet", "flowlet").As("by_flowlet").Means(
			usersOf("by") + "chooses for each `packet`, or for each `flowlet`"),
	}
}

// balancingModes describes the modes of load balancing.
func balancingModes() string {
	var docs []string
	for _, m := range topologies.BalancingModes {
		docs = append(docs, "`"+m.Name+"`: "+m.Doc)
	}
	return strings.Join(docs, ". ")
}

// usersOf introduces the description of a key of load_balancing with the modes that use it.
func usersOf(key string) string {
	return "for " + strings.Join(topologies.BalancingUsers(key), ", and ") + ": "
}

// sameForAll completes the error about a rate of 0.
const sameForAll = "remove it for thresholds that are the same for all ports"

var (
	watchdogActions = []string{"drop", "forward"}
	ecnPoints       = []string{
		switchagent.ECNByMode: "", switchagent.ECNEnqueue: "enqueue",
		switchagent.ECNDequeue: "dequeue",
	}
)

// index returns 1 for true and 0 for false.
func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// DecodeSwitch reads the switch settings of v, with defaults for the others. PFC, CBFC and ECN act on the hosts' data
// priority unless v names priorities.
func DecodeSwitch(v *yamlspec.Value, data uint8) (switchagent.Settings, topologies.Balancing) {
	s, b := switchagent.Default(), topologies.DefaultBalancing()
	s.PFC.Priorities, s.CBFC.Priorities, s.ECN.Priorities = data, data, data
	Switch(&s, &b).Decode(v)
	// XON follows XOFF, so that a sweep over XOFF changes only one key.
	if s.PFC.XON == switchagent.Auto && s.PFC.XOFF != switchagent.Auto {
		s.PFC.XON = max(0, s.PFC.XOFF-s.PFC.XOFFToXON)
	}
	return s, b
}

// CheckLive returns an error if settings of a switch differ in a key that stays as it is while the fabric works
// (keys.Key.Live), or if the new ones, s and b, are wrong.
func CheckLive(own, s *switchagent.Settings, ownBalancing, b *topologies.Balancing) error {
	rows := Switch(own, ownBalancing)
	for _, row := range rows.Differ(Switch(s, b)) {
		if !row.Live {
			why := ""
			if row.Name == "pfc.priorities" || row.Name == "cbfc.priorities" {
				why = ", as buffers and headroom are made for it and programs have chosen by it"
			}
			return fmt.Errorf("%s stays as it is while a fabric works%s: bring it up with --set switch.%[1]s=. What can "+
				"be changed: %[3]s",
				row.Name, why, strings.Join(rows.Live(), ", "))
		}
	}
	return CheckSwitch(s, b)
}

// CheckSwitch returns all errors of switches' settings, as joined FieldErrors; nil: they are valid.
func CheckSwitch(s *switchagent.Settings, b *topologies.Balancing) error {
	return errors.Join(Switch(s, b).Check(), s.Validate())
}

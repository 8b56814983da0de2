package settings

import (
	"errors"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/vtime"
)

// CNPAuto stands for the CNP interval of the simulator that the congestion control's constants are of: that of each
// run.
const CNPAuto vtime.Time = -1

// DefaultHost are the settings of a scenario's hosts unless it says otherwise.
func DefaultHost() hostagent.Settings {
	s := hostagent.Default()
	s.CNPInterval = CNPAuto
	return s
}

// Host is the table of a host's settings, bound to s.
func Host(s *hostagent.Settings) keys.Table {
	selective := func() bool { return s.Recovery == hostagent.SelectiveRepeat }
	return keys.Table{
		{
			Name: "data_priority", Value: keys.Priority(&s.DataPriority),
			Doc: "priority of data packets (DSCP: priority times 8, plus 2)",
		},
		{
			Name: "control_priority", Value: keys.Priority(&s.ControlPriority),
			Doc: "priority of CNP, and of ACK and NAK if `ack_priority` is `control`",
		},
		{
			Name: "ack_priority", Value: keys.Either(&s.ACKsWithData, "control", "data"),
			Resolved: func() any { return s.ACKPriority() },
			Doc: "priority of ACK and NAK: `control` or `data`. With `data` they share switches' queues with the " +
				"data, and are counted and paused with it; the host still sends them before data",
		},
		{
			Name: "ack_when_paused", Value: keys.Flag(&s.ACKsWhenPaused), Unset: true,
			Doc: "`true`: a host sends ACK, NAK and CNP even if their priority is paused at its port; data always " +
				"waits. No effect without PFC on that priority",
		},
		{
			Name: "ack_every", Value: keys.Integer(&s.AckEvery), Min: "1", Max: "1048576",
			Doc: "number of data packets per ACK; the last packet is always acknowledged",
		},
		{
			Name: "coalesce_acks", Value: keys.Integer(&s.CoalesceACKs), Default: "as `ack_every`", Min: "1",
			Max: "1048576", Unset: true,
			Doc: "`ack_every` under controllers that do not use ACKs: `none`, `dcqcn`, `dcon`, `pcn`, `dcqcn+tcd`. " +
				"Not on a live fabric, where flows under several controllers meet",
		},
		{
			Name: "cnp_interval", Value: keys.Time(&s.CNPInterval),
			Default: "`auto`: `50us`, or `0s` under `dcqcn` and what is made of it with `profile: b`", Word: auto,
			Means: int64(CNPAuto),
			Doc: "least time between two CNPs of a flow; `0s`: a CNP for every marked packet, as from receivers in " +
				"HPCC's simulator, whose NIC is profile b",
		},
		{
			Name: "retransmit_timeout", Value: keys.Time(&s.RetransmitTimeout),
			Default: "`0s`: never; `1ms` if the data's priority is lossy, if faults or a watchdog may lose frames, " +
				"or if load balancing makes go-back-N discard packets",
			Doc: "a flow that makes no progress for this long goes back to the first unacknowledged packet",
		},
		{
			Name: "nak_interval", Value: keys.Time(&s.NakInterval),
			Doc: "a go-back-N receiver repeats its NAK after this time while a gap lasts",
		},
		{
			Name: "recovery", Value: keys.Word(&s.Recovery, "go-back-n", "selective"), Unset: true,
			Doc: "loss recovery: `go-back-n`, as in RoCE: the receiver accepts packets only in order, and the sender " +
				"retransmits everything from the missing one; `selective`, as in IRN: packets are placed as they " +
				"arrive, each by its own RETH, and only lost packets are retransmitted",
		},
		{Name: "selective", Value: &keys.Group{Works: selective, Viewed: selective}},
		{
			Name: "selective.bdp_cap", Value: keys.Size(&s.Selective.Cap), Max: mostSize, Word: auto,
			Means: int64(hostagent.AutoCap),
			Doc: "most payload of a flow in flight (IRN's BDP-FC). `auto`: the bandwidth-delay product of the " +
				"longest path; `0B`: no limit",
		},
		{
			Name: "selective.rto_low", Value: keys.Time(&s.Selective.LowTimeout), Min: "1us", Max: "1s",
			Doc: "the timeout while at most `rto_low_packets` packets are in flight, if `retransmit_timeout` (IRN's " +
				"RTO_high) is longer",
		},
		{
			Name: "selective.rto_low_packets", Value: keys.Integer(&s.Selective.LowPackets), Max: "1048576",
			Doc: "IRN's N; 0: `rto_low` is never used",
		},
		{
			Name: "selective.reorder", Value: keys.Integer(&s.Selective.Reorder), Min: "1", Max: "1048576", Word: auto,
			Means: hostagent.AutoReorder,
			Doc: "a packet counts as lost once a packet sent this many later has arrived. `auto`: 1, as in IRN, if a " +
				"flow has one path; else as far as packets can overtake each other on its paths " +
				"([recovery.md](recovery.md#selective-repeat))",
		},
		{
			Name: "entropy", Value: keys.Word(&s.Entropy, hostagent.EntropyNames...), Unset: true,
			Doc: "UDP source ports of a flow's data packets, which `ecmp` hashes: `flow`, always the flow's own; " +
				"`random`, a new one for each packet; `reps`, once more those of packets that arrived unmarked, else " +
				"random ones ([below](#entropy)). ACK and NAK have the port of the packet that they answer",
		},
		{
			Name: "ip", Value: keys.Word(&s.IP, "ipv4", "ipv6"), Unset: true,
			Doc: "IP version of RoCE packets; over `ipv6` each is 20 bytes longer ([below](#roce-over-ipv6))",
		},
	}
}

// DecodeHost reads the host settings of v over the defaults.
func DecodeHost(v *yamlspec.Value) hostagent.Settings {
	s := DefaultHost()
	Host(&s).Decode(v)
	return s
}

// CheckHost says everything that is wrong with s, as joined FieldErrors; nil if it can work.
func CheckHost(s *hostagent.Settings) error {
	return errors.Join(Host(s).Check(), s.Validate())
}

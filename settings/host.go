package settings

import (
	"errors"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/vtime"
)

// CNPAuto selects the CNP interval that belongs to the constants of each run's congestion control.
const CNPAuto vtime.Time = -1

// DefaultHost returns the default settings of hosts.
func DefaultHost() hostagent.Settings {
	s := hostagent.Default()
	s.CNPInterval = CNPAuto
	return s
}

// Host returns the keys of a host's settings, bound to s.
func Host(s *hostagent.Settings) keys.Table {
	selective := func() bool { return s.Recovery == hostagent.SelectiveRepeat }
	return keys.Table{
		keys.Priority("data_priority", &s.DataPriority).Means(
			"priority of data packets (DSCP: priority times 8, plus 2)"),
		keys.Priority("control_priority", &s.ControlPriority).Means(
			"priority of CNP, and of ACK and NAK if `ack_priority` is `control`"),
		keys.Either("ack_priority", &s.ACKsWithData, "control", "data").Showing(func() any { return s.ACKPriority() }).
			Means(
				"priority of ACK and NAK: `control` or `data`. With `data` they share switches' queues with the data, " +
					"and are counted and paused with it; the host still sends them before data"),
		keys.Flag("ack_when_paused", &s.ACKsWhenPaused).Optional().Means(
			"`true`: a host sends ACK, NAK and CNP even if their priority is paused at its port; data always " +
				"waits. No effect without PFC on that priority"),
		keys.Integer("ack_every", &s.AckEvery).Between("1", "1048576").Means(
			"number of data packets per ACK; the last packet is always acknowledged"),
		keys.Integer("coalesce_acks", &s.CoalesceACKs).Between("1", "1048576").Usually("as `ack_every`").Optional().
			Means(
				"`ack_every` under controllers that do not use ACKs: `none`, `dcqcn`, `dcon`, `pcn`, `dcqcn+tcd`. Not " +
					"on a live fabric, where flows under several controllers meet"),
		keys.Time("cnp_interval", &s.CNPInterval).Or(auto, int64(CNPAuto)).
			Usually("`auto`: `50us`, or `0s` under `dcqcn` and what is made of it with `profile: b`").Means(
			"least time between two CNPs of a flow; `0s`: a CNP for every marked packet, as from receivers in " +
				"HPCC's simulator, whose NIC is profile b"),
		keys.Time("retransmit_timeout", &s.RetransmitTimeout).
			Usually("`0s`: never; `1ms` if the data's priority is lossy, if faults or a watchdog may lose frames, " +
				"or if load balancing makes go-back-N discard packets").
			Means(
				"a flow that makes no progress for this long goes back to the first unacknowledged packet"),
		keys.Time("nak_interval", &s.NakInterval).Means(
			"a go-back-N receiver repeats its NAK after this time while a gap lasts"),
		keys.Word("recovery", &s.Recovery, "go-back-n", "selective").Optional().Means(
			"loss recovery: `go-back-n`, as in RoCE: the receiver accepts packets only in order, and the sender " +
				"retransmits everything from the missing one; `selective`, as in IRN: packets are placed as they " +
				"arrive, each by its own RETH, and only lost packets are retransmitted"),
		keys.GroupOf("selective", &keys.Group{Works: selective, Viewed: selective}),
		keys.Size("selective.bdp_cap", &s.Selective.Cap).AtMost(mostSize).Or(auto, int64(hostagent.AutoCap)).Means(
			"most payload of a flow in flight (IRN's BDP-FC). `auto`: the bandwidth-delay product of the longest " +
				"path; `0B`: no limit"),
		keys.Time("selective.rto_low", &s.Selective.LowTimeout).Between("1us", "1s").Means(
			"the timeout while at most `rto_low_packets` packets are in flight, if `retransmit_timeout` (IRN's " +
				"RTO_high) is longer"),
		keys.Integer("selective.rto_low_packets", &s.Selective.LowPackets).AtMost("1048576").Means(
			"IRN's N; 0: `rto_low` is never used"),
		keys.Integer("selective.reorder", &s.Selective.Reorder).Between("1", "1048576").Or(auto, hostagent.AutoReorder).
			Means(
				"a packet counts as lost once a packet sent this many later has arrived. `auto`: 1, as in IRN, if a " +
					"flow has one path; else as far as packets can overtake each other on its paths " +
					"([recovery.md](recovery.md#selective-repeat))"),
		keys.Word("entropy", &s.Entropy, hostagent.EntropyNames...).Optional().Means(
			"UDP source ports of a flow's data packets, which `ecmp` hashes: `flow`, always the flow's own; " +
				"`random`, a new one for each packet; `reps`, once more those of packets that arrived unmarked, " +
				"else random ones ([below](#entropy)). ACK and NAK have the port of the packet that they answer"),
		keys.Word("ip", &s.IP, "ipv4", "ipv6").Optional().Means(
			"IP version of RoCE packets; over `ipv6` each is 20 bytes longer ([below](#roce-over-ipv6))"),
	}
}

// DecodeHost reads the host settings of v, with defaults for the others.
func DecodeHost(v *yamlspec.Value) hostagent.Settings {
	s := DefaultHost()
	Host(&s).Decode(v)
	return s
}

// CheckHost returns all errors of s, as joined FieldErrors; nil: s is valid.
func CheckHost(s *hostagent.Settings) error {
	return errors.Join(Host(s).Check(), s.Validate())
}

package settings

import (
	"errors"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/vtime"
)

// CNPAuto stands for the CNP interval of the simulator that the congestion control's constants are of: that of each run.
const CNPAuto vtime.Time = -1

// DefaultHost are the settings of a scenario's hosts unless it says otherwise.
func DefaultHost() hostagent.Settings {
	s := hostagent.Default()
	s.CNPInterval = CNPAuto
	return s
}

// Host is the table of a host's settings, bound to s.
func Host(s *hostagent.Settings) Table {
	selective := func() bool { return s.Recovery == hostagent.SelectiveRepeat }
	return Table{
		{
			Parameter: schema.Parameter{Name: "data_priority", Kind: schema.Priority, Doc: "of data packets (DSCP: priority times 8, plus 2)"},
			value:     priority{&s.DataPriority},
		},
		{
			Parameter: schema.Parameter{
				Name: "control_priority", Kind: schema.Priority, Doc: "of CNP, and of ACK and NAK if `ack_priority` is `control`",
			},
			value: priority{&s.ControlPriority},
		},
		{
			Parameter: schema.Parameter{
				Name: "ack_priority", Kind: schema.Choice,
				Doc: "of ACK and NAK: `control`, or `data`. With `data` they wait among the data in switches' queues, and count and are paused with it; " +
					"at the host they are still sent before data",
			},
			Resolved: func() any { return s.ACKPriority() }, value: either(&s.ACKsWithData, "control", "data"),
		},
		{
			Parameter: schema.Parameter{
				Name: "ack_when_paused", Kind: schema.Flag,
				Doc: "whether a host sends ACK, NAK and CNP although their priority is paused at its port; data never. Without PFC on that priority it has no effect",
			},
			Unset: true, value: flag{&s.ACKsWhenPaused},
		},
		{
			Parameter: schema.Parameter{
				Name: "ack_every", Kind: schema.Integer, Min: "1", Max: "1048576", Doc: "data packets that one ACK answers; the last is always answered",
			},
			value: integer(&s.AckEvery),
		},
		{
			Parameter: schema.Parameter{
				Name: "coalesce_acks", Kind: schema.Integer, Default: "as `ack_every`", Min: "1", Max: "1048576",
				Doc: "the same under a controller that does not work by ACKs: `none`, `dcqcn`, `dcon`, `pcn`, `dcqcn+tcd`; not on a live fabric, where flows " +
					"of several controllers meet",
			},
			Unset: true, value: integer(&s.CoalesceACKs),
		},
		{
			Parameter: schema.Parameter{
				Name: "cnp_interval", Kind: schema.Time, Default: "`auto`: `50us`, or `0s` under `dcqcn` and what is made of it with `profile: b`",
				Doc: "least time between two CNPs of a flow; `0s`: a CNP for every marked packet. Receivers of HPCC's simulator, whose NIC profile b is, tell of every mark",
			},
			Word: auto, Means: int64(CNPAuto), value: span(&s.CNPInterval),
		},
		{
			Parameter: schema.Parameter{
				Name: "retransmit_timeout", Kind: schema.Time,
				Default: "`0s`: never; `1ms` if the data's priority is lossy, if faults or a watchdog may lose frames, or if load balancing has go-back-N refuse some",
				Doc:     "time without progress after which a flow goes back to the first packet not acknowledged",
			},
			value: span(&s.RetransmitTimeout),
		},
		{
			Parameter: schema.Parameter{Name: "nak_interval", Kind: schema.Time, Doc: "time after which a receiver of go-back-N repeats its NAK while a gap lasts"},
			value:     span(&s.NakInterval),
		},
		{
			Parameter: schema.Parameter{
				Name: "recovery", Kind: schema.Choice,
				Doc: "of losses: `go-back-n`, RoCE's: a receiver takes packets in order alone, and its sender sends all again from the one missed; `selective`, " +
					"IRN's: packets are placed as they come, each by an RETH of its own, and what was lost is sent again and no more",
			},
			Unset: true, value: word(&s.Recovery, "go-back-n", "selective"),
		},
		{Parameter: schema.Parameter{Name: "selective", Kind: schema.Group}, value: &group{works: selective, viewed: selective}},
		{
			Parameter: schema.Parameter{
				Name: "selective.bdp_cap", Kind: schema.Size, Max: mostSize,
				Doc: "most payload of a flow in flight (IRN's BDP-FC); `auto`: the bandwidth-delay product of the longest path; `0B`: no limit",
			},
			Word: auto, Means: int64(hostagent.AutoCap), value: size(&s.Selective.Cap),
		},
		{
			Parameter: schema.Parameter{
				Name: "selective.rto_low", Kind: schema.Time, Min: "1us", Max: "1s",
				Doc: "takes the place of a longer `retransmit_timeout`, IRN's RTO_high, while no more than `rto_low_packets` packets are in flight",
			},
			value: span(&s.Selective.LowTimeout),
		},
		{
			Parameter: schema.Parameter{Name: "selective.rto_low_packets", Kind: schema.Integer, Max: "1048576", Doc: "IRN's N; 0: `rto_low` never counts"},
			value:     integer(&s.Selective.LowPackets),
		},
		{
			Parameter: schema.Parameter{
				Name: "selective.reorder", Kind: schema.Integer, Min: "1", Max: "1048576",
				Doc: "a packet is lost once one that was sent so many after it has arrived; `auto`: 1, IRN's, where a flow has one path, and " +
					"where it has several how far packets overtake each other there ([recovery.md](recovery.md#selective-repeat))",
			},
			Word: auto, Means: hostagent.AutoReorder, value: integer(&s.Selective.Reorder),
		},
		{
			Parameter: schema.Parameter{
				Name: "entropy", Kind: schema.Choice,
				Doc: "the UDP source ports of a flow's data packets, which `ecmp` hashes: `flow`, the flow's own; `random`, another for each packet; `reps`, those of " +
					"packets that have arrived unmarked once more, and others at random ([below](#entropy)). ACK and NAK have that of the packet which they answer",
			},
			Unset: true, value: word(&s.Entropy, hostagent.EntropyNames...),
		},
		{
			Parameter: schema.Parameter{
				Name: "ip", Kind: schema.Choice,
				Doc: "what RoCE packets go over: `ipv4`, or `ipv6`, over which each is 20 bytes longer ([below](#roce-over-ipv6))",
			},
			Unset: true, value: word(&s.IP, "ipv4", "ipv6"),
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

package hostagent

import (
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Settings are a host's settings: what a scenario gives, and what its congestion control asks of hosts.
type Settings struct {
	DataPriority    uint8 // of data packets; sent as DSCP priority*8+2
	ControlPriority uint8 // of CNP, and of ACK and NAK unless ACKsWithData
	// ACKsWithData has ACK and NAK go in DataPriority: they wait in switches' queues among the data, and PAUSE stops
	// them with it. At the host they are still sent before data.
	ACKsWithData bool
	// ACKsWhenPaused has PAUSE not stop what this host answers: ACK, NAK and CNP. It is not for fabrics whose flow
	// control goes by credits.
	ACKsWhenPaused bool
	// AckEvery is how many data packets one ACK answers; a flow's last packet is always answered.
	AckEvery int
	// CoalesceACKs is the same under a congestion control that does not work by ACKs; 0: AckEvery.
	CoalesceACKs int
	// CNPInterval is the least time between two CNPs of one flow at the receiver, 0 for one for every marked packet;
	// PCN's and TCD's come at multiples of it.
	CNPInterval vtime.Time
	// RetransmitTimeout is how long a flow waits without progress before it goes back to the first unacknowledged
	// packet; 0: never.
	RetransmitTimeout vtime.Time
	// NakInterval is the time after which a receiver repeats its NAK for one expected sequence number, which may have
	// been lost. Selective repeat has none: each packet out of order is answered.
	NakInterval vtime.Time
	// Recovery is how flows repair losses.
	Recovery  Recovery
	Selective Selective
	// Entropy is what data packets have as their UDP source ports.
	Entropy Entropy
	// IP is the version of the Internet Protocol that RoCE packets go over. Hosts of a fabric have the same, that of
	// its plan.
	IP wire.Version

	// Quantum are deficit weighted round robin's, in bytes of frames, of data priorities that flows of one NIC have
	// at once; 0: it is served by strict priority. They are the switches'.
	Quantum [8]units.Bytes

	// INT has data packets carry telemetry for switches to fill in (HPCC). Answers carry back what a packet brought
	// whatever this says.
	INT bool
	// Timestamps has data packets carry the time at which they left, for their ACKs to carry back (TIMELY). With INT
	// they do not. Answers carry back what a packet brought whatever this says.
	Timestamps bool
	// Grants has data packets carry their flow's demand, and go only as receivers grant (RCCC). With INT or
	// Timestamps they do not.
	Grants bool
	// Ternary has data packets say ECT(1), receivers take 10 in the ECN field for "undetermined" (UE) besides CE, and
	// answers and CNPs tell of it (ternary congestion detection, TCD).
	Ternary bool
	// Notify is what receivers tell senders of congestion by themselves.
	Notify Notify
}

// Default returns the settings of hosts as the experiments of DCQCN, DCON and TCD have them: ACK per packet in a
// control class, CNP every 50 us (DCQCN paper, section 3.1; DCON paper, section 4.3), a NAK every 500 us at most
// (HPCC's simulator).
func Default() Settings {
	return Settings{
		DataPriority: 3, ControlPriority: 6, AckEvery: 1,
		CNPInterval: 50 * vtime.Microsecond, NakInterval: 500 * vtime.Microsecond,
		Selective: Selective{Cap: AutoCap, LowTimeout: 100 * vtime.Microsecond, LowPackets: 3},
	}
}

// Recovery is how a flow repairs losses.
type Recovery uint8

const (
	// GoBackN sends everything again from the packet that the receiver misses, as RoCE NICs do: receivers take
	// packets in order alone.
	GoBackN Recovery = iota
	// SelectiveRepeat sends again what was lost and no more, as IRN does (Mittal et al., "Revisiting Network Support
	// for RDMA", SIGCOMM 2018, section 3): receivers place packets as they come.
	SelectiveRepeat
)

// AutoCap in the place of Selective's Cap is the bandwidth-delay product of the fabric's longest path.
const AutoCap units.Bytes = -1

// Values of Selective.Reorder.
const (
	AutoReorder  = 0       // as the paths and what switches do about losses ask for; it must have been resolved
	NeverReorder = 1 << 20 // gaps say nothing: what is lost is told by its receiver, or by a timer
)

// Selective are settings of SelectiveRepeat.
type Selective struct {
	// Cap is the most payload in flight: between the first byte not acknowledged and the next to be sent for the
	// first time (IRN's BDP-FC, section 3.2). 0: no limit; AutoCap must have been resolved.
	Cap units.Bytes
	// LowTimeout takes the place of RetransmitTimeout, if that is longer, while no more than LowPackets packets are
	// in flight (IRN's RTO_low and N, section 3.1): so few lost ones have no others behind them that would tell.
	LowTimeout vtime.Time
	LowPackets int
	// Reorder is how many packets further on one must have arrived for a packet to be taken for lost: 1, IRN's, takes
	// every gap for a loss. Where frames of a flow take several paths it is how far they may overtake each other at
	// no cost. Or AutoReorder, or NeverReorder.
	Reorder int
}

// ACKPriority returns the priority of ACK and NAK.
func (s *Settings) ACKPriority() uint8 {
	if s.ACKsWithData {
		return s.DataPriority
	}
	return s.ControlPriority
}

// Validate returns conflicts between settings, as a schema.FieldError, or nil. Package settings checks their bounds.
func (s *Settings) Validate() error {
	if s.Notify == NotifyPCN && s.CNPInterval == 0 {
		return schema.Errorf("cnp_interval", "0 is invalid: PCN's receivers report once per interval (50us in its paper)")
	}
	if s.Recovery == SelectiveRepeat && s.NakInterval != Default().NakInterval {
		return schema.Errorf("nak_interval", "has no effect under recovery selective, whose receivers acknowledge each "+
			"out-of-order packet (leave it out)")
	}
	if own := Default().Selective; s.Recovery == GoBackN && s.Selective != own {
		for _, f := range []struct {
			key string
			set bool
		}{
			{"selective.bdp_cap", s.Selective.Cap != own.Cap},
			{"selective.rto_low", s.Selective.LowTimeout != own.LowTimeout},
			{"selective.rto_low_packets", s.Selective.LowPackets != own.LowPackets},
			{"selective.reorder", s.Selective.Reorder != own.Reorder},
		} {
			if f.set {
				return schema.Errorf(f.key, "has no effect under recovery go-back-n (set recovery: selective, or leave it out)")
			}
		}
	}
	return nil
}

// DataTOS returns the TOS byte of data packets as they leave.
func (s *Settings) DataTOS() uint8 {
	if s.Ternary {
		return wire.DataTOS(s.DataPriority, wire.ECT1) // so that 10 is no more than a mark, and 11 no merger of two
	}
	return wire.DataTOS(s.DataPriority, wire.ECT0)
}

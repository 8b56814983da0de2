package hostagent

import (
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Settings holds a host's settings: those of a scenario, and the requirements of its congestion control.
type Settings struct {
	DataPriority    uint8 // priority of data packets; sent as DSCP priority*8+2
	ControlPriority uint8 // priority of CNP, and of ACK and NAK unless ACKsWithData
	// ACKsWithData puts ACK and NAK into DataPriority: they wait in switches' queues among the data, and PAUSE stops
	// them with it. The host still sends them before data.
	ACKsWithData bool
	// ACKsWhenPaused exempts the answers of this host, ACK, NAK and CNP, from PAUSE. It has no meaning under
	// credit-based flow control.
	ACKsWhenPaused bool
	// AckEvery sets how many data packets one ACK answers; a flow's last packet is always answered.
	AckEvery int
	// CoalesceACKs replaces AckEvery under a congestion control that does not use ACKs; 0: AckEvery.
	CoalesceACKs int
	// CNPInterval sets the minimum time between two CNPs of one flow at the receiver. 0 sends one for every marked
	// packet. PCN's and TCD's CNPs are sent at multiples of it.
	CNPInterval vtime.Time
	// RetransmitTimeout sets how long a flow waits without progress before it goes back to the first unacknowledged
	// packet; 0: no timeout.
	RetransmitTimeout vtime.Time
	// NakInterval sets the time after which a receiver repeats its NAK for an expected sequence number, because the NAK
	// may have been lost. Selective repeat has none: each packet out of order is answered.
	NakInterval vtime.Time
	// Recovery selects how flows repair losses.
	Recovery  Recovery
	Selective Selective
	// Entropy selects the UDP source ports of data packets.
	Entropy Entropy
	// IP selects the IP version of RoCE packets. All hosts of a fabric have the version of its plan.
	IP wire.Version

	// Quantum holds the quanta of deficit weighted round robin, in bytes of frames, between data priorities of flows of
	// one NIC. A priority with 0 is served by strict priority. The values equal the switches'.
	Quantum [8]units.Bytes

	// INT makes data packets carry telemetry for switches to fill in (HPCC). Answers return the telemetry of a packet
	// even if INT is false.
	INT bool
	// Timestamps makes data packets carry their departure time, which their ACKs return (TIMELY). INT disables it.
	// Answers return the timestamp of a packet even if Timestamps is false.
	Timestamps bool
	// Grants makes data packets carry their flow's demand, and limits flows to the bytes that receivers grant (RCCC).
	// INT and Timestamps disable it.
	Grants bool
	// Ternary makes data packets carry ECT(1). Receivers then read 10 in the ECN field as "undetermined" (UE), besides
	// CE, and answers and CNPs report it (ternary congestion detection, TCD).
	Ternary bool
	// Notify selects how receivers notify senders of congestion, apart from ACKs.
	Notify Notify
}

// Default returns the settings of hosts in the experiments of DCQCN, DCON and TCD: ACK per packet in a control class,
// CNP every 50 us (DCQCN paper, section 3.1; DCON paper, section 4.3), a NAK every 500 us at most (HPCC's simulator).
func Default() Settings {
	return Settings{
		DataPriority: 3, ControlPriority: 6, AckEvery: 1,
		CNPInterval: 50 * vtime.Microsecond, NakInterval: 500 * vtime.Microsecond,
		Selective: Selective{Cap: AutoCap, LowTimeout: 100 * vtime.Microsecond, LowPackets: 3},
	}
}

// Recovery selects how a flow repairs losses.
type Recovery uint8

const (
	// GoBackN retransmits all packets from the lost one on, like RoCE NICs. Receivers accept packets only in order.
	GoBackN Recovery = iota
	// SelectiveRepeat retransmits only lost packets, like IRN (Mittal et al., "Revisiting Network Support for RDMA",
	// SIGCOMM 2018, section 3). Receivers place packets in any order.
	SelectiveRepeat
)

// AutoCap makes Selective's Cap the bandwidth-delay product of the fabric's longest path.
const AutoCap units.Bytes = -1

// Values of Selective.Reorder.
const (
	AutoReorder  = 0       // depends on the paths and on how switches report losses; it must have been resolved
	NeverReorder = 1 << 20 // gaps prove no loss: a receiver's report or a timer does
)

// Selective holds settings of SelectiveRepeat.
type Selective struct {
	// Cap limits the payload in flight: between the first byte not acknowledged and the next to be sent for the first
	// time (IRN's BDP-FC, section 3.2). 0: no limit; AutoCap must have been resolved.
	Cap units.Bytes
	// LowTimeout replaces RetransmitTimeout, if that is longer, while no more than LowPackets packets are in flight
	// (IRN's RTO_low and N, section 3.1). With so few packets, no later packet may reveal a loss.
	LowTimeout vtime.Time
	LowPackets int
	// Reorder sets the distance in packets of a later arrival that marks a packet as lost. 1, IRN's value, takes every
	// gap for a loss. If frames of a flow take several paths, it is how far they may overtake each other without
	// retransmissions. It may also be AutoReorder or NeverReorder.
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

package hostagent

import (
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// Settings are a host's settings: what a scenario gives, and what its congestion control asks of hosts.
type Settings struct {
	DataPriority    uint8 // of data packets; sent as DSCP priority*8+2
	ControlPriority uint8 // of CNP, and of ACK and NAK unless ACKsWithData
	// ACKsWithData has ACK and NAK go in DataPriority: they wait in switches' queues among the data, and PAUSE stops them with it. At
	// the host they are still sent before data.
	ACKsWithData bool
	// ACKsWhenPaused has PAUSE not stop what this host answers: ACK, NAK and CNP. It is not for fabrics whose flow control goes by
	// credits.
	ACKsWhenPaused bool
	// AckEvery is how many data packets one ACK answers; a flow's last packet is always answered.
	AckEvery int
	// CoalesceACKs is the same under a congestion control that does not work by ACKs; 0: AckEvery.
	CoalesceACKs int
	// CNPInterval is the least time between two CNPs of one flow at the receiver, 0 for one for every marked packet; PCN's and
	// TCD's come at multiples of it.
	CNPInterval vtime.Time
	// RetransmitTimeout is how long a flow waits without progress before it goes back to the first unacknowledged
	// packet; 0: never.
	RetransmitTimeout vtime.Time
	// NakInterval is the least time between two NAKs for one expected sequence number.
	NakInterval vtime.Time

	// INT has data packets carry telemetry for switches to fill in (HPCC). Answers carry back what a packet brought
	// whatever this says.
	INT bool
	// Timestamps has data packets carry the time at which they left, for their ACKs to carry back (TIMELY). With INT they do not.
	// Answers carry back what a packet brought whatever this says.
	Timestamps bool
	// Ternary has data packets say ECT(1), receivers take 10 in the ECN field for "undetermined" (UE) besides CE, and
	// answers and CNPs tell of it (ternary congestion detection, TCD).
	Ternary bool
	// Notify is what receivers tell senders of congestion by themselves.
	Notify Notify
}

// Default are the settings of hosts as the experiments of DCQCN, DCON and TCD have them: ACK per packet in a control class, CNP every 50 us
// (DCQCN paper, section 3.1; DCON paper, section 4.3), a NAK every 500 us at most (HPCC's simulator).
func Default() Settings {
	return Settings{
		DataPriority: 3, ControlPriority: 6, AckEvery: 1,
		CNPInterval: 50 * vtime.Microsecond, NakInterval: 500 * vtime.Microsecond,
	}
}

// ACKPriority is the priority of ACK and NAK.
func (s *Settings) ACKPriority() uint8 {
	if s.ACKsWithData {
		return s.DataPriority
	}
	return s.ControlPriority
}

// Validate says which settings do not go with others, as a schema.FieldError; nil if all do. Their bounds are in package settings.
func (s *Settings) Validate() error {
	if s.Notify == NotifyPCN && s.CNPInterval == 0 {
		return schema.Errorf("cnp_interval", "0: PCN's receivers report once in each, 50us in its paper")
	}
	return nil
}

// DataTOS is the TOS byte of data packets as they leave.
func (s *Settings) DataTOS() uint8 {
	if s.Ternary {
		return wire.DataTOS(s.DataPriority, wire.ECT1) // so that 10 is no more than a mark, and 11 no merger of two
	}
	return wire.DataTOS(s.DataPriority, wire.ECT0)
}

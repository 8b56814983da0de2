package cc

import (
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Controller represents one flow's congestion control.
//
// The hostagent calls it in virtual-time order, from one goroutine at a time. Meanwhile other goroutines may make and
// call those of other hosts' flows. State that flows share must not change, or needs a lock and must not depend on the
// order of the calls. Embed Base and override the methods that the algorithm uses.
type Controller interface {
	// Rate returns the rate, in bits per second of line time, at which the next packet is paced out.
	Rate() float64
	// Retimes reports whether the last change of the rate moves the departure of the next packet to the time that the
	// new rate would have given it. That departure was scheduled as the packet before left. Retimes is called after
	// each change. Spec.Departure describes when it is true.
	Retimes() bool
	// Window returns the maximum payload bytes in flight, as Sample.InFlight counts them; 0 means no window.
	Window() int64
	// OnSent is called for each data packet as it leaves, with its payload bytes.
	OnSent(now vtime.Time, payload int)
	// OnAck is called for each acknowledgement.
	OnAck(s *Sample)
	// OnCNP is called for each congestion notification packet for the flow.
	OnCNP(s *Sample)
	// OnCNM is called for each congestion notification message from a switch (DCON).
	OnCNM(s *Sample)
	// OnNak is called when losses are found by other means than a timeout: once for all packets that had been sent when
	// it was last called. OnTimeout is called likewise when a retransmission timer expires. See LossCounter for a call
	// for each packet.
	OnNak(now vtime.Time)
	OnTimeout(now vtime.Time)
	// Deadline returns the time at which to call OnTimer next; vtime.Never for no timer. The hostagent reads it again
	// after every call of another method.
	Deadline() vtime.Time
	OnTimer(now vtime.Time)
}

// LossCounter is implemented by controllers that count lost packets. Under selective repeat OnLoss is called for each
// of them, instead of OnNak and OnTimeout.
type LossCounter interface {
	Controller
	// OnLoss is called when a packet with the given payload bytes is marked as lost, and leaves the packets in flight.
	// timeout reports whether its retransmission timer has expired.
	OnLoss(now vtime.Time, payload int64, timeout bool)
}

// Sample holds the information in one ACK, CNP or CNM. Fields that the frame does not carry are zero.
type Sample struct {
	Now vtime.Time // arrival of the frame
	// RTT holds the time since the acknowledged packet was sent; ACK only. It is 0 if unknown: the packet was sent more
	// than once, and the ACK may belong to any copy (Karn's algorithm, RFC 6298 section 3). A controller then uses the
	// rest of the ACK: its acknowledgement and marks.
	RTT         vtime.Time
	AckedBytes  int64 // payload bytes newly acknowledged; ACK only
	AckSequence int64 // payload bytes acknowledged in all, from the start of the flow; ACK only
	NextSend    int64 // payload bytes sent in all: the sequence of the next packet (snd_nxt)
	// payload bytes sent that are neither acknowledged, even out of order, nor marked as lost; a retransmission is in
	// flight again
	InFlight int64
	CE       bool // the packet was marked congestion experienced (echo in the ACK, or the CNP's BECN)
	// the packet was marked undetermined and not CE (ternary congestion detection; echo, or the CNP's FECN)
	UE bool

	// Hops holds the telemetry (INT) of the switches on the acknowledged packet's path, in order, about the ports that
	// it left by: line rate in b/s, 0 if the format cannot represent it; departure in whole nanoseconds, modulo
	// INTTimeWrap; bytes sent by the port, in units of 128, modulo INTTxWrap; bytes left behind in the queue, in units
	// of 80. The caller owns the slice, which is valid during the call; nil without telemetry. ACK only.
	Hops   []INTHop
	PathID uint16 // exclusive or of the 12-bit ids of those switches

	// PCN's report of the time since the previous CNP; CNP only.
	Received      int        // packets of the flow that arrived; 0: the CNP carries no report
	ReceivingRate units.Rate // rate of their arrival, in line time

	CNMFlows int        // N: flows through the congested egress port; CNM only
	CNMRate  units.Rate // C: the congested egress port's rate; CNM only
}

// INTHop holds one switch's telemetry about the port that a packet left by; see Sample.Hops.
type INTHop = wire.INTHop

// Values at which a hop's departure and its bytes sent wrap to 0.
const (
	INTTimeWrap = wire.INTTimeWrap
	INTTxWrap   = wire.INTTxWrap // bytes
)

// Env describes a flow's path to the controller when it is built.
type Env struct {
	LineRate units.Rate // rate of the sender's port
	MinRate  units.Rate // floor; 0: the algorithm's default
	BaseRTT  vtime.Time // RTT of the unloaded path for a full packet and its ACK
	MTU      int        // payload bytes of a full packet
	LineMTU  int64      // line bytes of a full packet
	Seed     uint64     // seed of the flow; a controller must derive all randomness from it

	NetworkRTT vtime.Time // greatest BaseRTT of the fabric's paths; 0: BaseRTT
	// ratio of the send capacity of the fabric's hosts to that of its uplinks; 0 and 1: not oversubscribed
	Oversubscription float64
}

// networkRTT returns NetworkRTT, or BaseRTT if that is not set.
func (e *Env) networkRTT() vtime.Time {
	if e.NetworkRTT == 0 {
		return e.BaseRTT
	}
	return e.NetworkRTT
}

// Departure selects the effect of a change of a flow's rate on the departure of its next packet. That departure was
// scheduled, at the rate of that time, as the packet before left. The effect matters most as many flows start together:
// at line rate first, then far below it.
type Departure string

// Departures. NICs pace by a departure time that they give each packet and do not change (Saeed et al., "Carousel",
// SIGCOMM 2017), and so do the simulators of most algorithms' authors. A control that must act within an RTT moves it.
const (
	DepartureStays Departure = "stays" // the new rate counts from the packet after it
	DepartureMoves Departure = "moves" // the new rate counts from the packet before it
	// DepartureMovesInWindow is for a window that is paced below one packet: the departure stays while the window is
	// less than a packet, and moves otherwise.
	DepartureMovesInWindow Departure = "moves from a window of one packet up"
)

// Presetter is implemented by controllers whose flow may start in the converged state.
type Presetter interface {
	// Preset puts the controller of a flow that starts now into the state after a long time at about this rate, in bits
	// per second of line time, limited to the algorithm's range.
	Preset(now vtime.Time, rate float64)
}

// Base ignores all events and has neither window nor timer. Other controllers embed it, add Rate and Retimes and
// override the methods that they use.
type Base struct{}

// Window returns 0: there is no window.
func (Base) Window() int64 { return 0 }

// OnSent does nothing.
func (Base) OnSent(vtime.Time, int) {}

// OnAck does nothing.
func (Base) OnAck(*Sample) {}

// OnCNP does nothing.
func (Base) OnCNP(*Sample) {}

// OnCNM does nothing.
func (Base) OnCNM(*Sample) {}

// OnNak does nothing.
func (Base) OnNak(vtime.Time) {}

// OnTimeout does nothing.
func (Base) OnTimeout(vtime.Time) {}

// Deadline returns no deadline: there is no timer.
func (Base) Deadline() vtime.Time { return vtime.Never }

// OnTimer does nothing.
func (Base) OnTimer(vtime.Time) {}

package cc

import (
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Controller is one flow's congestion control.
//
// The hostagent calls it in virtual-time order, from one goroutine at a time. Those of other hosts' flows may be
// called, and made, by other goroutines meanwhile: what flows share must not change, or needs a lock and must not
// depend on who comes first. Embed Base and override what the algorithm uses.
type Controller interface {
	// Rate is the rate, in bits per second of line time, at which the next packet may be paced out.
	Rate() float64
	// Retimes says whether a change of the rate that has just happened moves the departure of the next packet, which was
	// timed as the packet before left, to where the new rate would have it. It is asked after each change. Spec.Departure
	// says when it is true.
	Retimes() bool
	// Window is the most payload bytes in flight, as Sample.InFlight counts them; 0 means no window.
	Window() int64
	// OnSent is told of each data packet as it leaves: its payload bytes.
	OnSent(now vtime.Time, payload int)
	// OnAck is told of each acknowledgement.
	OnAck(s *Sample)
	// OnCNP is told of each congestion notification packet for the flow.
	OnCNP(s *Sample)
	// OnCNM is told of each congestion notification message from a switch (DCON).
	OnCNM(s *Sample)
	// OnNak is called as losses are found by other means than a timeout: once for all packets that had been sent when it
	// was last called. OnTimeout is called likewise as a retransmission timer expires. See LossCounter for a call for each
	// packet.
	OnNak(now vtime.Time)
	OnTimeout(now vtime.Time)
	// Deadline is when OnTimer wants to be called next; vtime.Never for no timer. The hostagent asks again after
	// every call of another method.
	Deadline() vtime.Time
	OnTimer(now vtime.Time)
}

// LossCounter is a controller that counts lost packets. Under selective repeat OnLoss is called for each of them, in
// place of OnNak and OnTimeout.
type LossCounter interface {
	Controller
	// OnLoss is called as a packet of so many payload bytes is taken for lost, and leaves the packets in flight. timeout
	// tells that its retransmission timer has expired.
	OnLoss(now vtime.Time, payload int64, timeout bool)
}

// Sample is what one ACK, CNP or CNM says. Fields that the frame does not carry are zero.
type Sample struct {
	Now vtime.Time // when the frame arrived
	// RTT is the time since the acknowledged packet was sent; ACK only. It is 0, which no RTT is, if the ACK tells none:
	// the packet was sent more than once and nobody knows which copy arrived (Karn's algorithm, RFC 6298 section 3). A
	// controller then takes the ACK for what it acknowledges and marks.
	RTT         vtime.Time
	AckedBytes  int64 // payload bytes newly acknowledged; ACK only
	AckSequence int64 // payload bytes acknowledged in all, from the start of the flow; ACK only
	NextSend    int64 // payload bytes sent in all: the sequence of the next packet (snd_nxt)
	// payload bytes sent and neither acknowledged, also out of order, nor known to be lost; a retransmission is in flight
	// again
	InFlight int64
	CE       bool // the packet was marked congestion experienced (ACK echo, or the CNP's BECN)
	UE       bool // it was marked undetermined and not CE (ternary congestion detection; likewise, or the CNP's FECN)

	// Hops are what the switches on the acknowledged packet's way say of the ports that it left by, in order (INT): line
	// rate in b/s, 0 if the format cannot name it; time of departure in whole nanoseconds, modulo INTTimeWrap; bytes
	// sent by the port, in units of 128, modulo INTTxWrap; bytes left behind in the queue, in units of 80. They are
	// the caller's and valid during the call; nil without telemetry. ACK only.
	Hops   []INTHop
	PathID uint16 // exclusive or of the 12-bit ids of those switches

	// PCN's report of the time since the CNP before; CNP only.
	Received      int        // packets of the flow that arrived; 0: the CNP carries no report
	ReceivingRate units.Rate // at which they did, in line time

	CNMFlows int        // N: flows through the congested egress port; CNM only
	CNMRate  units.Rate // C: the congested egress port's rate; CNM only
}

// INTHop is what one switch says of the port that a packet left by; see Sample.Hops.
type INTHop = wire.INTHop

// Where a hop's departure and its bytes sent begin again at 0.
const (
	INTTimeWrap = wire.INTTimeWrap
	INTTxWrap   = wire.INTTxWrap // bytes
)

// Env is what a controller may know about its flow's path when it is built.
type Env struct {
	LineRate units.Rate // of the sender's port
	MinRate  units.Rate // floor; 0: the algorithm's default
	BaseRTT  vtime.Time // of the unloaded path for a full packet and its ACK
	MTU      int        // payload bytes of a full packet
	LineMTU  int64      // line bytes of a full packet
	Seed     uint64     // for the flow; a controller that needs randomness derives it from here only

	NetworkRTT vtime.Time // greatest BaseRTT of the fabric's paths; 0: BaseRTT
	// times that what the fabric's hosts can send exceeds what its uplinks carry; 0 and 1: it does not
	Oversubscription float64
}

// networkRTT returns NetworkRTT, or BaseRTT where that is not set.
func (e *Env) networkRTT() vtime.Time {
	if e.NetworkRTT == 0 {
		return e.BaseRTT
	}
	return e.NetworkRTT
}

// Departure says what a change of a flow's rate does to the departure of its next packet, which was timed, at the rate
// of then, as the packet before left. It matters most as many flows start together: at line rate first, then far below
// it.
type Departure string

// Departures. NICs pace by a time that they give each packet and then keep to (Saeed et al., "Carousel", SIGCOMM 2017),
// and so do the simulators of most algorithms' authors. One that is to act within an RTT moves it.
const (
	DepartureStays Departure = "stays" // the new rate counts from the packet after it
	DepartureMoves Departure = "moves" // the new rate counts from the packet before it
	// DepartureMovesInWindow is for a window that is paced below one packet: the departure stays while the window is less
	// than a packet, and moves from there up.
	DepartureMovesInWindow Departure = "moves from a window of one packet up"
)

// Presetter is a controller whose flow may start as if it had converged.
type Presetter interface {
	// Preset puts the controller of a flow that starts now into the state it has when it has kept about this rate for
	// long, in bits per second of line time, limited to what the algorithm allows.
	Preset(now vtime.Time, rate float64)
}

// Base ignores everything and has neither window nor timer. Others embed it, add Rate and Retimes and override what
// they use.
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

package provenance

import "github.com/pausenet/pausenet/vtime"

// Stage tells what a flow was doing when it waited.
type Stage uint8

// Stages.
const (
	Sending   Stage = iota // it waited to send a packet
	Awaiting               // its window was closed, or nothing was granted: it waited for an ACK, or a grant
	Repairing              // it had nothing more to send: it waited for a NAK, or the retransmission timeout
	Finishing              // everything was sent: the paths of the packet whose ACK ended the flow, and of that ACK
	Stages
)

// What tells how the time was spent.
type What uint8

// Values of What. Those up to Buffered happen at a port.
const (
	Serialising What = iota // onto the link
	Propagating             // along the link
	Queued                  // behind other frames
	Paused                  // PFC, or a lack of credits, paused the port
	Stopped                 // the port did not send although nothing paused it: its link was down
	Buffered                // in a slow receiver's buffer
	Pacing                  // by the congestion control's rate, which was below line rate
	// by the closed window, without an ACK that shows where the time went: something else opened the window, or nothing
	// yet
	Closed
	Timeout    // until the retransmission timeout
	Unanswered // the run ended before the answer arrived
	// its receiver had granted it nothing: other flows had their turns, or its own grants followed the port's rate
	Ungranted
	Whats
)

// SignalKind tells why a congestion control lowers its rate or window.
type SignalKind uint8

// Kinds of signals.
const (
	NoSignal  SignalKind = iota
	Start                // none yet: the initial rate or window
	CNP                  // a congestion notification packet, for a mark
	Echo                 // an ACK that echoed a mark
	CNM                  // a congestion notification message of a switch (DCON)
	Delay                // an ACK, by its RTT, with the port at which it waited longest
	Telemetry            // an ACK, by the telemetry in its packet, with the same port
	NAK                  // go-back-N
	TimedOut             // the retransmission timeout
	Own                  // the control's own timer, or a packet that it sent
	SignalKinds
)

// Signal represents the last event that made a congestion control lower its rate or its window.
type Signal struct {
	Kind SignalKind
	Hold int32 // number of the port's hold that caused its queue; 0: none
	Port int32 // its port, or -1
}

// Part identifies a part of a flow's time, as recorded during the run.
type Part struct {
	Stage         Stage
	What          What
	Retransmitted bool // while the flow retransmitted
	Answer        bool // on the path of an ACK
	Class         int16
	Port          int32 // -1: none
	// Paused: the number of the port's hold; Queued: the number of the hold that caused the queue, 0: none
	Hold   int32
	Signal Signal
}

// Entry holds the time of a part.
type Entry struct {
	Part
	Time vtime.Time
}

// step represents a part of a frame's path.
type step struct {
	what   What
	answer bool
	class  int16
	port   int32
	hold   int32
	time   vtime.Time
}

// String returns the stage's name in files.
func (s Stage) String() string {
	return [Stages]string{"sending", "window", "repair", "last"}[s]
}

// String returns the name in files.
func (w What) String() string {
	return [Whats]string{
		"serialisation", "propagation", "queue", "paused", "stopped", "receiver", "pacing", "window", "timeout", "unanswered",
		"grant",
	}[w]
}

// String returns the signal's name in files; empty: there is none.
func (k SignalKind) String() string {
	return [SignalKinds]string{"", "start", "cnp", "ecn_echo", "cnm", "rtt", "telemetry", "nak", "timeout", "own"}[k]
}

// String returns the kind's name in files.
func (k CauseKind) String() string {
	return [CauseKinds]string{"congestion", "pfc_storm", "slow_receiver", "deadlock", "no_credits", "unknown", "pause"}[k]
}

package provenance

import "github.com/pausenet/pausenet/vtime"

// Stage says what a flow was about when it waited.
type Stage uint8

// Stages.
const (
	Sending   Stage = iota // a packet was to leave its sender
	Awaiting               // the window was closed, or nothing was granted: an ACK, or a grant, was awaited
	Repairing              // nothing more could be sent: a NAK was awaited, or the retransmission timeout
	Finishing              // all had been sent: the way of the packet whose ACK ended the flow, and that ACK's
	Stages
)

// What says what took the time.
type What uint8

// Whats. Those up to Buffered are at a port.
const (
	Serialising What = iota // onto the link
	Propagating             // along it
	Queued                  // behind other frames
	Paused                  // PFC, or a want of credits, paused the port
	Stopped                 // the port did not send though nothing paused it: its link was down
	Buffered                // in a slow receiver's buffer
	Pacing                  // by the congestion control's rate, which was below the line's
	// by its window, with no ACK to tell where the time went: something else opened it, or nothing yet
	Closed
	Timeout    // the retransmission timeout ran
	Unanswered // the run ended before the answer came
	// its receiver had granted it nothing: others had their turns, or it had its own at the rate of the port
	Ungranted
	Whats
)

// SignalKind is what a congestion control lowers its rate or window for.
type SignalKind uint8

// Kinds of signals.
const (
	NoSignal  SignalKind = iota
	Start                // none yet: the rate or window that the flow began with
	CNP                  // a congestion notification packet, for a mark
	Echo                 // an ACK that echoed a mark
	CNM                  // a congestion notification message of a switch (DCON)
	Delay                // an ACK, by its round trip: the port at which that waited longest
	Telemetry            // an ACK, by what switches wrote into its packet; the port likewise
	NAK                  // go-back-N
	TimedOut             // the retransmission timeout
	Own                  // a timer of its own, or a packet that it sent
	SignalKinds
)

// Signal is what had a congestion control lower its rate or its window last.
type Signal struct {
	Kind SignalKind
	Hold int32 // number of the port's hold that its queue was owed to; 0: none
	Port int32 // the port that it came from, or -1
}

// Part is what some of a flow's time is owed to, as it is kept while the run goes on.
type Part struct {
	Stage  Stage
	What   What
	Again  bool // while the flow sent again what it had sent
	Answer bool // on the way of an ACK
	Class  int16
	Port   int32 // -1: none
	Hold   int32 // Paused: the number of the port's hold; Queued: of the one that the queue was owed to, 0: none
	Signal Signal
}

// Entry is the time that is owed to a part.
type Entry struct {
	Part
	Time vtime.Time
}

// step is part of a frame's way.
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

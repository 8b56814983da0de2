// Package provenance records where the time of each flow of a run goes, and why, exactly: the parts of a flow's
// completion time, in picoseconds, add up to it.
//
// A flow's time is taken at its sender. From one departure of a packet to the next the sender waits for its pace, for
// its NIC's port, or, with its window closed or nothing left to send, for an answer. Where an answer was awaited, the
// time is that of the answer's journey, of which as much counts as the wait was long: the packet's way to the receiver
// and the ACK's back, link by link. So each picosecond has one part, and no estimate is in them.
//
// What waits in a queue, waits behind frames of other flows, or because the port is paused. A pause is followed to its
// root: the PAUSE was sent because an ingress port's account had come to XOFF; most of its bytes waited for one egress
// port; that was congested, which is a root, or paused itself, and so on. A queue is owed to a pause rather than to
// congestion if more than half of it would not be there had the port never been paused while as much came.
//
// New makes a Recorder, which is the engine's Tracer. Finish ends its record, Check is the invariant of the sums,
// Result what it comes to. What is recorded of a port or of one end of a flow is its partition's: several workers may
// record at once, and results do not depend on them. Nothing of the run depends on the recorder.
package provenance

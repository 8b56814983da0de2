// Package provenance records where the time of each flow of a run goes, and why. The record is exact: the parts of a
// flow's completion time, in picoseconds, add up to it.
//
// A flow's time is measured at its sender. From one departure of a packet to the next, the sender waits for its pacing,
// for its NIC's port, or, with its window closed or nothing left to send, for an answer. Waiting for an answer is
// divided by the journey of that answer: the packet's path to the receiver and the ACK's path back, link by link, as
// far back as the wait lasted. So each picosecond belongs to one part, without estimates.
//
// A frame waits in a queue behind frames of other flows, or because the port is paused. The recorder follows a pause to
// its root: the PAUSE was sent because an ingress port's account reached XOFF, and most bytes of the account waited for
// one egress port. That port was congested, which makes it the root, or was paused itself, and so on. The cause of a
// queue is a pause rather than congestion if more than half of the queue would not exist without the pause, with the
// same arrivals.
//
// New returns a Recorder, which implements the engine's Tracer. Finish ends its record, Check tests that the parts add
// up, and Result returns the results. The data about a port, or about one end of a flow, belong to its partition, so
// several workers can record at once, and results do not depend on them. The recorder does not influence the run.
package provenance

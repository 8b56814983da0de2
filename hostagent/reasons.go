package hostagent

import (
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// Recorder is told why the packets of a NIC's flows leave when they do. It must not change anything. Between Received and Handled, what it
// is told of is because of that packet; else it is because of a timer, or of the NIC's port, which takes the next packet.
type Recorder interface {
	// Begun is told of a flow that starts to send; its first packet may leave at eligible (vtime.Never: no rate says when).
	Begun(now vtime.Time, flow int, eligible vtime.Time)
	// Sent is told of a data packet as it leaves: whether it was sent before, and whether it is the last that there is to send.
	Sent(now vtime.Time, flow int, f *frame.Frame, again, last bool)
	// Timed is told when the flow's next packet may leave, at the rate that it has now.
	Timed(flow int, eligible vtime.Time)
	// Blocked is told that the window holds the next packet up, which might have left now; Opened that it does no longer.
	Blocked(now vtime.Time, flow int)
	Opened(now vtime.Time, flow int)
	// WentBack is told that the flow sends again from the first byte that is not acknowledged: after a timeout, or else a NAK.
	WentBack(now vtime.Time, flow int, timeout bool)
	// Lowered is told that the flow's congestion control has lowered its rate or its window.
	Lowered(flow int)
	// Received is told of a packet before the NIC deals with it, Handled that it, or a timer, has been dealt with.
	Received(now vtime.Time, f *frame.Frame, p *wire.Packet)
	Handled()
	// Answered is told of an ACK, NAK or CNP that the NIC sends back for a flow.
	Answered(now vtime.Time, flow int, f *frame.Frame, kind wire.Kind)
	// Done is told that a flow's last byte is acknowledged.
	Done(now vtime.Time, flow int)
}

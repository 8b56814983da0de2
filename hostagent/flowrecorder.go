package hostagent

import (
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// Recorder receives the reasons for the departure times of packets of a NIC's flows. Implementations must not change
// anything. Calls between Received and Handled are caused by that packet; others by a timer, or by the NIC's port,
// which takes the next packet.
type Recorder interface {
	// Started is called when a flow starts to send. Its first packet may leave at eligible (vtime.Never: no rate
	// gives a time).
	Started(now vtime.Time, flow int, eligible vtime.Time)
	// Sent is called when a data packet leaves. last means that no packet follows.
	Sent(now vtime.Time, flow int, f *frame.Frame, retransmitted, last bool)
	// Timed is called when the departure of the flow's next packet is scheduled, at its current rate.
	Timed(flow int, eligible vtime.Time)
	// Blocked is called when the window blocks the next packet, which could otherwise leave now.
	Blocked(now vtime.Time, flow int)
	// Opened is called when the window no longer blocks the next packet.
	Opened(now vtime.Time, flow int)
	// WentBack is called when the flow retransmits, after a timeout or a NAK.
	WentBack(now vtime.Time, flow int, timeout bool)
	// Lowered is called when the flow's congestion control has lowered its rate or its window.
	Lowered(flow int)
	// Received is called with a packet before the NIC handles it.
	Received(now vtime.Time, f *frame.Frame, p *wire.Packet)
	// Handled is called after the NIC has handled a packet or a timer.
	Handled()
	// Answered is called when the NIC sends an answer for a flow: an ACK, NAK, CNP, grant or request.
	Answered(now vtime.Time, flow int, f *frame.Frame, kind wire.Kind)
	// Done is called when a flow's last byte is acknowledged.
	Done(now vtime.Time, flow int)
}

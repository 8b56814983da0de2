package orchestrator

import (
	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
)

// Plane carries frames through the pipelines. The engine does not know which plane it drives.
type Plane interface {
	// State is the tables and registers; its Crossing says what the next Cross is for and what became of it.
	State() *ebpf.State
	// Cross takes the frame through the egress pipeline of the port it left and the ingress pipeline of port in, where it
	// arrives, and waits for what comes out. With VerdictForward or VerdictHost the frame is then what came out.
	Cross(in int, f *frame.Frame) error
	// Tap has tap called with each frame as it is on the wire into port in.
	Tap(in int, tap func(wire []byte)) error
	// Check compares the plane's own counts at the end of a run; it returns what does not agree.
	Check() []string
	// Close ends the plane.
	Close() error
}

// Package plane defines the pipelines as an engine uses them: a Plane carries frames through them.
package plane

import (
	"errors"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/topologies"
)

// Names of planes.
const (
	Kernel = "kernel" // the pipelines as eBPF programs on veth pairs
	Wasm   = "wasm"   // the pipelines as WebAssembly in this process, translated to Go
	Wazero = "wazero" // the same WebAssembly run by wazero, for comparison with the translation
)

// Features selects what a fabric does besides forwarding and flow control. A plane and its engine share one value.
type Features = ebpf.Features

// Plane carries frames through the pipelines. An engine works the same on every plane.
type Plane interface {
	// Name returns Kernel, Wasm or Wazero.
	Name() string
	// State returns the tables and registers. Its Pass holds the arguments and results of the Plane's own Process.
	State() *ebpf.State
	// CarriesPayload reports whether frames need their payload and ICRC. Otherwise only a frame's headers are
	// meaningful. The answer does not change once a flow has started.
	CarriesPayload() bool
	Passes
	// Tap calls tap with each frame on the wire into port in. Call Tap before the first flow.
	Tap(in int, tap func(wire []byte)) error
	// Check compares the plane's own counts at the end of a run, and returns the mismatches.
	Check() []string
	// Close ends the plane.
	Close() error
}

// Opener opens the plane of a fabric, like wasmplane.Open.
type Opener func(*topologies.Plan, Features) (Plane, error)

// Passes makes the passes of one worker through the pipelines.
type Passes interface {
	// Process takes a frame through the egress pipeline of the port that it left and the ingress pipeline of port in,
	// where it arrives, and waits for the result. With VerdictForward or VerdictHost, f holds the resulting frame.
	Process(in int, f *frame.Frame) error
	// Header returns the first bytes of a frame after Process, until the next call of it.
	Header(f *frame.Frame) []byte
}

// Parallel extends Plane with passes of several workers at once, each into ports of other switches.
type Parallel interface {
	// NewPasses returns the passes of another worker, and their arguments and results. It returns nil if there are too
	// many workers, or if frames are captured: the order in which a Tap is called must not depend on workers.
	NewPasses() (Passes, *ebpf.Pass, error)
}

// MachineError reports that a plane cannot continue: the machine lacks something, or somebody changed the fabric there.
type MachineError struct{ Err error }

func (m *MachineError) Error() string { return m.Err.Error() }

// Unwrap returns the underlying error.
func (m *MachineError) Unwrap() error { return m.Err }

// ErrUnfinished reports that a frame went into Process and the pipelines did not handle it. In a live fabric a user may
// take down an interface or remove a program.
var ErrUnfinished = errors.New("the pipelines did not finish")

// FrameSize returns the maximum length of a frame in a plan's fabric, rounded up to a cache line.
func FrameSize(plan *topologies.Plan) int { return (plan.InterfaceMTU + 14 + 63) &^ 63 }

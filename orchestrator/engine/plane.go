package engine

import (
	"errors"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
)

// Names of planes.
const (
	PlaneKernel = "kernel" // the pipelines as eBPF programs on veth pairs
	PlaneWasm   = "wasm"   // the pipelines as WebAssembly in this process, translated to Go
	PlaneWazero = "wazero" // the same WebAssembly run by wazero: what the translation is compared with
)

// Features are what a fabric does beside forwarding and flow control: one value for its plane and its engine.
type Features = ebpf.Features

// Plane carries frames through the pipelines. The engine does not know which plane it drives.
type Plane interface {
	// Name is PlaneKernel, PlaneWasm or PlaneWazero.
	Name() string
	// State is the tables and registers; its Pass says what the next Process of the Plane itself is for and what became of it.
	State() *ebpf.State
	// CarriesPayload says whether frames need their payload and ICRC. Without, only a frame's headers are meaningful.
	// It does not change once a flow has started.
	CarriesPayload() bool
	Passes
	// Tap has tap called with each frame as it is on the wire into port in. It comes before the first flow.
	Tap(in int, tap func(wire []byte)) error
	// Check compares the plane's own counts at the end of a run; it returns what does not agree.
	Check() []string
	// Close ends the plane.
	Close() error
}

// Passes is what one lane makes its passes in.
type Passes interface {
	// Process takes the frame through the egress pipeline of the port it left and the ingress pipeline of port in, where it
	// arrives, and waits for what comes out. With VerdictForward or VerdictHost the frame is then what came out.
	Process(in int, f *frame.Frame) error
	// Header is the first bytes of a frame as Process has left it, until the next.
	Header(f *frame.Frame) []byte
}

// lanesPlane is a Plane that several lanes can make passes through at once, each into the ports of other regions.
type lanesPlane interface {
	// Another is what another lane makes its passes in, and what says what they are for and came to; nil if there are too many lanes, or frames
	// are captured: in what order a Tap is called must not depend on lanes.
	Another() (Passes, *ebpf.Pass, error)
}

// MachineError says that a plane cannot go on for what the machine lacks, or for what somebody did to the fabric there.
type MachineError struct{ Err error }

func (m *MachineError) Error() string { return m.Err.Error() }

// Unwrap is the error itself.
func (m *MachineError) Unwrap() error { return m.Err }

// ErrUnfinished is a Plane's: the frame went in, and the pipelines did not deal with it. In a live fabric a user may take an
// interface down or a program away.
var ErrUnfinished = errors.New("the pipelines did not finish")

// unlessUnfinished is err, if it ends a run.
func unlessUnfinished(err error) error {
	if errors.Is(err, ErrUnfinished) {
		return nil
	}
	return err
}

// unprocessed deals with a frame from port p whose pass came to err.
func (l *lane) unprocessed(p *port, f *frame.Frame, err error) error {
	if !errors.Is(err, ErrUnfinished) {
		return err
	}
	l.Hops--
	l.ports[p.peer].arrived--
	l.lostOnWire(p, f, LossDevice)
	return nil
}

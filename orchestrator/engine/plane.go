package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
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

// Opener opens the plane of a fabric: OpenWasmPlane does, and what kernel.Opener returns.
type Opener func(*topologies.Plan, Features) (Plane, error)

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

// fingerprint hashes every frame event of a run, in order: when and where each frame made a pass, what became of it, and the
// bytes that say which frame it was. Equal fingerprints mean equal runs; it is not meant to resist forgery.
type fingerprint struct {
	a, b   uint64
	events uint64
	deep   bool // frames may carry telemetry, or IPv6
}

func (h *fingerprint) mix(v, w uint64) {
	// A 128-bit multiply folds both words into both halves (the step of wyhash).
	hi, lo := bits.Mul64(h.a^v^0xa0761d6478bd642f, h.b^w^0xe7037ed1a0b428db)
	h.a, h.b = bits.RotateLeft64(h.a, 23)^lo, bits.RotateLeft64(h.b, 41)+hi
}

func (h *fingerprint) frame(now vtime.Time, x *ebpf.Pass, length int, data []byte) {
	h.events++
	h.mix(uint64(now), uint64(x.InPort)<<32|uint64(x.Egress))
	// Type and IPv4, UDP, BTH; or PFC's times; or CNM's id, N and C. What follows the BTH only the kernel plane carries.
	h.mix(uint64(x.Verdict)<<56|uint64(x.Trigger)<<48|uint64(x.Want)<<32|uint64(length),
		binary.LittleEndian.Uint64(data[12:]))
	h.mix(binary.LittleEndian.Uint64(data[20:]), binary.LittleEndian.Uint64(data[28:]))
	h.mix(binary.LittleEndian.Uint64(data[36:]), binary.LittleEndian.Uint64(data[44:]))
	h.mix(uint64(binary.LittleEndian.Uint16(data[52:])), h.events)
	if h.deep {
		h.deeper(data)
	}
}

// deeper mixes what of a frame's headers lies beyond those of RoCE over IPv4.
func (h *fingerprint) deeper(data []byte) {
	end := 54 // of the BTH
	if wire.Ethernet(data).Type() == wire.EtherTypeIPv6 {
		if len(data) < ebpf.HeaderBytes6 {
			return
		}
		h.mix(binary.LittleEndian.Uint64(data[54:]), binary.LittleEndian.Uint64(data[62:]))
		h.mix(uint64(binary.LittleEndian.Uint32(data[70:])), 0)
		end += wire.V6.Extra()
	}
	if len(data) >= end+wire.INTLen && data[end-wire.BTHLen]&0xe0 == 0xc0 { // its opcode says that so much of it follows
		t := data[end:]
		h.mix(binary.LittleEndian.Uint64(t), binary.LittleEndian.Uint64(t[8:]))
		h.mix(binary.LittleEndian.Uint64(t[16:]), binary.LittleEndian.Uint64(t[24:]))
		h.mix(binary.LittleEndian.Uint64(t[32:]), uint64(binary.LittleEndian.Uint16(t[40:])))
	}
}

func (h *fingerprint) String() string {
	f := *h
	f.mix(f.events, 0x8ebc6af09c88c6e3)
	f.mix(f.a, f.b)
	return fmt.Sprintf("%016x%016x", f.a, f.b)
}

// Fingerprint is the hash of every frame event so far: those of each region in their order, and of the regions' hashes.
func (e *Engine) Fingerprint() string {
	all := e.regions[0].hash
	for i := range e.regions[1:] {
		h := &e.regions[i+1].hash
		all.mix(h.a, h.b)
		all.events += h.events
	}
	return all.String()
}

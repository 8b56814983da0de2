package engine

import (
	"fmt"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/ebpf/wasm"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/topologies"
)

// WasmPlane carries frames through the pipelines in this process: the kernel plane's C source, compiled to WebAssembly.
// It needs no root and no Linux, and does to each frame exactly what the kernel plane does.
type WasmPlane struct {
	plan    *topologies.Plan
	process *wasm.Pipelines
	done    uint64
	taps    map[int]func(wire []byte)
}

// OpenWasmPlane loads the pipelines and fills in the plan's tables.
func OpenWasmPlane(plan *topologies.Plan, o PlaneOptions) (*WasmPlane, error) {
	sizes := TableSizes(plan, o.Flows, o.Reroute)
	sizes.Telemetry = o.Telemetry
	process, err := wasm.Load(sizes)
	if err != nil {
		return nil, err
	}
	FillTables(plan, &process.State)
	return &WasmPlane{plan: plan, process: process, taps: map[int]func([]byte){}}, nil
}

// Name is "wasm".
func (p *WasmPlane) Name() string { return PlaneWasm }

// State is the pipelines' tables and registers.
func (p *WasmPlane) State() *ebpf.State { return &p.process.State }

// CarriesPayload says whether frames need their payload: only a capture looks at it.
func (p *WasmPlane) CarriesPayload() bool { return len(p.taps) > 0 }

// Cross runs the pipelines on the frame's header.
func (p *WasmPlane) Cross(in int, f *frame.Frame) error {
	x := p.process.State.Pass
	x.Verdict = ebpf.VerdictNone
	p.done++
	if p.process.Telemetry || len(p.taps) > 0 {
		return p.crossSlowly(in, f)
	}
	header := (*[ebpf.HeaderBytes]byte)(f.Data())
	shared := (*[ebpf.HeaderBytes]byte)(p.process.Header[:])
	*shared = *header
	if err := p.process.Process(int(f.Length)); err != nil {
		return p.failed(in, err)
	}
	if x.Verdict == ebpf.VerdictForward || x.Verdict == ebpf.VerdictHost {
		*header = *shared
	}
	return nil
}

func (p *WasmPlane) failed(in int, err error) error {
	return fmt.Errorf("frame into %s: %w", p.plan.Ports[in].Name, err)
}

// crossSlowly copies as much of the header as telemetry takes, and has taps look.
func (p *WasmPlane) crossSlowly(in int, f *frame.Frame) error {
	x := p.process.State.Pass
	header := f.Data()[:ebpf.HeaderBytes]
	if p.process.Telemetry {
		header = f.Data()[:min(len(f.Data()), ebpf.TelemetryBytes)]
	}
	copy(p.process.Header[:], header)
	var err error
	if len(p.taps) > 0 {
		err = p.crossTapped(in, f, header)
	} else {
		err = p.process.Process(int(f.Length))
	}
	if err != nil {
		return p.failed(in, err)
	}
	if x.Verdict == ebpf.VerdictForward || x.Verdict == ebpf.VerdictHost {
		copy(header, p.process.Header[:])
	}
	return nil
}

// crossTapped shows what is on the wire between the two pipelines. A tick is on no wire. The frame itself stays as it is until it comes
// out: one that the ingress pipeline ends never shows what the egress pipeline made of it, tapped or not.
func (p *WasmPlane) crossTapped(in int, f *frame.Frame, header []byte) error {
	if err := p.process.Leave(int(f.Length)); err != nil {
		return err
	}
	if tap := p.taps[in]; tap != nil && p.process.State.Pass.Trigger == ebpf.TriggerNone {
		var before [ebpf.TelemetryBytes]byte
		n := copy(before[:], header)
		copy(header, p.process.Header[:])
		tap(f.Data())
		copy(header, before[:n])
	}
	return p.process.Enter(int(f.Length))
}

// Tap has tap called with each frame as it is on the wire into port in.
func (p *WasmPlane) Tap(in int, tap func(wire []byte)) error {
	p.taps[in] = tap
	return nil
}

// Check compares the pipelines' counts with the crossings made.
func (p *WasmPlane) Check() []string {
	var problems []string
	if x := p.process.State.Pass; x.Done != p.done || x.Marked != p.done {
		problems = append(problems, fmt.Sprintf("%d crossings were begun, %d ended, the egress pipelines saw %d", p.done, x.Done, x.Marked))
	}
	return problems
}

// Close frees the pipelines.
func (p *WasmPlane) Close() error { return p.process.Close() }

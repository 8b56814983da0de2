package engine

import (
	"fmt"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/ebpf/wasm"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/topologies"
)

// WasmPlane carries frames through the pipelines in this process: the kernel plane's C source, compiled to WebAssembly
// and that to Go. It needs no root and no Linux, and does to each frame exactly what the kernel plane does.
type WasmPlane struct {
	name      string
	plan      *topologies.Plan
	pipelines *wasm.Pipelines
	done      uint64
	taps      map[int]func(wire []byte)
}

// OpenWasmPlane loads the pipelines for a fabric of the plan with the given features, and fills in the plan's tables.
func OpenWasmPlane(plan *topologies.Plan, features Features) (*WasmPlane, error) {
	return OpenPlaneIn(PlaneWasm, wasm.Load, plan, features)
}

// OpenPlaneIn is OpenWasmPlane for pipelines in this process that are loaded in another way, under a name of their own.
func OpenPlaneIn(name string, load func(ebpf.Sizes) (*wasm.Pipelines, error), plan *topologies.Plan, features Features) (*WasmPlane, error) {
	pipelines, err := load(TableSizes(plan, features))
	if err != nil {
		return nil, err
	}
	FillTables(plan, &pipelines.State)
	return &WasmPlane{name: name, plan: plan, pipelines: pipelines, taps: map[int]func([]byte){}}, nil
}

// Name is PlaneWasm, or PlaneWazero.
func (p *WasmPlane) Name() string { return p.name }

// State is the pipelines' tables and registers.
func (p *WasmPlane) State() *ebpf.State { return &p.pipelines.State }

// CarriesPayload says whether frames need their payload: only a capture looks at it.
func (p *WasmPlane) CarriesPayload() bool { return len(p.taps) > 0 }

// Process runs the pipelines on the frame's header.
func (p *WasmPlane) Process(in int, f *frame.Frame) error {
	x := p.pipelines.State.Pass
	x.Verdict = ebpf.VerdictNone
	p.done++
	if p.pipelines.State.Features.Telemetry || len(p.taps) > 0 {
		return p.processSlowly(in, f)
	}
	header := (*[ebpf.HeaderBytes]byte)(f.Data())
	shared := (*[ebpf.HeaderBytes]byte)(p.pipelines.Header[:])
	*shared = *header
	if err := p.pipelines.Process(int(f.Length)); err != nil {
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

// processSlowly copies as much of the header as telemetry takes, and has taps look.
func (p *WasmPlane) processSlowly(in int, f *frame.Frame) error {
	x := p.pipelines.State.Pass
	header := f.Data()[:ebpf.HeaderBytes]
	if p.pipelines.State.Features.Telemetry {
		header = f.Data()[:min(len(f.Data()), ebpf.TelemetryBytes)]
	}
	copy(p.pipelines.Header[:], header)
	var err error
	if len(p.taps) > 0 {
		err = p.processTapped(in, f, header)
	} else {
		err = p.pipelines.Process(int(f.Length))
	}
	if err != nil {
		return p.failed(in, err)
	}
	if x.Verdict == ebpf.VerdictForward || x.Verdict == ebpf.VerdictHost {
		copy(header, p.pipelines.Header[:])
	}
	return nil
}

// processTapped shows what is on the wire between the two pipelines. A trigger is on no wire. The frame itself stays as it is until it comes
// out: one that the ingress pipeline ends never shows what the egress pipeline made of it, tapped or not.
func (p *WasmPlane) processTapped(in int, f *frame.Frame, header []byte) error {
	if err := p.pipelines.Leave(int(f.Length)); err != nil {
		return err
	}
	if tap := p.taps[in]; tap != nil && p.pipelines.State.Pass.Trigger == ebpf.TriggerNone {
		var before [ebpf.TelemetryBytes]byte
		n := copy(before[:], header)
		copy(header, p.pipelines.Header[:])
		tap(f.Data())
		copy(header, before[:n])
	}
	return p.pipelines.Enter(int(f.Length))
}

// Tap has tap called with each frame as it is on the wire into port in.
func (p *WasmPlane) Tap(in int, tap func(wire []byte)) error {
	p.taps[in] = tap
	return nil
}

// Check compares the pipelines' counts with the passes made.
func (p *WasmPlane) Check() []string {
	var problems []string
	if x := p.pipelines.State.Pass; x.Done != p.done || x.Marked != p.done {
		problems = append(problems, fmt.Sprintf("%d passes were begun, %d ended, the egress pipelines saw %d", p.done, x.Done, x.Marked))
	}
	return problems
}

// Close frees the pipelines.
func (p *WasmPlane) Close() error { return p.pipelines.Close() }

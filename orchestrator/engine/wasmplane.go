package engine

import (
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/ebpf/wasm"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/topologies"
)

// WasmPlane carries frames through the pipelines in this process: the kernel plane's C source, compiled to WebAssembly
// and that to Go. It needs no root and no Linux, and does to each frame exactly what the kernel plane does.
type WasmPlane struct {
	wasmPasses
	name      string
	pipelines *wasm.Pipelines
	others    []*wasmPasses
}

// wasmPasses is what one lane makes its passes in.
type wasmPasses struct {
	slot  *wasm.Slot
	plan  *topologies.Plan
	ports []ebpf.Port
	deep  int // how many bytes of a frame the pipelines may look at; 0: ebpf.HeaderBytes
	done  uint64
	taps  map[int]func(wire []byte)
}

// OpenWasmPlane loads the pipelines for a fabric of the plan with the given features, and fills in the plan's tables.
func OpenWasmPlane(plan *topologies.Plan, features Features) (Plane, error) {
	return OpenPlaneIn(PlaneWasm, wasm.Load, plan, features)
}

// OpenPlaneIn is OpenWasmPlane for pipelines in this process that are loaded in another way, under a name of their own.
func OpenPlaneIn(name string, load func(ebpf.Sizes) (*wasm.Pipelines, error), plan *topologies.Plan, features Features) (Plane, error) {
	pipelines, err := load(fill.Sizes(plan, features))
	if err != nil {
		return nil, err
	}
	fill.Plan(plan, &pipelines.State)
	first := wasmPasses{
		slot: pipelines.Slot, plan: plan, ports: pipelines.State.Ports, deep: depth(plan, features), taps: map[int]func([]byte){},
	}
	return &WasmPlane{wasmPasses: first, name: name, pipelines: pipelines}, nil
}

// depth is wasmPasses' deep. A live fabric's programs may send anything.
func depth(plan *topologies.Plan, features Features) int {
	switch {
	case features.Live || features.Telemetry && plan.IP == wire.V6:
		return ebpf.TelemetryBytes6
	case features.Telemetry:
		return ebpf.TelemetryBytes
	case plan.IP == wire.V6:
		return ebpf.HeaderBytes6
	}
	return 0
}

// Another is what another lane makes its passes in; nil if there are as many as can be, or frames are captured.
func (p *WasmPlane) Another() (Passes, *ebpf.Pass, error) {
	if len(p.taps) > 0 {
		return nil, nil, nil
	}
	slot, err := p.pipelines.NewSlot()
	if errors.Is(err, wasm.ErrNoSlot) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	another := &wasmPasses{slot: slot, plan: p.plan, ports: p.ports, deep: p.deep}
	p.others = append(p.others, another)
	return another, slot.Pass, nil
}

// Name is PlaneWasm, or PlaneWazero.
func (p *WasmPlane) Name() string { return p.name }

// State is the pipelines' tables and registers.
func (p *WasmPlane) State() *ebpf.State { return &p.pipelines.State }

// CarriesPayload says whether frames need their payload: a capture looks at it, and programs.
func (p *WasmPlane) CarriesPayload() bool { return len(p.taps) > 0 || p.pipelines.State.Features.Live }

// Process runs the pipelines on the frame's header.
func (p *wasmPasses) Process(in int, f *frame.Frame) error {
	x := p.slot.Pass
	x.Verdict = ebpf.VerdictNone
	p.done++
	if f.Form != nil {
		return p.processBrief(in, f)
	}
	if p.deep > 0 || len(p.taps) > 0 {
		return p.processSlowly(in, f)
	}
	own := (*[ebpf.HeaderBytes]byte)(f.Data())
	shared := (*[ebpf.HeaderBytes]byte)(p.slot.Header[:])
	*shared = *own
	if err := p.slot.Process(int(f.Length)); err != nil {
		return p.failed(in, err)
	}
	if comesOut(x.Verdict) {
		*own = *shared
	}
	return nil
}

// comesOut says whether a frame comes out of its pass: to go on, to its NIC, or up a host's stack.
func comesOut(verdict uint32) bool {
	return verdict == ebpf.VerdictForward || verdict == ebpf.VerdictHost || verdict == ebpf.VerdictStack
}

// processBrief makes the header of a frame that has none beside its Form. It left OutPort: only a generated packet has left none.
func (p *wasmPasses) processBrief(in int, f *frame.Frame) error {
	x, length := p.slot.Pass, int(f.Length)
	from := &p.ports[x.OutPort]
	h := (*[wire.BriefLen]byte)(p.slot.Header[:])
	f.Form.Put(h, f.Brief, length, (*wire.MAC)(&from.Mac), (*wire.MAC)(&from.PeerMac))
	if err := p.slot.Process(length); err != nil {
		return p.failed(in, err)
	}
	if x.Verdict == ebpf.VerdictForward || x.Verdict == ebpf.VerdictHost {
		f.Brief = f.Brief.Changed(h)
	} else { // it stays as it was
		f.Form.Put(h, f.Brief, length, (*wire.MAC)(&from.Mac), (*wire.MAC)(&from.PeerMac))
	}
	return nil
}

// Header is the first bytes of a frame as Process has left it.
func (p *wasmPasses) Header(f *frame.Frame) []byte {
	if f.Form != nil {
		return p.slot.Header[:wire.BriefLen]
	}
	return f.Data()
}

func (p *wasmPasses) failed(in int, err error) error {
	return fmt.Errorf("frame into %s: %w", p.plan.Ports[in].Name, err)
}

// processSlowly copies as much of the header as telemetry or IPv6 takes, and has taps look.
func (p *wasmPasses) processSlowly(in int, f *frame.Frame) error {
	x := p.slot.Pass
	header := f.Data()[:ebpf.HeaderBytes]
	if p.deep > 0 {
		header = f.Data()[:min(len(f.Data()), p.deep)]
	}
	copy(p.slot.Header[:], header)
	var err error
	if len(p.taps) > 0 {
		err = p.processTapped(in, f, header)
	} else {
		err = p.slot.Process(int(f.Length))
	}
	if err != nil {
		return p.failed(in, err)
	}
	if comesOut(x.Verdict) {
		copy(header, p.slot.Header[:])
	}
	return nil
}

// processTapped shows what is on the wire between the two pipelines. A trigger is on no wire. The frame itself stays as it is until it comes
// out: one that the ingress pipeline ends never shows what the egress pipeline made of it, tapped or not.
func (p *wasmPasses) processTapped(in int, f *frame.Frame, header []byte) error {
	if err := p.slot.Leave(int(f.Length)); err != nil {
		return err
	}
	if tap := p.taps[in]; tap != nil && p.slot.Pass.Trigger == ebpf.TriggerNone {
		var before [ebpf.TelemetryBytes6]byte
		n := copy(before[:], header)
		copy(header, p.slot.Header[:])
		tap(f.Data())
		copy(header, before[:n])
	}
	return p.slot.Enter(int(f.Length))
}

// Tap has tap called with each frame as it is on the wire into port in.
func (p *WasmPlane) Tap(in int, tap func(wire []byte)) error {
	p.taps[in] = tap
	return nil
}

// Untap ends the tap of port in.
func (p *WasmPlane) Untap(in int) error {
	delete(p.taps, in)
	return nil
}

// Check compares the pipelines' counts with the passes made.
func (p *WasmPlane) Check() []string {
	var problems []string
	begun := p.done
	for _, o := range p.others {
		begun += o.done
	}
	if done, marked := p.pipelines.Counts(); done != begun || marked != begun {
		problems = append(problems, fmt.Sprintf("%d passes were begun, %d ended, the egress pipelines saw %d", begun, done, marked))
	}
	return problems
}

// Close frees the pipelines.
func (p *WasmPlane) Close() error { return p.pipelines.Close() }

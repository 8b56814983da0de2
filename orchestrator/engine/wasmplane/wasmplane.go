// Package wasmplane implements the plane in this process: the kernel plane's C source compiled to WebAssembly, and that
// to Go.
package wasmplane

import (
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/ebpf/wasm"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/topologies"
)

// Plane carries frames through the pipelines in this process. It needs no root and no Linux, and does to each frame
// exactly what the kernel plane does.
type Plane struct {
	passes
	name      string
	pipelines *wasm.Pipelines
	others    []*passes
}

// passes makes the passes of one worker.
type passes struct {
	slot  *wasm.Slot
	plan  *topologies.Plan
	ports []ebpf.Port
	deep  int // bytes of a frame that the pipelines may read; 0: ebpf.HeaderBytes
	done  uint64
	taps  map[int]func(wire []byte)
}

// Open loads the pipelines for a fabric of the plan with the given features, and fills in the plan's tables.
func Open(plan *topologies.Plan, features plane.Features) (plane.Plane, error) {
	return OpenAs(plane.Wasm, wasm.Load, plan, features)
}

// OpenAs works like Open, but calls load for the pipelines and gives the plane another name.
func OpenAs(name string, load func(ebpf.Sizes) (*wasm.Pipelines, error), plan *topologies.Plan,
	features plane.Features,
) (plane.Plane, error) {
	pipelines, err := load(fill.Sizes(plan, features))
	if err != nil {
		return nil, err
	}
	fill.Plan(plan, &pipelines.State)
	first := passes{
		slot: pipelines.Slot, plan: plan, ports: pipelines.State.Ports, deep: depth(plan, features),
		taps: map[int]func([]byte){},
	}
	return &Plane{passes: first, name: name, pipelines: pipelines}, nil
}

// depth returns passes.deep. A live fabric's programs may send anything.
func depth(plan *topologies.Plan, features plane.Features) int {
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

// NewPasses returns the passes of another worker; nil if there are too many workers, or frames are captured.
func (p *Plane) NewPasses() (plane.Passes, *ebpf.Pass, error) {
	if len(p.taps) > 0 {
		return nil, nil, nil
	}
	slot, err := p.pipelines.NewSlot()
	if errors.Is(err, wasm.ErrNoSlot) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	another := &passes{slot: slot, plan: p.plan, ports: p.ports, deep: p.deep}
	p.others = append(p.others, another)
	return another, slot.Pass, nil
}

// Name returns plane.Wasm, or the name passed to OpenAs.
func (p *Plane) Name() string { return p.name }

// State returns the pipelines' tables and registers.
func (p *Plane) State() *ebpf.State { return &p.pipelines.State }

// CarriesPayload reports whether frames need their payload: captures and programs do.
func (p *Plane) CarriesPayload() bool { return len(p.taps) > 0 || p.pipelines.State.Features.Live }

// Process runs the pipelines on the frame's header.
func (p *passes) Process(in int, f *frame.Frame) error {
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

// comesOut reports whether a frame comes out of its pass: to be forwarded, to its NIC, or up a host's stack.
func comesOut(verdict uint32) bool {
	return verdict == ebpf.VerdictForward || verdict == ebpf.VerdictHost || verdict == ebpf.VerdictStack
}

// processBrief processes a frame that has no header besides its Form. It left OutPort: only a generated packet has
// left none.
func (p *passes) processBrief(in int, f *frame.Frame) error {
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

// Header returns the first bytes of a frame as Process has left it.
func (p *passes) Header(f *frame.Frame) []byte {
	if f.Form != nil {
		return p.slot.Header[:wire.BriefLen]
	}
	return f.Data()
}

func (p *passes) failed(in int, err error) error {
	return fmt.Errorf("process a frame that enters %s: %w", p.plan.Ports[in].Name, err)
}

// processSlowly copies the headers, including telemetry or IPv6, and shows the frame to taps.
func (p *passes) processSlowly(in int, f *frame.Frame) error {
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

// processTapped shows a frame to its tap in its form on the wire, between the two pipelines. A trigger is on no wire.
// The frame itself does not change until it comes out. So a frame that the ingress pipeline ends never shows the
// changes of the egress pipeline, tapped or not.
func (p *passes) processTapped(in int, f *frame.Frame, header []byte) error {
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

// Tap calls tap with each frame on the wire into port in.
func (p *Plane) Tap(in int, tap func(wire []byte)) error {
	p.taps[in] = tap
	return nil
}

// Untap ends the tap of port in.
func (p *Plane) Untap(in int) error {
	delete(p.taps, in)
	return nil
}

// Check compares the pipelines' counts with the passes made.
func (p *Plane) Check() []string {
	var problems []string
	started := p.done
	for _, o := range p.others {
		started += o.done
	}
	if done, marked := p.pipelines.Counts(); done != started || marked != started {
		problems = append(problems,
			fmt.Sprintf("%d passes were started, %d ended, the egress pipelines saw %d", started, done, marked))
	}
	return problems
}

// Close frees the pipelines.
func (p *Plane) Close() error { return p.pipelines.Close() }

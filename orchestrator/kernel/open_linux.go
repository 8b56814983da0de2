package kernel

import (
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/ebpf/kernel"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/topologies"
)

// FabricOptions holds the options that are not in the plan.
type FabricOptions struct {
	Features plane.Features
	// Hooks selects how the kernel plane attaches the pipelines.
	Hooks Hooks

	bare         *kernel.Bare // replaces the pipelines
	inProcess    bool         // the pipelines run in this process; see OpenLive
	withoutEntry bool         // as on a machine without TAP interfaces
}

// OpenPlane opens the plane of the given name for a plan.
func OpenPlane(name string, plan *topologies.Plan, o FabricOptions) (plane.Plane, error) {
	switch name {
	case plane.Kernel:
		p, err := Open(plan, o)
		if err != nil {
			return nil, Explain(err)
		}
		return p, nil
	case plane.Wasm:
		return wasmplane.Open(plan, o.Features)
	case plane.Wazero:
		return openWazero(plan, o.Features)
	}
	return nil, fmt.Errorf("unknown plane %q", name)
}

// Open builds a fabric in the kernel and the plane that drives it; closing the plane removes the fabric.
func Open(plan *topologies.Plan, o FabricOptions) (*Plane, error) {
	f, err := NewFabric(plan, o)
	if err != nil {
		return nil, err
	}
	p, err := NewPlane(f, plane.FrameSize(plan))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

// OpenLive opens the named plane of a live fabric: PlaneKernel runs the pipelines in the kernel, PlaneWasm in this
// process.
func OpenLive(name string, plan *topologies.Plan, o FabricOptions) (LivePlane, error) {
	switch name {
	case plane.Kernel:
		p, err := Open(plan, o)
		if err != nil {
			return nil, err
		}
		return p, nil
	case plane.Wasm:
		p, err := openProcess(plan, o)
		if err != nil {
			return nil, err
		}
		return p, nil
	}
	return nil, fmt.Errorf("unknown plane %q for a live fabric (choose %s or %s)", name, plane.Kernel, plane.Wasm)
}

// Fabric returns the fabric that the plane drives.
func (p *Plane) Fabric() *Fabric { return p.fabric }

// Hooks returns how the plane's programs are attached: "tcx" or "clsact".
func (p *Plane) Hooks() string {
	if p.fabric.TCX {
		return "tcx"
	}
	return "clsact"
}

package kernel

import (
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/ebpf/kernel"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
)

// FabricOptions are what is not in the plan.
type FabricOptions struct {
	Features engine.Features
	// Hooks is the way the pipelines are attached on the kernel plane.
	Hooks Hooks

	bare *kernel.Bare // in place of the pipelines
}

// OpenPlane opens the plane of the given name for a plan.
func OpenPlane(name string, plan *topologies.Plan, o FabricOptions) (engine.Plane, error) {
	switch name {
	case engine.PlaneKernel:
		p, err := Open(plan, o)
		if err != nil {
			return nil, Explain(err)
		}
		return p, nil
	case engine.PlaneWasm:
		return openWasm(plan, o.Features)
	case engine.PlaneWazero:
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
	p, err := NewPlane(f, engine.FrameSize(plan))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

// Fabric is the fabric that the plane drives.
func (p *Plane) Fabric() *Fabric { return p.fabric }

// HooksOf says how a plane's programs are attached: "tcx" or "clsact"; empty if they are not.
func HooksOf(p engine.Plane) string {
	k, ok := p.(*Plane)
	switch {
	case !ok:
		return ""
	case k.fabric.TCX:
		return "tcx"
	}
	return "clsact"
}

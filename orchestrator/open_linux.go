package orchestrator

import (
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/ebpf/kernel"
	"github.com/pausenet/pausenet/topologies"
)

// FabricOptions are what is not in the plan.
type FabricOptions struct {
	PlaneOptions
	// Live says whether programs are to use the fabric (Live): the kernel plane's alone.
	Live bool
	// Hooks is the way the pipelines are attached on the kernel plane.
	Hooks Hooks

	bare *kernel.Bare // in place of the pipelines
}

// OpenPlane opens the plane of the given name for a plan.
func OpenPlane(name string, plan *topologies.Plan, o FabricOptions) (Plane, error) {
	switch name {
	case PlaneKernel:
		p, err := OpenKernelPlane(plan, o)
		if err != nil {
			return nil, Explain(err)
		}
		return p, nil
	case PlaneWasm:
		return openWasm(plan, o.PlaneOptions)
	}
	return nil, fmt.Errorf("unknown plane %q", name)
}

// OpenKernelPlane builds a fabric in the kernel and the plane that drives it; closing the plane removes the fabric.
func OpenKernelPlane(plan *topologies.Plan, o FabricOptions) (*KernelPlane, error) {
	f, err := NewFabric(plan, o)
	if err != nil {
		return nil, err
	}
	p, err := NewKernelPlane(f, FrameSize(plan))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

// Fabric is the fabric that the plane drives.
func (p *KernelPlane) Fabric() *Fabric { return p.fabric }

// HooksOf says how a plane's programs are attached: "tcx" or "clsact"; empty if they are not.
func HooksOf(p Plane) string {
	k, ok := p.(*KernelPlane)
	switch {
	case !ok:
		return ""
	case k.fabric.TCX:
		return "tcx"
	}
	return "clsact"
}

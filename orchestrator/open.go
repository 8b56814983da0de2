package orchestrator

import (
	"errors"

	"github.com/pausenet/pausenet/topologies"
)

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

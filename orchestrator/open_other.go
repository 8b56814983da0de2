//go:build !linux

package orchestrator

import (
	"fmt"
	"runtime"

	"github.com/pausenet/pausenet/topologies"
)

// FabricOptions are what is not in the plan.
type FabricOptions struct {
	PlaneOptions
	// Live says whether programs are to use the fabric (Live): the kernel plane's alone.
	Live bool
}

// OpenPlane opens the plane of the given name for a plan.
func OpenPlane(name string, plan *topologies.Plan, o FabricOptions) (Plane, error) {
	switch name {
	case PlaneKernel:
		return nil, fmt.Errorf("the kernel plane needs Linux, this is %s: use --plane wasm", runtime.GOOS)
	case PlaneWasm:
		return openWasm(plan, o.PlaneOptions)
	}
	return nil, fmt.Errorf("unknown plane %q", name)
}

// HooksOf says how a plane's programs are attached: they are not.
func HooksOf(Plane) string { return "" }

//go:build !linux

package kernel

import (
	"fmt"
	"runtime"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
)

// FabricOptions are what is not in the plan.
type FabricOptions struct {
	Features engine.Features
}

// OpenPlane opens the plane of the given name for a plan.
func OpenPlane(name string, plan *topologies.Plan, o FabricOptions) (engine.Plane, error) {
	switch name {
	case engine.PlaneKernel:
		return nil, fmt.Errorf("the kernel plane needs Linux, this is %s: use --plane wasm", runtime.GOOS)
	case engine.PlaneWasm:
		return openWasm(plan, o.Features)
	case engine.PlaneWazero:
		return openWazero(plan, o.Features)
	}
	return nil, fmt.Errorf("unknown plane %q", name)
}

// HooksOf says how a plane's programs are attached: they are not.
func HooksOf(engine.Plane) string { return "" }

//go:build !linux

package kernel

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/topologies"
)

// FabricOptions holds the options that are not in the plan.
type FabricOptions struct {
	Features plane.Features
}

// OpenPlane opens the plane of the given name for a plan.
func OpenPlane(name string, plan *topologies.Plan, o FabricOptions) (plane.Plane, error) {
	switch name {
	case plane.Kernel:
		return nil, fmt.Errorf("the kernel plane needs Linux, but this is %s (use --plane wasm)", runtime.GOOS)
	case plane.Wasm:
		return wasmplane.Open(plan, o.Features)
	case plane.Wazero:
		return openWazero(plan, o.Features)
	}
	return nil, fmt.Errorf("unknown plane %q", name)
}

// FindLeftovers finds nothing: no fabric was ever built in this kernel.
func FindLeftovers() ([]Leftover, error) { return nil, nil }

// Remove does nothing.
func (l *Leftover) Remove() error { return errors.New("this system has no network namespaces") }

// Remedy returns "": no fabric runs in this kernel.
func Remedy(error) string { return "" }

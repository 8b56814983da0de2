//go:build wazero

package kernel

import (
	"github.com/pausenet/pausenet/ebpf/wasm/reference"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
)

// HasWazero says why this program has no wazero plane: it has one.
func HasWazero() error { return nil }

func openWazero(plan *topologies.Plan, features engine.Features) (engine.Plane, error) {
	return engine.OpenPlaneIn(engine.PlaneWazero, reference.Load, plan, features)
}

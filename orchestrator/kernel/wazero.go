//go:build wazero

package kernel

import (
	"github.com/pausenet/pausenet/ebpf/wasm/reference"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/topologies"
)

// CheckWazero returns nil: this program includes the wazero plane.
func CheckWazero() error { return nil }

func openWazero(plan *topologies.Plan, features plane.Features) (plane.Plane, error) {
	return wasmplane.OpenAs(plane.Wazero, reference.Load, plan, features)
}

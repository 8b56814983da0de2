package kernel

import (
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
)

// openWasm returns no plane, rather than one that is nil, with an error.
func openWasm(plan *topologies.Plan, features engine.Features) (engine.Plane, error) {
	p, err := engine.OpenWasmPlane(plan, features)
	if err != nil {
		return nil, err
	}
	return p, nil
}

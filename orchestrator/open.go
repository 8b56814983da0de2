package orchestrator

import "github.com/pausenet/pausenet/topologies"

// openWasm returns no plane, rather than one that is nil, with an error.
func openWasm(plan *topologies.Plan, o PlaneOptions) (Plane, error) {
	p, err := OpenWasmPlane(plan, o)
	if err != nil {
		return nil, err
	}
	return p, nil
}

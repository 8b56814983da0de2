package engine_test

import (
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/topologies"
)

func init() {
	engine.OpenKernel = func(plan *topologies.Plan, features engine.Features) (engine.Plane, error) {
		return kernel.OpenPlane(engine.PlaneKernel, plan, kernel.FabricOptions{Features: features})
	}
}

package engine_test

import (
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/topologies"
)

func init() {
	engine.OpenKernel = func(plan *topologies.Plan, features plane.Features) (plane.Plane, error) {
		return kernel.OpenPlane(plane.Kernel, plan, kernel.FabricOptions{Features: features})
	}
}

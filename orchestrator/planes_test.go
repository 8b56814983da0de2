package orchestrator_test

import (
	"github.com/pausenet/pausenet/orchestrator"
	"github.com/pausenet/pausenet/topologies"
)

func init() {
	orchestrator.OpenKernel = func(plan *topologies.Plan, o orchestrator.PlaneOptions) (orchestrator.Plane, error) {
		return orchestrator.OpenPlane(orchestrator.PlaneKernel, plan, orchestrator.FabricOptions{PlaneOptions: o})
	}
}

package planefuzz_test

import (
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// fabricOptions attach the programs by clsact, where a fabric comes up much sooner than with TCX.
func fabricOptions(s *scenario.Scenario) kernel.FabricOptions {
	return kernel.FabricOptions{PlaneOptions: engine.PlaneOptions{Flows: detects(s), Telemetry: stamps(s), Reroute: true}, Hooks: kernel.HooksClsact}
}

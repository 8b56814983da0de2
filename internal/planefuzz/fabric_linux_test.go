package planefuzz_test

import (
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator"
)

// fabricOptions attach the programs by clsact, where a fabric comes up much sooner than with TCX.
func fabricOptions(s *scenario.Scenario) orchestrator.FabricOptions {
	return orchestrator.FabricOptions{PlaneOptions: orchestrator.PlaneOptions{Flows: detects(s), Telemetry: stamps(s), Reroute: true}, Hooks: orchestrator.HooksClsact}
}

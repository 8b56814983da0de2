package planefuzz_test

import (
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// fabricOptions attach the programs by clsact, where a fabric comes up much sooner than with TCX.
func fabricOptions(s *scenario.Scenario) kernel.FabricOptions {
	return kernel.FabricOptions{Features: featuresOf(s), Hooks: kernel.HooksClsact}
}

//go:build !linux

package planefuzz_test

import (
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// fabricOptions returns the options of the wasm plane, the only one here.
func fabricOptions(s *scenario.Scenario) kernel.FabricOptions {
	return kernel.FabricOptions{Features: featuresOf(s)}
}

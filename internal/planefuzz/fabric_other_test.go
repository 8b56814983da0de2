//go:build !linux

package planefuzz_test

import (
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// fabricOptions are for the wasm plane; there is no other here.
func fabricOptions(s *scenario.Scenario) kernel.FabricOptions {
	return kernel.FabricOptions{Features: featuresOf(s)}
}

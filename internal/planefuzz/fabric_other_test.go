//go:build !linux

package planefuzz_test

import (
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator"
)

// fabricOptions are for the wasm plane; there is no other here.
func fabricOptions(s *scenario.Scenario) orchestrator.FabricOptions {
	return orchestrator.FabricOptions{PlaneOptions: orchestrator.PlaneOptions{Flows: detects(s), Telemetry: stamps(s), Reroute: true}}
}

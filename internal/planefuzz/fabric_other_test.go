//go:build !linux

package planefuzz_test

import (
	"github.com/pausenet/pausenet/experiments"
	"github.com/pausenet/pausenet/orchestrator"
)

// fabricOptions are for the wasm plane; there is no other here.
func fabricOptions(s *experiments.Scenario) orchestrator.FabricOptions {
	return orchestrator.FabricOptions{PlaneOptions: orchestrator.PlaneOptions{Flows: detects(s), Telemetry: stamps(s), Reroute: true}}
}

package engine

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/switchagent"
)

// TestFeaturesAgree: an engine is made on a plane that was opened for its features, and for no others.
func TestFeaturesAgree(t *testing.T) {
	plan := parsePlan(t, "star: {hosts: 2}")
	sw, host := switchagent.Default(), hostagent.Default()
	all := []plane.Features{
		{},
		{BurstDetection: true},
		{Telemetry: true},
		{Reroute: true},
		{Live: true},
		{Flowlets: true},
		{BurstDetection: true, Telemetry: true},
	}
	for _, name := range []string{plane.Wasm, plane.Kernel} {
		t.Run(name, func(t *testing.T) {
			for _, has := range all {
				opened := openPlane(t, name, plan, has)
				for _, wants := range all {
					e, err := New(Config{
						Plan: plan, Plane: opened, Switches: []*switchagent.Settings{&sw}, Hosts: &host,
						Features: wants,
					})
					if wants == has {
						if err != nil {
							t.Errorf("%v: %v", has, err)
						}
						continue
					}
					if err == nil || e != nil {
						t.Errorf("a plane for %v was taken for %v", has, wants)
					} else if text := err.Error(); !strings.Contains(text, "these features: "+has.String()+";") ||
						!strings.Contains(text, "these: "+wants.String()+" (") {
						t.Errorf("the error does not say what differs: %v", err)
					}
				}
				if err := opened.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

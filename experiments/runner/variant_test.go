package runner

import (
	"reflect"
	"testing"

	"github.com/pausenet/pausenet/experiments/internal/lab"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
)

// TestVariants checks that a variant's run equals that of a scenario with the variant's settings.
func TestVariants(t *testing.T) {
	testenv.WholeScenario(t)
	s := parse(t, lab.Variants)
	if want := []string{
		"dcqcn", "dcqcn-half", "dcqcn-xoff", "dcqcn-acks",
		"dcqcn-class",
	}; !reflect.DeepEqual(s.Controllers, want) {
		t.Fatalf("controllers %q, want %q", s.Controllers, want)
	}
	wasm := func(s *scenario.Scenario, controller string) *outcome {
		return run(t, s, controller, Options{Plane: wasmplane.Open})
	}
	seen := map[string]string{}
	for name, sets := range map[string][]string{
		"dcqcn": nil, "dcqcn-half": {"cc.dcqcn.initial_alpha=1/2"}, "dcqcn-xoff": {"switch.pfc.xoff=40KB"},
		"dcqcn-acks": {"host.ack_every=3"}, "dcqcn-class": {"host.data_priority=4"},
	} {
		got, want := wasm(s, name), wasm(parse(t, lab.Variants, sets...), "dcqcn")
		if got.Summary.Fingerprint != want.Summary.Fingerprint {
			t.Errorf("%s: %s, and %s with %q", name, got.Summary.Fingerprint, want.Summary.Fingerprint, sets)
		}
		if other := seen[got.Summary.Fingerprint]; other != "" {
			t.Errorf("%s and %s are one run: this tests nothing", name, other)
		}
		seen[got.Summary.Fingerprint] = name
		m := got.json("manifest.json")
		if got.Summary.Controller != name || got.Controller != name || m["controller"] != name ||
			m["congestion_control"] != "dcqcn" {
			t.Errorf("%s: summary of %s, manifest of %v", name, got.Summary.Controller, m["controller"])
		}
		// The manifest has the constants that apply: the variant's, the scenario's, the defaults.
		constants := m["controller_constants"].([]any)[0].(map[string]any)["values"].(map[string]any)
		alpha := "1"
		if name == "dcqcn-half" {
			alpha = "0.5"
		}
		if constants["initial_alpha"] != alpha || constants["g"] != "0.0078125" || constants["rai"] != "80Mbps" ||
			constants["alpha_timer"] != "55us" {
			t.Errorf("%s: constants %v", name, constants)
		}
	}
}

// TestCoalescedACKs checks that receivers coalesce ACKs under controllers that do not use them, and under no other.
func TestCoalescedACKs(t *testing.T) {
	testenv.WholeScenario(t)
	for _, name := range []string{"none", "dcqcn", "dcon", "pcn", "swift", "timely", "dcqcn+win"} {
		works := name == "swift" || name == "timely" || name == "dcqcn+win"
		prints := map[string]string{}
		for _, set := range []string{"ack_every=1", "coalesce_acks=7", "ack_every=7"} {
			s := parse(t, lab.Small, "host."+set)
			prints[set] = run(t, s, name, Options{Plane: wasmplane.Open}).Summary.Fingerprint
		}
		want := "ack_every=7"
		if works {
			want = "ack_every=1"
		}
		if prints["coalesce_acks=7"] != prints[want] || prints["ack_every=1"] == prints["ack_every=7"] {
			t.Errorf("%s: want coalesce_acks=7 to be %s: %q", name, want, prints)
		}
	}
}

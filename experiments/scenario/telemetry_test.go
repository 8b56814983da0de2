package scenario

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/topologies/spec"
)

// A controller that needs telemetry does not run over links that telemetry has no code for; others do.
func TestTelemetryNeedsCodedRates(t *testing.T) {
	for rate, fits := range map[string]bool{
		"40Gbps": true, "400Gbps": true, "1Gbps": true, "2500Mbps": true,
		"800Gbps": true, "1600Gbps": true, "56Gbps": false, "20Gbps": false,
	} {
		plan, err := spec.Parse("star.yaml", []byte("star: {hosts: 2}\nrate: "+rate))
		if err != nil {
			t.Fatal(err)
		}
		err = telemetryFits(plan, &cc.Spec{Name: "hpcc", Needs: cc.SwitchNeeds{INT: true}})
		if (err == nil) != fits || err != nil && !strings.Contains(err.Error(), "s0:h0 is a link of") {
			t.Errorf("%s: %v", rate, err)
		}
		if err := telemetryFits(plan, &cc.Spec{Name: "dcqcn"}); err != nil {
			t.Errorf("%s: %v", rate, err)
		}
	}
}

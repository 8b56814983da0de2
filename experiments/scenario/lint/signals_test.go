package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/pausenet/pausenet/controllerfile/star"
	"github.com/pausenet/pausenet/experiments/scenario"
)

// TestWarningsOfTelemetry checks the warning about a minimum rate at which telemetry counters wrap between two ACKs,
// and the sufficient rate in it: 1124 bytes in less than 8.388608ms.
func TestWarningsOfTelemetry(t *testing.T) {
	const tooLow = "cc.hpcc.min_rate, %s, is too low: a flow at this rate would stay there, as telemetry counters wrap " +
		"between two of its ACKs; raise it to %s"
	for _, c := range []struct{ sets, want string }{
		{"cc.hpcc.min_rate=1Mbps", fmt.Sprintf(tooLow, "1Mbps", "2Mbps")},
		{"cc.hpcc.min_rate=2Mbps", ""},
		{"cc.hpcc.min_rate=2Mbps host.ack_every=16", fmt.Sprintf(tooLow, "2Mbps", "18Mbps, or lower host.ack_every")},
		{"cc.hpcc.min_rate=18Mbps host.ack_every=16", ""},
	} {
		got := ""
		for _, text := range Warnings(mustLoad(t, "incast", strings.Fields(c.sets)...), []string{"hpcc"}) {
			if strings.Contains(text, "min_rate") {
				got = text
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.sets, got, c.want)
		}
	}
}

// TestTelemetryWithoutLeastRate checks that a controller that reads telemetry and has no parameter min_rate gets the
// same warning.
func TestTelemetryWithoutLeastRate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.star")
	const source = "def init(flow):\n    flow.rate = path.line_rate\n\ndef on_ack(flow, ack):\n" +
		"    for hop in ack.hops:\n        flow.rate = hop.rate\n"
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "topology: star\nduration: 1ms\ncontrollers: [" + path + "]\nflows: [{from: h0, to: h1, size: 1KB}]\n"
	s := parse(t, text)
	if err := scenario.Check(s, s.Controllers); err != nil {
		t.Error(err)
	}
	_ = Warnings(s, s.Controllers) // without a panic
}

//go:build linux

package live

import (
	"strings"
	"testing"
	"time"

	"github.com/pausenet/pausenet/orchestrator/wallclock"
	"github.com/pausenet/pausenet/topologies/spec"
)

// TestSlowdownWarning checks that a slow-down that the machine cannot follow, or that outlasts TCP's timeout, gets a
// warning with the arithmetic, and that a suitable one gets none.
func TestSlowdownWarning(t *testing.T) {
	t.Parallel()
	const pass = 500 * time.Nanosecond
	for _, name := range spec.BuiltinNames() {
		plan, err := spec.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		if text := slowdownWarning(plan, pass, wallclock.FittingSlowdown(plan, pass)); text != "" {
			t.Errorf("%s: %s", name, text)
		}
	}
	plan, err := spec.Builtin("small")
	if err != nil {
		t.Fatal(err)
	}
	// A host sends 1.16 million packets a second at 10 Gb/s, over 4 links, and as many answers come back.
	for slowdown, want := range map[float64]string{
		1: "--slowdown 1 is too low for this machine: one host at line rate makes 9.24e+06 pipeline passes a second " +
			"of 500ns each, which needs 4.62 processors, but the fabric has one (try --slowdown 20, enough for a quarter of the hosts)",
		5:     "",
		10000: "",
		1e6:   "--slowdown 1e+06 is too high for TCP: a round trip between ",
	} {
		if text := slowdownWarning(plan, pass, slowdown); !strings.HasPrefix(text, want) || (want == "") != (text == "") {
			t.Errorf("%g: %q, want %q", slowdown, text, want)
		}
	}
}

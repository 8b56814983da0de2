package command

import (
	"fmt"
	"io"
	"testing"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// TestRunError checks that a congestion control that panics counts as a failed run, not as a mistake in the command,
// and that a fabric too large for the user's plane counts as a mistake.
func TestRunError(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{&engine.PanicError{Location: "mine, flow 0 (h0 to h1)"}, exitVerdict},
		{&runner.EnvironmentError{Err: io.ErrClosedPipe}, exitEnvironment},
		{&runner.EnvironmentError{Err: &kernel.TooLargeError{}}, exitBadInput},
	} {
		if code := exit(io.Discard, runError(fmt.Errorf("incast under mine: %w", c.err))); code != c.code {
			t.Errorf("%v: exit code %d, want %d", c.err, code, c.code)
		}
	}
}

package command

import (
	"fmt"
	"io"
	"testing"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// TestRunError: a congestion control that panics is a run that failed, not a mistake in the command; a fabric too large
// for the plane that the user chose is one.
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

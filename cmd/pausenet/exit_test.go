package main

import (
	"fmt"
	"io"
	"testing"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

// TestRunError: a congestion control that panics is a run that failed, not a mistake in the command.
func TestRunError(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{&engine.PanicError{Place: "mine, flow 0 (h0 to h1)"}, exitVerdict},
		{&runner.EnvironmentError{Err: io.ErrClosedPipe}, exitEnvironment},
	} {
		if code := exit(io.Discard, runError(fmt.Errorf("incast under mine: %w", c.err))); code != c.code {
			t.Errorf("%v: exit code %d, want %d", c.err, code, c.code)
		}
	}
}

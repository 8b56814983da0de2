package runner

import "github.com/pausenet/pausenet/orchestrator/engine"

// checkpoints holds a run's fingerprints at its samples. A second run is compared with them, and stopped at the first
// difference.
type checkpoints struct {
	all  []string
	with *checkpoints // of the first run; nil: this is the first
	stop func()
}

// sample adds the fingerprint, and stops a second run if it differs from the first. A nil c does nothing.
func (c *checkpoints) sample(e *engine.Engine) {
	if c == nil {
		return
	}
	c.all = append(c.all, e.Fingerprint())
	if n := len(c.all); c.with != nil && (n > len(c.with.all) || c.all[n-1] != c.with.all[n-1]) {
		c.stop()
	}
}

//go:build linux

package live

import (
	"github.com/pausenet/pausenet/experiments/counters"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

// Counters reads the counters of all ports since bring-up.
func (f *Fabric) Counters() (c *counters.Fabric, err error) {
	err = f.Do(func(e *engine.Engine) error {
		c = counters.Of(f.Name, e, e)
		return nil
	})
	return c, err
}

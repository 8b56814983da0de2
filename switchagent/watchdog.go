package switchagent

import "github.com/pausenet/pausenet/vtime"

// Watchdog holds the settings of the PFC watchdog of a switch's egress queues, as in SONiC: a queue that PFC has paused
// without interruption for Detect is in a storm, until no PAUSE has stopped it for Restore.
type Watchdog struct {
	Detect, Restore vtime.Time // Detect 0 disables the watchdog
	// Forward makes a queue in a storm send although it is paused. Otherwise its frames, and arriving ones, are
	// dropped.
	Forward bool
}

// On reports whether the watchdog is enabled.
func (w *Watchdog) On() bool { return w.Detect > 0 }

package switchagent

import "github.com/pausenet/pausenet/vtime"

// Watchdog is the PFC watchdog of a switch's egress queues, SONiC's: a queue that PFC has paused without interruption
// for Detect is in a storm, until no PAUSE has stopped it for Restore.
type Watchdog struct {
	Detect, Restore vtime.Time // Detect 0: there is no watchdog
	// Forward has a queue in a storm send although it is paused; otherwise its frames, and those to come, are dropped.
	Forward bool
}

// On reports whether there is flow control.
func (w *Watchdog) On() bool { return w.Detect > 0 }

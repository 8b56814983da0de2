//go:build linux

package live

import (
	"fmt"

	"github.com/pausenet/pausenet/internal/vtime"
)

// watcher is told what happens and tells who waits for it. It runs on the engine's goroutine alone.
type watcher struct {
	ends map[int]func(now vtime.Time) // by flow
}

func newWatcher() *watcher { return &watcher{ends: map[int]func(vtime.Time){}} }

// FlowDone implements orchestrator.Observer.
func (w *watcher) FlowDone(now vtime.Time, flow int) {
	if f := w.ends[flow]; f != nil {
		delete(w.ends, flow)
		f(now)
	}
}

// PFC implements orchestrator.Observer.
func (w *watcher) PFC(vtime.Time, int, uint8, bool) {}

// percent is a share as text.
func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

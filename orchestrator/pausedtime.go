package orchestrator

import (
	"math/bits"

	"github.com/pausenet/pausenet/internal/vtime"
	"github.com/pausenet/pausenet/switchagent"
)

// pausedTime is how long PFC has held the queue of a port and a priority. It is kept in live fabrics, as PFC frames arrive.
type pausedTime struct {
	total        vtime.Time // of periods before the last
	since, until vtime.Time // of the last
}

// notePaused looks at the queues of a port that a PFC frame has come to, or whose pauses are about to be forgotten.
func (e *Engine) notePaused(p *port) {
	for m := e.pfcAtEither(p); m != 0; m &= m - 1 {
		i := bits.TrailingZeros8(m)
		e.pausedOf(int(p.id), uint8(i)).follow(vtime.Time(e.state.Ports[p.id].Class[i].OffSince), vtime.Time(e.state.Ports[p.id].Class[i].PausedUntil))
	}
}

// pfcAtEither are the priorities that a port may be paused for.
func (e *Engine) pfcAtEither(p *port) uint8 {
	if p.isSwitch {
		return e.settings[p.index].PFC.Priorities
	}
	return e.pfcAt(p).Priorities
}

func (e *Engine) pausedOf(port int, priority uint8) *pausedTime {
	return &e.paused[port*switchagent.Priorities+int(priority)]
}

func (t *pausedTime) follow(since, until vtime.Time) {
	if since != t.since {
		t.total += max(0, min(t.until, since)-t.since)
		t.since = since
	}
	t.until = until
}

// PausedTime is for how long PFC has held the queue of port p and a priority, up to now. It is of live fabrics; 0 of others.
func (e *Engine) PausedTime(p int, priority uint8) vtime.Time {
	if e.paused == nil {
		return 0
	}
	t := *e.pausedOf(p, priority)
	c := &e.state.Ports[p].Class[priority]
	t.follow(vtime.Time(c.OffSince), vtime.Time(c.PausedUntil))
	return t.total + max(0, min(t.until, e.now)-t.since)
}

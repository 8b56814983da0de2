package orchestrator

import (
	"slices"

	"github.com/pausenet/pausenet/vtime"
)

// step does the first thing that is due in a fabric of one region: a call or an event, at the given time.
func (e *Engine) step(at vtime.Time) error {
	if at >= e.circles.next {
		e.lookForCircles(at)
	}
	if len(e.calls) > 0 && e.calls[0].at == at {
		c := e.calls[0]
		e.calls = slices.Delete(e.calls, 0, 1)
		e.now = max(e.now, at)
		e.Events++
		c.f(at)
		e.tell()
		return e.failed
	}
	events := &e.regions[0].events
	ev := events.pop()
	e.now = max(e.now, ev.at)
	e.settled = e.now
	e.Events++
	err := e.handle(ev)
	e.due[0] = events.next()
	e.last = max(e.last, e.now)
	e.tell()
	return err
}

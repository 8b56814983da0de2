package engine

import (
	"math/bits"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// watch holds the watchdog's state of an egress queue.
type watch struct {
	armed bool // an event is scheduled
	storm bool
	at    vtime.Time // time of that event; others are stale
}

// watchdogs holds the watchdogs' states of all egress queues, by port and priority. It is nil if no switch has a
// watchdog.
type watchdogs []watch

func (e *Engine) newWatchdogs() {
	for _, s := range e.settings {
		if w := &s.PFC.Watchdog; w.On() {
			e.keepWatchdogs()
			e.quiescence = max(e.quiescence, 4*(w.Detect+w.Restore))
		}
	}
}

// keepWatchdogs creates the watchdogs' states on the first call.
func (e *Engine) keepWatchdogs() {
	if e.watchdogs == nil {
		e.watchdogs = make(watchdogs, len(e.ports)*switchagent.Priorities)
	}
}

// of returns the state of the queue of a port and a priority.
func (d watchdogs) of(port int32, priority uint8) *watch {
	return &d[int(port)*switchagent.Priorities+int(priority)]
}

// watchPort starts to watch the paused queues of a port.
func (d watchdogs) watchPort(w *worker, p *port) {
	if !p.isSwitch || !w.settings[p.index].PFC.Watchdog.On() {
		return
	}
	settings := &w.settings[p.index].PFC
	for m := settings.Priorities; m != 0; m &= m - 1 {
		priority := uint8(bits.TrailingZeros8(m))
		q := d.of(p.id, priority)
		if q.armed || !w.state.Paused(int(p.id), priority, w.now) {
			continue
		}
		q.armed = true
		since := vtime.Time(w.state.Ports[p.id].Class[priority].OffSince)
		d.setTimer(w, p.id, priority, max(since+settings.Watchdog.Detect, w.now))
	}
}

// setTimer sets the watchdog's timer of a queue.
func (d watchdogs) setTimer(w *worker, id int32, priority uint8, at vtime.Time) {
	d.of(id, priority).at = at
	w.push(w.ports[id].partition, at, eventWatch, id<<3|int32(priority))
}

// setWatchdog changes the watchdog of a running switch: storms end, and paused queues are watched anew.
func (e *Engine) setWatchdog(index int, dog switchagent.Watchdog) error {
	settings := &e.settings[index].PFC
	was := settings.Watchdog
	if settings.Watchdog = dog; dog.On() {
		e.keepWatchdogs()
	}
	if e.watchdogs == nil {
		return nil
	}
	for _, id := range e.switchPorts(index) {
		p := &e.ports[id]
		for m := settings.Priorities; m != 0; m &= m - 1 {
			priority := uint8(bits.TrailingZeros8(m))
			q := e.watchdogs.of(p.id, priority)
			if q.storm {
				e.watchdogs.endStorm(&e.worker, p, priority, was.Forward)
				e.note(int(p.id), EventStormEnd, "priority %d: the watchdog was changed", priority)
			}
			*q = watch{}
		}
		e.watchdogs.watchPort(&e.worker, p)
		if err := e.serve(p); err != nil {
			return err
		}
	}
	return nil
}

// endStorm returns a queue to normal.
func (watchdogs) endStorm(w *worker, p *port, priority uint8, forward bool) {
	if forward {
		w.switches[p.index].Ignore(int(p.id), priority, false)
	} else {
		w.switches[p.index].Discard(int(p.id), priority, false)
	}
}

// timer serves the watchdog's timer of a queue.
func (d watchdogs) timer(w *worker, id int, priority uint8) error {
	p := &w.ports[id]
	q, dog := d.of(p.id, priority), &w.settings[p.index].PFC.Watchdog
	if !q.armed || q.at != w.now {
		return nil
	}
	c := &w.state.Ports[id].Class[priority]
	until := vtime.Time(c.PausedUntil)
	rearm := func(at vtime.Time) error {
		d.setTimer(w, int32(id), priority, at)
		return nil
	}
	if q.storm {
		if end := until + dog.Restore; end > w.now {
			return rearm(end)
		}
		q.armed, q.storm = false, false
		w.note(id, EventStormEnd, "priority %d: no PAUSE for %v", priority, dog.Restore)
		d.endStorm(w, p, priority, dog.Forward)
		return nil
	}
	if until <= w.now {
		q.armed = false
		return nil
	}
	if due := vtime.Time(c.OffSince) + dog.Detect; due > w.now {
		return rearm(due)
	}
	queued, packets := w.switches[p.index].Port(id).Queue(priority)
	if packets == 0 {
		return rearm(w.now + dog.Detect)
	}
	q.storm = true
	if err := d.startStorm(w, p, priority, dog, queued); err != nil {
		return err
	}
	return rearm(until + dog.Restore)
}

// startStorm acts on a storm: it forwards or drops the queued frames.
func (watchdogs) startStorm(w *worker, p *port, priority uint8, dog *switchagent.Watchdog, queued int64) error {
	s := w.switches[p.index]
	if dog.Forward {
		w.note(int(p.id), EventStorm, "priority %d: paused for %v; %d bytes queued, to be sent nevertheless", priority,
			dog.Detect, queued)
		s.Ignore(int(p.id), priority, true)
		return w.serve(p)
	}
	w.note(int(p.id), EventStorm, "priority %d: paused for %v; %d bytes queued, dropped", priority, dog.Detect, queued)
	s.Discard(int(p.id), priority, true)
	w.lastProgress = max(w.lastProgress, w.now)
	s.Flush(int(p.id), priority, func(f *frame.Frame) { w.countLoss(p, LossWatchdog, f) })
	return w.freed(s)
}

// Stormy reports whether the watchdog considers the queue of port p and a priority to be in a PFC storm.
func (e *Engine) Stormy(p int, priority uint8) bool {
	return e.watchdogs != nil && e.watchdogs.of(int32(p), priority).storm
}

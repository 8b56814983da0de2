package engine

import (
	"math/bits"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// watch is the watchdog's state of an egress queue.
type watch struct {
	armed bool // an event is to come
	storm bool
	at    vtime.Time // of that event; others are stale
}

func (e *Engine) newWatchdogs(settings []*switchagent.Settings) {
	for _, s := range settings {
		if w := &s.PFC.Watchdog; w.On() {
			if e.watchdogs == nil {
				e.watchdogs = make([]watch, len(e.ports)*switchagent.Priorities)
			}
			e.quiescence = max(e.quiescence, 4*(w.Detect+w.Restore))
		}
	}
}

func (e *Engine) watchOf(p *port, priority uint8) *watch {
	return &e.watchdogs[int(p.id)*switchagent.Priorities+int(priority)]
}

// watchPort begins to watch the queues of a port that are paused.
func (e *Engine) watchPort(p *port) {
	if !p.isSwitch || !e.settings[p.index].PFC.Watchdog.On() {
		return
	}
	settings := &e.settings[p.index].PFC
	for m := settings.Priorities; m != 0; m &= m - 1 {
		priority := uint8(bits.TrailingZeros8(m))
		w := e.watchOf(p, priority)
		if w.armed || !e.state.Paused(int(p.id), priority, e.now) {
			continue
		}
		w.armed = true
		since := vtime.Time(e.state.Ports[p.id].Class[priority].OffSince)
		e.watchAt(p.id, priority, max(since+settings.Watchdog.Detect, e.now))
	}
}

// watchAt sets the watchdog's timer of a queue.
func (e *Engine) watchAt(id int32, priority uint8, at vtime.Time) {
	e.watchOf(&e.ports[id], priority).at = at
	e.push(at, eventWatch, id<<3|int32(priority))
}

// setWatchdog changes the watchdog of a switch that works: storms end, and queues that are paused are watched anew.
func (e *Engine) setWatchdog(index int, dog switchagent.Watchdog) error {
	settings := &e.settings[index].PFC
	was := settings.Watchdog
	if settings.Watchdog = dog; dog.On() && e.watchdogs == nil {
		e.watchdogs = make([]watch, len(e.ports)*switchagent.Priorities)
	}
	if e.watchdogs == nil {
		return nil
	}
	for _, id := range e.switchPorts(index) {
		p := &e.ports[id]
		for m := settings.Priorities; m != 0; m &= m - 1 {
			priority := uint8(bits.TrailingZeros8(m))
			w := e.watchOf(p, priority)
			if w.storm {
				e.endStorm(p, priority, was.Forward)
				e.note(int(p.id), EventStormEnd, "priority %d: the watchdog was changed", priority)
			}
			*w = watch{}
		}
		e.watchPort(p)
		if err := e.serve(p); err != nil {
			return err
		}
	}
	return nil
}

// endStorm has a queue be as any other again.
func (e *Engine) endStorm(p *port, priority uint8, forward bool) {
	if forward {
		e.switches[p.index].Ignore(int(p.id), priority, false)
	} else {
		e.switches[p.index].Discard(int(p.id), priority, false)
	}
}

// watchQueue serves the watchdog's timer of a queue.
func (e *Engine) watchQueue(id int, priority uint8) error {
	p := &e.ports[id]
	w, dog := e.watchOf(p, priority), &e.settings[p.index].PFC.Watchdog
	if !w.armed || w.at != e.now {
		return nil
	}
	c := &e.state.Ports[id].Class[priority]
	until := vtime.Time(c.PausedUntil)
	again := func(at vtime.Time) error {
		e.watchAt(int32(id), priority, at)
		return nil
	}
	if w.storm {
		if end := max(until, e.now) + dog.Restore; until > e.now || until+dog.Restore > e.now {
			return again(min(end, until+dog.Restore))
		}
		w.armed, w.storm = false, false
		e.note(id, EventStormEnd, "priority %d: no PAUSE for %v", priority, dog.Restore)
		e.endStorm(p, priority, dog.Forward)
		return nil
	}
	if until <= e.now {
		w.armed = false
		return nil
	}
	if due := vtime.Time(c.OffSince) + dog.Detect; due > e.now {
		return again(due)
	}
	queued, packets := e.switches[p.index].Port(id).Queue(priority)
	if packets == 0 {
		return again(e.now + dog.Detect)
	}
	w.storm = true
	if err := e.storm(p, priority, dog, queued); err != nil {
		return err
	}
	return again(until + dog.Restore)
}

// storm does what the watchdog does about one.
func (e *Engine) storm(p *port, priority uint8, dog *switchagent.Watchdog, queued int64) error {
	s := e.switches[p.index]
	if dog.Forward {
		e.note(int(p.id), EventStorm, "priority %d: paused for %v; %d bytes queued, to be sent nevertheless", priority, dog.Detect, queued)
		s.Ignore(int(p.id), priority, true)
		return e.serve(p)
	}
	e.note(int(p.id), EventStorm, "priority %d: paused for %v; %d bytes queued, dropped", priority, dog.Detect, queued)
	s.Discard(int(p.id), priority, true)
	e.moved = max(e.moved, e.now)
	s.Flush(int(p.id), priority, func(f *frame.Frame) { e.countLoss(p, LossWatchdog, f) })
	return e.freed(s)
}

// Stormy says whether the watchdog takes the queue of port p and a priority to be in a PFC storm.
func (e *Engine) Stormy(p int, priority uint8) bool {
	return e.watchdogs != nil && e.watchdogs[p*switchagent.Priorities+int(priority)].storm
}

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

func (l *lane) watchOf(p *port, priority uint8) *watch {
	return &l.watchdogs[int(p.id)*switchagent.Priorities+int(priority)]
}

// watchPort begins to watch the queues of a port that are paused.
func (l *lane) watchPort(p *port) {
	if !p.isSwitch || !l.settings[p.index].PFC.Watchdog.On() {
		return
	}
	settings := &l.settings[p.index].PFC
	for m := settings.Priorities; m != 0; m &= m - 1 {
		priority := uint8(bits.TrailingZeros8(m))
		w := l.watchOf(p, priority)
		if w.armed || !l.state.Paused(int(p.id), priority, l.now) {
			continue
		}
		w.armed = true
		since := vtime.Time(l.state.Ports[p.id].Class[priority].OffSince)
		l.watchAt(p.id, priority, max(since+settings.Watchdog.Detect, l.now))
	}
}

// watchAt sets the watchdog's timer of a queue.
func (l *lane) watchAt(id int32, priority uint8, at vtime.Time) {
	l.watchOf(&l.ports[id], priority).at = at
	l.push(at, eventWatch, id<<3|int32(priority))
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
func (l *lane) endStorm(p *port, priority uint8, forward bool) {
	if forward {
		l.switches[p.index].Ignore(int(p.id), priority, false)
	} else {
		l.switches[p.index].Discard(int(p.id), priority, false)
	}
}

// watchQueue serves the watchdog's timer of a queue.
func (l *lane) watchQueue(id int, priority uint8) error {
	p := &l.ports[id]
	w, dog := l.watchOf(p, priority), &l.settings[p.index].PFC.Watchdog
	if !w.armed || w.at != l.now {
		return nil
	}
	c := &l.state.Ports[id].Class[priority]
	until := vtime.Time(c.PausedUntil)
	again := func(at vtime.Time) error {
		l.watchAt(int32(id), priority, at)
		return nil
	}
	if w.storm {
		if end := max(until, l.now) + dog.Restore; until > l.now || until+dog.Restore > l.now {
			return again(min(end, until+dog.Restore))
		}
		w.armed, w.storm = false, false
		l.note(id, EventStormEnd, "priority %d: no PAUSE for %v", priority, dog.Restore)
		l.endStorm(p, priority, dog.Forward)
		return nil
	}
	if until <= l.now {
		w.armed = false
		return nil
	}
	if due := vtime.Time(c.OffSince) + dog.Detect; due > l.now {
		return again(due)
	}
	queued, packets := l.switches[p.index].Port(id).Queue(priority)
	if packets == 0 {
		return again(l.now + dog.Detect)
	}
	w.storm = true
	if err := l.storm(p, priority, dog, queued); err != nil {
		return err
	}
	return again(until + dog.Restore)
}

// storm does what the watchdog does about one.
func (l *lane) storm(p *port, priority uint8, dog *switchagent.Watchdog, queued int64) error {
	s := l.switches[p.index]
	if dog.Forward {
		l.note(int(p.id), EventStorm, "priority %d: paused for %v; %d bytes queued, to be sent nevertheless", priority,
			dog.Detect, queued)
		s.Ignore(int(p.id), priority, true)
		return l.serve(p)
	}
	l.note(int(p.id), EventStorm, "priority %d: paused for %v; %d bytes queued, dropped", priority, dog.Detect, queued)
	s.Discard(int(p.id), priority, true)
	l.moved = max(l.moved, l.now)
	s.Flush(int(p.id), priority, func(f *frame.Frame) { l.countLoss(p, LossWatchdog, f) })
	return l.freed(s)
}

// Stormy says whether the watchdog takes the queue of port p and a priority to be in a PFC storm.
func (e *Engine) Stormy(p int, priority uint8) bool {
	return e.watchdogs != nil && e.watchdogs[p*switchagent.Priorities+int(priority)].storm
}

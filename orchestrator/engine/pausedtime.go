package engine

import (
	"math/bits"

	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// pauseRecord is what flow control has done to a port and a priority: for how long the egress queue has been paused, by PAUSE or for
// want of credits, and the PAUSEs. It is kept in live fabrics and in those whose flow control goes by credits, and costs frames nothing: it
// changes as control frames come and are built.
type pauseRecord struct {
	total        vtime.Time // of periods before the last
	since, until vtime.Time // of the last
	over         bool       // the last has ended, whatever the registers say
	sent         uint64     // PAUSEs that the port has had built
	received     uint64     // PAUSEs that have come to it
}

func (e *Engine) pauseRecordAt(port int, priority uint8) *pauseRecord {
	return &e.pauseRecords[port*switchagent.Priorities+int(priority)]
}

// follow takes over when the last period began and ends, as the registers have it.
func (h *pauseRecord) follow(since, until vtime.Time) {
	if since != h.since {
		h.total += max(0, min(h.until, since)-h.since)
		h.since, h.over = since, false
	}
	if !h.over {
		h.until = until
	}
}

// noteChanged takes note of the priorities of a port that a control frame has switched ON or OFF. What is OFF after it was paused by it:
// a message of credits only switches ON.
func (e *Engine) noteChanged(p *port, priorities uint32) {
	if e.pauseRecords == nil {
		return
	}
	for m := uint8(priorities); m != 0; m &= m - 1 {
		i := uint8(bits.TrailingZeros8(m))
		e.notePausedTime(p, i)
		if e.state.Paused(int(p.id), i, e.now) {
			e.pauseRecordAt(int(p.id), i).received++
		}
	}
}

func (e *Engine) notePausedTime(p *port, priority uint8) {
	c := &e.state.Ports[p.id].Class[priority]
	e.pauseRecordAt(int(p.id), priority).follow(vtime.Time(c.OffSince), vtime.Time(c.PausedUntil))
}

// noteDown ends the pauses of a port whose link has gone down: from now on it is the link that keeps its queues.
func (e *Engine) noteDown(p *port) {
	if e.pauseRecords == nil {
		return
	}
	for i := range uint8(switchagent.Priorities) {
		e.notePausedTime(p, i)
		h := e.pauseRecordAt(int(p.id), i)
		h.until, h.over = min(h.until, e.now), true
	}
}

// notePauseBuilt counts a PAUSE that a port is about to send.
func (e *Engine) notePauseBuilt(p *port, priority uint8) {
	if e.pauseRecords != nil {
		e.pauseRecordAt(int(p.id), priority).sent++
	}
}

// PausedTime is for how long flow control has paused the queue of port p and a priority, up to now: PAUSE, or frames that waited for
// credits. 0 under PFC but in live fabrics.
func (e *Engine) PausedTime(p int, priority uint8) vtime.Time {
	if e.pauseRecords == nil {
		return 0
	}
	h := *e.pauseRecordAt(p, priority)
	c := &e.state.Ports[p].Class[priority]
	h.follow(vtime.Time(c.OffSince), vtime.Time(c.PausedUntil))
	return h.total + max(0, min(h.until, e.now)-h.since)
}

// Pauses is how many PAUSEs of a priority port p of a live fabric has had built, and how many have come to it.
func (e *Engine) Pauses(p int, priority uint8) (sent, received uint64) {
	if e.pauseRecords == nil {
		return 0, 0
	}
	h := e.pauseRecordAt(p, priority)
	return h.sent, h.received
}

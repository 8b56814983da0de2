package controllerfile

import (
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/vtime"
)

// ownClock shifts the times that a program sees so that they begin at the flow's own start. The start is the first
// call with a time: Preset, or the first packet sent.
type ownClock struct {
	*controller
	begun  bool
	origin vtime.Time
	sample cc.Sample
	hops   []cc.INTHop
}

func (c *ownClock) since(now vtime.Time) vtime.Time {
	if !c.begun {
		c.begun, c.origin = true, now
	}
	return now - c.origin
}

// shifted returns a sample whose times begin at the flow's start.
func (c *ownClock) shifted(s *cc.Sample) *cc.Sample {
	c.sample = *s
	c.sample.Now = c.since(s.Now)
	if s.Hops != nil {
		c.hops = append(c.hops[:0], s.Hops...)
		shift := c.origin / vtime.Nanosecond * vtime.Nanosecond % cc.INTTimeWrap
		for i := range c.hops {
			at := &c.hops[i].Departed
			*at = (*at - shift + cc.INTTimeWrap) % cc.INTTimeWrap
		}
		c.sample.Hops = c.hops
	}
	return &c.sample
}

// Deadline returns the program's timer in the run's time. Before the flow has begun there is none.
func (c *ownClock) Deadline() vtime.Time {
	if at := c.controller.Deadline(); c.begun && at != vtime.Never {
		return at + c.origin
	}
	return vtime.Never
}

// Preset shifts its time.
func (c *ownClock) Preset(now vtime.Time, rate float64) { c.controller.Preset(c.since(now), rate) }

// OnSent shifts its time.
func (c *ownClock) OnSent(now vtime.Time, payload int) { c.controller.OnSent(c.since(now), payload) }

// OnAck shifts its times.
func (c *ownClock) OnAck(s *cc.Sample) { c.controller.OnAck(c.shifted(s)) }

// OnCNP shifts its times.
func (c *ownClock) OnCNP(s *cc.Sample) { c.controller.OnCNP(c.shifted(s)) }

// OnCNM shifts its times.
func (c *ownClock) OnCNM(s *cc.Sample) { c.controller.OnCNM(c.shifted(s)) }

// OnNak shifts its time.
func (c *ownClock) OnNak(now vtime.Time) { c.controller.OnNak(c.since(now)) }

// OnTimeout shifts its time.
func (c *ownClock) OnTimeout(now vtime.Time) { c.controller.OnTimeout(c.since(now)) }

// OnTimer shifts its time.
func (c *ownClock) OnTimer(now vtime.Time) {
	if c.begun {
		c.controller.OnTimer(c.since(now))
	}
}

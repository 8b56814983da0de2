package cc

import (
	"fmt"
	"math"
	"reflect"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Draw returns a random choice for a history: a whole number from lowest to highest, both included.
type Draw func(what string, lowest, highest int64) int64

// Conform plays a random history of a flow, with at most this many events, to two controllers of a congestion control.
// It returns an error if they break a rule of the NIC. Such are a rate that is no number, not above 0 (or below
// min_rate, if there is such a constant) or above the line's; a negative window; a timer that does not advance time;
// and states that differ after equal events. The caller recovers from panics. settings are Resolve's for env.
func Conform(spec *Spec, settings Settings, env Env, events int, draw Draw) error {
	a, err := spec.New(env, settings)
	if err != nil {
		return err
	}
	b, err := spec.New(env, settings)
	if err != nil {
		return err
	}
	h := history{spec: spec, line: float64(env.LineRate), lowest: math.SmallestNonzeroFloat64}
	if settings.Has(minRateName) {
		h.lowest = settings.Rate(minRateName)
	}
	start := []float64{0, 1, 1e9, 20e9, 1e15, math.NaN()}[draw("preset", 0, 5)]
	if p, ok := a.(Presetter); ok && start != 0 {
		if spec.File != nil {
			start = h.line / 2 // a scenario's start_rate is one that can be
		}
		p.Preset(0, start)
		b.(Presetter).Preset(0, start)
	}
	if err := h.holds(a, "the start"); err != nil {
		return err
	}
	var now vtime.Time
	for range draw("events", 1, int64(events)) {
		e := drawEvent(draw)
		// Late timers are late alike for both: a live clock may not call in time.
		if now, err = e.apply(a, now); err != nil {
			return err
		}
		if _, err = e.apply(b, now-e.after); err != nil {
			return err
		}
		if err := h.holds(a, e.String()); err != nil {
			return err
		}
		if !same(spec, a, b) {
			return fmt.Errorf("two flows with the same history differ after %v: %+v, %+v", e, a, b)
		}
	}
	// "Undetermined" is no congestion: whoever knows the mark must not slow down for it, nor who does not.
	before := a.Rate()
	if a.OnCNP(&Sample{Now: now, UE: true}); a.Rate() < before {
		return fmt.Errorf("a CNP with ue and without ce, from a port that may not be congested, changed the rate from %g "+
			"to %g bps: it must not lower it", before, a.Rate())
	}
	return nil
}

// same reports whether two controllers are in one state, as far as Go can see it: controllers from files keep theirs
// elsewhere.
func same(spec *Spec, a, b Controller) bool {
	if spec.File != nil {
		return a.Rate() == b.Rate() && a.Window() == b.Window() && a.Deadline() == b.Deadline()
	}
	return reflect.DeepEqual(a, b)
}

// history holds the constants of a history.
type history struct {
	spec         *Spec
	line, lowest float64
}

// holds returns an error if a controller breaks a rule of the NIC after an event.
func (h *history) holds(c Controller, after string) error {
	switch r := c.Rate(); {
	case r > h.line:
		return fmt.Errorf("after %s the rate is %g bps, above the line's %g: limit it, as with min(line rate, ...)",
			after, r, h.line)
	case r < h.lowest && r > 0:
		return fmt.Errorf("after %s the rate is %g bps, below min_rate, %g: limit it, as with max(min_rate, ...)",
			after, r, h.lowest)
	case !(r > 0):
		return fmt.Errorf("after %s the rate is %g bps: it must be above 0", after, r)
	case c.Window() < 0:
		return fmt.Errorf("after %s the window is %d B: it must not be negative", after, c.Window())
	}
	if moves := c.Retimes(); moves && h.spec.Departure == DepartureStays || !moves && h.spec.Departure == DepartureMoves {
		return fmt.Errorf("a change of the rate moves a departure: %t; it says: %q", moves, h.spec.Departure)
	}
	return nil
}

// event describes an event of a flow, at some time after the previous event.
type event struct {
	after  vtime.Time
	kind   int
	late   bool // timers wait for the event
	sample Sample
}

// String returns the event in the form of messages.
func (e event) String() string {
	s := &e.sample
	switch e.kind {
	case 0, 1:
		return "four packets sent"
	case 2:
		return fmt.Sprintf("an ACK (RTT %v, CE %t)", s.RTT, s.CE)
	case 3:
		return fmt.Sprintf("a CNP (CE %t, UE %t)", s.CE, s.UE)
	case 4:
		return fmt.Sprintf("a CNM (%d flows, %v)", s.CNMFlows, s.CNMRate)
	case 5:
		return "a NAK"
	}
	return "a timeout"
}

func drawEvent(draw Draw) event {
	pick := func(what string, of ...int64) int64 { return of[draw(what, 0, int64(len(of)-1))] }
	flag := func(what string) bool { return draw(what, 0, 1) == 1 }
	spans := []func() int64{
		func() int64 { return draw("after", 0, int64(10*vtime.Microsecond)) },
		func() int64 { return draw("after", 0, int64(400*vtime.Microsecond)) },
		func() int64 { return pick("after", 0, int64(55*vtime.Microsecond), int64(20*vtime.Millisecond)) },
	}
	return event{
		after: vtime.Time(spans[draw("span", 0, 2)]()),
		kind:  int(draw("kind", 0, 6)),
		late:  flag("late"),
		sample: Sample{
			Hops: drawHops(draw), PathID: uint16(pick("path", 0, 7)),
			Received: int(pick("received", 0, 1, 50, 65535)),
			ReceivingRate: units.Rate(pick("receiving rate", 0, int64(102*units.Mbps), int64(8*units.Gbps),
				int64(1<<32*units.Mbps))),
			RTT:        drawRTT(draw),
			AckedBytes: 1000,
			CE:         flag("ce"), UE: flag("ue"),
			CNMFlows: int(pick("flows", 0, 1, 2, 15, 490, 65535)),
			CNMRate:  units.Rate(pick("port", 0, int64(units.Gbps), int64(40*units.Gbps), int64(400*units.Gbps))),
		},
	}
}

// drawRTT returns an RTT; one time in eight it is 0, which means none.
func drawRTT(draw Draw) vtime.Time {
	rtt := vtime.Time(draw("rtt", 1, int64(vtime.Millisecond)))
	if rtt%8 == 0 {
		return 0
	}
	return rtt
}

// drawHops returns telemetry of up to five switches, most often of two; their counters may have wrapped.
func drawHops(draw Draw) []wire.INTHop {
	hops := make([]wire.INTHop, []int{2, 2, 0, 1, 5}[draw("hops", 0, 4)])
	for i := range hops {
		hops[i] = wire.ParseINTSlot(uint64(draw("slot", math.MinInt64, math.MaxInt64)))
	}
	return hops
}

// apply runs the timers of c until the event and then the event, and returns its time.
func (e event) apply(c Controller, now vtime.Time) (vtime.Time, error) {
	until := now + e.after
	if e.late {
		now = until
	}
	for steps := 0; c.Deadline() <= until; steps++ {
		now = max(now, c.Deadline())
		c.OnTimer(now)
		if d := c.Deadline(); d <= now {
			return 0, fmt.Errorf("the timer is at %v after it was called at %v: it must be later, or unset", d, now)
		}
		if steps > 20 { // the rest in one late call
			now = until
		}
	}
	s := e.sample
	s.Now = until
	s.NextSend, s.AckSequence = int64(until/vtime.Microsecond), int64(until/vtime.Microsecond)/2
	switch e.kind {
	case 0, 1:
		for range 4 {
			c.OnSent(until, 1000)
		}
	case 2:
		c.OnAck(&s)
	case 3:
		c.OnCNP(&s)
	case 4:
		c.OnCNM(&s)
	case 5:
		c.OnNak(until)
	case 6:
		c.OnTimeout(until)
	}
	return until, nil
}

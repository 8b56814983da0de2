package cc

import (
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/vtime"
)

var timelySpec = define(Spec{
	Name: "timely",
	Summary: "Cuts when the RTT rises, increases when it falls. The rate changes once per RTT, and a small " +
		"RTT always raises it.",
	Source: "Mittal et al., SIGCOMM 2015, as in HPCC's simulator (one update per RTT, by sequence numbers), " +
		"with its constants; scaled=true uses thresholds in proportion to the path's RTT instead",
	Needs: SwitchNeeds{ACK: true, Timestamps: true}, Departure: DepartureStays,
	Selector: "scaled",
	Parameters: []Parameter{
		flag("scaled", "false",
			"changes the defaults of t_low, t_high and min_rtt from the simulator's times to multiples of the path's RTT"),
		{Name: "t_low", Kind: TimeKind, Default: "50us", Max: "10s", When: "false", Doc: tLowDoc},
		{Name: "t_low", Kind: TimeKind, Default: "1.25rtt", Max: "10s", When: "true", Doc: tLowDoc},
		{Name: "t_high", Kind: TimeKind, Default: "500us", Max: "10s", When: "false", Doc: tHighDoc},
		{Name: "t_high", Kind: TimeKind, Default: "12.5rtt", Max: "10s", When: "true", Doc: tHighDoc},
		{Name: "min_rtt", Kind: TimeKind, Default: "20us", Min: "1ns", Max: "10s", When: "false", Doc: minRTTDoc},
		{Name: "min_rtt", Kind: TimeKind, Default: "rtt", Min: "1ns", Max: "10s", When: "true", Doc: minRTTDoc},
		fraction("alpha", "0.875", "weight of the newest difference of RTTs"),
		fraction("beta", "0.8", "cut per gradient, and per relative excess of the RTT over t_high"),
		rate("ai", "line/1000", "step of an increase (10 Mbps per 10 Gbps of line rate)"),
		rate("hai", "line/200", "step of an increase after hai_after of them in a row"),
		count("hai_after", "5", "0", "N: number of increases by ai in a row before hai applies"),
		minimumRate("min(1Gbps, line/25)"),
	},
}, func(env Env, s *Settings) (*timelyConstants, error) {
	low, high := s.Time("t_low"), s.Time("t_high")
	switch {
	case high <= env.BaseRTT:
		return nil, schema.Errorf("t_high",
			"%v does not exceed the path's unloaded RTT of %v: the rate could only fall (scaled=true makes "+
				"thresholds proportional to the RTT)", high, env.BaseRTT)
	case low > high:
		return nil, schema.Errorf("t_low", "%v is more than t_high, %v", low, high)
	}
	return &timelyConstants{
		low: low, high: high, minRTT: float64(s.Time("min_rtt")),
		alpha: s.Number("alpha"), beta: s.Number("beta"),
		ai: s.Rate("ai"), hai: s.Rate("hai"), haiAfter: int(s.Integer("hai_after")),
		line: float64(env.LineRate), min: s.Rate(minRateName), ternary: s.ternary(),
	}, nil
}, func(_ Env, c *timelyConstants) Controller { return &timely{c: c, rate: c.line} })

const (
	tLowDoc   = "RTT below which the rate rises whatever the gradient"
	tHighDoc  = "RTT above which the rate falls whatever the gradient; must exceed the unloaded RTT"
	minRTTDoc = "divisor of RTT differences for the gradient"
)

// timelyConstants holds TIMELY's constants, shared by all flows. Rates are in bits per second.
type timelyConstants struct {
	low, high   vtime.Time
	minRTT      float64 // ps
	alpha, beta float64
	ai, hai     float64
	haiAfter    int
	line, min   float64
	ternary     bool // handles undetermined marks (TCD)
}

// timely implements TIMELY's sender.
type timely struct {
	Base
	c *timelyConstants

	rate      float64    // R, bits per second
	rttDiff   float64    // smoothed difference of successive RTTs, ps
	lastRTT   vtime.Time // RTT at the last update
	increases int        // consecutive increases before the next
	updateAt  int64      // an ACK beyond this sequence number ends the RTT
	started   bool       // the first ACK arrived
}

// Rate returns R.
func (t *timely) Rate() float64 { return t.rate }

// Retimes returns false: HPCC's simulator, like that of DCQCN's authors, sets the rate and keeps the next departure.
func (t *timely) Retimes() bool { return false }

// Preset sets R.
func (t *timely) Preset(_ vtime.Time, rate float64) { t.rate = clamp(rate, t.c.min, t.c.line) }

// OnAck updates the rate if the ACK is the first for a packet that was sent after the last update. It ignores an ACK
// without an RTT.
func (t *timely) OnAck(s *Sample) {
	switch {
	case s.RTT == 0:
		return
	case !t.started:
		t.started = true
	case s.AckSequence > t.updateAt:
		t.update(s)
	default:
		return
	}
	t.lastRTT, t.updateAt = s.RTT, s.NextSend
}

// update applies TIMELY's decision for a new RTT. Under TCD it ignores the RTT of a packet marked undetermined, and
// the RTT of a CE packet does not raise the rate.
func (t *timely) update(s *Sample) {
	c, rtt := t.c, s.RTT
	t.rttDiff = float64((1-c.alpha)*t.rttDiff) + float64(c.alpha*float64(rtt-t.lastRTT))
	gradient := t.rttDiff / c.minRTT
	rises := rtt < c.low || rtt <= c.high && gradient <= 0
	switch {
	case c.ternary && (s.CE && rises || s.UE && !s.CE):
		t.increases = 0
	case rises:
		t.increase()
	case rtt > c.high:
		t.decrease(1 - float64(c.beta*(1-float64(c.high)/float64(rtt))))
	default:
		t.decrease(1 - float64(c.beta*gradient))
	}
}

func (t *timely) increase() {
	step := t.c.ai
	if t.increases >= t.c.haiAfter {
		step = t.c.hai
	}
	t.increases = addStage(t.increases)
	t.rate = min(t.c.line, t.rate+step)
}

// decrease multiplies the rate. A factor below zero, from a steep gradient, sets it to the minimum.
func (t *timely) decrease(factor float64) {
	t.increases = 0
	t.rate = max(t.c.min, t.rate*factor)
}

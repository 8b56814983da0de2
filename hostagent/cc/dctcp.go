package cc

import (
	"math"

	"github.com/pausenet/pausenet/vtime"
)

var dctcpSpec = define(Spec{
	Name: "dctcp",
	Summary: "Cuts by the fraction of marked ACKs, once per RTT. This is DCTCP with a rate: a cut is half " +
		"the smoothed fraction of marks. It needs step marking at 30 KB per 10 Gbps of the port.",
	Source: "Alizadeh et al., SIGCOMM 2010, as in HPCC's simulator: a rate, and a window in proportion to it",
	Needs:  SwitchNeeds{ECN: true, ECNStep: true, ACK: true}, Departure: DepartureStays,

	HasWindow: true,
	Parameters: []Parameter{
		fraction("g", "1/16", "weight of the last RTT's fraction of marked packets in alpha"),
		fraction("initial_alpha", "1", "fraction of marked packets that a new flow assumes"),
		rate("ai", "min(615Mbps, mtu/rtt)",
			"step per RTT without a cut: one packet per RTT, at most the simulator's (one per 13us)"),
		minimumRate("min(1Gbps, line/25)"),
		windowParameter,
	},
}, func(env Env, s *Settings) (*dctcpConstants, error) {
	return &dctcpConstants{
		g: s.Number("g"), alpha: s.Number("initial_alpha"), ai: s.Rate("ai"),
		line: float64(env.LineRate), min: s.Rate(minRateName), mtu: int64(env.MTU), window: float64(s.Size(windowName)),
	}, nil
}, func(_ Env, c *dctcpConstants) Controller { return &dctcp{c: c, rate: c.line, alpha: c.alpha} })

// dctcpConstants holds DCTCP's constants, shared by all flows. Rates are in bits per second.
type dctcpConstants struct {
	g, alpha, ai float64
	line, min    float64
	mtu          int64   // payload bytes
	window       float64 // payload bytes in flight at line rate
}

// dctcp implements DCTCP's sender in the rate version of HPCC's simulator. It needs the mark of every packet back in
// the packet's ACK; an ACK for several packets counts as that many marks.
type dctcp struct {
	Base
	c *dctcpConstants

	rate    float64 // R, bits per second
	alpha   float64 // smoothed fraction of marked packets, 0..1
	marks   int64   // marked packets acknowledged in this RTT
	batch   int64   // approximate number of packets acknowledged by the end of this RTT
	endAt   int64   // an ACK beyond this sequence number ends the RTT
	started bool    // the first ACK arrived

	reduced   bool  // CWR: no further cut until an ACK goes beyond reducedAt
	reducedAt int64 // bytes sent by the time of the cut
}

// Rate returns R.
func (d *dctcp) Rate() float64 { return d.rate }

// Retimes returns false: the simulator sets the rate and keeps the time of the next departure.
func (d *dctcp) Retimes() bool { return false }

// Window returns a window in proportion to the rate.
func (d *dctcp) Window() int64 { return inFlight(d.c.window, d.rate, d.c.line) }

// Preset sets R, and alpha to its value in the steady state: a flow that cuts alpha/2 of its rate every n RTTs and
// regains n*AI has alpha about 1/n, as one RTT in n is marked; hence alpha^2 = 2*AI/R.
func (d *dctcp) Preset(_ vtime.Time, rate float64) {
	d.rate = clamp(rate, d.c.min, d.c.line)
	d.alpha = min(d.c.alpha, math.Sqrt(2*d.c.ai/d.rate))
}

// OnAck counts marks, updates alpha once per RTT and adjusts the rate.
func (d *dctcp) OnAck(s *Sample) {
	if s.CE {
		d.marks += (s.AckedBytes + d.c.mtu - 1) / d.c.mtu
	}
	ended := d.endRTT(s)
	if d.reduced && s.AckSequence > d.reducedAt {
		d.reduced = false
	}
	if s.CE && !d.reduced {
		d.rate = max(d.c.min, d.rate*(1-float64(d.alpha/2)))
		d.reduced, d.reducedAt = true, s.NextSend
	}
	if ended && !d.reduced {
		d.rate = min(d.c.line, d.rate+d.c.ai)
	}
}

// endRTT updates alpha if the ACK is the first for a packet that was sent after the last update, and reports whether it
// is. The first ACK of a flow only starts the first RTT. As in the simulator that RTT includes the marks since the
// start.
func (d *dctcp) endRTT(s *Sample) bool {
	if !d.started {
		d.started = true
		d.endAt, d.batch = s.NextSend, s.NextSend/d.c.mtu+1
		return false
	}
	if s.AckSequence <= d.endAt {
		return false
	}
	fraction := min(1, float64(d.marks)/float64(d.batch))
	d.alpha = float64((1-d.c.g)*d.alpha) + float64(d.c.g*fraction)
	d.endAt, d.marks = s.NextSend, 0
	d.batch = max(0, s.NextSend-s.AckSequence)/d.c.mtu + 1
	return true
}

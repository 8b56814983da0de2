package cc

import (
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/vtime"
)

var pcnSpec = define(Spec{
	Name: "pcn",
	Summary: "Sets congested flows to their rate of arrival. The receiver reports it; flows without " +
		"congestion increase, gently at first.",
	Source: "Cheng et al., NSDI 2020, with the constants of its authors' simulator (w_max is 1/2 in the " +
		"paper); its period is the hosts' cnp_interval, and must be at least the RTT",
	Needs: SwitchNeeds{PCN: true}, Departure: DepartureStays,
	Parameters: []Parameter{
		bounded("w_min", "1/128", "1/1000000", "1",
			"share of the gap to the line rate that the first increase after a decrease closes; also, how far below "+
				"its rate of arrival a congested flow goes"),
		bounded("w_max", "1/4", "1/1000000", "1",
			"largest share of the gap to the line rate that an increase closes (its authors' simulator; the paper: 1/2)"),
		minimumRate("min(100Mbps, line/400)"),
	},
}, func(env Env, s *Settings) (*pcnConstants, error) {
	c := &pcnConstants{
		line: float64(env.LineRate), min: s.Rate(minRateName), wMin: s.Number("w_min"),
		wMax: s.Number("w_max"),
	}
	if c.wMin > c.wMax {
		return nil, schema.Errorf("w_min", "%g is above w_max, %g", c.wMin, c.wMax)
	}
	return c, nil
}, func(_ Env, c *pcnConstants) Controller { return &pcn{c: c, rate: c.line, w: c.wMin} })

// pcnConstants holds PCN's constants, shared by all flows. Rates are in bits per second.
type pcnConstants struct {
	line, min  float64
	wMin, wMax float64
}

// pcn implements PCN's sender. It has no timer: the receiver's reports are its clock, so that a flow whose packets wait
// in paused queues keeps its rate.
type pcn struct {
	Base
	c *pcnConstants

	rate float64 // R, bits per second
	w    float64 // share of the distance to the line rate for the next increase
}

// Rate returns R.
func (p *pcn) Rate() float64 { return p.rate }

// Retimes returns false: its authors' simulator paces like DCQCN's.
func (p *pcn) Retimes() bool { return false }

// Preset sets R, and w to its value after a decrease.
func (p *pcn) Preset(_ vtime.Time, rate float64) {
	p.rate, p.w = clamp(rate, p.c.min, p.c.line), p.c.wMin
}

// OnCNP applies a report. It ignores a CNP without one.
func (p *pcn) OnCNP(s *Sample) {
	c := p.c
	switch {
	case s.Received == 0:
	case s.CE:
		p.rate = clamp(float64(s.ReceivingRate)*(1-c.wMin), c.min, p.rate)
		p.w = c.wMin
	default:
		p.rate = clamp(float64(p.rate*(1-p.w))+float64(c.line*p.w), c.min, c.line)
		p.w = float64(p.w*(1-p.w)) + float64(c.wMax*p.w)
	}
}

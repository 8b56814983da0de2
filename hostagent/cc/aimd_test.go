package cc

import (
	"errors"

	"github.com/pausenet/pausenet/vtime"
)

// aimdSpec defines the example of docs/controllers.md.
var aimdSpec = define(Spec{
	Name:    "aimd",
	Summary: "AIMD: a factor down on each CNP, a step up for each RTT without one",
	Source:  "Chiu and Jain, Computer Networks and ISDN Systems 17, 1989",
	Needs:   SwitchNeeds{ECN: true, CNP: true}, Departure: DepartureStays,
	Parameters: []Parameter{
		{Name: "step", Kind: RateKind, Default: "line/1000", Min: "1bps", Max: "line", Doc: "added to the rate"},
		{Name: "factor", Kind: NumberKind, Default: "1/2", Min: "0", Max: "1", Doc: "what a CNP leaves of the rate"},
		{Name: minRateName, Kind: RateKind, Default: "line/400", Min: "1bps", Max: "line", Doc: "minimum rate"},
	},
}, func(env Env, s *Settings) (*aimdConstants, error) {
	if env.BaseRTT <= 0 {
		return nil, errors.New("needs a path whose RTT is known")
	}
	return &aimdConstants{
		step: s.Rate("step"), factor: s.Number("factor"), min: s.Rate(minRateName),
		line: float64(env.LineRate), rtt: env.BaseRTT,
	}, nil
}, func(_ Env, c *aimdConstants) Controller { return &aimd{c: c, rate: c.line, raiseAt: vtime.Never} })

// aimdConstants holds AIMD's constants, shared by all flows. Rates are in bits per second.
type aimdConstants struct {
	step, factor, min, line float64
	rtt                     vtime.Time
}

// aimd implements one flow's sender. It has no window, and ignores ACKs: Base does that.
type aimd struct {
	Base
	c       *aimdConstants
	rate    float64
	raiseAt vtime.Time // time of the next step; Never at line rate
}

// Rate returns the rate at which the next packet may leave.
func (a *aimd) Rate() float64 { return a.rate }

// Retimes returns false: a packet leaves at its scheduled time, even if the rate has changed since.
func (a *aimd) Retimes() bool { return false }

// OnCNP cuts the rate, and delays the next step by an RTT.
func (a *aimd) OnCNP(s *Sample) {
	if !s.CE { // of a port that may not be congested (TCD)
		return
	}
	a.rate = max(a.c.min, a.rate*a.c.factor)
	a.raiseAt = s.Now + a.c.rtt
}

// Deadline returns the time of the next call of OnTimer.
func (a *aimd) Deadline() vtime.Time { return a.raiseAt }

// OnTimer raises the rate by a step.
func (a *aimd) OnTimer(now vtime.Time) {
	if now < a.raiseAt {
		return
	}
	a.rate = min(a.c.line, a.rate+a.c.step)
	a.raiseAt = now + a.c.rtt
	if a.rate == a.c.line {
		a.raiseAt = vtime.Never
	}
}

package cc

import (
	"fmt"
	"math"
)

// PIDTraining trains a PID control's gains while a flow runs under it (thesis, sections 3.5.2 and 3.5.3). Several flows
// may share one, or a flow continue with another's.
type PIDTraining struct {
	Gains   PIDGains
	Updates int // t of equation 26
}

// Constants of the training. Beta stands for the slope of the RTT with respect to the rate, which is unknown. With
// errors in microseconds and rates in Gb/s, which the thesis does not state, the clip binds nearly always and decides
// the step.
const (
	pidBeta       = 1
	pidClip       = 0.1  // limit of a gradient (end of section 3.5.2)
	pidLearning   = 0.01 // mu at t = 0 (equation 26)
	perPicosecond = 1e-6 // microseconds
	perBit        = 1e-9 // Gb
)

// update makes one step down the gradient of half the squared error of the prediction, known from the next RTT
// (equations 21 to 26). The error is in us, and rate, before the terms changed it, in Gb/s.
func (g *PIDTraining) update(miss, rate float64, t pidTerms) {
	mu := pidLearning / math.Sqrt(float64(g.Updates+1))
	slope := miss * pidBeta * rate
	g.Gains.P -= float64(mu * clip(slope*t.p))
	g.Gains.I -= float64(mu * clip(slope*t.i))
	g.Gains.D -= float64(mu * clip(slope*t.d))
	g.Updates++
}

func clip(gradient float64) float64 { return min(max(gradient, -pidClip), pidClip) }

// Controller returns a flow's PID control that trains. The settings, which must be those of a PID control without
// prediction, supply everything except the gains.
func (g *PIDTraining) Controller(set Settings) (Controller, error) {
	c, ok := set.constants.(*pidConstants)
	if !ok || c.network != nil {
		return nil, fmt.Errorf("%s: gains are trained for pid", set.Controller())
	}
	return &pidTrainee{pid: pid{c: c, rate: c.initial, target: c.target}, training: g}, nil
}

// pidTrainee controls a flow that trains.
type pidTrainee struct {
	pid
	training *PIDTraining

	before float64  // rate before the last sample's terms changed it
	terms  pidTerms // terms of the last sample
}

// OnAck learns from the RTT that followed the last change of the rate, and makes the next change.
func (p *pidTrainee) OnAck(s *Sample) {
	rtt, ok := p.sample(s)
	if !ok {
		return
	}
	if p.errors.count > 0 {
		p.training.update((rtt-p.target)*perPicosecond, p.before*perBit, p.terms)
	}
	p.before = p.rate
	p.terms = p.control(p.training.Gains, rtt)
}

package cc

import (
	"math"

	"github.com/pausenet/pausenet/hostagent/lstm"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

var (
	pidSpec      = newPIDSpec("pid", "false")
	pidRTTchSpec = newPIDSpec("pid+rttch", "true")
)

// rttchSummary returns the summary of a PID control whose target adapts.
func rttchSummary(name, summary string) string {
	return name + " whose target adapts to the mean RTT. The target moves if the RTT keeps missing it. " + summary
}

// newPIDSpec returns the PID control alone: the measured RTT stands for the predicted one (thesis, section 4.2.3).
func newPIDSpec(name, rttch string) *Spec {
	s := Spec{
		Name: name,
		Summary: "Steers the RTT to a target. Once per RTT, the rate changes in proportion to the distance of the " +
			"RTT from the target.",
		Source: "the LSTM-PID thesis, section 3.5, without the prediction (its section 4.2.3)",
		Needs:  SwitchNeeds{ACK: true}, Departure: DepartureMoves,
		Parameters: pidParameters(rttch),
	}
	if rttch == "true" {
		s.Summary = rttchSummary("PID", s.Summary)
	}
	return define(s, func(env Env, set *Settings) (*pidConstants, error) { return newPIDConstants(env, set, nil) }, newPID)
}

// pidParameters returns the parameters of all PID controllers. rttch is the default of that flag.
func pidParameters(rttch string) []Parameter {
	return []Parameter{
		duration("target", "1.2rtt", "10s",
			"target RTT (5 us for the thesis' 4.16 us); must exceed the unloaded RTT, unless any_target is set"),
		flag("any_target", "false",
			"allow a target below the unloaded RTT; without rttch, the rate then falls to min_rate"),
		bounded("kp", "-0.358", "-1000", "1000", "change of the rate per error of the RTT, relative to the target"),
		bounded("ki", "-0.06", "-1000", "1000", "change of the rate per mean error since the flow's start"),
		bounded("kd", "0.04", "-1000", "1000",
			"change of the rate per difference of successive errors; positive, as the thesis prints it"),
		{Name: "initial_rate", Kind: RateKind, Default: "line/10", Min: "1bps", Max: "line", Doc: "rate of a new flow"},
		minimumRate("line/100"),
		flag("rttch", rttch,
			"moves the target to the flow's mean RTT, at most 10 unloaded ones, after more than 6 samples in a row "+
				"on one side of it"),
		{
			Name: "rttch_count", Kind: ChoiceKind, Default: "signed", Choices: []string{"signed", "printed"},
			Doc: "signed: samples below the target move it as well as samples above it; printed: only samples above it do, " +
				"as in the thesis' table 2, whose count has no sign",
		},
		{
			Name: "rttch_mean", Kind: ChoiceKind, Default: "rtt", Choices: []string{"rtt", "deviation"},
			Doc: "rtt: the target becomes the flow's mean RTT; deviation: it grows by the mean of all deviations, each from " +
				"the target of its time",
		},
		{
			Name: "control_from", Kind: IntegerKind, Default: "1", Min: "1", Max: "1000",
			Doc: "the first sample of a flow that changes its rate; the thesis, whose network needs three, does not say",
		},
	}
}

// Limits of one change of the rate (equation 20; the thesis' table 3 has 0.6 for 0.5, which never binds with errors
// relative to the target).
const (
	pidMostCut  = -0.6
	pidMostRise = 0.5
)

// pidConstants holds a PID control's constants, shared by all flows.
type pidConstants struct {
	target            float64 // ps
	gains             PIDGains
	initial, min, max float64 // b/s
	rttch, printed    bool
	deviations        bool // value of rttch_mean
	controlFrom       int
	mostTarget        float64       // ps
	network           *lstm.Network // nil: the measured RTT stands for the prediction
}

// PIDGains holds the weights of the three terms of equation 15.
type PIDGains struct{ P, I, D float64 }

func newPIDConstants(env Env, set *Settings, network *lstm.Network) (*pidConstants, error) {
	target := set.Time("target")
	c := &pidConstants{
		target: float64(target), gains: PIDGains{set.Number("kp"), set.Number("ki"), set.Number("kd")},
		initial: set.Rate("initial_rate"), min: set.Rate(minRateName), max: float64(env.LineRate),
		rttch: set.Flag("rttch"), printed: set.Choice("rttch_count") == "printed",
		deviations: set.Choice("rttch_mean") == "deviation", controlFrom: int(set.Integer("control_from")),
		mostTarget: max(float64(target), rttchMost*float64(env.BaseRTT)), network: network,
	}
	switch {
	case target <= env.BaseRTT && !set.Flag("any_target"):
		return nil, schema.Errorf("target",
			"%v does not exceed the path's unloaded RTT of %v: no RTT could be below it, and the rate would "+
				"fall to min_rate (use 1.2rtt or more)", target, env.BaseRTT)
	case c.initial < c.min:
		return nil, schema.Errorf("initial_rate", "%v is below min_rate, %v", units.Rate(c.initial), units.Rate(c.min))
	}
	return c, nil
}

func newPID(_ Env, c *pidConstants) Controller { return &pid{c: c, rate: c.initial, target: c.target} }

// pid implements the thesis' sender: it times one packet per round trip, predicts the next RTT if it has a network, and
// changes its rate by a PID law on that RTT.
type pid struct {
	Base
	c *pidConstants

	rate      float64    // b/s
	target    float64    // ps
	samples   int        // number of samples, up to the first that changes the rate
	sampledAt vtime.Time // arrival of the last sample's ACK: only packets sent from then on are timed
	series    lstm.Series

	errors    pidErrors
	adjusting targetAdjustment
}

// Rate returns the rate, between min_rate and the line rate.
func (p *pid) Rate() float64 { return p.rate }

// Retimes returns true. The thesis does not specify this. Its control law, once per RTT, assumes that the rate is the
// current rate on the path; at the minimum rate, a departure would otherwise stay for two RTTs of the thesis' path.
func (p *pid) Retimes() bool { return true }

// Preset sets the rate; the target stays.
func (p *pid) Preset(_ vtime.Time, rate float64) {
	if !math.IsNaN(rate) {
		p.rate = clamp(rate, p.c.min, p.c.max)
	}
}

// OnAck applies the control law once per sample.
func (p *pid) OnAck(s *Sample) {
	if rtt, ok := p.sample(s); ok {
		predicted := p.predict(rtt)
		if p.samples < p.c.controlFrom {
			p.samples++
		}
		if p.samples == p.c.controlFrom {
			p.control(p.c.gains, predicted)
		}
	}
}

// sample returns the RTT, in ps, of an acknowledged packet that was sent since the last sample's ACK arrived. It is
// then the first such packet, the one that is timed (section 3.2, figure 6). Packets in between are not timed.
func (p *pid) sample(s *Sample) (rtt float64, ok bool) {
	if s.RTT == 0 || s.Now-s.RTT < p.sampledAt {
		return 0, false
	}
	p.sampledAt = s.Now
	rtt = float64(s.RTT)
	if p.c.rttch {
		p.target = p.adjusting.adjust(rtt, p.target, p.c)
	}
	return rtt, true
}

// predict returns the RTT expected next.
func (p *pid) predict(rtt float64) float64 {
	if p.c.network == nil {
		return rtt
	}
	p.series.Add(rtt)
	return p.series.Prediction(p.c.network.Predict(&p.series.Features))
}

// control changes the rate by the error of a predicted RTT (equations 14 to 20), and returns the three terms.
func (p *pid) control(k PIDGains, predicted float64) pidTerms {
	terms := p.errors.add((predicted - p.target) / p.target)
	change := float64(k.P*terms.p) + float64(k.I*terms.i) + float64(k.D*terms.d)
	p.rate = clamp(p.rate*(1+clamp(change, pidMostCut, pidMostRise)), p.c.min, p.c.max)
	return terms
}

// pidErrors records a flow's errors, which are relative to the target.
type pidErrors struct {
	sum   float64
	count float64
	last  float64
}

// pidTerms holds out_p, out_i and out_d.
type pidTerms struct{ p, i, d float64 }

// add adds the next error. The integral is the mean since the flow's start, according to the text under equation 17;
// the first difference is 0.
func (e *pidErrors) add(miss float64) pidTerms {
	e.sum += miss
	e.count++
	t := pidTerms{p: miss, i: e.sum / e.count}
	if e.count > 1 {
		t.d = miss - e.last
	}
	e.last = miss
	return t
}

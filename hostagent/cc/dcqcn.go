package cc

import (
	"math"

	"github.com/pausenet/pausenet/vtime"
)

var dcqcnSpec = define(Spec{
	Name: "dcqcn",
	Summary: "Cuts on CNPs, recovers by timer and byte counter. An estimate of the congestion determines the " +
		"size of a cut.",
	Source: "Zhu et al., SIGCOMM 2015, with the constants of its authors' ns-3 simulator (profile a: the " +
		"paper's reaction point at 40 Gbps, rates scaled to the line) or of HPCC's (profile b: a " +
		"Mellanox NIC)",
	Needs: SwitchNeeds{ECN: true, CNP: true}, Departure: DepartureStays,
	Selector: "profile", EachMark: "b",
	Parameters: append(append([]Parameter{{
		Name: "profile", Kind: ChoiceKind, Choices: []string{"a", "b"}, Default: "a",
		Doc: "a: the paper's reaction point; b: the NIC of HPCC's simulator, with independent timers, whose receivers " +
			"report every mark (host.cnp_interval)",
	}}, reactionPointParameters("a", "false")...), mlxParameters("b")...),
}, func(env Env, s *Settings) (*dcqcnConstants, error) {
	if s.Choice("profile") == "b" {
		return &dcqcnConstants{mlx: newMLXConstants(env, s)}, nil
	}
	return &dcqcnConstants{rp: newRPConstants(env, s)}, nil
}, func(_ Env, c *dcqcnConstants) Controller {
	if c.mlx != nil {
		return newMLX(c.mlx)
	}
	return newDCQCN(c.rp)
})

// dcqcnConstants holds the constants of one profile.
type dcqcnConstants struct {
	rp  *rpConstants
	mlx *mlxConstants
}

// reactionPointParameters returns the constants of the paper's reaction point, with clamp for the default of
// clamp_target.
func reactionPointParameters(when, clamp string) []Parameter {
	return under(when,
		Parameter{
			Name: "order", Kind: ChoiceKind, Choices: []string{"alpha-first", "paper"}, Default: "alpha-first",
			Doc: "when to raise alpha on a CNP: before the cut (as in the simulators and DCON's algorithm 1), or after it",
		},
		fraction("initial_alpha", "1", "congestion estimate of a new flow (its authors' simulator: 0.5)"),
		fraction("g", "1/256", "weight of the newest observation in alpha"),
		duration("alpha_timer", "55us", "1s", "alpha decays each time that this interval passes without a CNP"),
		duration("increase_timer", "55us", "1s", "time between increases; half in the hyper stage"),
		Parameter{
			Name: "byte_counter", Kind: SizeKind, Default: "10MB",
			Doc: "line bytes sent between increases; half in the hyper stage; 0 disables the counter",
		},
		count("fast_recovery", "5", "1",
			"F: increases of one kind before additive increase, of both before hyper increase"),
		rate("rai", "line/1000", "R_AI: step of the target rate in the additive stage (40 Mbps at 40 Gbps)"),
		rate("rhai", "line/200",
			"R_HAI: step of the target rate in the hyper stage, times the number of hyper increases"),
		minimumRate("min(100Mbps, line/400)"),
		flag("clamp_target", clamp,
			"every cut makes the current rate the target (equation 1 of DCQCN's paper, algorithm 1 of DCON's); false: "+
				"only a cut after an increase does (the code of DCQCN's authors)"),
	)
}

// rpConstants holds the constants of a reaction point, shared by all flows. Rates are in bits per second.
type rpConstants struct {
	line, min                 float64
	alpha, g                  float64
	alphaTimer, increaseTimer vtime.Time
	byteCounter               int64 // line bytes; 0: off
	fastRecovery              int   // F
	rai, rhai                 float64
	paperOrder, clampTarget   bool
	undetermined              undeterminedAnswer
	ceAlpha                   float64 // minimum alpha of a cut (TCD)
	overhead                  int64   // line bytes of a packet beyond its payload
}

func newRPConstants(env Env, s *Settings) *rpConstants {
	c := &rpConstants{
		line: float64(env.LineRate), min: s.Rate(minRateName),
		alpha: s.Number("initial_alpha"), g: s.Number("g"),
		alphaTimer: s.Time("alpha_timer"), increaseTimer: s.Time("increase_timer"),
		byteCounter: int64(s.Size("byte_counter")), fastRecovery: int(s.Integer("fast_recovery")),
		rai: s.Rate("rai"), rhai: s.Rate("rhai"),
		paperOrder: s.Choice("order") == "paper", clampTarget: s.Flag("clamp_target"),
		overhead: env.LineMTU - int64(env.MTU), undetermined: s.undetermined(),
	}
	if s.Has(ceAlphaName) {
		c.ceAlpha = s.Number(ceAlphaName)
	}
	return c
}

// clamp limits a rate to [min, line]; NaN becomes min.
func clamp(rate, lowest, line float64) float64 {
	if !(rate >= lowest) {
		return lowest
	}
	return min(rate, line)
}

// dcqcn implements the reaction point of the DCQCN paper. Its timers and its byte counter start with the first CNP.
//
// The byte counter counts line bytes, like the rate: its authors' simulator subtracts whole frames. As in that
// simulator, the bytes of a packet beyond the counter's limit are forgotten.
type dcqcn struct {
	Base
	c *rpConstants

	rate, target float64 // R_C and R_T, bits per second
	alpha        float64 // congestion estimate, 0..1

	alphaAt, increaseAt  vtime.Time // expiry of the timers; Never before the first CNP
	sent, bytePeriod     int64      // line bytes since the last byte event, and until the next
	timeStage, byteStage int        // T and BC: timer and byte events since the last cut
}

func newDCQCN(c *rpConstants) *dcqcn {
	d := new(dcqcn)
	d.init(c)
	return d
}

func (d *dcqcn) init(c *rpConstants) {
	*d = dcqcn{c: c, rate: c.line, target: c.line, alpha: c.alpha, alphaAt: vtime.Never, increaseAt: vtime.Never}
}

// Rate returns R_C.
func (d *dcqcn) Rate() float64 { return d.rate }

// Retimes returns false: in its authors' simulator, a packet's departure is scheduled when the previous packet leaves,
// and no CNP, timer or byte counter moves it.
func (d *dcqcn) Retimes() bool { return false }

// Preset sets R_C and R_T, lets the timers run in the additive stage, and sets alpha to its value in the steady state.
// A flow that gets a CNP every n increases has cut alpha/2 of its rate per n*R_AI regained, and alpha is about 1/n, as
// each CNP adds g and each alpha timer takes g*alpha; hence alpha^2 = 2*R_AI/R. With an alpha of 1, a new flow's, a
// converged flow would halve its rate at the first mark.
func (d *dcqcn) Preset(now vtime.Time, rate float64) {
	d.rate = clamp(rate, d.c.min, d.c.line)
	d.target = d.rate
	d.alpha = min(d.c.alpha, math.Sqrt(2*d.c.rai/d.rate))
	d.restart(now)
	d.timeStage = d.c.fastRecovery
}

// OnCNP cuts the rate. It does not cut for a CNP that reports undetermined without CE.
func (d *dcqcn) OnCNP(s *Sample) {
	switch {
	case s.CE || !s.UE:
		d.alpha = max(d.alpha, d.c.ceAlpha)
		d.cut()
	case d.c.undetermined == undeterminedNone:
		return
	case d.c.undetermined == undeterminedSettle:
		d.target = d.rate
	}
	d.restart(s.Now)
}

// cut applies the paper's multiplicative decrease.
func (d *dcqcn) cut() {
	if d.c.clampTarget || d.timeStage > 0 || d.byteStage > 0 {
		d.target = d.rate
	}
	raised := float64((1-d.c.g)*d.alpha) + d.c.g
	if !d.c.paperOrder {
		d.alpha = raised
	}
	d.rate = max(d.c.min, d.rate*(1-float64(d.alpha/2)))
	d.alpha = raised
}

// restart starts fast recovery.
func (d *dcqcn) restart(now vtime.Time) {
	d.alphaAt = now + d.c.alphaTimer
	d.restartIncrease(now)
}

func (d *dcqcn) restartIncrease(now vtime.Time) {
	d.increaseAt = now + d.c.increaseTimer
	d.sent, d.bytePeriod = 0, d.c.byteCounter
	d.timeStage, d.byteStage = 0, 0
}

// active reports whether timers and byte counter run.
func (d *dcqcn) active() bool { return d.increaseAt != vtime.Never }

// hyper reports whether the flow is in the hyper increase stage.
func (d *dcqcn) hyper() bool { return min(d.timeStage, d.byteStage) >= d.c.fastRecovery }

// increase raises the target by the stage's step and moves the rate half the way there.
func (d *dcqcn) increase() {
	switch lesser := min(d.timeStage, d.byteStage); {
	case d.hyper():
		d.target += float64(float64(lesser-d.c.fastRecovery+1) * d.c.rhai)
	case max(d.timeStage, d.byteStage) >= d.c.fastRecovery:
		d.target += d.c.rai
	}
	d.target = min(d.target, d.c.line)
	d.rate = (d.rate + d.target) / 2
}

// OnSent counts the packet's line bytes.
func (d *dcqcn) OnSent(_ vtime.Time, payload int) {
	if d.c.byteCounter == 0 || !d.active() {
		return
	}
	d.sent += int64(payload) + d.c.overhead
	if d.sent < d.bytePeriod {
		return
	}
	d.byteStage = addStage(d.byteStage)
	d.increase()
	d.sent, d.bytePeriod = 0, d.c.byteCounter
	if d.hyper() {
		d.bytePeriod /= 2
	}
}

// Deadline returns the earlier expiry of the two timers.
func (d *dcqcn) Deadline() vtime.Time { return min(d.alphaAt, d.increaseAt) }

// OnTimer executes the due timers, in order. A late call has the effect of calls in time.
func (d *dcqcn) OnTimer(now vtime.Time) {
	for {
		at := d.Deadline()
		if at > now || at == vtime.Never {
			return
		}
		if d.alphaAt == at {
			d.alpha *= 1 - d.c.g
			d.alphaAt = at + d.c.alphaTimer
		}
		if d.increaseAt == at {
			d.timeStage = addStage(d.timeStage)
			d.increase()
			d.increaseAt = at + d.c.increaseTimer
			if d.hyper() {
				d.increaseAt = at + d.c.increaseTimer/2
			}
		}
	}
}

// addStage counts one more event. The count saturates.
func addStage(stage int) int { return min(stage+1, math.MaxInt32) }

package cc

import (
	"math"

	"github.com/pausenet/pausenet/vtime"
)

var dconSpec = define(Spec{
	Name: "dcon",
	Summary: "DCQCN, plus CNMs by which switches report a burst. On a CNM, the sender of a culprit flow sets " +
		"its rate to C/N at once.",
	Source: "the DCON paper, section 4.3 and algorithm 1; where the paper is silent or unworkable (the " +
		"reaction after a CNM, the meaning of an unmarked CNP), parameters choose; literal=true follows " +
		"algorithm 1 as printed",
	Needs: SwitchNeeds{ECN: true, CNP: true, CNM: true}, Departure: DepartureStays,
	Selector: "literal",
	Parameters: append([]Parameter{
		flag("literal", "false", "follow algorithm 1 as printed: changes the defaults of recovery and increase"),
		{
			Name: "recovery", Kind: ChoiceKind, Choices: recoveryChoices, Default: "freeze", When: "false", Doc: recoveryDoc,
		},
		{
			Name: "recovery", Kind: ChoiceKind, Choices: recoveryChoices, Default: "jump", When: "true", Doc: recoveryDoc,
		},
		{
			Name: "cnm_rate", Kind: ChoiceKind, Choices: []string{"set", "lower"}, Default: "set",
			Doc: "set: a CNM sets the rate to C/N, and may raise it unless another arrived within cnm_window; lower: a CNM " +
				"never raises the rate",
		},
		{
			Name: "increase", Kind: ChoiceKind, Choices: increaseChoices, Default: "dcqcn", When: "false", Doc: increaseDoc,
		},
		{
			Name: "increase", Kind: ChoiceKind, Choices: increaseChoices, Default: "halve", When: "true", Doc: increaseDoc,
		},
		{
			Name: "hold", Kind: TimeKind, Default: "3rtt", Max: "1s",
			Doc: "time after the last CNM for which increases stay frozen (the switch's T is 3 RTT)",
		},
		{
			Name: "cnm_target", Kind: ChoiceKind, Choices: []string{"before", "share"}, Default: "before",
			Doc: "rate that increases return to after a burst, under recovery=freeze. before: the rate before " +
				"the burst, or C/N if that is higher; share: C/N, which avoids PAUSE but keeps flows slow for " +
				"longer",
		},
		{
			Name: "cnm_window", Kind: TimeKind, Default: "50us", Max: "1s",
			Doc: "a CNM that follows another within this time may only lower the rate",
		},
		{
			Name: "cnp_in_hold", Kind: ChoiceKind, Choices: []string{"cut", "keep-target"}, Default: "keep-target",
			Doc: "keep-target: a CNP during the freeze only cuts, as its mark predates the burst; cut: it also " +
				"makes the burst's rate the target, as any CNP does",
		},
	}, reactionPointParameters("", "true")...),
}, func(env Env, s *Settings) (*dconConstants, error) {
	c := &dconConstants{
		rp:   *newRPConstants(env, s),
		jump: s.Choice("recovery") == "jump", mayRaise: s.Choice("cnm_rate") == "set", halve: s.Choice("increase") == "halve",
		hold: s.Time("hold"), window: s.Time("cnm_window"), keepTarget: s.Choice("cnp_in_hold") == "keep-target",
		share: s.Choice("cnm_target") == "share",
	}
	if c.halve {
		// Algorithm 1 has fast recovery only, and no byte counter.
		c.rp.fastRecovery, c.rp.byteCounter = math.MaxInt, 0
	}
	return c, nil
}, func(_ Env, c *dconConstants) Controller { return newDCON(c) })

var (
	recoveryChoices = []string{"freeze", "jump"}
	increaseChoices = []string{"dcqcn", "halve"}
)

const (
	recoveryDoc = "freeze: a CNM stops increases for the hold time, then fast recovery returns to the rate before " +
		"the burst; jump: a CNM changes neither timers nor target"
	increaseDoc = "dcqcn: all stages of DCQCN; halve: only (target+rate)/2, triggered by the timer or an unmarked CNP; " +
		"the target never grows"
)

// dconConstants holds DCON's constants, shared by all flows.
type dconConstants struct {
	rp           rpConstants
	jump         bool // recovery=jump
	mayRaise     bool // cnm_rate=set
	halve        bool // increase=halve
	keepTarget   bool // cnp_in_hold=keep-target
	share        bool // cnm_target=share
	hold, window vtime.Time
}

// dcon implements DCON's sender: DCQCN's reaction point, with a rate that a congestion notification message sets to
// C/N. C is the rate of the congested egress port and N the number of flows through it (DCON paper, algorithm 1, lines
// 1 and 2).
type dcon struct {
	dcqcn
	dc *dconConstants

	lastCNM   vtime.Time // arrival of the last CNM; valid if anyCNM
	anyCNM    bool
	holdUntil vtime.Time // increases are frozen until then
	// episode means that the rate has not increased since the last CNM, so the next CNM belongs to the same burst.
	episode bool
}

func newDCON(c *dconConstants) *dcon {
	d := &dcon{dc: c}
	d.init(&c.rp)
	return d
}

// OnCNM sets the rate to C/N.
func (d *dcon) OnCNM(s *Sample) {
	port := float64(s.CNMRate)
	if port <= 0 {
		port = d.c.line // a CNM in the format of figure 5 lacks C: assume the host's line rate
	}
	share := clamp(port/float64(max(s.CNMFlows, 1)), d.c.min, d.c.line)
	before := d.rate
	if share < d.rate || (d.dc.mayRaise && !(d.anyCNM && s.Now-d.lastCNM < d.dc.window)) {
		d.rate = share
	}
	d.lastCNM, d.anyCNM = s.Now, true

	if !d.active() {
		d.restart(s.Now) // a rate below the line rate must increase again even without a CNP
	}
	if d.dc.jump {
		return
	}
	if !d.episode {
		d.target = before
		d.episode = true
	}
	if d.dc.share || d.rate > d.target {
		d.target = d.rate
	}
	d.holdUntil = s.Now + d.dc.hold
	d.restartIncrease(s.Now)
	d.freeze()
}

// freeze delays the next timer increase until holdUntil.
func (d *dcon) freeze() { d.increaseAt = max(d.increaseAt, d.holdUntil) }

// OnCNP cuts the rate like DCQCN. Under increase=halve, an unmarked CNP increases it instead, unless increases are
// frozen.
func (d *dcon) OnCNP(s *Sample) {
	if d.dc.halve && !s.CE && !s.UE {
		d.alpha *= 1 - d.c.g
		if s.Now >= d.holdUntil {
			d.increase()
			d.episode = false
		}
		d.restart(s.Now)
		d.freeze()
		return
	}
	target := d.target
	d.dcqcn.OnCNP(s)
	if d.dc.keepTarget && d.episode {
		d.target = target
	}
	d.freeze()
}

// OnSent counts the packet's line bytes, but not while increases are frozen.
func (d *dcon) OnSent(now vtime.Time, payload int) {
	if now < d.holdUntil {
		return
	}
	d.dcqcn.OnSent(now, payload)
	d.endEpisode()
}

// OnTimer executes the due timers.
func (d *dcon) OnTimer(now vtime.Time) {
	d.dcqcn.OnTimer(now)
	d.endEpisode()
}

// endEpisode ends the episode if the rate has increased.
func (d *dcon) endEpisode() {
	if d.timeStage > 0 || d.byteStage > 0 {
		d.episode = false
	}
}

package cc

import (
	"math"

	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/vtime"
)

var rcccSpec = define(Spec{
	Name: "rccc",
	Summary: "Ultra Ethernet's grants by the receiver (RCCC). A receiver grants its port's capacity, in " +
		"turn, to senders that announce how much they have left to send.",
	Source: "Ultra Ethernet Specification 1.0, section 3.6 (congestion management), as in its public " +
		"reference simulator (htsim's uec.cpp: UecPullPacer, UecSrc::computePullTarget, " +
		"UecSrc::handlePull, UecSink::pull; oversubscribed_cc.cpp)",
	Needs:     SwitchNeeds{ECN: true, ECNInside: true, ACK: true, Grants: true},
	Departure: DepartureStays,
	HasWindow: true, NetworkRTT: networkRTTParameter.Name,
	Idle: func(s *Settings) (parameters []string, why string) {
		if marksLowerRate(s.env, s) {
			return nil, ""
		}
		why = "cc.rccc.oversubscribed is false, so marks do not lower a receiver's rate"
		if s.Choice("oversubscribed") == auto {
			why = "marks lower a receiver's rate only if the fabric is oversubscribed, which this one is not; to " +
				"enable them here, set cc.rccc.oversubscribed: true"
		}
		return []string{"adjust_period", "target_marks", "mark_gain", "decrease", "increase", "min_share"}, why
	},
	Parameters: []Parameter{
		networkRTTParameter,
		bounded("share", "0.99", "0.01", "1", "share of the port's rate that a receiver grants"),
		{
			Name: "grant_packets", Kind: IntegerKind, Default: "1", Min: "1", Max: "1024",
			Doc: "largest grant, in packets",
		},
		{
			Name: "initial_credit", Kind: SizeKind, Default: "1.5netbdp", Max: "1000GB",
			Doc: "payload that a new flow may send before the first grant, at most max_cwnd; 0: it sends a request first",
		},
		window("max_cwnd", "1.5netbdp",
			"maximum bytes in flight of a flow, and maximum credit that a host's flows have or request, shared among them"),
		{
			Name: "request_timeout", Kind: TimeKind, Default: "500us", Min: "1us", Max: "10s",
			Doc: "time without a grant after which a flow repeats its request",
		},
		{
			Name: "oversubscribed", Kind: ChoiceKind, Default: auto, Choices: []string{auto, "true", "false"},
			Doc: "whether marks lower a receiver's rate, by the constants below; auto: if the fabric's uplinks have less " +
				"capacity than its hosts",
		},
		duration("adjust_period", "1.5netrtt", "1s", "time between two adjustments of a receiver's rate"),
		fraction("target_marks", "0.3", "tolerated share of marked packets: above it, the rate falls"),
		fraction("mark_gain", "0.5", "weight of a period's marks in the average"),
		fraction("decrease", "0.5",
			"cut per excess of the average over target_marks; 0: marks do not lower the rate"),
		fraction("increase", "0.01",
			"share of the port's rate added per period; doubles with each period without marks"),
		fraction("min_share", "0",
			"lower bound on share after cuts by marks; 0: 0.9 over the fabric's oversubscription, or 0.01 if that is less "+
				"or there is none"),
	},
}, func(env Env, s *Settings) (*rcccConstants, error) {
	if int64(s.Size("max_cwnd")) < int64(env.MTU) {
		return nil, schema.Errorf("max_cwnd", "%v is less than a packet, %d B", s.Size("max_cwnd"), env.MTU)
	}
	c := &rcccConstants{line: float64(env.LineRate), Grants: Grants{
		Share: s.Number("share"), Each: int64(s.Integer("grant_packets")) * int64(env.MTU),
		Initial: int64(min(s.Size("initial_credit"), s.Size("max_cwnd"))), Most: int64(s.Size("max_cwnd")),
		Timeout: s.Time("request_timeout"),
		Period:  s.Time("adjust_period"), Target: s.Number("target_marks"), Gain: s.Number("mark_gain"),
		Decrease: s.Number("decrease"), Increase: s.Number("increase"), Least: s.Number("min_share"),
	}}
	oversubscribed := env.Oversubscription > 1
	if c.Least == 0 {
		c.Least = 0.01
		if oversubscribed { // OversubscribedCC::setOversubscriptionRatio
			c.Least = max(c.Least, 0.9/env.Oversubscription)
		}
	}
	if !marksLowerRate(env, s) {
		c.Decrease = 0
	}
	return c, nil
}, func(_ Env, c *rcccConstants) Controller { return &rccc{c: c} })

// marksLowerRate reports whether RCCC's receivers use marks.
func marksLowerRate(env Env, s *Settings) bool {
	choice := s.Choice("oversubscribed")
	return choice == "true" || choice == auto && env.Oversubscription > 1
}

// auto selects the choice that suits the fabric.
const auto = "auto"

// ByGrants is implemented by controllers whose flows send only granted bytes (SwitchNeeds.Grants).
type ByGrants interface {
	Controller
	// Grants returns the constants of the grants. Flows share it.
	Grants() *Grants
}

// Grants holds how receivers distribute grants, and how senders use them. Sizes are payload bytes. The names in
// parentheses are the simulator's.
type Grants struct {
	Share   float64    // share of the line rate, 0 to 1 (pull_rate_modifier)
	Each    int64      // maximum size of a grant (_credit_per_pull)
	Initial int64      // bytes that a flow may send before its receiver's first answer (_maxwnd)
	Most    int64      // maximum credit that a flow holds or requests (_maxwnd)
	Timeout vtime.Time // time after which a flow without credit repeats its request

	// Constants of GrantRate.
	Period   vtime.Time
	Target   float64 // _target_congestion
	Gain     float64 // _alpha
	Decrease float64 // _Md
	Increase float64 // _Ai
	Least    float64 // _min_rate
}

// GrantRate computes the share of its port's rate at which a receiver grants, from the share of marked packets
// (OversubscribedCC::doCongestionControl).
type GrantRate struct {
	share   float64
	average float64 // average share of marked packets (_g)
	raised  int     // consecutive periods that have raised the share (_increase_count)
}

// NewGrantRate returns the state of a receiver that has received nothing.
func NewGrantRate() GrantRate { return GrantRate{share: 1} }

// Share returns the share of the port's rate to grant, above 0 and at most 1.
func (r *GrantRate) Share() float64 { return r.share }

// Step ends a period with this many packets, of which some were marked.
func (r *GrantRate) Step(g *Grants, packets, marked int64) {
	part := 0.0
	if packets > 0 {
		part = float64(marked) / float64(packets)
	}
	r.average = float64(r.average*(1-g.Gain)) + float64(g.Gain*part)
	switch {
	case r.average > g.Target && g.Decrease > 0:
		r.share *= 1 - float64((r.average-g.Target)*g.Decrease)
		r.raised = 0
	case marked == 0:
		r.share += float64(g.Increase * math.Ldexp(1, min(r.raised, 60)))
		r.raised++
	default:
		r.share += g.Increase
		r.raised++
	}
	r.share = clamp(r.share, g.Least, 1)
}

// rcccConstants holds RCCC's constants, shared by all flows.
type rcccConstants struct {
	Grants
	line float64 // b/s
}

// rccc implements the controller of RCCC's sender. Package hostagent counts the granted bytes, and enforces the limit.
type rccc struct {
	Base
	c *rcccConstants
}

// Grants returns the constants of the grants.
func (w *rccc) Grants() *Grants { return &w.c.Grants }

// Rate returns the line rate, because grants control the flow.
func (w *rccc) Rate() float64 { return w.c.line }

// Retimes returns false, as the rate never changes.
func (*rccc) Retimes() bool { return false }

// Window returns the maximum bytes in flight, whatever is granted.
func (w *rccc) Window() int64 { return w.c.Most }

package cc

import (
	"math"

	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/vtime"
)

var swiftSpec = define(Spec{
	Name: "swift",
	Summary: "A window that shrinks as delay exceeds a target. A cut is in proportion to the excess; windows " +
		"below one packet are paced.",
	Source: "Kumar et al., SIGCOMM 2020, as in htsim's swift.cpp, for the fabric's delay only; beta and " +
		"max_mdf are htsim's, the targets and max_cwnd are scaled to the path (the paper's are for its " +
		"own fabric)",
	Needs:     SwitchNeeds{ACK: true},
	Departure: DepartureMovesInWindow,
	HasWindow: true,
	Parameters: []Parameter{
		duration("base_target", "1.25rtt", "10s",
			"target delay of a flow with a large window; base_target plus hops*hop_delay must exceed the unloaded RTT"),
		{
			Name: "hop_delay", Kind: TimeKind, Default: "0s", Max: "1s",
			Doc: "h: target delay added per hop; use it with a base_target below 1.25rtt",
		},
		{
			Name: "hops", Kind: IntegerKind, Default: "4", Min: "0", Max: "64",
			Doc: "number of forward links for hop_delay (4: between two leaves)",
		},
		{
			Name: "fs_range", Kind: TimeKind, Default: "min(0.25rtt, 10us)", Max: "10s",
			Doc: "largest target delay added by flow scaling, at a window of fs_min packets; 0 disables it",
		},
		{
			Name: "fs_min", Kind: NumberKind, Default: "0.1", Min: "1/1000000",
			Doc: "window in packets up to which flow scaling adds all of fs_range",
		},
		{
			Name: "fs_max", Kind: NumberKind, Default: "100", Max: "1000000",
			Doc: "window in packets from which flow scaling adds nothing",
		},
		bounded("ai", "1", "0", "1000",
			"packets that the window grows per RTT; below one packet, per acknowledged packet"),
		fraction("beta", "0.8", "cut per relative excess of the delay over the target (htsim's)"),
		fraction("max_mdf", "0.5",
			"largest share of the window that one cut removes; a NAK or a retransmission timeout removes this share"),
		window("initial_cwnd", "1bdp", "payload in flight of a new flow; kept within min_cwnd and max_cwnd"),
		window("max_cwnd", "2bdp", "maximum payload in flight"),
		{
			Name: "min_cwnd", Kind: NumberKind, Default: "0.001", Min: "1/1000000",
			Doc: "minimum window in packets",
		},
		count("reset_after", "5", "1",
			"number of retransmission timeouts without an ACK between them that set the window to min_cwnd"),
		{
			Name: "pacing", Kind: ChoiceKind, Choices: []string{"always", "below-one"}, Default: "always",
			Doc: "always: at cwnd/RTT, within the line rate; below-one: as in the paper, at line rate for windows of " +
				"one packet or more, rounded down to whole packets",
		},
	},
}, func(env Env, s *Settings) (*swiftConstants, error) {
	mtu := float64(env.MTU)
	c := &swiftConstants{
		base:    float64(s.Time("base_target")) + float64(s.Integer("hops")*int64(s.Time("hop_delay"))),
		fsRange: float64(s.Time("fs_range")),
		ai:      s.Number("ai"), beta: s.Number("beta"), maxMDF: s.Number("max_mdf"),
		minCwnd: s.Number("min_cwnd"), maxCwnd: float64(s.Size("max_cwnd")) / mtu,
		resetAfter: int(s.Integer("reset_after")), always: s.Choice("pacing") == "always",
		line: float64(env.LineRate), mtu: mtu, lineBits: float64(env.LineMTU) * 8e12, baseRTT: float64(env.BaseRTT),
	}
	c.cwnd = clamp(float64(s.Size("initial_cwnd"))/mtu, c.minCwnd, c.maxCwnd)
	fsMin, fsMax := s.Number("fs_min"), s.Number("fs_max")
	switch {
	case c.base <= c.baseRTT:
		return nil, schema.Errorf("base_target", "%v does not exceed the path's unloaded RTT of %v (with hops*hop_delay, "+
			"%v): every ACK would be late, and the window would shrink to min_cwnd",
			s.Time("base_target"), env.BaseRTT, vtime.Time(c.base))
	case fsMin >= fsMax:
		return nil, schema.Errorf("fs_min", "%g is not below fs_max, %g", fsMin, fsMax)
	case c.minCwnd > c.maxCwnd:
		return nil, schema.Errorf("min_cwnd", "%g packets are more than max_cwnd, %g", c.minCwnd, c.maxCwnd)
	}
	c.fsAlpha = c.fsRange / (1/math.Sqrt(fsMin) - 1/math.Sqrt(fsMax))
	c.fsBeta = -c.fsAlpha / math.Sqrt(fsMax)
	return c, nil
}, func(_ Env, c *swiftConstants) Controller {
	return &swift{c: c, cwnd: c.cwnd, srtt: c.baseRTT, lastCut: longAgo, rate: c.rate(c.cwnd, c.baseRTT)}
})

// longAgo precedes every event, but is close enough that subtracting it from a time does not overflow.
const longAgo = -vtime.Never / 2

// swiftConstants holds Swift's constants, shared by all flows. Times are in picoseconds, windows in packets.
type swiftConstants struct {
	base             float64 // base_target + hops*hop_delay
	fsRange          float64
	fsAlpha, fsBeta  float64 // the target's part fsAlpha/sqrt(cwnd) + fsBeta: ps*sqrt(packet), ps
	ai, beta, maxMDF float64
	cwnd             float64 // initial window of a new flow
	minCwnd, maxCwnd float64
	resetAfter       int
	always           bool    // pacing=always
	line             float64 // b/s
	mtu              float64 // payload bytes of a packet
	lineBits         float64 // line bits of a packet times picoseconds per second
	baseRTT          float64
}

// target returns the target delay of a flow with this window.
func (c *swiftConstants) target(cwnd float64) float64 {
	scaling := float64(c.fsAlpha/math.Sqrt(cwnd)) + c.fsBeta
	return c.base + max(0, min(scaling, c.fsRange))
}

// rate returns the rate of a window, in bits per second of line time, at most the line rate.
func (c *swiftConstants) rate(cwnd, rtt float64) float64 {
	return min(c.line, float64(cwnd*c.lineBits)/rtt)
}

// swift implements Swift's sender with only the fabric's window: hosts here have no delay of their own.
type swift struct {
	Base
	c *swiftConstants

	cwnd     float64    // packets
	srtt     float64    // smoothed RTT, ps; the unloaded RTT before the first sample
	measured bool       // srtt comes from samples
	lastCut  vtime.Time // time at which cwnd last fell
	timeouts int        // consecutive timeouts since the last ACK
	rate     float64    // rate that follows from cwnd and srtt
}

// Rate returns cwnd packets per smoothed RTT, so that the gap below one packet is RTT/cwnd. With pacing=below-one it is
// the line rate for windows of at least one packet.
func (w *swift) Rate() float64 {
	if !w.c.always && w.cwnd >= 1 {
		return w.c.line
	}
	return w.rate
}

// Retimes returns false for windows below one packet: the scheduled departure stays, as in Carousel. A larger window
// takes effect at once, as in htsim, which paces only below one packet.
func (w *swift) Retimes() bool { return w.cwnd >= 1 }

// Window returns cwnd in payload bytes, but at least one packet: below that, pacing alone limits the flow.
func (w *swift) Window() int64 {
	cwnd := max(1, w.cwnd)
	if !w.c.always {
		cwnd = math.Floor(cwnd) // otherwise a fraction of the window would admit a whole packet
	}
	return int64(cwnd * w.c.mtu)
}

// Preset sets the state of a flow that has been sending at this rate, at its target delay.
func (w *swift) Preset(_ vtime.Time, rate float64) {
	cwnd := float64(rate*w.c.base) / w.c.lineBits
	w.srtt, w.measured = w.c.target(clamp(cwnd, w.c.minCwnd, w.c.maxCwnd)), true
	w.set(float64(rate*w.srtt) / w.c.lineBits)
}

// OnAck adjusts the window by the packet's delay. An ACK without a delay leaves the window.
func (w *swift) OnAck(s *Sample) {
	w.timeouts = 0
	if s.RTT == 0 {
		return
	}
	delay := float64(s.RTT)
	if w.measured {
		w.srtt += float64((delay - w.srtt) / 8)
	} else {
		w.srtt, w.measured = delay, true
	}
	cwnd, target := w.cwnd, w.c.target(w.cwnd)
	switch {
	case delay < target:
		step := float64(w.c.ai*float64(s.AckedBytes)) / w.c.mtu
		if cwnd >= 1 {
			step /= cwnd
		}
		cwnd += step
	case w.mayCut(s.Now):
		excess := (delay - target) / delay
		cwnd *= max(1-float64(w.c.beta*excess), 1-w.c.maxMDF)
	}
	w.move(s.Now, cwnd)
}

// mayCut reports whether a smoothed RTT has passed since the last cut.
func (w *swift) mayCut(now vtime.Time) bool { return float64(now-w.lastCut) >= w.srtt }

// move sets the window and records whether that was a cut.
func (w *swift) move(now vtime.Time, cwnd float64) {
	before := w.cwnd
	w.set(cwnd)
	if w.cwnd < before {
		w.lastCut = now
	}
}

func (w *swift) set(cwnd float64) {
	w.cwnd = clamp(cwnd, w.c.minCwnd, w.c.maxCwnd)
	w.rate = w.c.rate(w.cwnd, w.srtt)
}

// OnNak cuts the window for a fast retransmission.
func (w *swift) OnNak(now vtime.Time) {
	w.timeouts = 0
	w.cutMost(now)
}

// OnTimeout cuts the window, and sets it to the minimum after several timeouts in a row.
func (w *swift) OnTimeout(now vtime.Time) {
	w.timeouts = addStage(w.timeouts)
	if w.timeouts >= w.c.resetAfter {
		w.move(now, w.c.minCwnd)
		return
	}
	w.cutMost(now)
}

func (w *swift) cutMost(now vtime.Time) {
	if w.mayCut(now) {
		w.move(now, w.cwnd*(1-w.c.maxMDF))
	}
}

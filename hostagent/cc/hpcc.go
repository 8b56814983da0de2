package cc

import (
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

var hpccSpec = define(Spec{
	Name: "hpcc",
	Summary: "Sets the rate by in-band telemetry of the path. Each ACK reports the utilisation of every " +
		"link, and the rate changes at once so that the busiest link reaches eta.",
	Source: "Li et al., SIGCOMM 2019, as in HPCC's simulator (one rate for all hops, a reaction to every " +
		"ACK), with its constants scaled to the line",
	Needs: SwitchNeeds{INT: true, ACK: true}, Departure: DepartureMoves,

	HasWindow: true,
	Parameters: []Parameter{
		bounded("eta", "0.95", "1/1000", "1", "target utilisation of the busiest link"),
		count("max_stage", "0", "0",
			"number of RTTs in a row that only add ai while the busiest link is below eta; the next one jumps to eta"),
		rate("ai", "line/2500", "step added to every new rate (10 Mbps per 25 Gbps of line rate)"),
		duration("rtt", "rtt", "10s",
			"T: time over which the links' utilisation is averaged (the simulator: the network's, 1netrtt)"),
		minimumRate("min(1Gbps, line/25)"),
		windowParameter,
	},
}, func(env Env, s *Settings) (*hpccConstants, error) {
	return &hpccConstants{
		eta: s.Number("eta"), maxStage: int(s.Integer("max_stage")), ai: s.Rate("ai"), rtt: float64(s.Time("rtt")),
		line: float64(env.LineRate), min: s.Rate(minRateName), window: float64(s.Size(windowName)),
	}, nil
}, func(_ Env, c *hpccConstants) Controller { return &hpcc{c: c, rate: c.line, settled: c.line, use: 1} })

// hpccConstants holds HPCC's constants, shared by all flows. Rates are in bits per second.
type hpccConstants struct {
	eta       float64
	maxStage  int
	ai        float64
	rtt       float64 // T, ps
	line, min float64
	window    float64 // W_init: payload bytes in flight at line rate
}

// hpcc implements HPCC's sender.
type hpcc struct {
	Base
	c *hpccConstants

	rate    float64 // R, bits per second: follows every ACK
	settled float64 // R_c: R at the end of the last RTT, the basis of all updates within an RTT
	use     float64 // U: smoothed use of the busiest link, 1 for full
	stage   int     // RTTs in a row that only added ai
	endAt   int64   // an ACK beyond this sequence number ends the RTT

	// Telemetry of the previous ACK; none if hopCount is 0.
	hops     [wire.INTHops]wire.INTHop
	hopCount int
	pathID   uint16
	at       vtime.Time // arrival of that ACK
}

// Rate returns R.
func (h *hpcc) Rate() float64 { return h.rate }

// Retimes returns true. In HPCC's simulator only HPCC calls ChangeRate, which reschedules the next departure: by as
// much as the packet's time at the new rate differs from that at the old one.
func (h *hpcc) Retimes() bool { return true }

// Window returns a window in proportion to the rate.
func (h *hpcc) Window() int64 { return inFlight(h.c.window, h.rate, h.c.line) }

// Preset sets R and R_c, and U to its value in the steady state, eta.
func (h *hpcc) Preset(_ vtime.Time, rate float64) {
	h.rate = clamp(rate, h.c.min, h.c.line)
	h.settled, h.use = h.rate, h.c.eta
}

// OnAck adjusts the rate to the use of the path's links since the previous ACK. The first ACK of a flow, of a path or
// after a long silence has no usable previous ACK, and is only recorded. So is an ACK without telemetry.
func (h *hpcc) OnAck(s *Sample) {
	if len(s.Hops) == 0 || len(s.Hops) > len(h.hops) {
		return
	}
	first := h.hopCount == 0
	use, elapsed, known := 0.0, 0.0, false
	if h.comparable(s) {
		use, elapsed, known = h.busiest(s.Hops)
	}
	h.hopCount = copy(h.hops[:], s.Hops)
	h.pathID, h.at = s.PathID, s.Now
	if first {
		h.endAt = s.NextSend
	}
	if known {
		h.react(s, use, elapsed)
	}
}

// comparable reports whether the ACK's telemetry continues that of the previous ACK: it has the same path, and no hop's
// counters can have wrapped since. ACKs' arrivals only approximate the hops' times: the limit is half of the range.
func (h *hpcc) comparable(s *Sample) bool {
	if len(s.Hops) != h.hopCount || s.PathID != h.pathID {
		return false
	}
	elapsed := s.Now - h.at
	if elapsed >= wire.INTTimeWrap/2 {
		return false
	}
	for i := range s.Hops {
		if float64(s.Hops[i].Rate)*float64(elapsed)/8e12 >= wire.INTTxWrap/2 {
			return false
		}
	}
	return true
}

// busiest returns the use of the busiest link since the previous ACK, and the time over which it was measured, in
// picoseconds. known is false if no hop has data. The use includes the bytes that the port sent, and its queued bytes,
// spread over the time of a full window.
func (h *hpcc) busiest(hops []wire.INTHop) (use, elapsed float64, known bool) {
	for i := range hops {
		now, before := &hops[i], &h.hops[i]
		tau, sent := now.Since(before)
		if tau == 0 || now.Rate == 0 {
			continue
		}
		link := float64(now.Rate)
		queue := float64(min(now.QueueBytes, before.QueueBytes))
		u := float64(sent)*8e12/float64(tau)/link + queue*h.c.line/(link*h.c.window)
		if !known || u > use {
			use, elapsed, known = u, float64(tau), true
		}
	}
	return use, elapsed, known
}

// react adds a new use of the busiest link to the average and sets the rate. It always starts from R_c, which moves
// once per RTT: the ACKs of one RTT describe the same packets in flight.
func (h *hpcc) react(s *Sample, use, elapsed float64) {
	c := h.c
	elapsed = min(elapsed, c.rtt)
	h.use = (float64((c.rtt-elapsed)*h.use) + float64(elapsed*use)) / c.rtt
	excess := h.use / c.eta
	stage := 0
	if excess >= 1 || h.stage >= c.maxStage {
		h.rate = h.settled/excess + c.ai // on idle links excess is 0: clamp limits the infinite rate
	} else {
		h.rate = h.settled + c.ai
		stage = addStage(h.stage)
	}
	h.rate = clamp(h.rate, c.min, c.line)
	if s.AckSequence > h.endAt {
		h.settled, h.stage, h.endAt = h.rate, stage, s.NextSend
	}
}

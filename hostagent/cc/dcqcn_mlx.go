package cc

import "github.com/pausenet/pausenet/vtime"

// mlxParameters returns the constants of the NIC in HPCC's simulator (run.py's dcqcn).
func mlxParameters(when string) []Parameter {
	return under(when,
		fraction("g", "1/256", "weight of the newest observation in alpha"),
		duration("alpha_timer", "1us", "1s", "time between updates of alpha (run.py's dcqcn_paper: 50us)"),
		duration("decrease_timer", "4us", "1s",
			"time between polls for whether a CNP came and the rate must be cut (dcqcn_paper: 50us)"),
		duration("increase_timer", "300us", "1s", "time between increases (dcqcn_paper: 55us)"),
		count("fast_recovery", "1", "1", "F: the increase after F is additive, those after it are hyper"),
		rate("rai", "line/5000", "R_AI: step of the target rate in the additive stage"),
		rate("rhai", "line/500", "R_HAI: step of the target rate in the hyper stage"),
		minimumRate("min(1Gbps, line/25)"),
		flag("clamp_target", "false",
			"every cut makes the current rate the target; false: only a cut after an increase does"),
	)
}

// mlxConstants holds the constants of DCQCN's profile b, shared by all flows. Rates are in bits per second.
type mlxConstants struct {
	line, min, rai, rhai                     float64
	g                                        float64
	alphaTimer, decreaseTimer, increaseTimer vtime.Time
	fastRecovery                             int // F
	clampTarget                              bool
	undetermined                             undeterminedAnswer
}

func newMLXConstants(env Env, s *Settings) *mlxConstants {
	return &mlxConstants{
		line: float64(env.LineRate), min: s.Rate(minRateName), rai: s.Rate("rai"), rhai: s.Rate("rhai"),
		g:          s.Number("g"),
		alphaTimer: s.Time("alpha_timer"), decreaseTimer: s.Time("decrease_timer"), increaseTimer: s.Time("increase_timer"),
		fastRecovery: int(s.Integer("fast_recovery")), clampTarget: s.Flag("clamp_target"),
		undetermined: s.undetermined(),
	}
}

// firstDecreaseDelay makes the checks for CNPs come after the updates of alpha (1 ns, as in HPCC's rdma-hw.cc).
const firstDecreaseDelay = vtime.Nanosecond

// mlx implements the reaction point of a Mellanox NIC as in HPCC's simulator (cc mode 1): three independent timers, no
// byte counter; the first CNP only starts the timers. A CNP is the simulator's bit in the ACK of each marked packet.
//
// Alpha is updated every alpha timer, and the NIC checks for a CNP every decrease timer, but neither changes the rate
// unless a CNP arrived. So both are computed when needed, and OnTimer is called only to change the rate. At equal times
// a CNP comes before the timers, alpha's timer before the others, an increase before a cut: the order in which ns-3
// runs events that were scheduled in this order.
type mlx struct {
	Base
	c *mlxConstants

	rate, target float64 // R_C and R_T, bits per second
	alpha        float64 // congestion estimate, 0..1, at the last update before alphaAt

	started             bool       // the first CNP arrived
	alphaCNP, cutCNP    bool       // a CNP arrived since the last update of alpha, since the last check
	alphaAt, decreaseAt vtime.Time // next update of alpha; next check (or an earlier one that would have found no CNP)
	increaseAt          vtime.Time // next increase; Never before the first cut
	stage               int        // increases since the last cut
}

func newMLX(c *mlxConstants) *mlx {
	return &mlx{
		c: c, rate: c.line, target: c.line, alpha: 1,
		alphaAt: vtime.Never, decreaseAt: vtime.Never, increaseAt: vtime.Never,
	}
}

// Rate returns R_C.
func (m *mlx) Rate() float64 { return m.rate }

// Retimes returns false: HPCC's simulator moves departures only for HPCC.
func (m *mlx) Retimes() bool { return false }

// Preset sets R_C and R_T. Whatever alpha was, the first CNP sets it to 1.
func (m *mlx) Preset(_ vtime.Time, rate float64) {
	m.rate = clamp(rate, m.c.min, m.c.line)
	m.target = m.rate
}

// OnCNP records the CNP for the timers. It does not cut for a CNP that reports undetermined without CE.
func (m *mlx) OnCNP(s *Sample) {
	now := s.Now
	if s.UE && !s.CE {
		switch m.c.undetermined {
		case undeterminedNone:
			return
		case undeterminedSettle:
			m.target = m.rate
		}
		m.stage = 0
		if m.increaseAt != vtime.Never {
			m.increaseAt = now + m.c.increaseTimer
		}
		return
	}
	if !m.started {
		m.started = true
		m.target = m.rate
		m.alphaAt = now + m.c.alphaTimer
		m.decreaseAt = now + m.c.decreaseTimer + firstDecreaseDelay
		m.cutCNP = true
		return
	}
	m.updateAlpha(now - 1)
	m.alphaCNP = true
	if !m.cutCNP {
		m.cutCNP = true
		if missed := now - m.decreaseAt; missed > 0 {
			m.decreaseAt += (missed + m.c.decreaseTimer - 1) / m.c.decreaseTimer * m.c.decreaseTimer
		}
	}
}

// updateAlpha applies the updates of alpha up to and including now.
func (m *mlx) updateAlpha(now vtime.Time) {
	for ; m.alphaAt <= now; m.alphaAt += m.c.alphaTimer {
		m.alpha = float64((1 - m.c.g) * m.alpha)
		if m.alphaCNP {
			m.alpha += m.c.g
			m.alphaCNP = false
		}
		if m.alpha < 1e-300 { // long idle: the rest is negligible, and denormal numbers are slow
			m.alpha = 0
			m.alphaAt += (now - m.alphaAt) / m.c.alphaTimer * m.c.alphaTimer
		}
	}
}

// Deadline returns the next increase, or the next check if it will find a CNP.
func (m *mlx) Deadline() vtime.Time {
	if m.cutCNP {
		return min(m.decreaseAt, m.increaseAt)
	}
	return m.increaseAt
}

// OnTimer executes the due timers, in order. A late call has the effect of calls in time.
func (m *mlx) OnTimer(now vtime.Time) {
	for {
		at := m.Deadline()
		if at > now || at == vtime.Never {
			return
		}
		if m.increaseAt == at {
			m.increase(at)
		} else {
			m.cut(at)
		}
	}
}

func (m *mlx) increase(at vtime.Time) {
	switch {
	case m.stage == m.c.fastRecovery:
		m.target += m.c.rai
	case m.stage > m.c.fastRecovery:
		m.target += m.c.rhai
	}
	m.target = min(m.target, m.c.line)
	m.rate = (m.rate + m.target) / 2
	m.stage = addStage(m.stage)
	m.increaseAt = at + m.c.increaseTimer
}

func (m *mlx) cut(at vtime.Time) {
	m.updateAlpha(at)
	if m.c.clampTarget || m.stage > 0 {
		m.target = m.rate
	}
	m.rate = max(m.c.min, m.rate*(1-float64(m.alpha/2)))
	m.stage = 0
	m.cutCNP = false
	m.decreaseAt = at + m.c.decreaseTimer
	m.increaseAt = at + m.c.increaseTimer
}

package cc

import (
	"math"

	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/vtime"
)

var nsccSpec = define(Spec{
	Name: "nscc",
	Summary: "Ultra Ethernet's window by ECN and delay (NSCC). ECN and delay select one of four quadrants; " +
		"quick adapt sets the window to the bytes that a congested path delivers.",
	Source: "Ultra Ethernet Specification 1.0, section 3.6 (congestion management), as in its public " +
		"reference simulator (htsim's uec.cpp: initNsccParams, updateCwndOnAck_NSCC, " +
		"updateCwndOnNack_NSCC, quick_adapt)",
	Needs:     SwitchNeeds{ECN: true, ACK: true},
	Departure: DepartureStays,
	HasWindow: true, NetworkRTT: networkRTTParameter.Name, DelayTarget: "target_delay",
	Parameters: []Parameter{
		networkRTTParameter,
		duration("target_delay", "1netrtt", "1s",
			"target queueing delay of a flow; the simulator's for switches that trim packets is 0.75netrtt"),
		duration("reference_rtt", "12us", "1s", "RTT of the network that the constants were chosen for"),
		window("reference_bdp", "150KB",
			"bandwidth-delay product of that network (100 Gbps, 12 us): increases scale with this network's over it"),
		bounded("proportional", "4", "0", "1000",
			"alpha: growth of the window without delay, in packets per RTT, times target_delay over reference_rtt; "+
				"it falls linearly to 0 at target_delay"),
		bounded("fair", "5", "0", "1000",
			"fi: growth of the window above the target delay without marks, in packets per RTT"),
		bounded("eta", "0.15", "0", "1000", "packets added per adjust_period, whatever the signals"),
		bounded("fast", "0.25", "0", "1000",
			"fi_scale: growth per acknowledged byte after a whole window without delay"),
		{
			Name: "fast_delay", Kind: TimeKind, Default: "1us", Max: "1s",
			Doc: "largest delay that counts as none, for fast; 0 disables fast",
		},
		fraction("gamma", "0.8", "cut per relative excess of the average delay over the target"),
		fraction("max_cut", "0.5", "largest share of the window that one cut removes"),
		fraction("delay_gain", "0.0125", "weight of a packet's delay in the average"),
		flag("quick_adapt", "true", "whether a window that delivers little is set to the bytes delivered"),
		bounded("quick_delay", "4", "0", "1000",
			"as a multiple of the target: a delay above it makes the flow adapt, as a loss does"),
		{
			Name: "quick_gate", Kind: IntegerKind, Default: "3", Min: "0", Max: "30",
			Doc: "a flow adapts if less than max_cwnd over two to this power was delivered",
		},
		bounded("adjust_packets", "8", "0", "1000000",
			"increases are added to the window after this many acknowledged packets, or adjust_period"),
		duration("adjust_period", "1netrtt", "1s", "see adjust_packets and eta"),
		window("initial_cwnd", "1.5netbdp",
			"window of a new flow until its first ACK, which may show that the path is short; then max_cwnd applies"),
		window("max_cwnd", "1.5bdp", "largest window"),
	},
}, func(env Env, s *Settings) (*nsccConstants, error) {
	mtu, target := float64(env.MTU), float64(s.Time("target_delay"))
	network := s.Time("base_rtt")
	// The network's bandwidth times delay to the reference's.
	scale := float64(float64(env.LineRate)*float64(network)) / 8e12 / float64(s.Size("reference_bdp"))
	c := &nsccConstants{
		line: float64(env.LineRate), mtu: mtu, bdp: float64(float64(env.LineRate)*float64(env.BaseRTT)) / 8e12,
		baseRTT: env.BaseRTT, nakDelay: float64(network), target: target,
		// b is the target over this, and alpha is over the target
		alpha: float64(float64(s.Number("proportional")*mtu)*scale) / float64(s.Time("reference_rtt")),
		fair:  float64(float64(s.Number("fair")*mtu) * scale), eta: float64(float64(s.Number("eta")*mtu) * scale),
		fast: float64(s.Number("fast") * scale), fastDelay: float64(s.Time("fast_delay")),
		gamma: s.Number("gamma"), least: 1 - s.Number("max_cut"), gain: s.Number("delay_gain"),
		quick: s.Flag("quick_adapt"), quickDelay: float64(s.Number("quick_delay") * target),
		adjustBytes: float64(s.Number("adjust_packets") * mtu), adjustPeriod: s.Time("adjust_period"),
		maxCwnd: float64(s.Size("max_cwnd")),
	}
	if c.maxCwnd < mtu {
		return nil, schema.Errorf("max_cwnd", "%v is less than a packet, %d B", s.Size("max_cwnd"), env.MTU)
	}
	c.quickBytes = math.Floor(c.maxCwnd / float64(int64(1)<<s.Integer("quick_gate")))
	c.cwnd = max(float64(s.Size("initial_cwnd")), mtu)
	return c, nil
}, func(_ Env, c *nsccConstants) Controller {
	return &nscc{c: c, cwnd: c.cwnd, adjusted: longAgo, cut: longAgo}
})

// networkRTTParameter describes the parameter of controls that use one RTT for all flows.
var networkRTTParameter = Parameter{
	Name: "base_rtt", Kind: TimeKind, Default: "1netrtt", Min: "1ns", Max: "1s",
	Doc: "RTT of the network, one for all flows; it defines netrtt and netbdp in the constants below",
}

// nsccConstants holds NSCC's constants, shared by all flows. Times are in picoseconds, sizes in payload bytes.
type nsccConstants struct {
	line, mtu, bdp  float64
	baseRTT         vtime.Time // base RTT of the path
	nakDelay        float64    // delay assumed for a lost packet
	target          float64
	alpha           float64 // bytes per picosecond
	fair, eta, fast float64
	fastDelay       float64
	gamma, least    float64
	gain            float64
	quick           bool
	quickDelay      float64
	quickBytes      float64
	adjustBytes     float64
	adjustPeriod    vtime.Time
	cwnd, maxCwnd   float64
}

// nscc implements NSCC's sender. The names in parentheses are the simulator's.
type nscc struct {
	Base
	c *nsccConstants

	cwnd     float64
	average  float64    // average delay (_avg_delay)
	growth   float64    // bytes acknowledged times bytes of increase, since the last adjustment (_inc_bytes)
	received float64    // bytes acknowledged since the last adjustment (_received_bytes)
	adjusted vtime.Time // time of the last adjustment (_last_adjust_time)
	cut      vtime.Time // time of the last multiplicative decrease (_last_dec_time)

	smooth float64 // consecutive bytes acknowledged without delay (_fi_count)
	faster bool    // the window grows by fast (_increase)

	achieved float64    // bytes acknowledged in the present period (_achieved_bytes)
	period   vtime.Time // end of the present period; 0: there was none (_qa_endtime)
	lost     bool       // there was a loss since the last adaptation (_trigger_qa)
	ignore   float64    // bytes in flight at the last adaptation (_bytes_to_ignore)
	ignored  float64    // bytes answered since the last adaptation (_bytes_ignored)

	inFlight float64 // bytes
}

// Rate returns the line rate: only the window limits the flow.
func (w *nscc) Rate() float64 { return w.c.line }

// Retimes returns false, as the rate never changes.
func (*nscc) Retimes() bool { return false }

// Window returns cwnd in whole packets, because a packet leaves only if it fits completely.
func (w *nscc) Window() int64 { return int64(float64(math.Floor(w.cwnd/w.c.mtu) * w.c.mtu)) }

// Preset sets the state of a flow that had its rate without delay.
func (w *nscc) Preset(_ vtime.Time, rate float64) {
	w.cwnd = w.bounded(float64(rate*w.c.bdp) / w.c.line)
}

// OnSent counts the bytes in flight, for quick adapt.
func (w *nscc) OnSent(_ vtime.Time, payload int) { w.inFlight += float64(payload) }

// OnAck adjusts the window by the packet's mark and delay (processAck, updateCwndOnAck_NSCC).
func (w *nscc) OnAck(s *Sample) {
	newly := float64(s.AckedBytes)
	w.inFlight = float64(s.InFlight)
	w.achieved += newly
	w.received += newly
	w.ignored += newly
	delay := w.average // for an ACK without an RTT (validateSendTs)
	if s.RTT > 0 {
		delay = float64(max(0, s.RTT-w.c.baseRTT))
		w.measure(delay, s.CE)
	}
	if w.adapt(s.Now, s.CE, delay) {
		return
	}
	switch low := delay < w.c.target; {
	case !s.CE && low:
		w.increase(newly, delay)
	case !s.CE:
		w.growth += float64(w.c.fair * newly)
	case !low:
		w.decrease(s.Now)
	} // marked without delay: a matter of the path, which is ECMP's here
	w.cwnd = w.bounded(w.cwnd)
	if w.received > w.c.adjustBytes || s.Now-w.adjusted > w.c.adjustPeriod {
		w.adjust(s.Now)
		w.cwnd = w.bounded(w.cwnd)
	}
}

// OnNak handles the loss of a packet, trimmed or missing (updateCwndOnNack_NSCC).
func (w *nscc) OnNak(now vtime.Time) {
	w.ignored += w.c.mtu
	w.measure(w.c.nakDelay, true)
	w.lost = true
	if !w.adapt(now, true, 0) {
		w.cwnd = w.bounded(w.cwnd - w.c.mtu)
	}
}

// OnTimeout handles the first packet in flight as lost (mark_packet_for_retransmission).
func (w *nscc) OnTimeout(vtime.Time) { w.cwnd = max(w.c.mtu, w.cwnd-w.c.mtu) }

// OnLoss subtracts each lost packet from the window, which had it in flight until now.
func (w *nscc) OnLoss(now vtime.Time, payload int64, timeout bool) {
	if timeout {
		w.OnTimeout(now)
	} else {
		w.OnNak(now)
	}
	w.inFlight -= float64(payload)
}

func (w *nscc) bounded(cwnd float64) float64 { return clamp(cwnd, w.c.mtu, w.c.maxCwnd) }

// measure adds a packet's delay to the average. A late packet without a mark counts for a quarter of an RTT: its queue
// is about to drain (update_delay).
func (w *nscc) measure(delay float64, marked bool) {
	if !marked && delay > w.c.target {
		delay = float64(w.c.baseRTT) / 4
	}
	w.average = float64(w.c.gain*delay) + float64((1-w.c.gain)*w.average)
}

// adapt sets the window to the bytes delivered in a period, if they are few and there was a loss or a long delay.
// Answers to packets in flight at that time carry no more information. adapt reports whether to ignore the answer
// (quick_adapt).
func (w *nscc) adapt(now vtime.Time, marked bool, delay float64) (over bool) {
	if !w.c.quick {
		return false
	}
	switch {
	case w.ignored < w.ignore && marked:
		over = true
	case now > w.period:
		if w.period != 0 && (w.lost || delay > w.c.quickDelay) && w.achieved < w.c.quickBytes {
			w.cwnd = max(w.achieved, w.c.mtu)
			w.ignore, w.ignored, w.lost = w.inFlight, 0, false
			over = true
		}
		w.achieved = 0
		w.period = now + w.c.baseRTT + vtime.Time(w.c.target)
	}
	if over {
		w.growth, w.received = 0, 0
	}
	return over
}

// increase applies the proportional increase, or the fast one after a window without delay (proportional_increase,
// fast_increase).
func (w *nscc) increase(newly, delay float64) {
	if delay < w.c.fastDelay {
		w.smooth += newly
		if w.faster = w.faster || w.smooth > w.cwnd; w.faster {
			w.cwnd += float64(newly * w.c.fast)
			return
		}
	} else {
		w.smooth = 0
	}
	w.faster = false
	w.growth += float64(float64(w.c.alpha*newly) * (w.c.target - delay))
}

// decrease cuts the window, once per RTT, by as much as the average delay is above the target
// (multiplicative_decrease).
func (w *nscc) decrease(now vtime.Time) {
	w.faster, w.smooth = false, 0
	if w.average > w.c.target && now-w.cut > w.c.baseRTT {
		excess := (w.average - w.c.target) / w.average
		w.cwnd = max(w.c.mtu, w.cwnd*max(1-float64(w.c.gamma*excess), w.c.least))
		w.cut = now
	}
}

// adjust adds the increases since the last adjustment (fulfill_adjustment).
func (w *nscc) adjust(now vtime.Time) {
	w.cwnd += w.growth / w.cwnd
	if now-w.adjusted >= w.c.adjustPeriod {
		w.cwnd += w.c.eta
		w.adjusted = now
	}
	w.growth, w.received = 0, 0
}

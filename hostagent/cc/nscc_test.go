package cc

import (
	"testing"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// uecPath describes the path for which NSCC's constants were chosen: 100 Gb/s and 12 us.
var uecPath = Env{LineRate: 100 * units.Gbps, BaseRTT: 12 * us, MTU: 1000, LineMTU: 1048}

func newNSCC(t *testing.T, given map[string]string, env Env) *nscc {
	t.Helper()
	return mustBuild(t, "nscc", given, env).(*nscc)
}

// The simulator's constants, scaled to the path (vectors, NSCC).
func TestNSCCConstants(t *testing.T) {
	for _, c := range []struct {
		env                               Env
		alpha, fair, eta, fast, max, gate float64
	}{
		{uecPath, 333.333333, 5000, 150, 0.25, 225000, 28125},
		{env40, 444.444444, 6666.66667, 200, 0.333333333, 300000, 37500},
		{env100, 115.555556, 1733.33333, 52, 0.0866666667, 78000, 9750},
	} {
		w := newNSCC(t, nil, c.env)
		near(t, "alpha", w.c.alpha*1e6, c.alpha, 0.6e-6) // per us
		near(t, "fair", w.c.fair, c.fair, 0.6e-5)
		near(t, "eta", w.c.eta, c.eta, 1e-9)
		near(t, "fast", w.c.fast, c.fast, 0.6e-9)
		near(t, "max_cwnd", w.c.maxCwnd, c.max, 0)
		near(t, "the gate", w.c.quickBytes, c.gate, 0)
		near(t, "initial window", w.cwnd, c.max, 0)
		if w.Rate() != float64(c.env.LineRate) {
			t.Errorf("rate %g", w.Rate())
		}
	}
	w := newNSCC(t, map[string]string{"target_delay": "0.75rtt"}, uecPath)
	near(t, "alpha does not depend on the target", w.c.alpha*1e6, 333.333333, 0.6e-6)
}

// Each quadrant, fast increase and losses, one after the other (vectors, NSCC).
func TestNSCCHistory(t *testing.T) {
	w := newNSCC(t, nil, uecPath)
	w.cwnd = 60000
	now := 100 * us
	for _, h := range []struct {
		acks   int // 0: a NAK
		rtt    float64
		marked bool
		cwnd   float64
		avg    float64
	}{
		{1, 12, false, 60216.666667, 0},
		{8, 14, false, 60216.666667, 0.191465},
		{9, 23, false, 60665.047514, 1.348368},
		{10, 24, false, 61531.660498, 2.607370},
		{20, 13, true, 61531.660498, 2.249850},
		{100, 40, true, 61391.622318, 20.680352},
		{200, 40, true, 35526.898896, 27.408560},
		{160, 40, true, 19593.606782, 27.920960},
		{60, 12.5, false, 33103.064593, 13.391662},
		{40, 12.5, false, 43253.064593, 8.294587},
		{0, 0, false, 42253.064593, 8.340904},
		{12, 12, true, 42253.064593, 7.172299},
		{0, 0, false, 41253.064593, 7.232645},
		{400, 12.1, false, 141553.064593, 0.146569},
		{1, 80, false, 141553.064593, 0.182236},
		{30, 25, true, 141588.387036, 4.211285},
	} {
		if h.acks == 0 {
			w.OnNak(now)
		}
		for range h.acks {
			now += 80 * vtime.Nanosecond
			w.OnAck(&Sample{Now: now, RTT: vtime.Time(h.rtt * 1e6), CE: h.marked, AckedBytes: 1000, InFlight: 40000})
		}
		near(t, "cwnd", w.cwnd, h.cwnd, 0.6e-6)
		near(t, "average delay", w.average/1e6, h.avg, 0.6e-6)
	}
	if w.Window() != 141000 {
		t.Errorf("a window of %d, not of whole packets", w.Window())
	}
}

// A flow of a short path: its delay, cuts and largest window are by its own RTT, all else by the network's (vectors,
// NSCC).
func TestNSCCNetworkRTT(t *testing.T) {
	env := Env{LineRate: 100 * units.Gbps, BaseRTT: 5 * us, NetworkRTT: 9 * us, MTU: 1000, LineMTU: 1048}
	given := env
	given.NetworkRTT = 20 * us
	for name, w := range map[string]*nscc{
		"the fabric's": newNSCC(t, nil, env),
		"a given one":  newNSCC(t, map[string]string{"base_rtt": "9us"}, given),
	} {
		t.Run(name, func(t *testing.T) {
			near(t, "alpha", w.c.alpha*1e6, 250, 0.6e-6)
			near(t, "fair", w.c.fair, 3750, 1e-9)
			near(t, "eta", w.c.eta, 112.5, 1e-9)
			near(t, "fast", w.c.fast, 0.1875, 0.6e-9)
			near(t, "max_cwnd", w.c.maxCwnd, 93750, 0)
			near(t, "the gate", w.c.quickBytes, 11718, 0)
			near(t, "initial window", w.cwnd, 168750, 0)
			now := 100 * us
			ack := func(rtt float64, marked bool) {
				w.OnAck(&Sample{Now: now, RTT: vtime.Time(rtt * 1e6), CE: marked, AckedBytes: 1000, NextSend: 40000})
			}
			ack(5, false)
			near(t, "cwnd after the first ACK", w.cwnd, 93750, 0)
			w.cwnd = 40000
			for _, h := range []struct {
				acks   int // 0: a NAK
				rtt    float64
				marked bool
				cwnd   float64
				avg    float64
			}{
				{30, 7, false, 41169.845863, 0.628666},
				{40, 11, false, 41893.810962, 2.752372},
				{80, 15, false, 48714.991633, 1.799219},
				{20, 8, true, 48791.969989, 2.066303},
				{200, 20, true, 27625.821308, 13.954934},
				{100, 20, true, 19402.988321, 14.702933},
				{0, 0, false, 18402.988321, 14.631647},
				{60, 5.5, false, 28121.412109, 7.143838},
				{0, 0, false, 27121.412109, 7.167040},
				{10, 30, false, 27536.213519, 6.467657},
				{100, 60, true, 13785.933507, 41.204365},
			} {
				if h.acks == 0 {
					w.OnNak(now)
				}
				for range h.acks {
					now += 80 * vtime.Nanosecond
					ack(h.rtt, h.marked)
				}
				near(t, "cwnd", w.cwnd, h.cwnd, 0.6e-6)
				near(t, "average delay", w.average/1e6, h.avg, 0.6e-6)
			}
		})
	}
}

// TestNSCCQuickAdapt: a flow of which four packets are delivered in a period adapts to that, and ignores the answers to
// packets in flight (vectors, NSCC).
func TestNSCCQuickAdapt(t *testing.T) {
	w := newNSCC(t, nil, uecPath)
	for _, a := range []struct {
		at, rtt vtime.Time
		marked  bool
		cwnd    float64
	}{
		{0, 70, false, 225000},
		{5, 70, true, 225000},
		{10, 70, true, 225000},
		{15, 70, true, 225000},
		{30, 70, true, 4000},
		{31, 70, true, 4000},
		{40, 70, false, 5400},
		{41, 30, true, 5400},
		{75, 30, true, 5550},
	} {
		w.OnAck(&Sample{Now: (100 + a.at) * us, RTT: a.rtt * us, CE: a.marked, AckedBytes: 1000, InFlight: 3000})
		near(t, "cwnd", w.cwnd, a.cwnd, 0.6e-6)
	}
	off := newNSCC(t, map[string]string{"quick_adapt": "false"}, uecPath)
	for i := range 20 {
		off.OnAck(&Sample{Now: vtime.Time(100+5*i) * us, RTT: 70 * us, CE: true, AckedBytes: 1000, InFlight: 3000})
	}
	if off.cwnd < 50_000 {
		t.Errorf("without quick adapt a window of %g", off.cwnd)
	}
}

func TestNSCCTimeoutAndPreset(t *testing.T) {
	w := newNSCC(t, nil, uecPath)
	w.cwnd = 1500
	w.OnTimeout(us)
	near(t, "cwnd after a timeout", w.cwnd, 1000, 0)
	w.Preset(0, 50e9)
	near(t, "cwnd at half the line", w.cwnd, 75000, 1e-9)
}

// TestNSCCQuickAdaptEdges puts each condition of quick adapt to either side of its edge. The path's numbers, by hand: a
// target of 12 us, so that a period lasts 12+12 us and a long delay is above 48 us; the gate is 225000/8 = 28125 bytes.
func TestNSCCQuickAdaptEdges(t *testing.T) {
	ack := func(w *nscc, at, rtt vtime.Time, bytes int64) {
		w.OnAck(&Sample{Now: at, RTT: rtt, AckedBytes: bytes, InFlight: 3000})
	}
	t.Run("the period", func(t *testing.T) {
		w := newNSCC(t, nil, uecPath)
		w.OnNak(100 * us) // the first: there was no period before
		near(t, "cwnd", w.cwnd, 224_000, 0)
		w.OnNak(124 * us) // the period's last moment
		near(t, "cwnd", w.cwnd, 223_000, 0)
		w.OnNak(124*us + 1) // nothing was delivered in it
		near(t, "cwnd", w.cwnd, 1000, 0)
	})
	t.Run("a loss before", func(t *testing.T) {
		w := newNSCC(t, nil, uecPath)
		w.OnNak(100 * us)
		ack(w, 125*us, 12*us, 5000)
		near(t, "cwnd", w.cwnd, 5000, 0)
		ack(w, 150*us, 12*us, 1000) // one loss makes it adapt once
		if w.cwnd <= 5000 {
			t.Errorf("a window of %g in the period after", w.cwnd)
		}
	})
	for _, c := range []struct {
		rtt   vtime.Time
		bytes int64
		cwnd  float64 // 0: it does not adapt
	}{
		{60 * us, 1000, 0},
		{60*us + 1, 1000, 1000},
		{61 * us, 28_125, 0},
		{61 * us, 28_124, 28_124},
	} {
		w := newNSCC(t, nil, uecPath)
		ack(w, 100*us, 12*us, 1000)
		before := w.cwnd
		ack(w, 125*us, c.rtt, c.bytes)
		if c.cwnd == 0 && w.cwnd != before || c.cwnd > 0 && w.cwnd != c.cwnd {
			t.Errorf("RTT %v, %d bytes: a window of %g, want %g", c.rtt, c.bytes, w.cwnd, c.cwnd)
		}
	}
	t.Run("what was in flight", func(t *testing.T) {
		w := newNSCC(t, nil, uecPath)
		w.OnNak(100 * us)
		ack(w, 125*us, 12*us, 5000) // three packets are in flight
		for i, want := range []float64{5000, 5000, 4000} {
			w.OnNak(126 * us)
			near(t, "cwnd", w.cwnd, want, 0)
			if t.Failed() {
				t.Fatalf("NAK %d", i)
			}
		}
	})
}

// TestNSCCNakDelay: a lost packet counts with the network's RTT, 12 us, also above the target, where an unmarked one
// counts for a quarter.
func TestNSCCNakDelay(t *testing.T) {
	w := newNSCC(t, map[string]string{"target_delay": "6us", "quick_adapt": "false"}, uecPath)
	w.OnNak(us)
	near(t, "average delay", w.average, 0.0125*12e6, 1e-6)
}

// TestNSCCEdges: by hand, on a path where the target is 12 us, alpha 4000 B over it (333.3 B/us), fast 1/4, eta 150 B
// and fair 5000 B; a window of 60000 B.
func TestNSCCEdges(t *testing.T) {
	flow := func() *nscc {
		w := newNSCC(t, map[string]string{"quick_adapt": "false"}, uecPath)
		w.cwnd, w.adjusted = 60_000, 100*us
		return w
	}
	// After exactly a window without delay the increase is the usual one, a packet later the fast one.
	w := flow()
	w.OnAck(&Sample{Now: 101 * us, RTT: 12 * us, AckedBytes: 60_000})
	near(t, "cwnd after a window without delay", w.cwnd, 64_000, 1e-3)
	w = flow()
	w.OnAck(&Sample{Now: 101 * us, RTT: 12 * us, AckedBytes: 61_000})
	near(t, "cwnd after more", w.cwnd, 60_000+61_000/4, 0)
	// A delay of fast_delay, 1 us, is one.
	w = flow()
	w.OnAck(&Sample{Now: 101 * us, RTT: 13*us - 1, AckedBytes: 1000})
	near(t, "bytes without delay", w.smooth, 1000, 0)
	w.OnAck(&Sample{Now: 101 * us, RTT: 13 * us, AckedBytes: 1000})
	near(t, "bytes without delay after one", w.smooth, 0, 0)
	// At the target there is fair increase, 9000 x 5000 / 60000, and after adjust_period eta.
	for at, want := range map[vtime.Time]float64{112*us - 1: 60_750, 112 * us: 60_900} {
		w = flow()
		w.OnAck(&Sample{Now: at, RTT: 24 * us, AckedBytes: 9000})
		near(t, "cwnd after fair increase", w.cwnd, want, 1e-9)
	}
	// An ACK that tells no RTT goes by the average, here twice the target: a cut of 0.8 times a half.
	w = flow()
	w.average = 24e6
	w.OnAck(&Sample{Now: 101 * us, CE: true, AckedBytes: 1000})
	near(t, "cwnd after a mark without an RTT", w.cwnd, 36_000, 1e-9)
}

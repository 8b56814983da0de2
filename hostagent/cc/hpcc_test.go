package cc

import (
	"testing"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

func hpcc100(t *testing.T, given map[string]string) *hpcc {
	t.Helper()
	return mustBuild(t, "hpcc", given, env100).(*hpcc)
}

// link returns a hop of a 100 Gb/s port.
func link(departed vtime.Time, sent, queue int64) wire.INTHop {
	return wire.INTHop{Rate: 100 * units.Gbps, Departed: departed, TxBytes: sent, QueueBytes: queue}
}

// acked returns the ACK of the packet that ends at the given sequence, 52 000 B after it being under way.
func acked(now vtime.Time, sequence int64, hops ...wire.INTHop) *Sample {
	return &Sample{Now: now, AckSequence: sequence, NextSend: sequence + 52_000, Hops: hops, PathID: 7}
}

// Algorithm 1 of the HPCC paper, as its simulator has it (vectors, HPCC).
func TestHPCCVectors(t *testing.T) {
	const ns = vtime.Nanosecond
	for _, c := range []struct {
		given        map[string]string
		settled, use float64 // Gb/s, 1
		sent, queue  int64
		dt           vtime.Time

		wantUse, wantRate float64
		wantStage         int
	}{
		{nil, 100, 1, 25_000, 25_000, 2 * us, 1.231139053, 77.204313608, 0}, // u_i 1.480769231
		{nil, 100, 1, 52_000, 0, 4160 * ns, 1, 95.04, 0},
		{nil, 50, 0.9, 10_000, 0, 4160 * ns, 0.192307692, 100, 0},
		{nil, 10, 1.2, 25_000, 260_000, 2 * us, 3.507692308, 2.748333333, 0}, // u_i 6
		{map[string]string{"max_stage": "5"}, 50, 0.9, 10_000, 0, 4160 * ns, 0.192307692, 50.04, 1},
	} {
		h := hpcc100(t, c.given)
		h.OnAck(acked(0, 1000, link(0, 0, c.queue+999)))
		h.settled, h.use, h.stage = c.settled*1e9, c.use, 0
		h.OnAck(acked(c.dt, 54_000, link(c.dt, c.sent, c.queue)))
		near(t, "U", h.use, c.wantUse, 0.6e-9)
		expect(t, "R", h.Rate(), c.wantRate)
		expect(t, "R_c", h.settled, c.wantRate)
		if h.stage != c.wantStage {
			t.Errorf("%+v: stage %d", c, h.stage)
		}
	}
}

// TestHPCCOncePerRTT: every ACK moves U and R, but from the R_c of the RTT before.
func TestHPCCOncePerRTT(t *testing.T) {
	h := hpcc100(t, nil)
	h.OnAck(acked(0, 1000, link(0, 0, 0)))
	expect(t, "R after the first ACK", h.Rate(), 100)
	if h.endAt != 53_000 {
		t.Fatalf("the first RTT ends at %d", h.endAt)
	}
	// A full link at which a whole window waits: u_i = 2, but 1 at first, as the lesser of two queues counts and the first
	// was empty. Each ACK is half a T after the one before.
	half := vtime.Time(2080 * vtime.Nanosecond)
	for i, want := range []float64{1, 1.5, 1.75} {
		n := int64(i + 1)
		sequence := 20_000 * n // the third is beyond 53 000
		h.OnAck(acked(half*vtime.Time(n), sequence, link(half*vtime.Time(n), 26_000*n, 52_000)))
		near(t, "U", h.use, want, 1e-12)
		expect(t, "R", h.Rate(), 100/(want/0.95)+0.04)
		if i < 2 && h.settled != 100e9 {
			t.Errorf("R_c moved to %g within the RTT", h.settled)
		}
	}
	if h.settled != h.rate || h.endAt != 60_000+52_000 {
		t.Errorf("R_c %g, R %g, the next RTT ends at %d", h.settled, h.rate, h.endAt)
	}
}

// TestHPCCBusiest: the busiest of the hops counts, with its own time and rate; one whose clock stood still, or whose
// rate is unknown, does not.
func TestHPCCBusiest(t *testing.T) {
	slow := func(departed vtime.Time, sent int64) wire.INTHop {
		return wire.INTHop{Rate: 25 * units.Gbps, Departed: departed, TxBytes: sent}
	}
	unknown := wire.INTHop{Departed: 5 * us, TxBytes: 1 << 20}
	for _, c := range []struct {
		name          string
		before, after []wire.INTHop
		want          float64
	}{
		// 100 Gb/s: 12 500 B in 4.16 us are 0.2404; 25 Gb/s: 6 500 B in 2.08 us are 1, over half a T: U (1+1)/2.
		{
			"slower",
			[]wire.INTHop{link(0, 0, 0), slow(0, 0)},
			[]wire.INTHop{link(4160*vtime.Nanosecond, 12_500, 0), slow(2080*vtime.Nanosecond, 6500)},
			1,
		},
		{
			"clock stands",
			[]wire.INTHop{link(us, 0, 9), link(us, 0, 0)},
			[]wire.INTHop{link(us, 99_000, 9), link(us+4160*vtime.Nanosecond, 26_000, 0)},
			0.5,
		},
		{
			"rate unknown",
			[]wire.INTHop{{}, link(0, 0, 0)},
			[]wire.INTHop{unknown, link(4160*vtime.Nanosecond, 26_000, 0)},
			0.5,
		},
		// Over more than T, the new use is all that counts.
		{"long", []wire.INTHop{link(0, 0, 0)}, []wire.INTHop{link(10*us, 62_500, 0)}, 0.5},
		{"nothing known", []wire.INTHop{{}}, []wire.INTHop{unknown}, 1},
		// Counters that went round: 1 us before 16.777216 ms to 1 us after; 25 000 B over 2 us.
		{
			"round",
			[]wire.INTHop{link(wire.INTTimeWrap-us, wire.INTTxWrap-12_800, 0)},
			[]wire.INTHop{link(us, 12_200, 0)},
			(2.16*1 + 2*1) / 4.16,
		},
	} {
		h := hpcc100(t, nil)
		h.OnAck(acked(0, 1000, c.before...))
		h.OnAck(acked(us, 2000, c.after...))
		near(t, c.name+": U", h.use, c.want, 1e-12)
	}
}

// TestHPCCDiscards: telemetry of another path, or from before the counters may have gone round, is not compared; the
// next is, with this one.
func TestHPCCDiscards(t *testing.T) {
	full := func(now vtime.Time, sequence int64) *Sample { // sends at line rate from time 0 on
		return acked(now, sequence, link(now%wire.INTTimeWrap, int64(now/80)%wire.INTTxWrap, 0))
	}
	for _, c := range []struct {
		name    string
		second  *Sample
		ignored bool
	}{
		{"same path", full(100*us, 60_000), false},
		{"other id", func() *Sample { s := full(100*us, 60_000); s.PathID = 8; return s }(), true},
		{"other length", func() *Sample { s := full(100*us, 60_000); s.Hops = append(s.Hops, s.Hops[0]); return s }(), true},
		{"no telemetry", &Sample{Now: 100 * us, AckSequence: 60_000, NextSend: 112_000}, true},
		{"half a round of the bytes less a little", full(5368*us, 60_000), false}, // 67.1 MB at 100 Gbps take 5368.7 us
		{"half a round of the bytes", full(5369*us, 60_000), true},
		{"half a round of the clock", &Sample{
			Now: 8389 * us, AckSequence: 60_000, NextSend: 112_000, PathID: 7,
			Hops: []wire.INTHop{{Rate: units.Gbps, Departed: 8389 * us, TxBytes: 1_048_576}},
		}, true},
		{"half a round of the clock less a little", &Sample{
			Now: 8388 * us, AckSequence: 60_000, NextSend: 112_000, PathID: 7,
			Hops: []wire.INTHop{{Rate: units.Gbps, Departed: 8388 * us, TxBytes: 1_048_576}},
		}, false},
	} {
		h := hpcc100(t, nil)
		h.use = 0.5
		h.OnAck(full(0, 1000))
		h.OnAck(c.second)
		if h.use == 0.5 != c.ignored || h.settled == 100e9 != c.ignored {
			t.Errorf("%s: U %g, R_c %g", c.name, h.use, h.settled)
		}
		if !c.ignored || len(c.second.Hops) == 0 {
			continue
		}
		// 4.16 us later at half the line rate: U is that of this time alone.
		third := *c.second
		third.Hops = append([]wire.INTHop(nil), c.second.Hops...)
		third.Now += 4160 * vtime.Nanosecond
		for i := range third.Hops {
			third.Hops[i].Departed += 4160 * vtime.Nanosecond
			third.Hops[i].TxBytes += int64(float64(third.Hops[i].Rate) / 8 * 4160e-9 / 2)
		}
		h.OnAck(&third)
		near(t, c.name+": U", h.use, 0.5, 1e-12)
	}
}

func TestHPCCConstants(t *testing.T) {
	for _, c := range []struct {
		env    Env
		given  map[string]string
		ai     float64
		rtt    float64 // us
		min    float64
		window int64
	}{
		{env100, nil, 40e6, 4.16, 1e9, 52_000},
		{env40, nil, 16e6, 40, 1e9, 200_000},
		{env40, map[string]string{"rtt": "50us", "window": "2bdp", "min_rate": "100Mbps"}, 16e6, 50, 100e6, 400_000},
	} {
		h := mustBuild(t, "hpcc", c.given, c.env).(*hpcc)
		if h.c.ai != c.ai || h.c.rtt != c.rtt*1e6 || h.c.min != c.min || h.Window() != c.window || h.c.eta != 0.95 ||
			h.c.maxStage != 0 {
			t.Errorf("%v: %+v, window %d", c.given, h.c, h.Window())
		}
		h.rate /= 4
		if h.Window() != c.window/4 {
			t.Errorf("window %d at a quarter of the line rate", h.Window())
		}
	}
}

// TestHPCCStages: below eta the rate grows by ai alone for max_stage RTTs, then goes to eta at once.
func TestHPCCStages(t *testing.T) {
	h := hpcc100(t, map[string]string{"max_stage": "2"})
	h.Preset(0, 10e9)
	var rates []float64
	for i := range int64(5) {
		now := vtime.Time(i) * 4160 * vtime.Nanosecond
		h.OnAck(acked(now, 1000+60_000*i, link(now, 24_700*i, 0))) // 0.475 of the link: half of eta
		rates = append(rates, h.Rate()/1e9)
	}
	// U is 0.475 from the second ACK on. R: 10; 10.04; 10.08; 2*10.08+0.04 = 20.2, stage 0 again; 20.24.
	for i, want := range []float64{10, 10.04, 10.08, 20.2, 20.24} {
		near(t, "R", rates[i], want, 1e-9)
	}
	if h.stage != 1 {
		t.Errorf("stage %d", h.stage)
	}
}

func TestHPCCPreset(t *testing.T) {
	h := hpcc100(t, nil)
	h.Preset(0, 20e9)
	if h.Rate() != 20e9 || h.settled != 20e9 || h.use != 0.95 {
		t.Errorf("%+v", h)
	}
	h.Preset(0, 1)
	expect(t, "R at its least", h.Rate(), 1)
}

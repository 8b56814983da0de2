package cc

import (
	"testing"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

func dcon40(t *testing.T, given map[string]string) *dcon {
	t.Helper()
	return mustBuild(t, "dcon", given, env40).(*dcon)
}

func cnm(now vtime.Time, flows int) *Sample {
	return &Sample{Now: now, CNMFlows: flows, CNMRate: 40 * units.Gbps}
}

// DCON paper, algorithm 1, line 2: the rate is C/N (vectors, DCON).
func TestDCONShare(t *testing.T) {
	for flows, want := range map[int]float64{1: 40, 2: 20, 15: 2.666666667, 16: 2.5, 100: 0.4, 255: 0.156862745} {
		d := dcon40(t, nil)
		d.OnCNM(cnm(0, flows))
		expect(t, "C/N", d.rate, want)
	}
	d := dcon40(t, nil)
	d.OnCNM(&Sample{CNMFlows: 16, CNMRate: 10 * units.Gbps})
	expect(t, "C/N of a 10 Gbps port", d.rate, 0.625)
	d = dcon40(t, nil)
	d.OnCNM(&Sample{CNMFlows: 16})
	expect(t, "C/N without C", d.rate, 2.5)
	d.OnCNM(&Sample{CNMFlows: 60000})
	expect(t, "C/N below the floor", d.rate, 0.1)
}

func TestDCONSeveralCNMs(t *testing.T) {
	for _, given := range []map[string]string{nil, {"literal": "true"}} {
		d := dcon40(t, given)
		for i, step := range []struct {
			flows int
			want  float64
		}{{16, 2.5}, {20, 2}, {10, 2}} {
			d.OnCNM(cnm(vtime.Time(i)*10*us, step.flows))
			expect(t, "R_C", d.rate, step.want)
		}
	}
	d := dcon40(t, map[string]string{"cnm_rate": "lower"})
	d.OnCNM(cnm(0, 20))
	d.OnCNM(cnm(51*us, 10))
	expect(t, "R_C: a CNM never raises it", d.rate, 2)
	d = dcon40(t, nil)
	d.OnCNM(cnm(0, 20))
	d.OnCNM(cnm(49*us, 10))
	expect(t, "R_C within 50us", d.rate, 2)
	d.OnCNM(cnm(99*us, 10))
	expect(t, "R_C after 50us", d.rate, 4)
}

// A CNM that raises the rate beyond what increases lead back to takes that along: they never lower it. In algorithm 1's
// word it leaves the target alone.
func TestDCONRaisedRate(t *testing.T) {
	d := dcon40(t, map[string]string{"hold": "55us"})
	d.Preset(0, 5e9)
	d.OnCNM(cnm(0, 4))
	expect(t, "R_C", d.rate, 10)
	expect(t, "R_T", d.target, 10)
	d.OnCNM(cnm(50*us, 2))
	expect(t, "R_T after the second", d.target, 20)
	d.OnTimer(105 * us)
	expect(t, "R_C after an increase", d.rate, 20)
	d = dcon40(t, map[string]string{"literal": "true"})
	d.Preset(0, 5e9)
	d.OnCNM(cnm(0, 4))
	expect(t, "R_C", d.rate, 10)
	expect(t, "R_T in algorithm 1's word", d.target, 5)
}

func TestDCONMarkedCNP(t *testing.T) {
	d := dcon40(t, nil)
	d.rate = 20e9
	d.OnCNP(cnp(0))
	expect(t, "R_T", d.target, 20)
	expect(t, "R_C", d.rate, 10)
	expectAlpha(t, d.alpha, 1)
}

// Algorithm 1, lines 9 to 11, run by the timer, or by unmarked CNPs if a receiver sends them.
func TestDCONLiteralUnmarked(t *testing.T) {
	want := []struct{ rate, alpha float64 }{{15, 0.99609375}, {17.5, 0.992202759}, {18.75, 0.988326967}}
	start := func() *dcon {
		d := dcon40(t, map[string]string{"literal": "true"})
		d.rate = 20e9
		d.OnCNP(cnp(0))
		return d
	}
	d := start()
	for _, w := range want {
		d.OnTimer(d.Deadline())
		expect(t, "R_C", d.rate, w.rate)
		expectAlpha(t, d.alpha, w.alpha)
	}
	for range 100 {
		d.OnTimer(d.Deadline())
		d.OnSent(d.Deadline()-1, 1_000_000)
	}
	expect(t, "R_T: it never grows", d.target, 20)

	d = start()
	for i, w := range want {
		now := vtime.Time(i+1) * 50 * us
		d.OnTimer(now)
		d.OnCNP(&Sample{Now: now})
		expect(t, "R_C", d.rate, w.rate)
		expectAlpha(t, d.alpha, w.alpha)
	}
}

// What follows a CNM is our reading (docs/schemes/dcon.md): increases freeze until 55us after the last CNM, then fast
// recovery leads back to where the burst began.
func TestDCONRecovery(t *testing.T) {
	d := dcon40(t, map[string]string{"hold": "55us"})
	d.Preset(0, 20e9)
	d.OnCNM(cnm(0, 16))
	for now := vtime.Time(0); now <= 150*us; now += 50 * us {
		d.OnTimer(now)
		d.OnSent(now, 20_000_000) // not counted: frozen
		d.OnCNM(cnm(now, 16))
		expect(t, "R_C", d.rate, 2.5)
		expect(t, "R_T", d.target, 20)
	}
	for i, want := range []float64{11.25, 15.625, 17.8125, 18.90625} {
		at := 150*us + vtime.Time(i+1)*55*us
		if d.Deadline() > at {
			t.Fatalf("deadline %v, want %v at the latest", d.Deadline(), at)
		}
		d.OnTimer(at - 1)
		d.OnTimer(at)
		expect(t, "R_C", d.rate, want)
	}
	// The next burst is a new episode: the target is the rate before it.
	d.OnCNM(cnm(400*us, 400))
	expect(t, "R_C", d.rate, 0.1)
	expect(t, "R_T", d.target, 18.90625)
}

// A CNM at the very instant at which increases thaw belongs to the same burst, whichever comes first.
func TestDCONEpisodeEndsWithAnIncrease(t *testing.T) {
	d := dcon40(t, map[string]string{"hold": "55us"})
	d.OnCNM(cnm(0, 16))
	d.OnCNM(cnm(55*us, 20))
	expect(t, "R_T", d.target, 40)
	expect(t, "R_C", d.rate, 2)
	d.OnTimer(110 * us)
	expect(t, "R_C", d.rate, 21)
	d.OnCNM(cnm(111*us, 20))
	expect(t, "R_T", d.target, 21)
}

// With C/N for the target there is nothing to recover: the additive increase begins after fast recovery's five timers.
func TestDCONShareForTarget(t *testing.T) {
	d := dcon40(t, map[string]string{"cnm_target": "share", "hold": "55us"})
	d.OnCNM(cnm(0, 16))
	for i, want := range []float64{2.5, 2.5, 2.5, 2.5, 2.52, 2.55} {
		d.OnTimer(vtime.Time(i+1) * 55 * us)
		expect(t, "R_C", d.rate, want)
	}
}

func TestDCONLongIncreaseTimerOrHold(t *testing.T) {
	for _, c := range []struct {
		given map[string]string
		want  vtime.Time
	}{
		{map[string]string{"increase_timer": "300us"}, 300 * us},
		{map[string]string{"increase_timer": "20us"}, 120 * us}, // three base RTTs, as the switch's T
		{map[string]string{"hold": "55us"}, 55 * us},
	} {
		d := dcon40(t, c.given)
		d.OnCNM(cnm(0, 16))
		d.OnCNP(cnp(1))
		if d.increaseAt != max(c.want, d.c.increaseTimer+1) {
			t.Errorf("%v: first increase at %v, want %v", c.given, d.increaseAt, c.want)
		}
	}
}

func TestDCONCNPWhileFrozen(t *testing.T) {
	for mode, target := range map[string]float64{"cut": 2.5, "keep-target": 40} {
		d := dcon40(t, map[string]string{"cnp_in_hold": mode, "hold": "55us"})
		d.OnCNM(cnm(0, 16))
		d.OnCNP(cnp(10 * us))
		expect(t, mode+" R_C", d.rate, 1.25)
		expect(t, mode+" R_T", d.target, target)
		if d.increaseAt != 65*us {
			t.Errorf("%s: first increase at %v", mode, d.increaseAt)
		}
	}
}

func TestDCONUnmarkedCNPWhileFrozen(t *testing.T) {
	d := dcon40(t, map[string]string{"increase": "halve", "hold": "55us"})
	d.OnCNM(cnm(0, 16))
	d.OnCNP(&Sample{Now: 50 * us})
	expect(t, "R_C", d.rate, 2.5)
	expectAlpha(t, d.alpha, 0.99609375)
	d.OnCNP(&Sample{Now: 100 * us})
	expect(t, "R_C", d.rate, 21.25)
	d.OnCNM(cnm(101*us, 16))
	expect(t, "R_T: a new burst after an unmarked CNP's increase", d.target, 21.25)
}

// The byte counter, too, ends a burst's episode.
func TestDCONByteIncreaseEndsEpisode(t *testing.T) {
	d := dcon40(t, map[string]string{"byte_counter": "1KB", "increase_timer": "1ms", "hold": "55us"})
	d.OnCNM(cnm(0, 16))
	d.OnSent(54*us, 1000)
	expect(t, "R_C while frozen", d.rate, 2.5)
	d.OnSent(55*us, 1000)
	expect(t, "R_C", d.rate, 21.25)
	d.OnCNM(cnm(56*us, 16))
	expect(t, "R_T", d.target, 21.25)
}

// Taken as printed, algorithm 1 leaves target and timers alone: the rate jumps half way back within a period.
func TestDCONLiteralRecovery(t *testing.T) {
	d := dcon40(t, map[string]string{"literal": "true"})
	d.OnCNP(cnp(0)) // R_T 40, R_C 20; timer at 55us
	d.OnCNM(cnm(50*us, 16))
	expect(t, "R_T", d.target, 40)
	expect(t, "R_C", d.rate, 2.5)
	d.OnTimer(55 * us)
	expect(t, "R_C", d.rate, 21.25)

	d = dcon40(t, map[string]string{"literal": "true"})
	d.OnCNM(cnm(0, 16))
	if d.Deadline() != 55*us {
		t.Errorf("deadline %v: a flow without a CNP must recover too", d.Deadline())
	}
}

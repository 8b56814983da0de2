package cc

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/vtime"
)

// roundTrips hands a controller one ACK a round trip, each of a packet sent as the ACK before came, and calls after
// each.
func roundTrips(c Controller, rtts []float64, after func(i int)) {
	var now vtime.Time
	for i, rtt := range rtts {
		r := vtime.Time(math.Round(rtt * 1e6))
		now += r
		c.OnAck(&Sample{Now: now, RTT: r, AckedBytes: 1000, AckSequence: int64(i+1) * 1000, NextSend: int64(i+2) * 1000})
		after(i)
	}
}

// Equations 14 to 20 of the thesis (vectors, PID).
func TestPIDControl(t *testing.T) {
	rtts := []float64{4.2, 4.2, 5, 6, 25, 25, 4.2}
	rates := []float64{10.668800000, 11.382329344, 11.528023160, 10.815591328, 4.326236531, 1.730494613, 1.427153740}
	means := []float64{-0.16, -0.16, -0.106667, -0.03, 0.776, 1.313333, 1.102857}
	c := mustBuild(t, "pid", map[string]string{"target": "5us"}, env100).(*pid)
	expect(t, "first rate", c.Rate(), 10)
	roundTrips(c, rtts, func(i int) {
		expect(t, "rate", c.Rate(), rates[i])
		near(t, "mean error", c.errors.sum/c.errors.count, means[i], 6e-7)
	})
}

// The fastest rise is half the rate and the deepest cut six tenths, within min_rate and line rate.
func TestPIDLimits(t *testing.T) {
	c := mustBuild(t, "pid", map[string]string{"target": "5us", "kp": "-100", "initial_rate": "50Gbps"}, env100).(*pid)
	want := []float64{75, 100, 40, 16, 6.4, 2.56, 1.024, 1, 1}
	roundTrips(c, []float64{4.2, 4.2, 6, 6, 6, 6, 6, 6, 6}, func(i int) { expect(t, "rate", c.Rate(), want[i]) })
}

// TestPIDSampling follows figure 6 of the thesis: D1 is timed; D2 to D4, sent before its ACK arrived, are not; D5 is.
func TestPIDSampling(t *testing.T) {
	c := mustBuild(t, "pid", map[string]string{"target": "5us"}, env100).(*pid)
	packets := []struct {
		sent, acknowledged vtime.Time // ns
		timed              bool
	}{
		{0, 4200, true},
		{1000, 9000, false},
		{2000, 9500, false},
		{4199, 9600, false},
		{4201, 9700, true},
		{9699, 14000, false},
		{9700, 14100, true},
	}
	for i, p := range packets {
		before := c.errors.count
		now := p.acknowledged * vtime.Nanosecond
		c.OnAck(&Sample{Now: now, RTT: (p.acknowledged - p.sent) * vtime.Nanosecond, AckedBytes: 1000})
		if timed := c.errors.count > before; timed != p.timed {
			t.Errorf("packet D%d: timed %v, want %v", i+1, timed, p.timed)
		}
	}
	// D5 took 5.499 us.
	near(t, "error of D5", c.errors.sum, (4.2-5)/5+(5.499-5)/5+(4.4-5)/5, 1e-12)
}

func TestPIDTargetAdjustment(t *testing.T) {
	us := func(f float64) float64 { return f * 1e6 }
	for _, c := range []struct {
		name string
		rtts []float64
		want []float64 // the target after each sample, us
	}{
		{"seven above", []float64{6, 6, 6, 6, 6, 6, 13, 8}, []float64{5, 5, 5, 5, 5, 5, 7, 7}},
		{"seven below", []float64{4.5, 4.5, 4.5, 4.5, 4.5, 4.5, 4.5}, []float64{5, 5, 5, 5, 5, 5, 4.5}},
		{"equal counts as below", []float64{5, 5, 5, 5, 5, 5, 4.3}, []float64{5, 5, 5, 5, 5, 5, 4.9}},
		{"to and fro", []float64{6, 6, 6, 6, 6, 6, 4.5, 6, 6, 6, 6, 6, 6}, []float64{5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}},
		// The mean is over all of the flow: (4 + 7*8)/8.
		{"a mean of the whole flow", []float64{4, 8, 8, 8, 8, 8, 8, 8}, []float64{5, 5, 5, 5, 5, 5, 5, 7.5}},
		{"at most ten RTTs", []float64{90, 90, 90, 90, 90, 90, 90}, []float64{5, 5, 5, 5, 5, 5, 41.6}},
		// Seven more after the first change, counted from it.
		{"twice", []float64{6, 6, 6, 6, 6, 6, 6, 8, 8, 8, 8, 8, 8, 8}, []float64{5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7}},
	} {
		p := mustBuild(t, "pid+rttch", map[string]string{"target": "5us"}, env100).(*pid)
		roundTrips(p, c.rtts, func(i int) {
			near(t, c.name, p.target, us(c.want[i]), 1e-3)
		})
	}
	// A target that no RTT can meet: with rttch it moves, without it the rate goes to its least.
	low := map[string]string{"target": "3us", "any_target": "true"}
	moving := mustBuild(t, "pid+rttch", low, env100).(*pid)
	roundTrips(moving, []float64{4.2, 4.2, 4.2, 4.2, 4.2, 4.2, 4.2}, func(int) {})
	near(t, "target from below", moving.target, us(4.2), 1e-3)
	sinking := mustBuild(t, "pid", low, env100).(*pid)
	roundTrips(sinking, slices.Repeat([]float64{4.2}, 30), func(int) {})
	near(t, "rate", sinking.rate, 1e9, 0)
	near(t, "target", sinking.target, us(3), 0)
	fixed := mustBuild(t, "pid", map[string]string{"target": "5us"}, env100).(*pid)
	roundTrips(fixed, []float64{6, 6, 6, 6, 6, 6, 6, 6, 6}, func(int) { near(t, "fixed target", fixed.target, us(5), 0) })
}

func TestPIDConstants(t *testing.T) {
	c := mustBuild(t, "pid", nil, env100).(*pid).c
	if c.target != 4.992e6 || c.gains != (PIDGains{-0.358, -0.060, 0.040}) || c.initial != 10e9 || c.min != 1e9 ||
		c.max != 100e9 || c.rttch {
		t.Errorf("%+v", c)
	}
	c = mustBuild(t, "lstm-pid+rttch+win", nil, env40).(*windowed).Controller.(*pid).c
	if c.target != 48e6 || c.initial != 4e9 || c.min != 4e8 || !c.rttch || c.network == nil || c.mostTarget != 400e6 {
		t.Errorf("%+v", c)
	}
}

func TestPIDRefusals(t *testing.T) {
	for _, c := range []struct {
		name  string
		given map[string]string
		want  string
	}{
		{"pid", map[string]string{"target": "4.16us"}, "pid.target 4.16us does not exceed the path's unloaded RTT of 4.16us"},
		{"lstm-pid", map[string]string{"target": "4us"}, "use 1.2rtt or more"},
		{"pid", map[string]string{"initial_rate": "500Mbps"}, "initial_rate 500Mbps is below min_rate, 1Gbps"},
		{"pid", map[string]string{"kp": "1e9"}, "above 1000"},
		{"pid", map[string]string{"weights": "w.json"}, `no such parameter`},
	} {
		if _, err := Resolve(c.name, c.given, env100); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %v", c.name, c.given, err)
		}
	}
}

func TestPIDPreset(t *testing.T) {
	c := mustBuild(t, "pid", nil, env100)
	c.(Presetter).Preset(0, 33e9)
	expect(t, "rate", c.Rate(), 33)
}

// Equations 21 to 26 of the thesis (vectors, PID).
func TestPIDTrainingStep(t *testing.T) {
	g := PIDTraining{Gains: PIDGains{-.2, -.05, .1}}
	g.update(6-5, 10, pidTerms{.2, .1, .05})
	near(t, "kp", g.Gains.P, -.201, 1e-15)
	near(t, "ki", g.Gains.I, -.051, 1e-15)
	near(t, "kd", g.Gains.D, .099, 1e-15)
	// Below the clip, at t = 3: 0.01/sqrt(4) * 0.5 us * 0.1 Gb/s * terms.
	g = PIDTraining{Updates: 3}
	g.update(-.5, .1, pidTerms{.2, -.4, 0})
	near(t, "kp", g.Gains.P, .005*.5*.1*.2, 1e-15)
	near(t, "ki", g.Gains.I, -.005*.5*.1*.4, 1e-15)
	near(t, "kd", g.Gains.D, 0, 0)
}

// TestPIDTrainee follows a flow: each sample's RTT judges the change that the sample before it made.
func TestPIDTrainee(t *testing.T) {
	set, err := Resolve("pid", map[string]string{"target": "5us"}, env100)
	if err != nil {
		t.Fatal(err)
	}
	g := &PIDTraining{Gains: PIDGains{-.2, -.05, .1}}
	c, err := g.Controller(set)
	if err != nil {
		t.Fatal(err)
	}
	// The first change is by errors of -.16, -.16, 0: 1 + .2*.16 + .05*.16 = 1.04.
	// The second sample is 1 us too long after 10 Gb/s: 1*10*-.16 is clipped to -.1, so kp and ki rise by .001.
	rates := []float64{10.4, 10.4 * (1 - .199*.2 - .049*.02 + .1*.36)}
	roundTrips(c, []float64{4.2, 6}, func(i int) { expect(t, "rate", c.Rate(), rates[i]) })
	if g.Updates != 1 {
		t.Errorf("%d updates of two samples", g.Updates)
	}
	near(t, "kp", g.Gains.P, -.199, 1e-15)
	near(t, "kd", g.Gains.D, .1, 0)
	other, err := Resolve("lstm-pid", nil, env100)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Controller(other); err == nil {
		t.Error("a control with prediction was taken")
	}
}

// BenchmarkLSTMPID measures a sample with its prediction.
func BenchmarkLSTMPID(b *testing.B) {
	c := mustBuild(b, "lstm-pid", nil, env100)
	s := Sample{RTT: 5 * us}
	b.ReportAllocs()
	for b.Loop() {
		s.Now += 5 * us
		c.OnAck(&s)
	}
}

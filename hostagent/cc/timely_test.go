package cc

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/vtime"
)

func timely40(t *testing.T, given map[string]string) *timely {
	t.Helper()
	return mustBuild(t, "timely", given, env40).(*timely)
}

// Algorithm 1 of the TIMELY paper, as HPCC's simulator has it (vectors, TIMELY).
func TestTIMELYUpdate(t *testing.T) {
	for _, c := range []struct {
		rate, rttDiff float64 // Gb/s, us
		last, rtt     vtime.Time
		increases     int

		wantRate, wantDiff float64
		wantIncreases      int
	}{
		{20, 0, 40, 45, 0, 20.04, 4.375, 1},
		{20, 0, 60, 70, 0, 13, 8.75, 0},
		{20, 2, 70, 66, 0, 20.04, -3.25, 1},
		{20, 0, 60, 600, 3, 17.333333333, 472.5, 0},
		{20, 0, 60, 95, 0, 0.1, 30.625, 0}, // gradient 1.53125
		{20, -1, 80, 79, 5, 20.2, -1, 6},
		{20, -1, 80, 79, 4, 20.04, -1, 5},
		{39.99, 0, 40, 45, 0, 40, 4.375, 1},
		{20, 0, 60, 50, 0, 20.04, -8.75, 1}, // not below T_low: by the gradient
		{20, 0, 500, 500, 0, 20.04, 0, 1},   // not above T_high: by the gradient, 0
		{20, 0, 600, 49, 9, 20.2, -482.125, 10},
	} {
		f := timely40(t, map[string]string{"min_rate": "100Mbps"})
		f.rate, f.rttDiff, f.lastRTT, f.increases = c.rate*1e9, c.rttDiff*1e6, c.last*us, c.increases
		f.started, f.updateAt = true, 1000
		f.OnAck(&Sample{RTT: c.rtt * us, AckSequence: 2000, NextSend: 9000})
		expect(t, "rate", f.Rate(), c.wantRate)
		near(t, "rttDiff", f.rttDiff/1e6, c.wantDiff, 1e-9)
		if f.increases != c.wantIncreases || f.lastRTT != c.rtt*us || f.updateAt != 9000 {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}

// What TIMELY does under TCD is our reading (docs/schemes/tcd.md): an undetermined packet's RTT moves no rate, a CE
// packet's raises none; either is noted. Without TCD marks mean nothing. The rates are those of TestTIMELYUpdate.
func TestTIMELYTernary(t *testing.T) {
	for _, c := range []struct {
		ce, ue    bool
		last, rtt vtime.Time

		want, plain   float64
		wantIncreases int
	}{
		{false, false, 40, 45, 20.04, 20.04, 4},
		{true, false, 40, 45, 20, 20.04, 0},
		{false, true, 40, 45, 20, 20.04, 0},
		{true, true, 40, 45, 20, 20.04, 0},
		{false, false, 60, 70, 13, 13, 0},
		{true, false, 60, 70, 13, 13, 0},
		{false, true, 60, 70, 20, 13, 0},
		{true, true, 60, 70, 13, 13, 0},
		{true, false, 60, 600, 17.333333333, 17.333333333, 0},
		{false, true, 60, 600, 20, 17.333333333, 0},
		{true, false, 80, 79, 20, 20.04, 0}, // a falling gradient
	} {
		for _, name := range []string{"timely+tcd", "timely"} {
			f := mustBuild(t, name, map[string]string{"min_rate": "100Mbps"}, env40).(*timely)
			f.rate, f.lastRTT, f.increases = 20e9, c.last*us, 3
			f.started, f.updateAt = true, 1000
			f.OnAck(&Sample{RTT: c.rtt * us, AckSequence: 2000, NextSend: 9000, CE: c.ce, UE: c.ue})
			want := c.want
			if name == "timely" {
				want = c.plain
			}
			expect(t, name+": rate", f.Rate(), want)
			near(t, "rttDiff", f.rttDiff/1e6, 0.875*float64(c.rtt-c.last), 1e-9)
			if f.lastRTT != c.rtt*us || f.updateAt != 9000 || name == "timely+tcd" && f.increases != c.wantIncreases {
				t.Errorf("%s, %+v: %+v", name, c, f)
			}
		}
	}
}

func TestTIMELYOncePerRTT(t *testing.T) {
	f := timely40(t, nil)
	f.rate = 20e9
	f.OnAck(&Sample{RTT: 45 * us, AckSequence: 1000, NextSend: 50_000})
	expect(t, "rate after the first ACK", f.Rate(), 20)
	for sequence := int64(2000); sequence <= 50_000; sequence += 1000 {
		f.OnAck(&Sample{RTT: 300 * us, AckSequence: sequence, NextSend: sequence + 50_000})
	}
	expect(t, "rate within the RTT", f.Rate(), 20)
	f.OnAck(&Sample{RTT: 46 * us, AckSequence: 51_000, NextSend: 100_000})
	expect(t, "rate after the RTT", f.Rate(), 20.04)
	near(t, "rttDiff", f.rttDiff/1e6, 0.875, 1e-9)
}

func TestTIMELYConstants(t *testing.T) {
	c := timely40(t, nil).c
	if c.low != 50*us || c.high != 500*us || c.minRTT != 20e6 || c.ai != 40e6 || c.hai != 200e6 || c.min != 1e9 ||
		c.haiAfter != 5 ||
		c.alpha != 0.875 || c.beta != 0.8 {
		t.Errorf("%+v", c)
	}
	c = mustBuild(t, "timely", nil, env100).(*timely).c
	if c.ai != 100e6 || c.hai != 500e6 || c.min != 1e9 || c.low != 50*us {
		t.Errorf("at 100G: %+v", c)
	}
	c = mustBuild(t, "timely", map[string]string{"scaled": "true"}, env100).(*timely).c
	if c.low != 5200*vtime.Nanosecond || c.high != 52*us || c.minRTT != 4.16e6 {
		t.Errorf("scaled: %+v", c)
	}
}

func TestTIMELYRefusals(t *testing.T) {
	for _, c := range []struct {
		given map[string]string
		want  string
	}{
		{map[string]string{"t_high": "40us", "t_low": "10us"}, "t_high 40us does not exceed the path's unloaded RTT of 40us"},
		{map[string]string{"t_low": "501us"}, "t_low 501us is more than t_high, 500us"},
	} {
		if _, err := Resolve("timely", c.given, env40); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.given, err)
		}
	}
}

func TestTIMELYPreset(t *testing.T) {
	f := timely40(t, nil)
	f.Preset(0, 7e9)
	expect(t, "rate", f.Rate(), 7)
}

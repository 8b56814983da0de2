package runner

import (
	"context"
	"math"
	"os"
	"regexp"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/vtime"
)

// broken implements a congestion control that at some time requests an impossible rate or window.
type broken struct {
	cc.Controller
	from   vtime.Time
	now    vtime.Time
	rate   float64
	window int64
	back   vtime.Time // time at which its rate is restored; Never: it is not
	timer  bool       // it has a timer for that, or for nothing
	stands bool       // its timer is to be called at one time for ever
}

// whole stands for an unchanged rate: the test then breaks the window.
const whole = 1

func (b *broken) Rate() float64 {
	if b.now >= b.from && b.now < b.back && b.rate != whole {
		return b.rate
	}
	return b.Controller.Rate()
}

func (b *broken) Window() int64 {
	if b.now >= b.from && b.now < b.back {
		return b.window
	}
	return 0
}

func (b *broken) OnSent(now vtime.Time, payload int) {
	b.now = now
	b.Controller.OnSent(now, payload)
}

func (b *broken) Deadline() vtime.Time {
	if b.stands {
		return b.from
	}
	if !b.timer {
		return vtime.Never
	}
	if b.now < b.back && b.back != vtime.Never {
		return b.back
	}
	return b.now + vtime.Microsecond
}

func (b *broken) OnTimer(now vtime.Time) { b.now = now }

// TestBrokenController: a rate that is no number above 0, or a negative window, fails a run; so does a rate of 0 that
// stays. The verdict names the controller, the flow, the time and the value, on both planes.
func TestBrokenController(t *testing.T) {
	testenv.WholeScenario(t)
	const (
		us     = vtime.Microsecond
		never  = vtime.Never
		stayed = " with no timer to raise it: the flow can never send again"
	)
	for _, c := range []struct {
		name   string
		broken broken
		want   string // message of the verdict after the flow and the time; empty: the run passes
	}{
		{"NaN", broken{from: 10 * us, rate: math.NaN(), back: never}, "a rate of NaN bps"},
		{"infinite", broken{from: 10 * us, rate: math.Inf(1), back: never}, "a rate of +Inf bps"},
		{
			"absurd",
			broken{from: 10 * us, rate: 1e300, back: never},
			"a rate of 1e+300 bps, above the limit of 10Tbps",
		},
		{"negative", broken{from: 10 * us, rate: -5e9, back: never}, "a rate of -5e+09 bps"},
		{"NaN, for a while", broken{from: 10 * us, rate: math.NaN(), back: 100 * us, timer: true}, "a rate of NaN bps"},
		{"NaN from the start", broken{rate: math.NaN(), back: never}, "a rate of NaN bps"},
		{"zero for good", broken{from: 10 * us, back: never}, "a rate of 0 bps" + stayed},
		{"zero for good from the start", broken{back: never}, "a rate of 0 bps" + stayed},
		{"zero for good, with a timer", broken{from: 10 * us, back: never, timer: true}, "a rate of 0 bps" + stayed},
		{"next to nothing", broken{from: 10 * us, rate: 1e-9, back: never}, "a rate of 1e-09 bps" + stayed},
		{"negative window", broken{from: 10 * us, rate: whole, window: -1, back: never}, "a window of -1 B"},
		{
			"a timer without end",
			broken{from: 10 * us, rate: whole, back: never, stands: true},
			"its timer was due at once again, 1000 times in a row: OnTimer must set a later Deadline",
		},
		{"zero for a while", broken{from: 10 * us, back: 100 * us, timer: true}, ""},
		{"zero for a while from the start", broken{back: 100 * us, timer: true}, ""},
		{"nothing", broken{from: never, back: never}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, planeName := range []string{plane.Wasm, plane.Kernel} {
				if planeName == plane.Kernel && os.Geteuid() != 0 {
					continue
				}
				v := runBroken(t, planeName, c.broken)
				if c.want == "" {
					if v.Status != measure.Pass {
						t.Errorf("%s plane: %+v", planeName, v)
					}
					continue
				}
				at := "0s"
				if c.broken.stands {
					at = "10us"
				} else if c.broken.from > 0 {
					at = "10\\.[0-9]+us"
				}
				want := "^controllers say what can be sent: mine, flow 2 \\(h2 to h4\\) at " + at + ": " +
					regexp.QuoteMeta(c.want) + "$"
				if v.Status != measure.Fail || !regexp.MustCompile(want).MatchString(v.Messages[0]) {
					t.Errorf("%s plane: %+v, want %q", planeName, v, want)
				}
			}
		})
	}
}

// runBroken returns the verdict of a run in which one flow has that congestion control.
func runBroken(t *testing.T, planeName string, b broken) measure.Verdict {
	t.Helper()
	s := mustLoad(t, "incast", "controllers=[{name: mine, cc: none, set: {}}]", "expect_unused=[pfc, ecn, controller]")
	controller := func(flow int, env cc.Env, _ cc.Settings) (cc.Controller, error) {
		inner := cc.Constant(float64(env.LineRate))
		if flow != 2 {
			return inner, nil
		}
		own := b
		own.Controller = inner
		return &own, nil
	}
	sum, err := Watch(context.Background(), s,
		Options{Controller: "mine", Plane: opener(t, planeName), Seed: 1, Processors: 1}, Watching{Controller: controller})
	if err != nil {
		t.Fatal(err)
	}
	return sum.Verdict
}

package cc

import (
	"testing"

	"github.com/pausenet/pausenet/vtime"
	"pgregory.net/rapid"
)

// CNPs at 0, 5, 6 and 20 us, by the rules of HPCC's simulator (vectors, mlx).
func TestMLXTimeline(t *testing.T) {
	m := mustBuild(t, "dcqcn", map[string]string{"profile": "B"}, env100).(*mlx)
	ns := vtime.Nanosecond
	cnps := []vtime.Time{0, 5 * us, 6 * us, 20 * us}
	steps := []struct {
		at          vtime.Time
		rate, alpha float64
	}{
		{4001 * ns, 50.776684273, 0.984466315},
		{8001 * ns, 25.974549595, 0.976910369},
		{20001 * ns, 13.818524362, 0.935995074},
		{320001 * ns, 56.909262181, 0.289293116},
		{620001 * ns, 78.454631091, 0.089413406},
		{920001 * ns, 89.227315545, 0.027635490},
		{1220001 * ns, 94.613657773, 0.008541452},
	}
	for _, s := range steps {
		for len(cnps) > 0 && cnps[0] < s.at {
			m.OnCNP(cnp(cnps[0]))
			cnps = cnps[1:]
		}
		if m.Deadline() != s.at {
			t.Fatalf("deadline %v, want %v", m.Deadline(), s.at)
		}
		m.OnTimer(s.at)
		expect(t, "R_C", m.rate, s.rate)
		expect(t, "R_T", m.target, 100)
		m.updateAlpha(s.at)
		expectAlpha(t, m.alpha, s.alpha)
	}
}

// eager implements profile b without shortcuts: every timer ticks.
type eager struct {
	c                        *mlxConstants
	rate, target, alpha      float64
	alphaCNP, cutCNP         bool
	alphaAt, lookAt, raiseAt vtime.Time
	stage                    int
}

func (e *eager) run(until vtime.Time) {
	for {
		at := min(e.alphaAt, e.lookAt, e.raiseAt)
		if at > until {
			return
		}
		switch at {
		case e.alphaAt:
			e.alpha = float64((1 - e.c.g) * e.alpha)
			if e.alphaCNP {
				e.alpha += e.c.g
			}
			e.alphaCNP = false
			e.alphaAt += e.c.alphaTimer
		case e.raiseAt:
			if e.stage == e.c.fastRecovery {
				e.target += e.c.rai
			} else if e.stage > e.c.fastRecovery {
				e.target += e.c.rhai
			}
			e.target = min(e.target, e.c.line)
			e.rate = (e.rate + e.target) / 2
			e.stage++
			e.raiseAt += e.c.increaseTimer
		case e.lookAt:
			e.lookAt += e.c.decreaseTimer
			if e.cutCNP {
				if e.stage != 0 {
					e.target = e.rate
				}
				e.rate = max(e.c.min, e.rate*(1-float64(e.alpha/2)))
				e.stage, e.cutCNP = 0, false
				e.raiseAt = at + e.c.increaseTimer
			}
		}
	}
}

func (e *eager) cnp(now vtime.Time) {
	if e.alphaAt == vtime.Never {
		e.alphaAt, e.lookAt, e.cutCNP = now+e.c.alphaTimer, now+e.c.decreaseTimer+vtime.Nanosecond, true
		return
	}
	e.alphaCNP, e.cutCNP = true, true
}

// Working timers out when needed is the same as ticking.
func TestMLXAgainstEagerTimers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := map[string]string{"profile": "b"}
		if rapid.Bool().Draw(t, "fast") {
			given["increase_timer"] = "12us" // so that increases and looks fall together often
		}
		set, err := Resolve("dcqcn", given, env100)
		if err != nil {
			t.Fatal(err)
		}
		c := set.constants.(*dcqcnConstants).mlx
		m := newMLX(c)
		e := &eager{
			c: c, rate: c.line, target: c.line, alpha: 1, alphaAt: vtime.Never, lookAt: vtime.Never,
			raiseAt: vtime.Never,
		}
		var now vtime.Time
		for range rapid.IntRange(1, 60).Draw(t, "CNPs") {
			now += vtime.Time(rapid.OneOf(
				rapid.Int64Range(0, 30_000), rapid.SampledFrom([]int64{0, 1, 1000, 3999, 4000, 4001, 12000}),
				rapid.Int64Range(0, 2_000_000),
			).Draw(t, "ns")) * vtime.Nanosecond
			m.OnTimer(now - 1) // CNPs come before timers of the same instant
			e.run(now - 1)
			m.OnCNP(cnp(now))
			e.cnp(now)
			m.updateAlpha(now - 1)
			if m.rate != e.rate || m.target != e.target || m.alpha != e.alpha {
				t.Fatalf("at %v: %+v, ticking %+v", now, m, e)
			}
		}
	})
}

func TestMLXUndetermined(t *testing.T) {
	m := mustBuild(t, "dcqcn+tcd", map[string]string{"profile": "b"}, env100).(*mlx)
	m.OnCNP(&Sample{Now: 1, UE: true})
	if m.Rate() != 100e9 || m.Deadline() != vtime.Never {
		t.Errorf("rate %g, deadline %v: timers start with the first real CNP", m.Rate(), m.Deadline())
	}
	m.OnCNP(cnp(0))
	m.OnTimer(5 * us) // the cut
	m.OnCNP(&Sample{Now: 200 * us, UE: true})
	m.OnTimer(499 * us)
	expect(t, "R_C", m.rate, 50.776684273)
	m.OnTimer(500 * us)
	expect(t, "R_C: its target is itself", m.rate, 50.776684273)

	m = mustBuild(t, "dcqcn+tcd", map[string]string{"profile": "b", "ue": "hold"}, env100).(*mlx)
	m.OnCNP(cnp(0))
	m.OnTimer(5 * us)
	m.OnCNP(&Sample{Now: 200 * us, UE: true})
	m.OnTimer(499 * us)
	expect(t, "R_C kept", m.rate, 50.776684273)
	m.OnTimer(500 * us)
	expect(t, "R_C: half the way back to the line", m.rate, (50.776684273+100)/2)

	for name, given := range map[string]map[string]string{
		"dcqcn":     {"profile": "b"},
		"dcqcn+tcd": {"profile": "b", "ue": "none"},
	} {
		m = mustBuild(t, name, given, env100).(*mlx)
		m.OnCNP(cnp(0))
		m.OnTimer(5 * us)
		before := *m
		m.OnCNP(&Sample{Now: 200 * us, UE: true})
		if *m != before {
			t.Errorf("%s: %+v, then %+v", name, before, *m)
		}
	}
}

func TestMLXLongIdle(t *testing.T) {
	m := mustBuild(t, "dcqcn", map[string]string{"profile": "b"}, env100).(*mlx)
	m.OnCNP(cnp(0))
	m.OnTimer(5 * us)
	m.OnTimer(3600 * vtime.Second)
	m.OnCNP(cnp(3600*vtime.Second + 500*vtime.Nanosecond))
	if m.alpha != 0 || m.alphaAt != 3600*vtime.Second+us {
		t.Errorf("alpha %g, next update at %v", m.alpha, m.alphaAt)
	}
}

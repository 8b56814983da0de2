package cc

import (
	"math"
	"reflect"
	"testing"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
	"pgregory.net/rapid"
)

func dcqcn40(t *testing.T, given map[string]string) *dcqcn {
	t.Helper()
	return mustBuild(t, "dcqcn", given, env40).(*dcqcn)
}

// DCQCN paper, section 3.1 (vectors, DCQCN).
func TestDCQCNFirstCNPAndFastRecovery(t *testing.T) {
	for _, order := range []string{"paper", "alpha-first"} {
		d := dcqcn40(t, map[string]string{"order": order})
		if d.Rate() != 40e9 || d.Deadline() != vtime.Never {
			t.Fatalf("a new flow has rate %g and deadline %v", d.Rate(), d.Deadline())
		}
		d.OnCNP(cnp(7 * us))
		expect(t, "R_T", d.target, 40)
		expect(t, "R_C", d.rate, 20)
		expectAlpha(t, d.alpha, 1)
		if d.Deadline() != 62*us {
			t.Fatalf("deadline %v, want 62us", d.Deadline())
		}
		for i, want := range []float64{30, 35, 37.5, 38.75, 39.375, 39.6875, 39.84375} {
			d.OnTimer(d.Deadline())
			expect(t, "R_C", d.rate, want)
			expect(t, "R_T", d.target, 40)
			if i == 0 {
				expectAlpha(t, d.alpha, 0.99609375)
			}
		}
		if d.Deadline() != (7+8*55)*us {
			t.Errorf("deadline %v after seven expiries", d.Deadline())
		}
	}
}

// With clamp_target each of two cuts makes the rate the target, as equation 1 has it.
func TestDCQCNTwoCNPs(t *testing.T) {
	d := dcqcn40(t, map[string]string{"clamp_target": "true"})
	d.OnCNP(cnp(0))
	d.OnCNP(cnp(50 * us))
	expect(t, "R_C", d.rate, 10)
	expect(t, "R_T", d.target, 20)
	if d.Deadline() != 105*us {
		t.Errorf("the second CNP did not restart the timers: deadline %v", d.Deadline())
	}
}

func TestDCQCNOrderOfAlphaAndCut(t *testing.T) {
	for order, want := range map[string]float64{"paper": 12.460595501, "alpha-first": 12.458796299} {
		d := dcqcn40(t, map[string]string{"order": order})
		d.alphaAt = 0
		d.OnTimer(9 * 55 * us) // ten decays
		expectAlpha(t, d.alpha, 0.961617042)
		d.rate, d.target = 24e9, 24e9
		d.OnCNP(cnp(600 * us))
		expect(t, order+" R_C", d.rate, want)
		expectAlpha(t, d.alpha, 0.961766975)
	}
	d := dcqcn40(t, map[string]string{"initial_alpha": "0.5"})
	d.OnCNP(cnp(0))
	expectAlpha(t, d.alpha, 0.501953125)
	expect(t, "R_C", d.rate, 29.9609375)
}

func TestDCQCNAdditiveAndHyper(t *testing.T) {
	at := func(timeStage, byteStage int) *dcqcn {
		d := dcqcn40(t, nil)
		d.OnCNP(cnp(0))
		d.rate, d.target, d.timeStage, d.byteStage = 10e9, 20e9, timeStage, byteStage
		d.OnTimer(55 * us)
		return d
	}
	d := at(5, 0)
	expect(t, "additive R_T", d.target, 20.04)
	expect(t, "additive R_C", d.rate, 15.02)
	if d.increaseAt != 110*us {
		t.Errorf("additive: next increase at %v", d.increaseAt)
	}
	d = at(4, 0) // the fifth expiry is the first additive one
	expect(t, "first additive R_T", d.target, 20.04)
	d = at(3, 0)
	expect(t, "last fast recovery R_T", d.target, 20)
	d = at(7, 6)
	expect(t, "hyper R_T", d.target, 20.4)
	expect(t, "hyper R_C", d.rate, 15.2)
	if d.increaseAt != 55*us+27500*vtime.Nanosecond {
		t.Errorf("hyper: next increase at %v, want half a period later", d.increaseAt)
	}
}

func TestDCQCNByteCounterCountsLineBytes(t *testing.T) {
	d := dcqcn40(t, nil)
	d.OnSent(0, 1000)
	if d.sent != 0 {
		t.Error("the byte counter ran before the first CNP")
	}
	d.OnCNP(cnp(0))
	for range 9541 { // 9542 packets of 1048 B are 10 000 016 B
		d.OnSent(0, 1000)
	}
	expect(t, "R_C", d.rate, 20)
	d.OnSent(0, 1000)
	expect(t, "R_C", d.rate, 30)
	if d.byteStage != 1 || d.sent != 0 {
		t.Errorf("BC %d, %d B counted after the event", d.byteStage, d.sent)
	}
	d.timeStage, d.byteStage = 5, 4
	d.sent = 10_000_000 - 49
	d.OnSent(0, 1) // and 48 B of headers: exactly the counter
	if d.bytePeriod != 5_000_000 {
		t.Errorf("hyper: next byte period %d, want half", d.bytePeriod)
	}
	d.OnCNP(cnp(1))
	if d.bytePeriod != 10_000_000 {
		t.Errorf("byte period %d after a CNP", d.bytePeriod)
	}
}

// By default only the first of several cuts in a row does, so that increases lead back to the rate before them all.
func TestDCQCNTargetClamp(t *testing.T) {
	d := dcqcn40(t, nil)
	d.OnCNP(cnp(0))
	d.OnCNP(cnp(50 * us))
	expect(t, "R_T without an increase between cuts", d.target, 40)
	d.OnTimer(105 * us)
	d.OnCNP(cnp(106 * us))
	expect(t, "R_T after an increase", d.target, 25)
}

// As TCD's authors' simulator has it: a CNP that says undetermined holds the rate under TCD, and nothing without.
func TestDCQCNUndetermined(t *testing.T) {
	start := func(name string, given map[string]string) *dcqcn {
		d := mustBuild(t, name, given, env40).(*dcqcn)
		d.rate, d.target, d.timeStage, d.alpha = 20e9, 40e9, 2, 0.9
		return d
	}
	d := start("dcqcn+tcd", nil)
	d.OnCNP(&Sample{Now: 1 * us, UE: true})
	expect(t, "R_C", d.rate, 20)
	expect(t, "R_T", d.target, 20)
	expectAlpha(t, d.alpha, 0.9)
	if d.timeStage != 0 {
		t.Errorf("T is %d", d.timeStage)
	}
	d.OnTimer(56 * us)
	expect(t, "R_C 55us later", d.rate, 20)

	// Kept, its target stays; the increases that lead there begin anew.
	d = start("dcqcn+tcd", map[string]string{"ue": "hold"})
	d.OnCNP(&Sample{Now: 1 * us, UE: true})
	expect(t, "R_C kept", d.rate, 20)
	expect(t, "R_T kept", d.target, 40)
	expectAlpha(t, d.alpha, 0.9)
	d.OnTimer(55 * us)
	expect(t, "R_C 54us later", d.rate, 20)
	d.OnTimer(56 * us)
	expect(t, "R_C 55us later", d.rate, 30)

	d = start("dcqcn+tcd", map[string]string{"ue": "none"})
	unmoved := *d
	d.OnCNP(&Sample{Now: 1 * us, UE: true})
	if *d != unmoved {
		t.Errorf("ue none: %+v, then %+v", unmoved, *d)
	}

	for _, name := range []string{"dcqcn+tcd", "dcqcn"} {
		d = start(name, nil)
		d.OnCNP(&Sample{Now: 1 * us, CE: true, UE: true})
		expect(t, "R_C", d.rate, 10.99609375)
		expect(t, "R_T", d.target, 20)
		expectAlpha(t, d.alpha, 0.900390625)
	}

	d = start("dcqcn", nil)
	before := *d
	d.OnCNP(&Sample{Now: 1 * us, UE: true})
	if *d != before {
		t.Errorf("dcqcn: %+v, then %+v", before, *d)
	}
}

// TestDCQCNLeastAlpha: ce_alpha deepens the cut for CE, whatever came before, and is off by default.
func TestDCQCNLeastAlpha(t *testing.T) {
	for text, want := range map[string]float64{"0": 20 * (1 - 0.103515625/2), "1/2": 20 * (1 - 0.501953125/2)} {
		d := mustBuild(t, "dcqcn+tcd", map[string]string{ceAlphaName: text}, env40).(*dcqcn)
		d.rate, d.alpha = 20e9, 0.1
		d.OnCNP(&Sample{Now: us, UE: true})
		expectAlpha(t, d.alpha, 0.1)
		d.OnCNP(cnp(2 * us)) // alpha first: 255/256 of it, and 1/256
		expect(t, "R_C with ce_alpha "+text, d.rate, want)
	}
	if _, err := Resolve("dcqcn", map[string]string{ceAlphaName: "1/2"}, env40); err == nil {
		t.Error("dcqcn took TCD's parameter")
	}
}

func TestDCQCNFloorAndScaling(t *testing.T) {
	d := dcqcn40(t, nil)
	for i := range 100 {
		d.OnCNP(cnp(vtime.Time(i) * 50 * us))
	}
	expect(t, "R_C", d.rate, 0.1)
	for _, c := range []struct {
		profile        string
		line, floor    units.Rate
		rai, rhai, min float64
	}{
		{"a", 40 * units.Gbps, 0, 40e6, 200e6, 100e6},
		{"a", 100 * units.Gbps, 0, 100e6, 500e6, 100e6},
		{"a", 1 * units.Gbps, 0, 1e6, 5e6, 2.5e6},
		{"a", 40 * units.Gbps, 5 * units.Mbps, 40e6, 200e6, 5e6},
		{"b", 25 * units.Gbps, 0, 5e6, 50e6, 1e9},
		{"b", 40 * units.Gbps, 0, 8e6, 80e6, 1e9},
		{"b", 100 * units.Gbps, 0, 20e6, 200e6, 1e9},
		{"b", 1 * units.Gbps, 0, 200e3, 2e6, 40e6},
	} {
		s, err := Resolve("dcqcn", map[string]string{"profile": c.profile},
			Env{LineRate: c.line, MinRate: c.floor, MTU: 1000, LineMTU: 1048})
		if err != nil {
			t.Fatal(err)
		}
		if s.Rate("rai") != c.rai || s.Rate("rhai") != c.rhai || s.Rate("min_rate") != c.min {
			t.Errorf("%+v: rai %g, rhai %g, min %g", c, s.Rate("rai"), s.Rate("rhai"), s.Rate("min_rate"))
		}
	}
}

// A preset flow cuts as a converged one does: alpha = sqrt(2*0.04/20) = 0.063246, raised by g to 0.066905 before the
// cut.
func TestPreset(t *testing.T) {
	for _, name := range []string{"dcqcn", "dcon"} {
		c := mustBuild(t, name, nil, env40)
		c.(Presetter).Preset(0, 20e9)
		if c.Rate() != 20e9 || c.Deadline() != 55*us {
			t.Errorf("%s: rate %g, deadline %v", name, c.Rate(), c.Deadline())
		}
		c.OnTimer(55 * us) // the additive stage: R_T 20.04, R_C 20.02; alpha 0.062999
		if math.Abs(c.Rate()-20.02e9) > 1 {
			t.Errorf("%s: rate %g after a timer", name, c.Rate())
		}
		c.OnCNP(cnp(60 * us))
		if math.Abs(c.Rate()-19.3528e9) > 1e6 {
			t.Errorf("%s: rate %g after a CNP", name, c.Rate())
		}
	}
	c := mustBuild(t, "dcqcn", map[string]string{"profile": "b"}, env40)
	c.(Presetter).Preset(0, 20e9)
	if c.Rate() != 20e9 {
		t.Errorf("profile b: rate %g", c.Rate())
	}
}

// One late call does what calls in time do.
func TestLateTimers(t *testing.T) {
	for _, name := range []string{"dcqcn", "dcon"} {
		for _, given := range append([]map[string]string{nil}, variants[name]...) {
			rapid.Check(t, func(t *rapid.T) {
				build := func() Controller {
					s, err := Resolve(name, given, env40)
					if err != nil {
						t.Fatal(err)
					}
					c, err := s.spec.New(env40, s)
					if err != nil {
						t.Fatal(err)
					}
					return c
				}
				a, b := build(), build()
				var now vtime.Time
				for range rapid.IntRange(1, 30).Draw(t, "events") {
					e := drawEvent(drawing(t))
					e.after = min(e.after, vtime.Millisecond)
					now += e.after
					for a.Deadline() <= now {
						a.OnTimer(a.Deadline())
					}
					b.OnTimer(now)
					e.after, e.late = 0, false
					for _, c := range []Controller{a, b} {
						if _, err := e.apply(c, now); err != nil {
							t.Fatal(err)
						}
					}
				}
				if !reflect.DeepEqual(a, b) {
					t.Fatalf("in time %+v, late %+v", a, b)
				}
			})
		}
	}
}

// The rules of the paper have no time of their own beside their timers: dividing rates and multiplying times by k
// leaves the trajectory as it was.
func TestDCQCNTimeDilation(t *testing.T) {
	const k = 8
	slow := env40
	slow.LineRate /= k
	slow.BaseRTT *= k
	a := mustBuild(t, "dcqcn", map[string]string{"min_rate": "100Mbps", "byte_counter": "50KB"}, env40)
	b := mustBuild(t, "dcqcn", map[string]string{
		"min_rate": "12.5Mbps", "byte_counter": "50KB", "alpha_timer": "440us", "increase_timer": "440us",
	}, slow)
	for i := range vtime.Time(4000) {
		now := i * us
		a.OnTimer(now)
		b.OnTimer(k * now)
		a.OnSent(now, 1000)
		b.OnSent(k*now, 1000)
		if i%977 == 0 {
			a.OnCNP(cnp(now))
			b.OnCNP(cnp(k * now))
		}
		if a.Rate() != k*b.Rate() {
			t.Fatalf("at %v: %g and %d*%g", now, a.Rate(), k, b.Rate())
		}
	}
}

package cc

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/units"
)

func TestRegistryIsWellFormed(t *testing.T) {
	if names := Names(); !slices.IsSorted(names) || len(slices.Compact(names)) != len(registry) {
		t.Errorf("names %v", names)
	}
	for _, s := range append(slices.Clone(registry), windowedSpecs...) {
		if err := s.check(); err != nil && !strings.Contains(s.Name, "+") { // which is for names that are by a suffix
			t.Error(err)
		}
		for _, p := range s.Parameters {
			if _, err := parse(&p, p.Default, env40); err != nil {
				t.Errorf("%s.%s: default %q %v", s.Name, p.Name, p.Default, err)
			}
		}
	}
}

// TestRegister: a registered control is looked up, listed and windowed like a built-in one; an invalid one gives the
// reason.
func TestRegister(t *testing.T) {
	before, windowed := registry, windowedSpecs
	registry, windowedSpecs = slices.Clone(registry), slices.Clone(windowedSpecs)
	defer func() { registry, windowedSpecs = before, windowed }()
	Register(aimdSpec)
	if names := Names(); names[0] != "aimd" || !slices.IsSorted(names) {
		t.Errorf("names %v", names)
	}
	for _, name := range []string{"aimd", "AIMD", "aimd+win"} {
		if s, err := Lookup(name); err != nil || !strings.HasPrefix(s.Name, "aimd") {
			t.Errorf("%s: %v", name, err)
		}
	}
	whole := *aimdSpec
	for want, change := range map[string]func(*Spec){
		"duplicate congestion controller aimd":       func(*Spec) {},
		`invalid congestion controller name "DCQCN"`: func(s *Spec) { s.Name = "DCQCN" },
		`invalid congestion controller name "all"`:   func(s *Spec) { s.Name = "all" },
		"can carry only one of the three":            func(s *Spec) { s.Needs = SwitchNeeds{Grants: true, INT: true} },
		"set HasWindow": func(s *Spec) {
			s.Needs, s.HasWindow = SwitchNeeds{Grants: true}, false
		},
		`invalid congestion controller name "../up"`: func(s *Spec) { s.Name = "../up" },
		"make it with cc.Define":                     func(s *Spec) { s.New = nil },
		"lacks a Summary or a Source":                func(s *Spec) { s.Source = "" },
		"set Departure":                              func(s *Spec) { s.Departure = "" },
		`parameter "step" lacks a Doc`:               func(s *Spec) { s.Parameters[0].Doc = "" },
		"duplicate parameter step":                   func(s *Spec) { s.Parameters[1].Name = "step" },
	} {
		bad := whole
		bad.Parameters = slices.Clone(whole.Parameters)
		change(&bad)
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, want) {
					t.Errorf("%q, want %q", got, want)
				}
			}()
			Register(&bad)
		}()
	}
}

func TestResolveErrors(t *testing.T) {
	for _, c := range []struct {
		cc, parameter, value string
		want                 []string
	}{
		{"dcqn", "", "", []string{
			`unknown congestion controller "dcqn"`, `did you mean "dcon" or "dcqcn"?`,
			"(expected dcon, dcqcn, ",
		}},
		{"zzz", "", "", []string{"expected dcon"}},
		{"dcqcn", "alpha_timr", "55us", []string{
			`dcqcn.alpha_timr = "55us"`, "no such parameter",
			`did you mean "alpha_timer"`,
		}},
		{"dcqcn", "timer", "55us", []string{`did you mean "alpha_timer" or`}},
		{"none", "g", "1/256", []string{`none.g = "1/256"`, "it has none"}},
		{"dcqcn", "alpha_timer", "55", []string{`dcqcn.alpha_timer = "55"`, "write 55us or 55ms"}},
		{"dcqcn", "alpha_timer", "0s", []string{"dcqcn.alpha_timer", "below 1ns"}},
		{"dcqcn", "g", "1/0", []string{`dcqcn.g = "1/0"`, "not a number"}},
		{"dcqcn", "g", "2", []string{"dcqcn.g", "above 1"}},
		{"dcqcn", "rai", "40", []string{}},
		{"dcqcn", "rai", "40Mbp", []string{`dcqcn.rai = "40Mbp"`, "not a rate"}},
		{"dcqcn", "rai", "line*2", []string{"dcqcn.rai", "line/1000"}},
		{"dcqcn", "rai", "line/0", []string{"dcqcn.rai", "out of range"}},
		{"dcqcn", "rai", "min(line, 3x)", []string{"dcqcn.rai", "not a rate"}},
		{"dcqcn", "rai", "min(line", []string{"dcqcn.rai", "is missing its )"}},
		{"dcqcn", "alpha_timer", "2rtt", []string{"rtt is unknown for this flow"}},
		{"dcqcn", "min_rate", "41Gbps", []string{"above line, which is 40Gbps here"}},
		{"dcqcn", "fast_recovery", "5.5", []string{"dcqcn.fast_recovery", "not an integer"}},
		{"dcqcn", "clamp_target", "maybe", []string{"is not a boolean"}},
		{"dcqcn", "order", "alpha", []string{"not one of alpha-first, paper", `did you mean "alpha-first"`}},
		{"dcqcn", "profile", "c", []string{`dcqcn.profile = "c"`, "a, b"}},
		{"dcqcn", "decrease_timer", "4us", []string{"dcqcn.decrease_timer has no effect with profile=a"}},
	} {
		given := map[string]string{}
		if c.parameter != "" {
			given[c.parameter] = c.value
		}
		env := env40
		env.BaseRTT = 0
		_, err := Resolve(c.cc, given, env)
		if err == nil {
			if len(c.want) > 0 {
				t.Errorf("%v: no error", c)
			}
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%v: error %q does not say %q", c, err, w)
			}
		}
	}
	_, err := Resolve("dcqcn", map[string]string{"g": "x", "rai": "y", "nonsense": "z"}, env40)
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("not every mistake is reported: %v", err)
	}
	if _, err := Resolve("dcqcn", map[string]string{"alpha-timer": "1us", "Alpha_Timer": "2us"}, env40); err == nil ||
		!strings.Contains(err.Error(), "duplicate") {
		t.Errorf("a parameter given twice: %v", err)
	}
	if _, err := Resolve("dcqcn", nil, Env{}); err == nil {
		t.Error("an empty Env was taken")
	}
}

// Units of the network's RTT: the longest path's, or what the control's own constant says.
func TestNetworkUnits(t *testing.T) {
	env := env40 // 40 Gb/s, 40 us
	env.NetworkRTT = 100 * us
	for _, c := range []struct {
		cc    string
		given map[string]string
		want  map[string]string
	}{
		{
			"dcqcn",
			map[string]string{"alpha_timer": "0.5netrtt", "byte_counter": "2netbdp"},
			map[string]string{"alpha_timer": "50us", "byte_counter": "1MB"},
		},
		{"dcqcn", map[string]string{"alpha_timer": "min(0.5netrtt, 1rtt)"}, map[string]string{"alpha_timer": "40us"}},
		{"nscc", nil, map[string]string{
			"base_rtt": "100us", "target_delay": "100us", "adjust_period": "100us",
			"initial_cwnd": "750KB", "max_cwnd": "300KB",
		}},
		{
			"nscc",
			map[string]string{"base_rtt": "60us", "target_delay": "0.75netrtt", "quick_delay": "4"},
			map[string]string{
				"base_rtt": "60us", "target_delay": "45us", "adjust_period": "60us", "initial_cwnd": "450KB",
				"max_cwnd": "300KB",
			},
		},
		{"rccc", nil, map[string]string{"base_rtt": "100us", "initial_credit": "750KB", "max_cwnd": "750KB"}},
	} {
		s, err := Resolve(c.cc, c.given, env)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range c.want {
			if got := s.Map()[name]; got != want {
				t.Errorf("%s %v: %s is %s, want %s", c.cc, c.given, name, got, want)
			}
		}
	}
}

func TestResolveValues(t *testing.T) {
	s, err := Resolve("DCQCN", map[string]string{
		"alpha-timer": "1.5rtt", "byte_counter": "2bdp", "rai": "2*line/1000", "min_rate": "max(1Mbps, line/100, 3Mbps)",
		"g":            "0.0625",
		"clamp_target": "yes", "order": "PAPER",
	}, env40)
	if err != nil {
		t.Fatal(err)
	}
	if s.Time("alpha_timer") != 60*us || s.Size("byte_counter") != 400*units.KB || s.Rate("rai") != 80e6 ||
		s.Rate("min_rate") != 400e6 || s.Number("g") != 0.0625 || !s.Flag("clamp_target") || s.Choice("order") != "paper" {
		t.Errorf("%v", s.Map())
	}
	third, err := Resolve("dcqcn", map[string]string{"rai": "line/3", "alpha_timer": "rtt/7"}, env40)
	if err != nil || third.Rate("rai") != 13_333_333_333 || third.Time("alpha_timer") != 5_714_286 ||
		third.Map()["rai"] != "13.333333333Gbps" {
		t.Errorf("%v, %v: not rounded to 1 bps and 1 ps", third.Map(), err)
	}
	js, err := json.Marshal(s)
	if err != nil || !strings.HasPrefix(string(js), `{"profile":"a","order":"paper","initial_alpha":"1","g":"0.0625","alpha_timer":"60us"`) {
		t.Errorf("%s, %v", js, err)
	}
}

func TestNewRefusesOtherSettings(t *testing.T) {
	s, err := Resolve("dcqcn", nil, env40)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dconSpec.New(env40, s); err == nil {
		t.Error("dcon took dcqcn's settings")
	}
	if _, err := dcqcnSpec.New(env40, Settings{}); err == nil {
		t.Error("dcqcn took empty settings")
	}
	if _, err := dcqcnSpec.New(env100, s); err == nil {
		t.Error("settings for one line rate were taken for another")
	}
	env := env40
	env.Seed = 9
	if _, err := dcqcnSpec.New(env, s); err != nil {
		t.Errorf("another seed: %v", err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = dcqcnSpec.New(env, s) }); n > 1 {
		t.Errorf("New allocates %g times", n)
	}
}

func TestNone(t *testing.T) {
	c := mustBuild(t, "none", nil, env40)
	c.OnCNP(cnp(0))
	c.OnCNM(cnm(0, 16))
	if c.Rate() != 40e9 {
		t.Errorf("rate %g", c.Rate())
	}
	if Constant(3e9).Rate() != 3e9 {
		t.Error("a constant rate is not constant")
	}
}

func TestListing(t *testing.T) {
	var b bytes.Buffer
	if err := WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	for _, s := range registry {
		if err := s.WriteTable(&b); err != nil {
			t.Fatal(err)
		}
	}
	text := strings.Join(strings.Fields(b.String()), " ") // whatever the columns' widths
	for _, want := range []string{
		"CONTROLLER SWITCHES PURPOSE dcon ECN, CNM", "dctcp ECN step ", "none -",
		"dcqcn+tcd ECN, TCD", "timely+tcd ECN, TCD", "hpcc INT", "pcn PCN", "NAME+win limits", "for " + windowless() + ".",
		"profile=a: R_AI", "min(100Mbps, line/400)", "alpha-first|paper",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Name       string
		Needs      struct{ CNM bool }
		Parameters []struct{ Name, Kind, Default, When string }
	}
	if err := json.Unmarshal(b.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	none := slices.Index(Names(), "none")
	if len(list) != len(registry) || list[0].Name != "dcon" || !list[0].Needs.CNM ||
		list[1].Parameters[0].Kind != "choice" || list[none].Parameters == nil {
		t.Errorf("%s", b.String())
	}
}

func BenchmarkNew(b *testing.B) {
	s, err := Resolve("dcon", nil, env40)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := dconSpec.New(env40, s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOnSent(b *testing.B) {
	c := mustBuild(b, "dcon", nil, env40)
	c.OnCNP(cnp(0))
	b.ReportAllocs()
	for b.Loop() {
		c.OnSent(0, 1000)
	}
}

package cc

import (
	"maps"
	"strings"
	"testing"
)

func TestWindowed(t *testing.T) {
	c := mustBuild(t, "DCQCN+win", nil, env40)
	if c.Rate() != 40e9 || c.Window() != 200_000 {
		t.Fatalf("a new flow has rate %g and window %d", c.Rate(), c.Window())
	}
	c.OnCNP(cnp(0))
	if c.Rate() != 20e9 || c.Window() != 100_000 {
		t.Errorf("after a CNP: rate %g, window %d", c.Rate(), c.Window())
	}
	for c.Deadline() <= 55*us {
		c.OnTimer(c.Deadline())
	}
	if c.Rate() != 30e9 || c.Window() != 150_000 {
		t.Errorf("55us later: rate %g, window %d", c.Rate(), c.Window())
	}
	c.(Presetter).Preset(0, 10e9)
	if c.Rate() != 10e9 || c.Window() != 50_000 {
		t.Errorf("preset: rate %g, window %d", c.Rate(), c.Window())
	}
	c = mustBuild(t, "timely+win", map[string]string{"window": "1B"}, env100)
	if c.Window() != 1 {
		t.Errorf("window %d: no packet could go", c.Window())
	}
	c = mustBuild(t, "dcqcn+tcd+win", nil, env40)
	c.OnCNP(cnp(0))
	c.OnCNP(&Sample{Now: 10 * us, UE: true})
	for c.Deadline() <= 65*us {
		c.OnTimer(c.Deadline())
	}
	if c.Rate() != 20e9 || c.Window() != 100_000 {
		t.Errorf("kept: rate %g, window %d", c.Rate(), c.Window())
	}
	if c := mustBuild(t, "none+win", nil, env100); c.Window() != 52_000 {
		t.Errorf("window %d", c.Window())
	}
	if c := mustBuild(t, "dcon", nil, env40); c.Window() != 0 {
		t.Errorf("window %d without one", c.Window())
	}
}

func TestWindowedLookup(t *testing.T) {
	s, err := Lookup(" Dcon+WIN ")
	if err != nil || s.Name != "dcon+win" || !s.HasWindow || !s.Needs.CNM || s.Selector != "literal" {
		t.Fatalf("%+v, %v", s, err)
	}
	if second, _ := Lookup("dcon+win"); second != s {
		t.Error("two specs of one congestion control")
	}
	if len(dconSpec.Parameters)+1 != len(s.Parameters) || dconSpec.HasWindow {
		t.Error("dcon itself got the window's parameter")
	}
	for name, want := range map[string]string{
		"swift+win":     "swift has its own window (+win may follow ", // and then the names of all that there are
		"dctcp+win":     "dctcp has its own window",
		"dcqn+win":      `did you mean "dcon+win" or "dcqcn+win"`,
		"dcqcn+wim":     "unknown congestion control",
		"dcqcn+win+win": "unknown congestion control",
		"+win":          "unknown congestion control",
		"dcqcn+win+tcd": "+tcd must come before +win",
		"swift+tcd":     "+tcd may only follow dcqcn, timely",
		"dcqcn+tcd+tcd": "+tcd may only follow dcqcn, timely",
		"+tcd":          "unknown congestion control",
	} {
		if _, err := Lookup(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Resolve("dcqcn+win", map[string]string{"g": "2"}, env40); err == nil ||
		!strings.Contains(err.Error(), "dcqcn+win.g") {
		t.Errorf("%v", err)
	}
	given, err := Resolve("dcqcn", nil, env40)
	if err != nil {
		t.Fatal(err)
	}
	if s, _ := Lookup("dcqcn+win"); s != nil {
		if _, err := s.New(env40, given); err == nil {
			t.Error("dcqcn+win took dcqcn's settings")
		}
	}
}

// TestDerivedConstants: NAME's constants are NAME+win's and NAME+tcd's too, under whichever spelling, but for their
// own.
func TestDerivedConstants(t *testing.T) {
	given := map[string]map[string]string{
		"timely":         {"AI": "1Mbps", "t-low": "60us", "beta": "1"},
		"timely+tcd":     {"t_low": "70us", "alpha": "1/2"},
		"timely+tcd+win": {"alpha": "1/4", "window": "9KB"},
		"dcqcn":          {"g": "1"},
	}
	for name, want := range map[string]map[string]string{
		"timely":         {"AI": "1Mbps", "t-low": "60us", "beta": "1"},
		"timely+win":     {"AI": "1Mbps", "t-low": "60us", "beta": "1"},
		"timely+tcd":     {"AI": "1Mbps", "t_low": "70us", "beta": "1", "alpha": "1/2"},
		"timely+tcd+win": {"AI": "1Mbps", "t_low": "70us", "beta": "1", "alpha": "1/4", "window": "9KB"},
		"swift":          {},
	} {
		spec, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		got := spec.Constants(given)
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if _, err := Resolve(name, got, env40); err != nil {
			t.Error(err)
		}
	}
	if got := dcqcnTCDSpec.Constants(map[string]map[string]string{"dcqcn+tcd": {
		"alpha-timer": "1us",
		"Alpha_Timer": "2us",
	}}); len(got) != 2 {
		t.Errorf("a constant given twice under one name is the user's mistake, not to be hidden: %v", got)
	}
}

package cc

import "testing"

// TestExample: the controller of docs/controllers.md keeps what every one has to keep, and does what its summary says.
func TestExample(t *testing.T) {
	before := registry
	registry = append([]*Spec{aimdSpec}, registry...)
	defer func() { registry = before }()
	for _, env := range []Env{env40, env100} {
		for _, given := range []map[string]string{nil, {"factor": "0"}, {"step": "line", "factor": "1"}} {
			conforms(t, "aimd", given, env)
		}
	}
	// From 40 Gb/s: half, one step of 40 Mb/s an RTT later and another an RTT after that, half again.
	c := mustBuild(t, "aimd", nil, env40)
	c.OnCNP(cnp(0))
	for _, want := range []float64{20e9, 20.04e9, 20.08e9} {
		if c.Rate() != want {
			t.Errorf("rate %g, want %g", c.Rate(), want)
		}
		c.OnTimer(c.Deadline())
	}
	c.OnCNP(cnp(200 * us))
	if c.Rate() != 10.06e9 || c.Deadline() != 240*us {
		t.Errorf("rate %g, next step at %v", c.Rate(), c.Deadline())
	}
}

package scenario

import (
	"testing"

	"github.com/pausenet/pausenet/experiments/internal/lab"
)

// TestReferences checks that a reference to a setting uses the run's value, after --set, a variant or the controller,
// and that there is no reference if the run has no value.
func TestReferences(t *testing.T) {
	const payload = 25e9 * 1000 / 1082 / 2 // Ethernet's framing around 1000 B
	levels := func(name string, sets ...string) (values [3][]float64, labels string) {
		t.Helper()
		u, err := NewSetup(parse(t, lab.Referring, sets...), name, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range u.Resolution().Configuration.Report {
			for _, s := range p.Series {
				values[i] = append(values[i], s.Reference)
				labels += s.ReferenceLabel + ";"
			}
		}
		return values, labels
	}
	same := func(a, b []float64) bool {
		for i := range b {
			if len(a) != len(b) || a[i] < b[i]*0.999999 || a[i] > b[i]*1.000001 {
				return false
			}
		}
		return true
	}
	rates := []float64{payload, 25e9, 2e9, 3e9}
	for _, c := range []struct {
		controller string
		sets       []string
		want       [3][]float64
	}{
		{"dcqcn", nil, [3][]float64{{100e3, 98e3, 0}, {80e3, 320e3, 80e3, 0, 0, 0}, rates}},
		{"none", nil, [3][]float64{{100e3, 98e3, 0}, {0, 0, 0, 0, 0, 0}, rates}},
		{"dcon", nil, [3][]float64{{100e3, 98e3, 0}, {60e3, 240e3, 0, 60e3, 0, 0}, rates}},
		{"dcon", []string{"switch.cnm.threshold=90KB"}, [3][]float64{
			{100e3, 98e3, 0},
			{60e3, 240e3, 0, 60e3, 90e3, 0},
			rates,
		}},
		{"dcqcn+tcd", nil, [3][]float64{{100e3, 98e3, 0}, {80e3, 320e3, 80e3, 0, 0, 7e3}, rates}},
		{"dcqcn+tcd", []string{"switch.ecn.mode=step"}, [3][]float64{{100e3, 98e3, 0}, {0, 0, 0, 0, 0, 7e3}, rates}},
		{"hpcc", nil, [3][]float64{{100e3, 98e3, 0}, {0, 0, 0, 0, 0, 0}, {25e9 * 1000 / 1124 / 2, 25e9, 2e9, 3e9}}},
		{"deep", nil, [3][]float64{{200e3, 198e3, 0}, {90e3, 360e3, 80e3, 0, 0, 0}, rates}},
		{"deep", []string{"switch.pfc.xoff=640KB"}, [3][]float64{{200e3, 198e3, 0}, {90e3, 360e3, 80e3, 0, 0, 0}, rates}},
		{"dcqcn", []string{"switch.pfc.xoff=640KB"}, [3][]float64{{640e3, 638e3, 0}, {80e3, 320e3, 80e3, 0, 0, 0}, rates}},
		{"dynamic", nil, [3][]float64{{100e3, 0, 0}, {80e3, 320e3, 80e3, 0, 0, 0}, rates}},
		{
			"dynamic",
			[]string{"controllers.dynamic.switch.pfc.xoff=0B"},
			[3][]float64{{0, 0, 0}, {80e3, 320e3, 80e3, 0, 0, 0}, rates},
		},
		{"lossy", nil, [3][]float64{{0, 0, 0}, {80e3, 320e3, 80e3, 0, 0, 0}, rates}},
		{"credits", nil, [3][]float64{{0, 0, 200e3}, {80e3, 320e3, 80e3, 0, 0, 0}, rates}},
		{
			"dcqcn",
			[]string{"flows.other.constant_rate=5Gbps"},
			[3][]float64{{100e3, 98e3, 0}, {80e3, 320e3, 80e3, 0, 0, 0}, {payload, 25e9, 5e9, 3e9}},
		},
	} {
		got, labels := levels(c.controller, c.sets...)
		for i := range got {
			if !same(got[i], c.want[i]) {
				t.Errorf("%s %v: panel %d has %v, want %v", c.controller, c.sets, i, got[i], c.want[i])
			}
		}
		xoff := "XOFF;"
		if c.controller == "dynamic" {
			xoff = "XOFF at most;"
		}
		if want := xoff + "XON;credits' buffer;ECN kmax;ECN kmax;ECN kmin;Q_ECN;Q_CNM;q_len;half;line rate;constant rate;3Gbps;"; labels != want {
			t.Errorf("%s: labels %q, want %q", c.controller, labels, want)
		}
	}
}

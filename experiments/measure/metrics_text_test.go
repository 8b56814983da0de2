package measure

import (
	"testing"

	"github.com/pausenet/pausenet/internal/interval"
)

// TestText checks that values have three significant digits in a suitable unit, that counts are whole numbers, and that
// only varying values have an interval.
func TestText(t *testing.T) {
	for _, c := range []struct {
		metric string
		values []float64
		want   string
	}{
		{"fct_mean", []float64{7213470.618}, "7.21 ms"},
		{"fct_mean", []float64{690000}, "690 us"},
		{"fct_mean", []float64{1e6}, "1.00 ms"},
		{"fct_mean", []float64{0}, "0"},
		{"fct_mean", nil, "-"},
		{"fct_mean", []float64{5e6, 5e6, 5e6}, "5.00 ms"},
		{"fct_mean", []float64{5.0e6, 5.2e6}, "5.10 ± 1.27 ms"},
		{"fct_mean", []float64{132400, 132401}, "132.4 ± <0.1 us"},
		{"fct_mean", []float64{132400, 132450}, "132.4 ± 0.3 us"},
		{"goodput", []float64{24.97e9}, "25.0 Gbps"},
		{"peak_egress", []float64{409600}, "410 KB"},
		{"pauses", []float64{38173}, "38173"},
		{"pauses", []float64{1, 2}, "1.50 ± 6.35"},
		{"slowdown_p99", []float64{206.29}, "206"},
		{"slowdown_p99", []float64{0.0123}, "0.0123"},
	} {
		if got := MetricByName(c.metric).Text(interval.Of(c.values)); got != c.want {
			t.Errorf("%s of %v: %q, want %q", c.metric, c.values, got, c.want)
		}
	}
}

// TestMetricOfATag: a metric of flows may be followed by a tag; one of the whole run may not.
func TestMetricOfATag(t *testing.T) {
	m := MetricByName("slowdown_mean:victim")
	if m == nil || m.Tag != "victim" || m.Column() != "slowdown_mean:victim" || m.Label != "slowdown mean, victim" {
		t.Fatalf("got %+v", m)
	}
	flows := FlowStatistics{Completed: 1}
	flows.Slowdown.Mean = 2.5
	if got := m.Of(nil, &flows); got != 2.5 {
		t.Errorf("got %v, want 2.5", got)
	}
	if got := MetricByName("goodput:a:b").Column(); got != "goodput_bps:a:b" {
		t.Errorf("got %s", got)
	}
	for _, name := range []string{"pauses:victim", "slowdown_mean:", "nothing:victim", ":victim"} {
		if m := MetricByName(name); m != nil {
			t.Errorf("%s: got %+v, want none", name, m)
		}
	}
}

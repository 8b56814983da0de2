package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/interval"
)

// syntheticSweep returns two controllers at three positions. The second has no value at the last position; the first
// has one run there.
func syntheticSweep() *Sweep {
	return &Sweep{
		Name: "sweep <1>", Description: "what & why", Version: "v1", Command: "pausenet sweep a --set x=1..3",
		Facts: []Fact{{"Scenario", "a"}}, Problems: []string{"x=3 dcon: <killed>"},
		Equal: []string{"x=2 dcon is the same run as <x=1> dcon"}, Compared: []string{"dcon against <dcqcn>"},
		X: SweepAxis{
			Title: "flows.a.interval", Column: "flows.a.interval_ns", Names: []string{"10us", "15us", "30us"},
			Values: []float64{10e3, 15e3, 30e3}, Unit: Nanoseconds,
		},
		Lines: []string{"dcqcn", "dcon"},
		Metrics: []SweepMetric{
			{Title: "FCT mean", Column: "fct_mean_ns", Unit: Nanoseconds, Lines: [][]interval.Estimate{
				{estimateOf(5, 2e6, 1e5), estimateOf(5, 3e6, 2e5), estimateOf(1, 4e6, math.NaN())},
				{estimateOf(5, 1e6, 1e5), estimateOf(5, 1.5e6, 0), {}},
			}},
			{Title: "Nothing", Unit: None, Lines: [][]interval.Estimate{{{}, {}, {}}, {{}, {}, {}}}},
		},
	}
}

func estimateOf(n int, mean, half float64) interval.Estimate {
	return interval.Estimate{N: n, Mean: mean, Half: half}
}

func renderSweep(t *testing.T, s *Sweep) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteSweep(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSweepPage(t *testing.T) {
	page := renderSweep(t, syntheticSweep())
	save(t, "sweep.html", page)
	if n := strings.Count(page, `data-chart="`); n != 1 {
		t.Errorf("%d charts: a metric that no run has needs none", n)
	}
	for _, want := range []string{
		"sweep &lt;1&gt;", "what &amp; why", "x=3 dcon: &lt;killed&gt;", "2.00 ± 0.10", "3.00 ± 0.20", "<td>1.50</td>",
		"<td>4.00</td>", "<td>–</td>",
		"dcqcn: 2–4", "dcon: 1–1.5", `"half":{"d":[[100000,2],null]}`, "flows.a.interval", "pausenet sweep a --set x=1..3",
		"x=2 dcon is the same run as &lt;x=1&gt; dcon", "1 of the points is the same run as another",
		"<li>dcon against &lt;dcqcn&gt;</li>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if m := remote.FindString(withoutScript(page)); m != "" {
		t.Errorf("the page refers to something outside: %s", m)
	}
	if strings.Contains(withoutScript(page), "NaN") {
		t.Error("a value is NaN")
	}
	if page != renderSweep(t, syntheticSweep()) {
		t.Error("two pages of one sweep differ")
	}
}

// TestSweepFigures checks each of the page's charts, with its legend, its table, and its picture.
func TestSweepFigures(t *testing.T) {
	figures, err := SweepFigures(syntheticSweep())
	if err != nil {
		t.Fatal(err)
	}
	if len(figures) != 1 || figures[0].Name != "fct-mean" {
		t.Fatalf("%d figures", len(figures))
	}
	svg := drawnAs(t, figures[0].Drawing, "svg")
	wellFormed(t, svg)
	for _, want := range []string{"sweep &lt;1&gt;", ">FCT mean<", ">dcqcn<", ">dcon<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the drawing has no %s", want)
		}
	}
	want := "line,flows.a.interval_ns,fct_mean_ns,half_width_95\n" +
		"dcqcn,10000,2000000,100000\ndcqcn,15000,3000000,200000\ndcqcn,30000,4000000,\n" +
		"dcon,10000,1000000,100000\ndcon,15000,1500000,0\ndcon,30000,,\n"
	if got := string(figures[0].CSV); got != want {
		t.Errorf("table\n%swant\n%s", got, want)
	}
	picture(t, "sweep", figures[0].Drawing)
}

// TestSweepAxis checks that numbers appear at their position, on a logarithmic scale if they span decades, and that
// words are spaced equally.
func TestSweepAxis(t *testing.T) {
	for _, c := range []struct {
		axis   SweepAxis
		log    bool
		first  float64 // places of the second of three, as a part of the way from the first to the third
		second string  // a tick's label
	}{
		{
			SweepAxis{Names: []string{"10us", "15us", "30us"}, Values: []float64{10e3, 15e3, 30e3}, Unit: Nanoseconds},
			false,
			0.25, "15",
		},
		{
			SweepAxis{Names: []string{"1KB", "10KB", "100KB"}, Values: []float64{1e3, 1e4, 1e5}, Unit: Bytes},
			true, 0.5,
			"10\u00a0KB",
		},
		{SweepAxis{Names: []string{"red", "step", "off"}}, false, 0.5, "step"},
	} {
		a := c.axis.axis()
		a = a.place(0, 1000)
		at := func(i int) float64 {
			if c.axis.Values == nil {
				return a.at(float64(i))
			}
			return a.at(c.axis.Values[i])
		}
		if got := (at(1) - at(0)) / (at(2) - at(0)); a.log != c.log || math.Abs(got-c.first) > 1e-9 || at(0) <= 0 ||
			at(2) >= 1000 {
			t.Errorf("%v: log %t, places %g %g %g", c.axis.Names, a.log, at(0), at(1), at(2))
		}
		found := false
		for _, tick := range a.ticks {
			found = found || tick.label == c.second
		}
		if !found {
			t.Errorf("%v: ticks %v", c.axis.Names, a.ticks)
		}
	}
}

// TestSweepTicks checks that each position has a tick, and that of names without room those further left are left out.
func TestSweepTicks(t *testing.T) {
	for _, c := range []struct {
		axis SweepAxis
		want string
	}{
		{SweepAxis{
			Names: []string{"100KB", "101KB", "200KB", "800KB"}, Values: []float64{100e3, 101e3, 200e3, 800e3},
			Unit: Bytes,
		}, "[{100000 } {101000 101} {200000 200} {800000 800}]"},
		{SweepAxis{Names: []string{"0.5", "0.9"}, Values: []float64{0.5, 0.9}}, "[{0.5 0.5} {0.9 0.9}]"},
		{
			SweepAxis{Names: []string{"1us", "4us", "1ms"}, Values: []float64{1e3, 4e3, 1e6}, Unit: Nanoseconds},
			"[{1000 1\u00a0us} {4000 4\u00a0us} {1e+06 1\u00a0ms}]",
		},
	} {
		a := c.axis.axis()
		if got := fmt.Sprint(a.ticks); got != c.want {
			t.Errorf("%v: got %s, want %s", c.axis.Names, got, c.want)
		}
	}
}

func TestSweepCheck(t *testing.T) {
	for what, spoil := range map[string]func(*Sweep){
		"a line too few":  func(s *Sweep) { s.Metrics[0].Lines = s.Metrics[0].Lines[:1] },
		"a value too few": func(s *Sweep) { s.Metrics[0].Lines[1] = s.Metrics[0].Lines[1][:2] },
		"a place too few": func(s *Sweep) { s.X.Values = s.X.Values[:2] },
	} {
		s := syntheticSweep()
		spoil(s)
		if err := WriteSweep(&bytes.Buffer{}, s); err == nil {
			t.Errorf("%s goes unnoticed", what)
		}
	}
}

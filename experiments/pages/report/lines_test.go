package report

import (
	"math"
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	l := &Lines{Title: "MAPE <a>", Charts: []LineChart{
		{
			Name: "per round", XTitle: "round", Unit: Percent,
			Lines: []NumberLine{
				{Label: "measured", X: []float64{1, 2, 3}, Y: []float64{12, 8, 3}, Dots: true},
				{Label: "thesis", X: []float64{1, 3}, Y: []float64{11, 3.5}},
			},
			Levels: []Level{{Value: 20, Label: "limit"}},
		},
		{Name: "loss", XTitle: "step", Log: true, Lines: []NumberLine{{
			Label: "thesis", X: []float64{0, 10},
			Y: []float64{1, .01},
		}}},
	}}
	d, err := l.Drawing()
	if err != nil {
		t.Fatal(err)
	}
	text := drawnAs(t, d, "svg")
	wellFormed(t, text)
	second := light.series[1]
	for want, times := range map[string]int{
		"MAPE &lt;a&gt;": 2, // title and heading
		// the second line in both charts, and in the legend: one label, one colour
		"stroke:" + strings.ToUpper(second) + ";": 3,
		">thesis<":                    1, // one legend
		">limit<":                     1,
		">20%<":                       1, // the axis reaches the level
		"Line chart over round, 1–3.": 1,
		"Line chart over step, 0–10.": 1,
	} {
		if strings.Count(text, want) != times {
			t.Errorf("%q is there %d times, want %d:\n%s", want, strings.Count(text, want), times, text)
		}
	}
	if all := colours(picture(t, "lines", d)); all[rgb(light.series[0])] < 100 {
		t.Error("no line")
	}
	for name, bad := range map[string]*Lines{
		"no charts":       {Title: "x"},
		"nothing to draw": {Charts: []LineChart{{Lines: []NumberLine{{Label: "a"}}}}},
		"2 points of x but": {Charts: []LineChart{{Lines: []NumberLine{{
			Label: "a", X: []float64{1, 2},
			Y: []float64{1},
		}}}}},
		"is (1, +Inf), but": {Charts: []LineChart{{Lines: []NumberLine{{
			Label: "a", X: []float64{1},
			Y: []float64{math.Inf(1)},
		}}}}},
		"point 1 is (1, 0)": {Charts: []LineChart{{Lines: []NumberLine{{
			Label: "a", X: []float64{2, 1},
			Y: []float64{0, 0},
		}}}}},
	} {
		if _, err := bad.Drawing(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

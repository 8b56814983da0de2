package report

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"
)

func TestWriteLines(t *testing.T) {
	l := &Lines{Title: "MAPE <a>", Charts: []LineChart{
		{
			Name: "per round", XTitle: "round", Unit: Percent,
			Lines: []NumberLine{
				{Label: "measured", X: []float64{1, 2, 3}, Y: []float64{12, 8, 3}, Dots: true},
				{Label: "thesis", X: []float64{1, 3}, Y: []float64{11, 3.5}},
			},
			Levels: []Level{{Value: 20, Label: "limit"}},
		},
		{Name: "loss", XTitle: "step", Log: true, Lines: []NumberLine{{Label: "thesis", X: []float64{0, 10}, Y: []float64{1, .01}}}},
	}}
	var b bytes.Buffer
	if err := WriteLines(&b, l); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("not XML: %v", err)
		}
	}
	for want, times := range map[string]int{
		"MAPE &lt;a&gt;":              2, // title and heading
		`data-label="thesis"`:         2,
		`class="s1" fill="none"`:      3, // both of them, and the legend: one label, one colour
		"<circle":                     3,
		">limit<":                     1,
		">20%<":                       1, // the axis reaches the level
		"Line chart over round, 1–3.": 1,
		"Line chart over step, 0–10.": 1,
	} {
		if strings.Count(text, want) != times {
			t.Errorf("%q is there %d times, want %d:\n%s", want, strings.Count(text, want), times, text)
		}
	}
	for name, bad := range map[string]*Lines{
		"no charts":           {Title: "x"},
		"nothing to draw":     {Charts: []LineChart{{Lines: []NumberLine{{Label: "a"}}}}},
		"2 points of x but":   {Charts: []LineChart{{Lines: []NumberLine{{Label: "a", X: []float64{1, 2}, Y: []float64{1}}}}}},
		"is infinite or":      {Charts: []LineChart{{Lines: []NumberLine{{Label: "a", X: []float64{1}, Y: []float64{math.Inf(1)}}}}}},
		"point 1, (1, 0), is": {Charts: []LineChart{{Lines: []NumberLine{{Label: "a", X: []float64{2, 1}, Y: []float64{0, 0}}}}}},
	} {
		if err := WriteLines(io.Discard, bad); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

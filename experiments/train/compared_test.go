package train

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/hostagent/lstm"
)

// TestComparedCells checks that the LSTM equals the one that LSTM trains, that the other networks learn too, and that
// equal options give equal drawings.
func TestComparedCells(t *testing.T) {
	r, err := Cells(context.Background(), small())
	if err != nil {
		t.Fatal(err)
	}
	alone, err := trained()
	if err != nil {
		t.Fatal(err)
	}
	parameters := []int{1233, 929, 321}
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Parameters != parameters[i] || len(c.MAPE) != 3 || len(c.Loss) != 15 {
			t.Errorf("%v: %d parameters, %d rounds, %d losses", c.Cell, c.Parameters, len(c.MAPE), len(c.Loss))
		}
		if !(c.Unseen.All < c.Unseen.Smoothed/2) || c.Loss[0] < 1.2*c.Loss[14] {
			t.Errorf("%v does not learn: %+v, loss %v", c.Cell, c.Unseen, c.Loss)
		}
	}
	if c := &r.Cells[0]; c.Cell != lstm.LSTM || c.Unseen.All != alone.Unseen.All ||
		c.MAPE[2] != alone.Weights.Provenance.MAPE[2] {
		t.Errorf("the LSTM is another one beside others: %+v, alone %+v", c.Unseen, alone.Unseen)
	}
	var text bytes.Buffer
	if err := r.Write(&text); err != nil || !strings.Contains(text.String(), "  simple RNN         321 ") {
		t.Errorf("%v\n%s", err, text.String())
	}
	again, err := Cells(context.Background(), small())
	if err != nil {
		t.Fatal(err)
	}
	first, err := r.Drawings()
	if err != nil {
		t.Fatal(err)
	}
	if second, err := again.Drawings(); err != nil || !bytes.Equal(first[0].SVG, second[0].SVG) {
		t.Errorf("equal options, unequal drawings: %v", err)
	}
}

// TestFeatures checks |K| against a computation by hand, its distribution, and the thesis' statement about four
// controllers: HPCC's RTTs hardly change, TIMELY's do.
func TestFeatures(t *testing.T) {
	k := sequence{4.2, 4.4, 5, 6, 9, 7}.changes()
	for i, want := range []float64{.037735849, .138433515, .272912424, .615543684, .195211505} {
		near(t, "|K|", k[i], want, 6e-10)
	}
	if k := (sequence{5, 4}).changes(); len(k) != 1 || k[0] < 0.1 {
		t.Errorf("of a fall: %v", k)
	}
	u := FeaturesUnder{K: []float64{0, .01, .02, .5}}
	near(t, "below 0.02", u.below(.02), .5, 0)
	near(t, "below 9", u.below(9), 1, 0)
	if v := (&FeaturesUnder{}).below(1); !math.IsNaN(v) {
		t.Errorf("of no samples %g", v)
	}
	r, err := Features(context.Background(), small())
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]float64{}
	for i := range r.Under {
		parts[r.Under[i].Controller] = r.Under[i].below(.04)
	}
	if parts["hpcc"] < .8 || parts["timely"] > .7 || parts["pid"] > .5 || parts["dctcp"] < parts["timely"] {
		t.Errorf("below 0.04: %v", parts)
	}
	// In the thesis' own incast TIMELY and PID are about alike, as its text has them, and the two others well above.
	own := map[string]float64{}
	for i := range r.Incast {
		own[r.Incast[i].Controller] = r.Incast[i].below(.04)
	}
	if own["hpcc"] < .9 || own["dctcp"] < .9 || math.Abs(own["timely"]-own["pid"]) > .05 || own["timely"] > .4 {
		t.Errorf("in the thesis' incast: %v", own)
	}
	var text bytes.Buffer
	if err := r.Write(&text); err != nil || strings.Count(text.String(), " 87 %") != 2 {
		t.Errorf("%v\n%s", err, text.String())
	}
	if d, err := r.Drawings(); err != nil || len(d) != 1 || !bytes.Contains(d[0].SVG, []byte("timely")) {
		t.Errorf("%v", err)
	}
}

package train

import (
	"fmt"

	"github.com/pausenet/pausenet/experiments/pages/report"
)

// Drawing holds an SVG of a training.
type Drawing struct {
	Name string // such as "mape", for the file's name
	SVG  []byte
}

// Drawings returns drawings of the loss (the thesis' figure 11), of the MAPE beside the thesis' (its table 1), and of
// predicted beside measured RTTs (its figure 17).
func (r *LSTMResult) Drawings() ([]Drawing, error) {
	loss := report.NumberLine{Label: "measured"}
	for i, v := range r.Loss {
		loss.X, loss.Y = append(loss.X, float64(i+1)/lossParts), append(loss.Y, v)
	}
	train, test := report.NumberLine{Label: "train", Dots: true}, report.NumberLine{Label: "test", Dots: true}
	for i, m := range r.Weights.Provenance.MAPE {
		train.X, train.Y = append(train.X, float64(i+1)), append(train.Y, 100*m.Train)
		test.X, test.Y = append(test.X, float64(i+1)), append(test.Y, 100*m.Test)
	}
	published := [2]report.NumberLine{{Label: "train", Dots: true}, {Label: "test", Dots: true}}
	for i, m := range PublishedMAPE {
		for k, v := range []float64{m.Train, m.Test} {
			published[k].X, published[k].Y = append(published[k].X, float64(i+1)), append(published[k].Y, 100*v)
		}
	}
	predictions := &report.Lines{Title: "RTT of flows in unseen runs, and what was predicted one sample before"}
	for i := range r.Predictions {
		p := &r.Predictions[i]
		predictions.Charts = append(predictions.Charts, p.chart(fmt.Sprintf("%s, flow %d, %s", p.Scenario, p.Flow,
			p.Controller)))
	}
	return draw(
		"loss", &report.Lines{Title: "Mean absolute error while training", Charts: []report.LineChart{
			{Name: "5 points per round", XTitle: "round", Lines: []report.NumberLine{loss}},
		}},
		"mape", &report.Lines{Title: "MAPE of the predicted RTT", Charts: []report.LineChart{
			{Name: "measured", XTitle: "round", Unit: report.Percent, Lines: []report.NumberLine{train, test}},
			{Name: "thesis, table 1", XTitle: "round", Unit: report.Percent, Lines: published[:]},
		}},
		"prediction", predictions,
	)
}

// chart returns a chart of the measured and the predicted RTTs, by sample number.
func (p *Prediction) chart(name string) report.LineChart {
	measured, predicted := report.NumberLine{Label: "measured", Y: p.Measured}, report.NumberLine{
		Label: "predicted",
		Y:     p.Predicted,
	}
	for k := range p.Measured {
		measured.X = append(measured.X, float64(p.From+k))
	}
	predicted.X = measured.X
	return report.LineChart{Name: name, XTitle: "sample", Unit: "us", Lines: []report.NumberLine{measured, predicted}}
}

// Drawings returns a drawing of the gains over their updates (the thesis' figure 13), for the flow with the most
// updates.
func (r *GainsResult) Drawings() ([]Drawing, error) {
	lines := [3]report.NumberLine{{Label: "Kp"}, {Label: "Ki"}, {Label: "Kd"}}
	f := &r.Flows[0]
	for _, s := range f.Path {
		for k, v := range []float64{s.Gains.P, s.Gains.I, s.Gains.D} {
			lines[k].X, lines[k].Y = append(lines[k].X, float64(s.Updates)), append(lines[k].Y, v)
		}
	}
	return draw("gains", &report.Lines{Title: "Gains of the PID control while training", Charts: []report.LineChart{{
		Name: fmt.Sprintf("flow %d", f.Flow), XTitle: "updates", Lines: lines[:],
		Levels: []report.Level{
			{Value: PublishedGains.P, Label: "Kp, thesis"},
			{Value: PublishedGains.I, Label: "Ki, thesis"},
			{Value: PublishedGains.D, Label: "Kd, thesis"},
		},
	}}})
}

// draw makes drawings of names and lines in turn.
func draw(namesAndLines ...any) ([]Drawing, error) {
	var drawings []Drawing
	for i := 0; i < len(namesAndLines); i += 2 {
		drawn, err := namesAndLines[i+1].(*report.Lines).Drawing()
		if err != nil {
			return nil, err
		}
		svg, err := drawn.Picture("svg")
		if err != nil {
			return nil, err
		}
		drawings = append(drawings, Drawing{namesAndLines[i].(string), svg})
	}
	return drawings, nil
}

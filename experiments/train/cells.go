package train

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/pausenet/pausenet/experiments/pages/report"
	"github.com/pausenet/pausenet/hostagent/lstm"
)

// comparedCells lists the networks that the LSTM-PID thesis compares (section 3.4.1). It finds that the LSTM predicts
// best, that the GRU predicts well but not well enough, and that the simple RNN predicts worst: its loss remains large.
var comparedCells = []lstm.Cell{lstm.LSTM, lstm.GRU, lstm.SimpleRNN}

// CellsResult holds the results of each kind of network, trained on the same pairs.
type CellsResult struct{ Cells []TrainedCell }

// TrainedCell holds the results of one kind of network.
type TrainedCell struct {
	Cell       lstm.Cell
	Parameters int
	MAPE       []lstm.MAPE // by round
	Loss       []float64   // of each fifth of a round, as in LSTMResult
	Unseen     Unseen
}

// Cells trains each kind of network, of 16 units and a linear head, on the same pairs.
func Cells(ctx context.Context, o *Options) (*CellsResult, error) {
	c, err := collectAll(ctx, o)
	if err != nil {
		return nil, err
	}
	r := &CellsResult{}
	for _, cell := range comparedCells {
		f, err := c.fit(ctx, o, cell)
		if err != nil {
			return nil, err
		}
		r.Cells = append(r.Cells, TrainedCell{
			Cell: cell, Parameters: len(f.trainer.Parameters), MAPE: f.mape, Loss: f.loss,
			Unseen: f.unseen,
		})
	}
	return r, nil
}

// Write writes a table with one row per network.
func (r *CellsResult) Write(w io.Writer) error {
	fmt.Fprint(w, "MAPE of the predicted RTT, and the loss (mean absolute error)\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "network\tparameters\tlast round, loss\ttrain\ttest\truns of other seeds\tequal weight per |K| range\t")
	for _, controller := range collectedUnder {
		fmt.Fprintf(t, "under %s\t", controller)
	}
	fmt.Fprintln(t)
	for i := range r.Cells {
		c := &r.Cells[i]
		last, loss := c.MAPE[len(c.MAPE)-1], 0.0
		for _, l := range c.Loss[len(c.Loss)-lossParts:] {
			loss += l / lossParts
		}
		fmt.Fprintf(t, "%v\t%d\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t", c.Cell, c.Parameters, loss, last.Train, last.Test,
			c.Unseen.All, c.Unseen.Strata)
		for _, v := range c.Unseen.Under {
			fmt.Fprintf(t, "%.4f\t", v)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	u := &r.Cells[0].Unseen
	_, err := fmt.Fprintf(w, "\n%d samples of runs of other seeds; predicting the last RTT again: %.4f\n", u.Pairs,
		u.Standstill)
	return err
}

// Drawings returns drawings of the test error over the rounds, and of the loss.
func (r *CellsResult) Drawings() ([]Drawing, error) {
	test := report.LineChart{Name: "MAPE of the test pairs", XTitle: "round", Unit: report.Percent}
	loss := report.LineChart{Name: "loss, 5 points per round", XTitle: "round"}
	for i := range r.Cells {
		c := &r.Cells[i]
		a, b := report.NumberLine{Label: c.Cell.String(), Dots: true}, report.NumberLine{Label: c.Cell.String()}
		for k, m := range c.MAPE {
			a.X, a.Y = append(a.X, float64(k+1)), append(a.Y, 100*m.Test)
		}
		for k, v := range c.Loss {
			b.X, b.Y = append(b.X, float64(k+1)/lossParts), append(b.Y, v)
		}
		test.Lines, loss.Lines = append(test.Lines, a), append(loss.Lines, b)
	}
	return draw("cells", &report.Lines{
		Title:  "Three kinds of network on the same pairs",
		Charts: []report.LineChart{test, loss},
	})
}

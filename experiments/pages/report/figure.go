package report

import (
	"fmt"
	"slices"
)

// Drawing holds the contents of a picture file: a title, a legend, and charts in rows. They look like the charts of the
// page, with the same axes, ticks and styles. The page's script draws its own because they react to the pointer.
type Drawing struct {
	title  string
	legend []legendItem // of all charts
	across int          // charts per row
	cells  []drawingCell
}

// drawingCell holds a chart with the texts above it.
type drawingCell struct {
	caption, note string
	legend        []legendItem // of this chart alone
	chart         *chart
}

// figureWidth sets the width of a chart of a run's figure: two side by side are as wide as a page of documentation.
const figureWidth = 480.0

// chartsPerRow sets the number of charts in a row of a drawing of plots.
const chartsPerRow = 4

// RunFigure returns one run's panels in a drawing, two side by side. Its scales fit this run alone, unlike those of
// Figures, because no other run is shown beside it.
func RunFigure(r *Report, controller string) (*Drawing, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(r.Runs, func(run Run) bool { return run.Controller == controller })
	if i < 0 {
		return nil, fmt.Errorf("report %s: no run of %s", r.Scenario, controller)
	}
	if len(r.Panels) == 0 {
		return nil, fmt.Errorf("report %s: no panels to draw", r.Scenario)
	}
	alone := *r
	alone.Runs = r.Runs[i : i+1]
	d := &Drawing{title: r.Scenario + " under " + controller, across: 2}
	for k := range r.Panels {
		p := newPlots(&alone, k, alone.Runs)
		c := p.charts[0]
		c.title, c.width = p.title, figureWidth
		c.layout()
		d.cells = append(d.cells, drawingCell{
			caption: p.title, note: withUnits(r.Panels[k].Note), legend: p.legend,
			chart: c,
		})
	}
	return d, nil
}

// drawing returns the charts side by side under their common legend.
func (p *plots) drawing() *Drawing {
	d := &Drawing{title: p.title, legend: p.legend, across: chartsPerRow}
	for i, c := range p.charts {
		d.cells = append(d.cells, drawingCell{caption: p.names[i], chart: c})
	}
	return d
}

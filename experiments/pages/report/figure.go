package report

import (
	"fmt"
	"slices"
)

// Drawing is charts that are taken away as a file: a title, a legend and the charts in rows. What the page shows is
// drawn by the page's script, as only that can be pointed at; both draw the same charts, with the same axes, ticks and
// styles.
type Drawing struct {
	title  string
	legend []legendItem // of all charts
	across int          // charts in a row
	cells  []drawingCell
}

// drawingCell is a chart with what stands over it.
type drawingCell struct {
	caption, note string
	legend        []legendItem // of this chart alone
	chart         *chart
}

// figureWidth is the width of a chart of a run's figure: two abreast are as wide as a page of documentation.
const figureWidth = 480.0

// abreast is how many controllers' charts a row of a panel's drawing has.
const abreast = 4

// RunFigure returns one run's panels in a drawing, two abreast. Unlike those of Figures its scales are the run's own:
// it is to be looked at by itself.
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
	d := &Drawing{title: p.title, legend: p.legend, across: abreast}
	for i, c := range p.charts {
		d.cells = append(d.cells, drawingCell{caption: p.names[i], chart: c})
	}
	return d
}

package results

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/experiments/pages/report"
	"github.com/pausenet/pausenet/experiments/results/rundir"
)

func (r *RunFolder) readFlows() error {
	byTag := map[string]*tagFlows{}
	var order []*tagFlows // tags with finished flows
	err := rundir.Read(r.Path, rundir.Flows, func(row *rundir.FlowRow) error {
		f := byTag[row.Tag]
		if f == nil {
			ended := r.summary.ByTag[row.Tag].Completed
			f = &tagFlows{tag: row.Tag, fcts: make([]float64, 0, ended), slowdowns: make([]float64, 0, ended)}
			byTag[row.Tag] = f
			r.tags = append(r.tags, row.Tag)
		}
		if row.Finished() {
			if len(f.fcts) == 0 {
				order = append(order, f)
			}
			f.fcts, f.slowdowns = append(f.fcts, float64(row.FCT)), append(f.slowdowns, row.Slowdown)
		}
		return nil
	})
	for _, f := range order {
		r.flows = append(r.flows, *f)
	}
	return err
}

func (r *RunFolder) readLinks() error {
	return rundir.Read(r.Path, rundir.Links, func(l *rundir.LinkRow) error {
		if r.links == nil {
			r.links = make([]rundir.LinkRow, 0, 2*len(r.manifest.Configuration.Topology.Links))
		}
		r.links = append(r.links, *l)
		return nil
	})
}

// mostEvents limits the events of a run on a page.
const mostEvents = 20

// readEvents reads the first events and counts the others.
func (r *RunFolder) readEvents() error {
	before := int64(0)
	return rundir.Read(r.Path, rundir.Events, func(row *rundir.EventRow) error {
		if row.Time < before {
			return errors.New("the time decreases: the file is damaged")
		}
		before = row.Time
		if len(r.events) == mostEvents {
			r.more++
			return nil
		}
		e := report.Event{Time: row.Time, Name: strings.ReplaceAll(row.Event, "_", " "), Position: row.Node, Detail: row.Detail}
		if row.Peer != "" {
			e.Position += " → " + row.Peer
		}
		if e.Detail == "ends" {
			e.Name, e.Detail = e.Name+" ends", ""
		}
		r.events = append(r.events, e)
		return nil
	})
}

// readPanels reads the points of plots; for a long series only as many as its picture needs.
func (r *RunFolder) readPanels() error {
	return r.readPoints((*report.Series).Append)
}

// readAllPoints reads every point again.
func (r *RunFolder) readAllPoints() error {
	if r.panels == nil {
		return nil
	}
	return r.readPoints(func(s *report.Series, x int64, y float64) { s.X, s.Y = append(s.X, x), append(s.Y, y) })
}

// readPoints calls add for each point. It fails for a series that the manifest does not have.
func (r *RunFolder) readPoints(add func(s *report.Series, x int64, y float64)) error {
	views := r.manifest.Configuration.Report
	panels := make([][]report.Series, len(views))
	for i := range views {
		panels[i] = make([]report.Series, len(views[i].Series))
	}
	err := rundir.Read(r.Path, rundir.Panels, func(row *rundir.PanelRow) error {
		if row.Panel >= len(panels) || row.Series >= len(panels[row.Panel]) {
			return fmt.Errorf("the manifest's configuration has no series %d of panel %d", row.Series, row.Panel)
		}
		p := &panels[row.Panel][row.Series]
		if k := len(p.X); k > 0 && row.Time < p.X[k-1] {
			return errors.New("the time decreases: the file is damaged")
		}
		add(p, row.Time, row.Value)
		return nil
	})
	if err == nil {
		r.panels = panels
	}
	return err
}

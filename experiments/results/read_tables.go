package results

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/report"
	"github.com/pausenet/pausenet/experiments/rundir"
)

func (r *RunFolder) readFlows(path string) error {
	index, known := map[string]int{}, map[string]bool{}
	return rundir.ReadCSV(path, rundir.FlowsHeader, func(row *rundir.Row) error {
		tag := row.Text(1)
		if !known[tag] {
			known[tag] = true
			r.tags = append(r.tags, tag)
		}
		if row.Empty(6) {
			return nil // it has not ended
		}
		k, listed := index[tag]
		if !listed {
			k = len(r.flows)
			index[tag] = k
			r.flows = append(r.flows, tagFlows{tag: tag})
		}
		f := &r.flows[k]
		fct, slowdown := row.Number(6), row.Number(8)
		if row.Err == nil && (fct < 0 || slowdown < 0) {
			return errors.New("a time is negative")
		}
		f.fcts, f.slowdowns = append(f.fcts, fct), append(f.slowdowns, slowdown)
		return nil
	})
}

func (r *RunFolder) readLinks(path string) error {
	return rundir.ReadCSV(path, rundir.LinksHeader, func(row *rundir.Row) error {
		r.links = append(r.links, measure.Link{
			Node: row.Text(0), Port: row.Text(1), Peer: row.Text(2), RateBPS: row.Whole(3), TxFrames: row.Whole(4), TxBytes: row.Whole(5),
			Utilisation: row.Number(6), PeakQueue: row.Whole(7), CongestedNS: row.Whole(8), Pauses: row.Whole(9), Resumes: row.Whole(10),
			PauseRate: row.Number(11), PausedNS: row.Whole(12),
		})
		return nil
	})
}

// mostEvents is how many events of a run a page shows.
const mostEvents = 20

// readEvents reads the first events, and counts the others.
func (r *RunFolder) readEvents(path string) error {
	before := int64(0)
	return rundir.ReadCSV(path, rundir.EventsHeader, func(row *rundir.Row) error {
		at := row.Whole(0)
		if row.Err == nil && at < before {
			return errors.New("time goes back")
		}
		before = at
		if len(r.events) == mostEvents {
			r.more++
			return nil
		}
		e := report.Event{Time: at, Name: strings.ReplaceAll(row.Text(4), "_", " "), Place: row.Text(1), Detail: row.Quoted(5)}
		if peer := row.Text(3); peer != "" {
			e.Place += " → " + peer
		}
		if e.Detail == "ends" {
			e.Name, e.Detail = e.Name+" ends", ""
		}
		r.events = append(r.events, e)
		return nil
	})
}

// readPanels reads the plots' points, of long series as many as their pictures need.
func (r *RunFolder) readPanels(path string) error {
	return r.readPoints(path, (*report.Series).Append)
}

// readAllPoints reads them again, every one.
func (r *RunFolder) readAllPoints() error {
	if r.panels == nil {
		return nil
	}
	return r.readPoints(filepath.Join(r.Path, panelsName), func(s *report.Series, x int64, y float64) { s.X, s.Y = append(s.X, x), append(s.Y, y) })
}

// readPoints has add take each point. Those of series that the manifest does not have are a mistake.
func (r *RunFolder) readPoints(path string, add func(s *report.Series, x int64, y float64)) error {
	views := r.manifest.Configuration.Report
	panels := make([][]report.Series, len(views))
	for i := range views {
		panels[i] = make([]report.Series, len(views[i].Series))
	}
	err := rundir.ReadCSV(path, rundir.PanelsHeader, func(row *rundir.Row) error {
		panel, series, now, value := row.Whole(0), row.Whole(1), row.Whole(2), row.Number(3)
		switch {
		case row.Err != nil:
			return nil
		case panel >= int64(len(panels)) || series >= int64(len(panels[panel])):
			return fmt.Errorf("there is no series %d of panel %d in the manifest's configuration", series, panel)
		}
		p := &panels[panel][series]
		if k := len(p.X); k > 0 && now < p.X[k-1] {
			return errors.New("time goes back")
		}
		add(p, now, value)
		return nil
	})
	if err == nil {
		r.panels = panels
	}
	return err
}

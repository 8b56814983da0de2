package experiments

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/experiments/report"
)

func (r *RunFolder) readFlows(path string) error {
	index, known := map[string]int{}, map[string]bool{}
	return readCSV(path, flowsHeader, func(row *csvRow) error {
		tag := row.text(1)
		if !known[tag] {
			known[tag] = true
			r.tags = append(r.tags, tag)
		}
		if row.empty(6) {
			return nil // it has not ended
		}
		k, listed := index[tag]
		if !listed {
			k = len(r.flows)
			index[tag] = k
			r.flows = append(r.flows, tagFlows{tag: tag})
		}
		f := &r.flows[k]
		fct, slowdown := row.number(6), row.number(8)
		if row.err == nil && (fct < 0 || slowdown < 0) {
			return errors.New("a time is negative")
		}
		f.fcts, f.slowdowns = append(f.fcts, fct), append(f.slowdowns, slowdown)
		return nil
	})
}

func (r *RunFolder) readLinks(path string) error {
	return readCSV(path, linksHeader, func(row *csvRow) error {
		r.links = append(r.links, Link{
			Node: row.text(0), Port: row.text(1), Peer: row.text(2), RateBPS: row.whole(3), TxFrames: row.whole(4), TxBytes: row.whole(5),
			Utilisation: row.number(6), PeakQueue: row.whole(7), CongestedNS: row.whole(8), Pauses: row.whole(9), Resumes: row.whole(10),
			PauseRate: row.number(11), PausedNS: row.whole(12),
		})
		return nil
	})
}

// mostEvents is how many events of a run a page shows.
const mostEvents = 20

// readEvents reads the first events, and counts the others.
func (r *RunFolder) readEvents(path string) error {
	before := int64(0)
	return readCSV(path, eventsHeader, func(row *csvRow) error {
		at := row.whole(0)
		if row.err == nil && at < before {
			return errors.New("time goes back")
		}
		before = at
		if len(r.events) == mostEvents {
			r.more++
			return nil
		}
		e := report.Event{Time: at, Name: strings.ReplaceAll(row.text(4), "_", " "), Place: row.text(1), Detail: row.quoted(5)}
		if peer := row.text(3); peer != "" {
			e.Place += " → " + peer
		}
		if e.Detail == "ends" {
			e.Name, e.Detail = e.Name+" ends", ""
		}
		r.events = append(r.events, e)
		return nil
	})
}

// readPanels reads the plots' points. Those of series that the manifest does not have are a mistake.
func (r *RunFolder) readPanels(path string) error {
	views := r.manifest.Configuration.Report
	panels := make([][]Points, len(views))
	for i := range views {
		panels[i] = make([]Points, len(views[i].Series))
	}
	err := readCSV(path, panelsHeader, func(row *csvRow) error {
		panel, series, now, value := row.whole(0), row.whole(1), row.whole(2), row.number(3)
		switch {
		case row.err != nil:
			return nil
		case panel >= int64(len(panels)) || series >= int64(len(panels[panel])):
			return fmt.Errorf("there is no series %d of panel %d in the manifest's configuration", series, panel)
		}
		p := &panels[panel][series]
		if k := len(p.Time); k > 0 && now < p.Time[k-1] {
			return errors.New("time goes back")
		}
		p.Time, p.Value = append(p.Time, now), append(p.Value, value)
		return nil
	})
	if err == nil {
		r.panels = panels
	}
	return err
}

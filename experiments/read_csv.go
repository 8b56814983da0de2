package experiments

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/report"
	"github.com/pausenet/pausenet/internal/files"
)

// csvRow is a row of a CSV file of results. Its fields are asked for by column; the first that is not what it should be is
// the row's error.
type csvRow struct {
	fields [][]byte
	names  [][]byte
	err    error
}

func (r *csvRow) text(column int) string { return string(r.fields[column]) }

// quoted is a text that is between quotes if a comma or a quote is in it. Only the last column may be such.
func (r *csvRow) quoted(column int) string {
	text := r.text(column)
	if n := len(text); n > 1 && text[0] == '"' && text[n-1] == '"' {
		return strings.ReplaceAll(text[1:n-1], `""`, `"`)
	}
	return text
}

func (r *csvRow) empty(column int) bool { return len(r.fields[column]) == 0 }

// whole is a number that is whole and not negative.
func (r *csvRow) whole(column int) int64 {
	v, err := strconv.ParseInt(string(r.fields[column]), 10, 64)
	if (err != nil || v < 0) && r.err == nil {
		r.err = fmt.Errorf("%s is %q, not a whole number", r.names[column], r.fields[column])
	}
	return v
}

func (r *csvRow) number(column int) float64 {
	v, err := strconv.ParseFloat(string(r.fields[column]), 64)
	if (err != nil || math.IsNaN(v) || math.IsInf(v, 0)) && r.err == nil {
		r.err = fmt.Errorf("%s is %q, not a number", r.names[column], r.fields[column])
	}
	return v
}

// readCSV reads a file of results with the given header, row by row.
func readCSV(path, header string, each func(*csvRow) error) error {
	f, err := files.Open(path, resultCSV)
	if err != nil {
		return err
	}
	defer f.Close()
	return parseCSV(path, io.LimitReader(f, resultCSV.Most), header, each)
}

// longestRow bounds a row of a file that is none of ours.
const longestRow = 1 << 20

func parseCSV(path string, from io.Reader, header string, each func(*csvRow) error) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 1<<16), longestRow)
	row := csvRow{names: bytes.Split([]byte(header), []byte{','})}
	row.fields = make([][]byte, len(row.names))
	at := func(n int, err error) error { return &FileError{path, n, err} }
	n := 0
	for lines.Scan() {
		n++
		if n == 1 {
			if got := lines.Text(); got != header {
				return at(n, fmt.Errorf("the columns are %.200q, not %q: the file is of another pausenet, or damaged", got, header))
			}
			continue
		}
		plain, _, _ := bytes.Cut(lines.Bytes(), []byte(`,"`)) // what is quoted is the last field
		got := bytes.Count(plain, []byte{','}) + 1
		if len(plain) < len(lines.Bytes()) {
			got++
		}
		if got != len(row.names) {
			return at(n, fmt.Errorf("%d fields of %d: the file is damaged", got, len(row.names)))
		}
		rest := lines.Bytes()
		last := len(row.fields) - 1
		for i := range last {
			row.fields[i], rest, _ = bytes.Cut(rest, []byte{','})
		}
		row.fields[last] = rest
		row.err = nil
		if err := errors.Join(each(&row), row.err); err != nil {
			return at(n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return at(n+1, err)
	}
	if n == 0 {
		return at(1, errors.New("the file is empty: the run was killed, or the disk was full"))
	}
	return nil
}

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

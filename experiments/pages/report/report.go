package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
)

// Report holds the content of one page.
type Report struct {
	Scenario    string
	Description string
	// Topology describes the fabric in plain language, such as "3 leaves, 2 spines, 18 hosts, 40 Gb/s links".
	Topology string
	// Version holds the version of pausenet that made the runs.
	Version string
	Seed    uint64
	// Seeds lists the seeds if there are several. Each number is then a mean over them. The plots over time show Seed.
	Seeds []uint64
	// Compares reports whether the runs come from several commands. The page then compares each run with the first.
	Compares bool
	// Findings lists results of a comparison that concern whole runs, one per line.
	Findings []string
	// Problems lists parts missing from the page, one per line, with the remedy.
	Problems []string
	// Plane names the plane of the pipelines: "kernel" or "wasm".
	Plane string
	// Command holds the command line that repeats the runs.
	Command string
	// Earlier names the folder, beside the report's, of the scenario's earlier results, and EarlierCommand the command
	// that compares both; empty if there are none.
	Earlier, EarlierCommand string
	// LookAt tells the reader what to look at, one paragraph each.
	LookAt []string
	// Runs holds the columns, in this order.
	Runs []Run
	// Headline holds the measures that the page begins with, with one cell for each run.
	Headline []HeadlineRow
	Panels   []Panel
	// Spans lists intervals of time to shade in every panel, such as a burst.
	Spans []Span
	// Published holds tables with a source's figures for the scenario, beside the measurements of the runs.
	Published []Published
}

// HeadlineRow represents one measure of the headline. Its cells are texts with units.
type HeadlineRow struct {
	Label string
	Cells []string
}

// Published holds one table of a source. All its values are text for readers.
type Published struct {
	Title, Source, Note string
	Columns             []string // controllers, with or without a run here
	Rows                []PublishedRow
}

// PublishedRow holds one figure, with a cell for each column.
type PublishedRow struct {
	Label, Unit string
	Cells       []PublishedCell
}

// PublishedCell holds a value as published, as measured, and their difference; empty if there is none.
type PublishedCell struct{ Published, Measured, Difference string }

// Run holds the results of one controller's run.
type Run struct {
	Controller string
	// Note explains the controller if its name does not; may be empty.
	Note        string
	Verdict     Verdict
	Fingerprint string
	Summary     Summary
	// Slowdowns holds the flows' slowdowns by tag, for the cumulative distributions. With repeats, it has those of all
	// runs that counted returns.
	Slowdowns []Distribution
	// Partial is true if the run was cut short: its numbers cover only a part of the scenario.
	Partial bool
	// Faults reports whether the scenario has faults. The page then notes that the limits of jobs and collectives are
	// those of the fabric without faults.
	Faults bool
	Seed   uint64
	// Repeats holds the run under each seed, including this one, if there are several.
	Repeats []Run
	// Events holds the first events of the fabric, in order of time; MoreEvents counts the others.
	Events     []Event
	MoreEvents int
	// Settings holds the configuration, in the order for readers.
	Settings []Setting
}

// Setting holds the name of a setting within a group, and its value. Runs are compared by equal groups and names.
type Setting struct{ Group, Name, Value string }

// Verdict tells whether a run's numbers can be trusted.
type Verdict struct {
	Status   Status
	Word     string   // text for people instead of Status
	Messages []string // reasons why it is not PASS
	Notes    []string // information about the numbers of a sound run
}

// Status holds a verdict in one word.
type Status string

// Statuses.
const (
	Pass Status = "PASS"
	Warn Status = "WARN"
	Fail Status = "FAIL"
)

// Distribution holds the slowdowns of the flows with a tag, and their completion times in nanoseconds.
type Distribution struct {
	Tag       string
	Slowdowns Sample
	FCTs      Sample
}

// Panel describes one plot, drawn once for each controller on the same scales.
type Panel struct {
	Title string
	// Note holds a line below the title; may be empty.
	Note string
	Unit Unit
	// Top holds the least value that the y axis must reach.
	Top float64
	// Log draws y on a logarithmic scale.
	Log bool
	// Series holds the lines, by controller. A label keeps its colour and dash pattern across the controllers.
	Series map[string][]Series
}

// Series holds one line of a plot.
type Series struct {
	Label string
	// X holds virtual nanoseconds, ascending; Y holds values in the panel's base unit (bytes, bits per second,
	// nanoseconds). A NaN in Y is a gap.
	X []int64
	Y []float64
	// Step holds each value until the next one, as a queue does; otherwise points are joined by straight lines.
	Step bool
	// Reference holds a level to draw across the plot, such as XOFF; nil: none.
	Reference *Level
}

// Level holds a labelled horizontal line.
type Level struct {
	Value float64
	Label string
}

// Span holds a labelled interval of virtual time, in nanoseconds.
type Span struct {
	From, To int64
	Label    string
}

// Write writes the page.
func Write(w io.Writer, r *Report) error {
	if err := r.check(); err != nil {
		return err
	}
	return newPage(r).write(w)
}

// check finds the mistakes a caller can make. A plot of wrong data is worse than none.
func (r *Report) check() error {
	if len(r.Runs) == 0 {
		return fmt.Errorf("report %s: no runs", r.Scenario)
	}
	known := make(map[string]bool, len(r.Runs))
	for _, run := range r.Runs {
		if known[run.Controller] {
			return fmt.Errorf("report %s: controller %s has two runs", r.Scenario, run.Controller)
		}
		known[run.Controller] = true
		switch run.Verdict.Status {
		case Pass, Warn, Fail:
		default:
			return fmt.Errorf("report %s: controller %s: unknown verdict %q", r.Scenario, run.Controller, run.Verdict.Status)
		}
	}
	for _, run := range r.Runs {
		if !slices.IsSortedFunc(run.Events, func(a, b Event) int { return cmp.Compare(a.Time, b.Time) }) {
			return fmt.Errorf("report %s: controller %s: the events are not in the order of time", r.Scenario, run.Controller)
		}
	}
	for _, row := range r.Headline {
		if len(row.Cells) != len(r.Runs) {
			return fmt.Errorf("report %s: headline: %s has %d cells for %d runs", r.Scenario, row.Label, len(row.Cells),
				len(r.Runs))
		}
	}
	for _, p := range r.Published {
		for _, row := range p.Rows {
			if len(row.Cells) != len(p.Columns) {
				return fmt.Errorf("report %s: published %s: %s has %d cells in %d columns", r.Scenario, p.Title, row.Label,
					len(row.Cells), len(p.Columns))
			}
		}
	}
	for _, p := range r.Panels {
		for _, run := range r.Runs {
			for _, s := range p.Series[run.Controller] {
				if err := s.check(); err != nil {
					return fmt.Errorf("report %s: panel %q: controller %s: series %s: %w", r.Scenario, p.Title, run.Controller,
						s.Label, err)
				}
			}
		}
		for name := range p.Series {
			if !known[name] {
				return fmt.Errorf("report %s: panel %q: series of an unknown controller", r.Scenario, p.Title)
			}
		}
	}
	return nil
}

func (s *Series) check() error {
	if len(s.X) != len(s.Y) {
		return fmt.Errorf("%d times but %d values", len(s.X), len(s.Y))
	}
	for i := range s.X {
		if i > 0 && s.X[i] < s.X[i-1] {
			return fmt.Errorf("time goes back at point %d", i)
		}
		if math.IsInf(s.Y[i], 0) {
			return fmt.Errorf("infinite value at point %d", i)
		}
	}
	return nil
}

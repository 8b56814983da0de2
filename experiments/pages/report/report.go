package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
)

// Report is everything one page shows.
type Report struct {
	Scenario    string
	Description string
	// Topology says in plain language what the fabric looks like, such as "3 leaves, 2 spines, 18 hosts, 40 Gb/s links".
	Topology string
	// Version is the pausenet that made the runs.
	Version string
	Seed    uint64
	// Seeds are several: each number is then a mean over them. The plots over time are of Seed.
	Seeds []uint64
	// Compares says that the runs are of several commands, each to be read against the first.
	Compares bool
	// Findings say what a comparison shows of the runs as wholes, a line each.
	Findings []string
	// Problems are what is not in the page, a line each, with what to do about it.
	Problems []string
	// Plane is where the pipelines ran: "kernel" or "wasm".
	Plane string
	// Command repeats the runs.
	Command string
	// Earlier names the folder, beside the report's, of the scenario's earlier results, and EarlierCommand the command
	// that compares both; empty if there are none.
	Earlier, EarlierCommand string
	// LookAt tells the reader what to look at, one paragraph each.
	LookAt []string
	// Runs are the columns, in this order.
	Runs []Run
	// Headline holds the measures that the page begins with, with one cell for each run.
	Headline []HeadlineRow
	Panels   []Panel
	// Spans are stretches of time to shade in every panel, such as a burst.
	Spans []Span
	// Published are tables of what a source says of the scenario, beside what the runs measured.
	Published []Published
}

// HeadlineRow represents one measure of the headline. Its cells are texts with units.
type HeadlineRow struct {
	Label string
	Cells []string
}

// Published is one table of a source. Everything in it is text as it is to be read.
type Published struct {
	Title, Source, Note string
	Columns             []string // controllers, with a run here or without
	Rows                []PublishedRow
}

// PublishedRow is one figure, with a cell a column.
type PublishedRow struct {
	Label, Unit string
	Cells       []PublishedCell
}

// PublishedCell is a value as published, as measured, and their difference; empty where there is none.
type PublishedCell struct{ Published, Measured, Difference string }

// Run is what one controller's run came to.
type Run struct {
	Controller string
	// Note says what the controller is, where its name does not; may be empty.
	Note        string
	Verdict     Verdict
	Fingerprint string
	Summary     Summary
	// Slowdowns are the flows' by tag, for the cumulative distributions; of repeats those of all that count (Counted)
	// together.
	Slowdowns []Distribution
	// Partial says that the run was cut short: its numbers cover only a part of the scenario.
	Partial bool
	// Faults says that the scenario has faults, which the limits of jobs and collectives leave out.
	Faults bool
	Seed   uint64
	// Repeats are the run under each seed, this one among them, if there are several.
	Repeats []Run
	// Events are the first of what happened to the fabric, in the order of time; MoreEvents is how many there were beside.
	Events     []Event
	MoreEvents int
	// Settings are what was configured, in the order in which they are to be read.
	Settings []Setting
}

// Setting is a setting's place and value. Runs with equal places are compared.
type Setting struct{ Group, Name, Value string }

// Verdict says whether a run's numbers can be trusted.
type Verdict struct {
	Status   Status
	Word     string   // what people read in the place of Status
	Messages []string // why it is not PASS
	Notes    []string // what to know of the numbers though nothing is off
}

// Status is a verdict in one word.
type Status string

// Statuses.
const (
	Pass Status = "PASS"
	Warn Status = "WARN"
	Fail Status = "FAIL"
)

// Distribution is the slowdowns of the flows with a tag, and their completion times in nanoseconds.
type Distribution struct {
	Tag       string
	Slowdowns Sample
	FCTs      Sample
}

// Panel is one plot, drawn once for each controller on the same scales.
type Panel struct {
	Title string
	// Note is a line under the title; may be empty.
	Note string
	Unit Unit
	// Top holds the least value that the y axis must reach.
	Top float64
	// Log draws y on a logarithmic scale.
	Log bool
	// Series are the lines, by controller. A label keeps its colour and dash pattern across the controllers.
	Series map[string][]Series
}

// Series is one line of a plot.
type Series struct {
	Label string
	// X are virtual nanoseconds, ascending; Y are values in the panel's base unit (bytes, bits per second, nanoseconds).
	// A NaN in Y is a gap.
	X []int64
	Y []float64
	// Step holds each value until the next one, as a queue does; otherwise points are joined by straight lines.
	Step bool
	// Reference is a level to draw across the plot, such as XOFF; nil: none.
	Reference *Level
}

// Level is a labelled horizontal line.
type Level struct {
	Value float64
	Label string
}

// Span is a labelled stretch of virtual time, in nanoseconds.
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
			return fmt.Errorf("report %s: headline: %s has %d cells of %d runs", r.Scenario, row.Label, len(row.Cells),
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

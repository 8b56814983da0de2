package experiments

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// PublishedTable is figures that a source gives for runs of a scenario: a column a run, a row a figure.
type PublishedTable struct {
	Title   string
	Source  string // where they stand: "thesis, section 4.4.1"
	Note    string // what a reader has to know to compare; may be empty
	Columns []string
	Rows    []PublishedRow
}

// heading is the title and where the table stands.
func (t *PublishedTable) heading() string {
	if t.Source == "" {
		return t.Title
	}
	return t.Title + " (" + t.Source + ")"
}

// PublishedRow is one figure under each column's run.
type PublishedRow struct {
	Label  string
	Metric string
	Flows  FlowSet
	// RelativeTo is the run that the values compare with: they are changes, in per cent of that run's figure. Empty: the
	// values are the figures themselves, in Unit.
	RelativeTo string
	Unit       string
	Values     []string // as the source prints them, without the unit; "" where it gives none
}

// Claim is one value of a published table beside what a run measured.
type Claim struct {
	Title      string `json:"title"`
	Source     string `json:"source,omitempty"`
	Controller string `json:"controller"`
	Metric     string `json:"metric"`
	Tag        string `json:"tag,omitempty"`
	Over       int64  `json:"over_bytes,omitempty"`
	UpTo       int64  `json:"up_to_bytes,omitempty"`
	// RelativeTo is set where the values are changes against that run, in per cent.
	RelativeTo string  `json:"relative_to,omitempty"`
	Unit       string  `json:"unit,omitempty"` // of both values: "us", "Gbps", ...; "%" of changes
	Published  float64 `json:"published"`
	// Measured is absent if the run, or the one that it compares with, was not made, is partial or has the verdict FAIL.
	Measured *float64 `json:"measured,omitempty"`
	// Difference is of Measured against Published, in per cent of Published; of changes in percentage points.
	Difference *float64 `json:"difference,omitempty"`

	row    *PublishedRow
	column int
}

// claims are a scenario's published values beside what its runs measured. Runs that are absent, and those whose numbers
// cannot be trusted, leave values unmeasured.
func claims(s *Scenario, results []*Result) []Claim {
	measured := map[string]map[figure]float64{}
	for _, r := range results {
		if r != nil && !r.Summary.Partial && r.Summary.Verdict.Status != Fail {
			measured[r.Controller] = r.figures
		}
	}
	var all []Claim
	for i := range s.Published {
		t := &s.Published[i]
		for k := range t.Rows {
			row := &t.Rows[k]
			for column, text := range row.Values {
				published, err := strconv.ParseFloat(text, 64)
				if err != nil {
					continue // the source gives none
				}
				c := Claim{
					Title: t.Title, Source: t.Source, Controller: t.Columns[column], Metric: row.Metric, Tag: row.Flows.Tag,
					Over: int64(row.Flows.Over), UpTo: int64(row.Flows.UpTo), RelativeTo: row.RelativeTo, Unit: row.Unit,
					Published: published, row: row, column: column,
				}
				c.compare(measured)
				all = append(all, c)
			}
		}
	}
	return all
}

// claims are the published values of this run alone.
func (r *Result) claims() []Claim {
	var own []Claim
	for _, c := range claims(r.Scenario, []*Result{r}) {
		if c.Controller == r.Controller && c.RelativeTo == "" {
			own = append(own, c)
		}
	}
	return own
}

// PublishedFile is published.json: a scenario's published values beside what its runs of one command measured.
type PublishedFile struct {
	Scenario string   `json:"scenario"`
	Seed     uint64   `json:"seed"`
	Settings []string `json:"set"` // that changed the scenario: its claims may not hold for what was run
	Claims   []Claim  `json:"claims"`
}

// compare fills in what was measured, by run.
func (c *Claim) compare(measured map[string]map[figure]float64) {
	at := figure{c.Metric, c.row.Flows}
	v, ok := measured[c.Controller][at]
	if c.RelativeTo != "" {
		base, known := measured[c.RelativeTo][at]
		ok = ok && known && base != 0
		v = 100 * (v/base - 1)
	} else {
		v /= metricByName(c.Metric).kind.factor(c.Unit)
	}
	if !ok {
		return
	}
	c.Measured = &v
	switch {
	case c.RelativeTo != "":
		d := v - c.Published
		c.Difference = &d
	case c.Published != 0:
		d := 100 * (v/c.Published - 1)
		c.Difference = &d
	}
}

// Comparison is a published table beside what was measured, as text for people.
type Comparison struct {
	Title, Source, Note string
	Columns             []string
	Rows                []ComparisonRow
}

// ComparisonRow is a figure, with a cell a column.
type ComparisonRow struct {
	Label, Unit string
	Cells       []ComparisonCell
}

// ComparisonCell is one value: as published, as measured with as many decimals, and the difference. Measured and
// Difference are empty if the run was not made or cannot be trusted, all three where the source has no value.
type ComparisonCell struct{ Published, Measured, Difference string }

// Compare is a scenario's published tables beside what its runs measured. A table of which no run was made is left out.
func Compare(s *Scenario, results []*Result) []Comparison {
	cells := map[*PublishedRow][]ComparisonCell{}
	made := map[*PublishedRow]bool{}
	for _, c := range claims(s, results) {
		if cells[c.row] == nil {
			cells[c.row] = make([]ComparisonCell, len(c.row.Values))
		}
		cells[c.row][c.column] = c.cell()
		made[c.row] = made[c.row] || c.Measured != nil
	}
	var all []Comparison
	for i := range s.Published {
		t := &s.Published[i]
		out := Comparison{Title: t.Title, Source: t.Source, Note: t.Note, Columns: t.Columns}
		any := false
		for k := range t.Rows {
			row := &t.Rows[k]
			if cells[row] == nil {
				cells[row] = make([]ComparisonCell, len(row.Values))
			}
			any = any || made[row]
			out.Rows = append(out.Rows, ComparisonRow{Label: row.Label, Unit: row.Unit, Cells: cells[row]})
		}
		if any {
			all = append(all, out)
		}
	}
	return all
}

func (c *Claim) cell() ComparisonCell {
	text := c.row.Values[c.column]
	cell := ComparisonCell{Published: text}
	if c.Measured == nil {
		return cell
	}
	decimals := 0
	if _, fraction, ok := strings.Cut(text, "."); ok {
		decimals = len(fraction)
	}
	cell.Measured = strconv.FormatFloat(*c.Measured, 'f', decimals, 64)
	if c.RelativeTo != "" {
		cell.Measured = fmt.Sprintf("%+.*f", decimals, *c.Measured)
	}
	if c.Difference == nil {
		return cell
	}
	// Differences of a tenth of a per cent say something, those of a million per cent nothing more.
	d := fmt.Sprintf("%+.1f", *c.Difference)
	if math.Abs(*c.Difference) >= 1000 {
		d = fmt.Sprintf("%+.0f", *c.Difference)
	}
	cell.Difference = d + " %"
	if c.RelativeTo != "" {
		cell.Difference = d + " points"
	}
	return cell
}

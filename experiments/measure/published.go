package measure

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/pausenet/pausenet/internal/interval"
	"github.com/pausenet/pausenet/internal/keys"
)

// PublishedTable is figures that a source gives for runs of a scenario: a column a run, a row a figure.
type PublishedTable struct {
	Title   string         `json:"title"`
	Source  string         `json:"source,omitempty"` // where they stand: "thesis, section 4.4.1"
	Note    string         `json:"note,omitempty"`   // what a reader has to know to compare; may be empty
	Columns []string       `json:"columns"`
	Rows    []PublishedRow `json:"rows"`
}

// Heading is the title and where the table stands.
func (t *PublishedTable) Heading() string {
	if t.Source == "" {
		return t.Title
	}
	return t.Title + " (" + t.Source + ")"
}

// PublishedRow is one figure under each column's run.
type PublishedRow struct {
	Label  string `json:"label"`
	Metric string `json:"metric"`
	FlowSet
	// RelativeTo is the run that the values compare with: they are changes, in per cent of that run's figure. Empty: the
	// values are the figures themselves, in Unit.
	RelativeTo string    `json:"relative_to,omitempty"`
	Unit       string    `json:"unit,omitempty"`
	Values     []Printed `json:"values"`
}

// Printed holds a number with the digits that its source prints, without the unit. It is empty where the source prints
// none. In JSON it is a number with the same digits, or null.
type Printed string

// MarshalJSON writes the number.
func (p Printed) MarshalJSON() ([]byte, error) {
	v, err := strconv.ParseFloat(string(p), 64)
	switch {
	case err != nil:
		return []byte("null"), nil
	case json.Valid([]byte(p)):
		return []byte(p), nil
	}
	return json.Marshal(v) // such as +5
}

// UnmarshalJSON reads the number, or null.
func (p *Printed) UnmarshalJSON(data []byte) error {
	var number *json.Number
	err := json.Unmarshal(data, &number)
	if *p = ""; number != nil {
		*p = Printed(*number)
	}
	return err
}

// Name returns the label of a row that gives none: the metric and which flows.
func (r *PublishedRow) Name(metric *Metric) string {
	label := metric.Label
	if set := r.FlowSet.String(); set != "" {
		label += ": " + set
	}
	if r.RelativeTo != "" {
		label += ", against " + r.RelativeTo
	}
	return label
}

// FlowSetKeys lists the keys of FigureKeys that select flows.
var FlowSetKeys = []string{"tag", "over", "up_to", "size_bin"}

// FigureKeys returns the keys that name the figure of a row.
func (r *PublishedRow) FigureKeys() keys.Table {
	return keys.Table{
		keys.OneOf("metric", &r.Metric, MetricNames()...).Usually("required").Means(
			"what is measured: one of the [metrics](scenarios.md#published)"),
		keys.Text("tag", &r.Tag).Means("only flows with this tag"),
		keys.Size("over", &r.Over).Optional().Means("only flows that are larger"),
		keys.Size("up_to", &r.UpTo).Optional().Means("only flows that are no larger"),
		keys.Integer("size_bin", &r.SizeBin).Between("1", "20").Usually("all").Optional().Means(
			"only this 5 % bin of these flows by size, divided as `by_size_bin` in `summary.json` and HPCC's " +
				"fct_analysis.py do"),
	}
}

// Claim is one value of a published table beside what a run measured.
type Claim struct {
	Title      string `json:"title"`
	Source     string `json:"source,omitempty"`
	Controller string `json:"controller"`
	Metric     string `json:"metric"`
	FlowSet
	// RelativeTo is set where the values are changes against that run, in per cent.
	RelativeTo string  `json:"relative_to,omitempty"`
	Unit       string  `json:"unit,omitempty"` // of both values: "us", "Gbps", ...; "%" of changes
	Published  float64 `json:"published"`
	// Measured is absent if the run, or the one that it compares with, was not made, is partial or has the verdict FAIL.
	Measured *float64 `json:"measured,omitempty"`
	// Half is half the width of the 95 % confidence interval around Measured, and Runs how many runs it is the mean of;
	// both absent if it is of one.
	Half *float64 `json:"half_width_95,omitempty"`
	Runs int      `json:"runs,omitempty"`
	// Difference is of Measured against Published, in per cent of Published; of changes in percentage points.
	Difference *float64 `json:"difference,omitempty"`

	row    *PublishedRow
	column int
}

// Measurement is what a run measured of the figures that published tables are about.
type Measurement struct {
	controller string
	seed       uint64
	figures    map[figure]float64
}

// Measurements are those of the runs that can be trusted: not of runs that are absent, partial or have the verdict
// FAIL.
func Measurements(runs []*Summary) []Measurement {
	var all []Measurement
	for _, s := range runs {
		if s != nil && s.Trusted() {
			all = append(all, s.Measurement(s.Controller))
		}
	}
	return all
}

// Measurement is what the run measured, under the name that it goes by.
func (s *Summary) Measurement(name string) Measurement {
	m := Measurement{name, s.Seed, map[figure]float64{}}
	for _, f := range s.Figures {
		m.figures[figure{f.Metric, f.FlowSet}] = f.Value
	}
	return m
}

// Trusted says that the run's numbers can be.
func (s *Summary) Trusted() bool { return !s.Partial && s.Verdict.Status != Fail }

// Claims are published values beside what runs measured. What no run has measured stays unmeasured.
func Claims(tables []PublishedTable, runs []Measurement) []Claim {
	var all []Claim
	for i := range tables {
		t := &tables[i]
		for k := range t.Rows {
			row := &t.Rows[k]
			for column, text := range row.Values {
				published, err := strconv.ParseFloat(string(text), 64)
				if err != nil {
					continue // the source gives none
				}
				c := Claim{
					Title: t.Title, Source: t.Source, Controller: t.Columns[column], Metric: row.Metric,
					FlowSet: row.FlowSet, RelativeTo: row.RelativeTo, Unit: row.Unit,
					Published: published, row: row, column: column,
				}
				c.compare(runs)
				all = append(all, c)
			}
		}
	}
	return all
}

// TakeClaims fills in the published values of this run alone.
func (s *Summary) TakeClaims(tables []PublishedTable) {
	for _, c := range Claims(tables, Measurements([]*Summary{s})) {
		if c.Controller == s.Controller && c.RelativeTo == "" {
			s.Published = append(s.Published, c)
		}
	}
}

// TakeRelativeClaims fills in the published values that compare this run with others of its seed.
func (s *Summary) TakeRelativeClaims(tables []PublishedTable, runs []*Summary) {
	mates := slices.DeleteFunc(slices.Clone(runs), func(o *Summary) bool { return o == nil || o.Seed != s.Seed })
	for _, c := range Claims(tables, Measurements(mates)) {
		if c.Controller == s.Controller && c.RelativeTo != "" {
			s.Published = append(s.Published, c)
		}
	}
}

// Published is published.json: a scenario's published values beside what its runs of one command measured.
type Published struct {
	Scenario string   `json:"scenario"`
	Seed     uint64   `json:"seed"`
	Seeds    []uint64 `json:"seeds,omitempty"` // several: measured values are means over them
	Settings []string `json:"set"`             // that changed the scenario: its claims may not hold for what was run
	Claims   []Claim  `json:"claims"`
}

// compare fills in what was measured: the mean over the seeds. A change against another run is taken seed by seed,
// between runs that have met the same flows, so that what varies from seed to seed for both is not in the interval.
func (c *Claim) compare(runs []Measurement) {
	at := figure{c.Metric, c.row.FlowSet}
	var values []float64
	for i := range runs {
		v, ok := runs[i].figures[at]
		if runs[i].controller != c.Controller || !ok {
			continue
		}
		if c.RelativeTo == "" {
			values = append(values, v/MetricByName(c.Metric).Kind.factor(c.Unit))
			continue
		}
		for k := range runs {
			if base := runs[k].figures[at]; runs[k].controller == c.RelativeTo && runs[k].seed == runs[i].seed && base != 0 {
				values = append(values, 100*(v/base-1))
			}
		}
	}
	e := interval.Of(values)
	if e.N == 0 {
		return
	}
	c.Measured = &e.Mean
	if e.N > 1 {
		c.Half, c.Runs = &e.Half, e.N
	}
	switch {
	case c.RelativeTo != "":
		d := e.Mean - c.Published
		c.Difference = &d
	case c.Published != 0:
		d := 100 * (e.Mean/c.Published - 1)
		c.Difference = &d
	}
}

package measure

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/pausenet/pausenet/internal/interval"
	"github.com/pausenet/pausenet/internal/keys"
)

// PublishedTable holds figures that a source gives for runs of a scenario: a column for each run, a row for each
// figure.
type PublishedTable struct {
	Title   string         `json:"title"`
	Source  string         `json:"source,omitempty"` // position in the source: "thesis, section 4.4.1"
	Note    string         `json:"note,omitempty"`   // information that a reader needs to compare; empty: none
	Columns []string       `json:"columns"`
	Rows    []PublishedRow `json:"rows"`
}

// Heading returns the title and the table's position in the source.
func (t *PublishedTable) Heading() string {
	if t.Source == "" {
		return t.Title
	}
	return t.Title + " (" + t.Source + ")"
}

// PublishedRow holds one figure of each column's run.
type PublishedRow struct {
	Label  string `json:"label"`
	Metric string `json:"metric"`
	FlowSet
	// RelativeTo names the run to which the values relate: they are changes in percent of its figure. Empty: the values
	// are the figures, in Unit.
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
var FlowSetKeys = new(FlowSet).keys().Names()

// FigureKeys returns the keys that name the figure of a row.
func (r *PublishedRow) FigureKeys() keys.Table {
	return append(keys.Table{
		keys.OneOf("metric", &r.Metric, MetricNames()...).Present("required").Means(
			"what is measured: one of the [metrics](scenarios.md#published)"),
	}, r.FlowSet.keys()...)
}

// keys returns the keys that select the flows.
func (f *FlowSet) keys() keys.Table {
	return keys.Table{
		keys.Text("tag", &f.Tag).Means("only flows with this tag"),
		keys.Size("over", &f.Over).Optional().Means("only flows that are larger"),
		keys.Size("up_to", &f.UpTo).Optional().Means("only flows that are no larger"),
		keys.Integer("size_bin", &f.SizeBin).Between("1", "20").Usually("all").Optional().Means(
			"only this 5 % bin of these flows by size, divided as `by_size_bin` in `summary.json` and HPCC's " +
				"fct_analysis.py do"),
	}
}

// Claim holds one value of a published table and the measured value.
type Claim struct {
	Title      string `json:"title"`
	Source     string `json:"source,omitempty"`
	Controller string `json:"controller"`
	Metric     string `json:"metric"`
	FlowSet
	// RelativeTo names the run to which the values relate as changes in percent; empty: they are not changes.
	RelativeTo string  `json:"relative_to,omitempty"`
	Unit       string  `json:"unit,omitempty"` // of both values: "us", "Gbps", ...; "%" for changes
	Published  float64 `json:"published"`
	// Measured holds the measured value; absent if the run or the one it relates to is missing, partial or has the
	// verdict FAIL.
	Measured *float64 `json:"measured,omitempty"`
	// Half holds half the width of the 95 % confidence interval around Measured, and Runs the number of runs in the
	// mean; both are absent for one run.
	Half *float64 `json:"half_width_95,omitempty"`
	Runs int      `json:"runs,omitempty"`
	// Difference holds the difference of Measured from Published, in percent of Published; for changes in percentage
	// points.
	Difference *float64 `json:"difference,omitempty"`

	row    *PublishedRow
	column int
}

// Measurement holds a run's measured values of the figures in published tables.
type Measurement struct {
	controller string
	seed       uint64
	figures    map[figure]float64
}

// Measurements returns the measurements of the runs that can be trusted: it skips runs that are nil, partial or have
// the verdict FAIL.
func Measurements(runs []*Summary) []Measurement {
	var all []Measurement
	for _, s := range runs {
		if s != nil && s.Trusted() {
			all = append(all, s.Measurement(s.Controller))
		}
	}
	return all
}

// Measurement returns the run's measurement under a name.
func (s *Summary) Measurement(name string) Measurement {
	m := Measurement{name, s.Seed, map[figure]float64{}}
	for _, f := range s.Figures {
		m.figures[figure{f.Metric, f.FlowSet}] = f.Value
	}
	return m
}

// MeasurementOf returns a measurement of a row's figure alone, in the metric's base unit, under a name.
func MeasurementOf(name string, seed uint64, row *PublishedRow, value float64) Measurement {
	return Measurement{name, seed, map[figure]float64{{row.Metric, row.FlowSet}: value}}
}

// Trusted reports whether the run's numbers can be trusted.
func (s *Summary) Trusted() bool { return !s.Partial && s.Verdict.Status != Fail }

// Claims returns the published values with the runs' measurements. Values without a measurement stay unmeasured.
func Claims(tables []PublishedTable, runs []Measurement) []Claim {
	var all []Claim
	for i := range tables {
		t := &tables[i]
		for k := range t.Rows {
			row := &t.Rows[k]
			for column, text := range row.Values {
				published, err := strconv.ParseFloat(string(text), 64)
				if err != nil {
					continue // the source has no value
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

// TakeClaims fills in the published values that concern this run alone.
func (s *Summary) TakeClaims(tables []PublishedTable) {
	for _, c := range Claims(tables, Measurements([]*Summary{s})) {
		if c.Controller == s.Controller && c.RelativeTo == "" {
			s.Published = append(s.Published, c)
		}
	}
}

// TakeRelativeClaims fills in the published values that relate this run to others of its seed.
func (s *Summary) TakeRelativeClaims(tables []PublishedTable, runs []*Summary) {
	mates := slices.DeleteFunc(slices.Clone(runs), func(o *Summary) bool { return o == nil || o.Seed != s.Seed })
	for _, c := range Claims(tables, Measurements(mates)) {
		if c.Controller == s.Controller && c.RelativeTo != "" {
			s.Published = append(s.Published, c)
		}
	}
}

// Published holds the content of published.json: a scenario's published values and the measurements of one command's
// runs.
type Published struct {
	Scenario string   `json:"scenario"`
	Seed     uint64   `json:"seed"`
	Seeds    []uint64 `json:"seeds,omitempty"` // several seeds: measured values are means over them
	Settings []string `json:"set"`             // settings that changed the scenario, so that its claims may not apply
	Claims   []Claim  `json:"claims"`
}

// compare fills in the measured mean over the seeds. It computes a change relative to another run for each seed,
// between runs with equal flows, so that the interval does not include variation between seeds that both share.
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

package scenario

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/units"
)

// published reads what a source says came of the scenario. It comes after flows and controllers, which it names.
func (d *decoder) published(v *yamlspec.Value) {
	for _, item := range v.Items() {
		if !item.IsMapping() {
			item.Errorf("a table is a mapping such as {title: Table 6, columns: [dcqcn], rows: [{metric: fct_mean, unit: ms, values: [5.2]}]}")
			continue
		}
		m := item.Mapping()
		var t measure.PublishedTable
		m.Need("title").String(&t.Title)
		m.Get("source").String(&t.Source)
		m.Get("note").String(&t.Note)
		columns := m.Need("columns")
		t.Columns = d.runNames(columns)
		whole := d.publishedRow(m, nil)
		rows := m.Need("rows")
		if columns.IsSequence() && len(columns.Items()) == 0 {
			columns.Errorf("a table has at least one column, named as its run")
		}
		if rows.IsSequence() && len(rows.Items()) == 0 {
			rows.Errorf("a table has at least one row")
		}
		for _, row := range rows.Items() {
			if !row.IsMapping() {
				row.Errorf("a row is a mapping such as {metric: fct_mean, unit: ms, values: [5.2]}")
				continue
			}
			fields := row.Mapping()
			r := d.publishedRow(fields, whole)
			values := fields.Need("values")
			fields.Done()
			if d.checkRow(row, r) {
				d.values(values, r, t.Columns)
				t.Rows = append(t.Rows, r.PublishedRow)
			}
		}
		m.Done()
		d.s.Published = append(d.s.Published, t)
	}
}

// runNames are names of controllers and variants; unknown ones are reported.
func (d *decoder) runNames(v *yamlspec.Value) []string {
	var names []string
	for _, n := range v.Names() {
		name, _, err := d.s.Controller(n.Text)
		if err != nil {
			n.At.Errorf("%v", err)
			name = n.Text // still a column
		} else if slices.Contains(names, name) {
			n.At.Errorf("column %q is there twice", name)
		}
		names = append(names, name)
	}
	return names
}

// draftRow is a row with the places of its keys, its own or the table's.
type draftRow struct {
	measure.PublishedRow
	at map[string]*yamlspec.Value
}

// publishedRow reads the keys that a row has itself or takes from its table.
func (d *decoder) publishedRow(m *yamlspec.Mapping, table *draftRow) *draftRow {
	r := &draftRow{at: map[string]*yamlspec.Value{}}
	if table != nil {
		r.PublishedRow = table.PublishedRow
		for key, v := range table.at {
			r.at[key] = v
		}
	}
	get := func(key string) *yamlspec.Value {
		v := m.Get(key)
		if v != nil {
			r.at[key] = v
		}
		return v
	}
	m.Get("label").String(&r.Label)
	get("metric").String(&r.Metric)
	get("unit").String(&r.Unit)
	if tag := get("tag"); tag.String(&r.Flows.Tag) {
		d.checkTag(r.Flows.Tag, tag)
	}
	get("over").Bytes(&r.Flows.Over)
	get("up_to").Bytes(&r.Flows.UpTo)
	get("size_bin").Int(&r.Flows.SizeBin, 1, measure.SizeBins)
	if relative := get("relative_to"); relative != nil {
		if names := d.runNames(relative); len(names) == 1 {
			r.RelativeTo = names[0]
		} else if len(names) > 1 {
			relative.Errorf("a change is against one run")
		}
	}
	return r
}

// checkRow reports what in a row does not fit together, and completes it.
func (d *decoder) checkRow(row *yamlspec.Value, r *draftRow) bool {
	if r.at["metric"] == nil {
		row.Errorf("missing key %q", "metric")
		return false
	}
	known := measure.MetricByName(r.Metric)
	if known == nil {
		r.at["metric"].Errorf("there is no metric %q%s", r.Metric, yamlspec.Suggest(r.Metric, measure.MetricNames()))
		return false
	}
	if known.OfRun {
		for _, key := range []string{"tag", "over", "up_to", "size_bin"} {
			r.at[key].Errorf("%s is of the whole run, not of some flows", r.Metric)
		}
	}
	if r.Flows.UpTo > 0 && r.Flows.UpTo <= r.Flows.Over {
		r.at["up_to"].Errorf("no flow is over %v and up to %v", r.Flows.Over, r.Flows.UpTo)
	}
	names := known.Kind.UnitNames()
	unit := row.At("unit") // row itself without one
	if unit == row {
		unit = nil
		if !slices.Contains(names, r.Unit) {
			r.Unit = "" // the table's is for its other rows
		}
	}
	switch {
	case r.RelativeTo != "":
		unit.Errorf("a change against another run is in per cent: leave the unit out")
		r.Unit = "%"
	case len(names) == 0:
		unit.Errorf("%s is a bare number: leave the unit out", r.Metric)
	case unit == nil && r.Unit == "":
		row.Errorf("%s is %s: give its values a unit, one of %s", r.Metric, known.Kind.Name, strings.Join(names, ", "))
	default:
		unit.Choice(&r.Unit, names...)
	}
	if r.Label == "" {
		r.Label = known.Label
		if set := r.Flows.String(); set != "" {
			r.Label += ": " + set
		}
		if r.RelativeTo != "" {
			r.Label += ", against " + r.RelativeTo
		}
	}
	return true
}

// values reads a row's values, one a column; ~ where the source has none.
func (d *decoder) values(v *yamlspec.Value, r *draftRow, columns []string) {
	items := v.Items()
	if v != nil && len(items) != len(columns) && len(columns) > 0 {
		v.Errorf("%d values for %d columns; write ~ where the source has none", len(items), len(columns))
		return
	}
	for i, item := range items {
		text := strings.TrimSpace(item.Raw())
		absent := !item.IsScalar() && !item.IsSequence() && !item.IsMapping()
		number, percent := strings.CutSuffix(text, "%")
		number = strings.TrimSpace(number)
		x, err := strconv.ParseFloat(number, 64)
		if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
			err = errors.New("not finite")
		}
		switch {
		case absent:
			number = ""
		case r.RelativeTo != "" && (!percent || err != nil):
			item.Errorf("a change against another run is in per cent: write one like -47%%")
		case r.RelativeTo == "" && (percent || err != nil):
			item.Errorf("%q is not a number: write one like 5.03; its unit goes into the row's unit", text)
		case r.RelativeTo != "" && i < len(columns) && columns[i] == r.RelativeTo:
			item.Errorf("%s is not against itself: write ~", r.RelativeTo)
		}
		r.Values = append(r.Values, number)
	}
}

// PublishedView is a table of figures that a source gives.
type PublishedView struct {
	Title   string             `json:"title"`
	Source  string             `json:"source,omitempty"`
	Note    string             `json:"note,omitempty"`
	Columns []string           `json:"columns"`
	Rows    []PublishedRowView `json:"rows"`
}

// PublishedRowView is a row of a PublishedView, with a value a column; null where the source has none.
type PublishedRowView struct {
	Label      string      `json:"label"`
	Metric     string      `json:"metric"`
	Tag        string      `json:"tag,omitempty"`
	Over       units.Bytes `json:"over_bytes,omitempty"`
	UpTo       units.Bytes `json:"up_to_bytes,omitempty"`
	SizeBin    int         `json:"size_bin,omitempty"` // 5 % bin by flow size, from 1
	RelativeTo string      `json:"relative_to,omitempty"`
	Unit       string      `json:"unit,omitempty"`
	// Values have the source's decimals.
	Values []*json.Number `json:"values"`
}

func viewPublished(tables []measure.PublishedTable) []PublishedView {
	var views []PublishedView
	for i := range tables {
		t := &tables[i]
		view := PublishedView{Title: t.Title, Source: t.Source, Note: t.Note, Columns: t.Columns}
		for k := range t.Rows {
			r := &t.Rows[k]
			row := PublishedRowView{
				Label: r.Label, Metric: r.Metric, Tag: r.Flows.Tag, Over: r.Flows.Over, UpTo: r.Flows.UpTo, SizeBin: r.Flows.SizeBin,
				RelativeTo: r.RelativeTo, Unit: r.Unit,
			}
			for _, text := range r.Values {
				row.Values = append(row.Values, jsonNumber(text))
			}
			view.Rows = append(view.Rows, row)
		}
		views = append(views, view)
	}
	return views
}

// jsonNumber is a number with the digits that text has, nil if it is none.
func jsonNumber(text string) *json.Number {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	if !json.Valid([]byte(text)) { // such as +5
		text = strconv.FormatFloat(v, 'g', -1, 64)
	}
	n := json.Number(text)
	return &n
}

// Tables are the published ones of a view. A metric that this pausenet does not know is left out.
func (v *View) Tables() []measure.PublishedTable {
	var tables []measure.PublishedTable
	for _, from := range v.Published {
		t := measure.PublishedTable{Title: from.Title, Source: from.Source, Note: from.Note, Columns: from.Columns}
		for _, row := range from.Rows {
			if measure.MetricByName(row.Metric) == nil || len(row.Values) != len(from.Columns) {
				continue
			}
			r := measure.PublishedRow{
				Label: row.Label, Metric: row.Metric, Flows: measure.FlowSet{Tag: row.Tag, Over: row.Over, UpTo: row.UpTo, SizeBin: row.SizeBin}, RelativeTo: row.RelativeTo, Unit: row.Unit,
			}
			for _, value := range row.Values {
				text := ""
				if value != nil {
					text = value.String()
				}
				r.Values = append(r.Values, text)
			}
			t.Rows = append(t.Rows, r)
		}
		tables = append(tables, t)
	}
	return tables
}

package scenario

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// published reads what a source says came of the scenario. It comes after flows and controllers, which it names.
func (d *decoder) published(v *yamlspec.Value) {
	const example = "a table is a mapping such as {title: Table 6, columns: [dcqcn], " +
		"rows: [{metric: fct_mean, unit: ms, values: [5.2]}]}"
	for _, item := range v.Mappings(example) {
		var t measure.PublishedTable
		var shared measure.PublishedRow
		m := publishedKeys(&t, &shared).Decode(item)
		columns, rows := m.Get("columns"), m.Get("rows")
		t.Columns = d.runNames(columns)
		d.figure(m, &shared)
		if columns.IsSequence() && len(columns.Items()) == 0 {
			columns.Errorf("a table has at least one column, named as its run")
		}
		if rows.IsSequence() && len(rows.Items()) == 0 {
			rows.Errorf("a table has at least one row")
		}
		for _, row := range rows.Mappings("a row is a mapping such as {metric: fct_mean, unit: ms, values: [5.2]}") {
			r := shared
			own := publishedRowKeys(&r).Decode(row)
			d.figure(own, &r)
			at := func(key string) *yamlspec.Value {
				if v := own.Get(key); v != nil {
					return v
				}
				return m.Get(key)
			}
			if d.checkRow(row, &r, at) {
				d.values(own.Get("values"), &r, t.Columns)
				t.Rows = append(t.Rows, r)
			}
		}
		d.s.Published = append(d.s.Published, t)
	}
}

// publishedKeys returns the keys of a table, and those that are defaults for its rows.
func publishedKeys(t *measure.PublishedTable, shared *measure.PublishedRow) keys.Table {
	return append(publishedTableKeys(t), figureKeys(shared)...)
}

// publishedTableKeys returns the keys that a table alone has.
func publishedTableKeys(t *measure.PublishedTable) keys.Table {
	rows := func() keys.Table { return publishedRowKeys(new(measure.PublishedRow)) }
	return keys.Table{
		keys.Text("title", &t.Title).Need().Means("heading"),
		keys.Text("source", &t.Source).Means("where the figures stand"),
		keys.Text("note", &t.Note).Means("a line under the table"),
		keys.Names("columns").Need().Means("runs, by the names of controllers and variants"),
		keys.List("rows", rows).Need().Means("the figures"),
	}
}

// publishedRowKeys returns the keys of a row.
func publishedRowKeys(r *measure.PublishedRow) keys.Table {
	values := func() keys.Schema {
		return keys.Schema{"type": "array", "items": keys.Schema{"type": []any{"string", "number", "null"}}}
	}
	return append(figureKeys(r), keys.Other("values", "numbers", values).Need().Means(
		"one per column, `~` where the source has none"))
}

// figureKeys returns the keys of a row that may also stand in its table.
func figureKeys(r *measure.PublishedRow) keys.Table {
	t := keys.Table{keys.Text("label", &r.Label).Usually("the metric and which flows").Means("first column of the row")}
	return append(append(t, r.FigureKeys()...), keys.Table{
		keys.Other("relative_to", "name", aText).Means(
			"a run: the values are changes relative to it in percent, `-47%`; differences are in percentage points"),
		keys.Text("unit", &r.Unit).Usually("required if the metric has one").Means(
			"of a time `ns`, `us`, `ms`, `s`; of a rate `bps`, `Kbps`, `Mbps`, `Gbps`; of a size `B`, `KB`, `MB`"),
	}...)
}

// figure reads what a row, or a table for its rows, says of the flows and the run of its figures.
func (d *decoder) figure(m *yamlspec.Mapping, r *measure.PublishedRow) {
	if tag := m.Get("tag"); tag.IsScalar() {
		d.checkTag(r.Tag, tag)
	}
	if relative := m.Get("relative_to"); relative != nil {
		if names := d.runNames(relative); len(names) == 1 {
			r.RelativeTo = names[0]
		} else if len(names) > 1 {
			relative.Errorf("a change is against one run")
		}
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

// checkRow reports what in a row does not fit together, and completes it. at returns where a key stands, in the row or
// its table.
func (d *decoder) checkRow(row *yamlspec.Value, r *measure.PublishedRow, at func(key string) *yamlspec.Value) bool {
	known := measure.MetricByName(r.Metric)
	if at("metric") == nil {
		row.Errorf("missing key %q", "metric")
	}
	if known == nil {
		return false
	}
	if known.OfRun {
		for _, key := range measure.FlowSetKeys {
			at(key).Errorf("%s is of the whole run, not of some flows", r.Metric)
		}
	}
	if r.UpTo > 0 && r.UpTo <= r.Over {
		at("up_to").Errorf("no flow is over %v and up to %v", r.Over, r.UpTo)
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
		r.Label = r.Name(known)
	}
	return true
}

// values reads a row's values, one a column; ~ where the source has none.
func (d *decoder) values(v *yamlspec.Value, r *measure.PublishedRow, columns []string) {
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
		r.Values = append(r.Values, measure.Printed(number))
	}
}

// Tables returns the published tables of a view without the rows whose metric this pausenet does not know.
func (v *View) Tables() []measure.PublishedTable {
	tables := slices.Clone(v.Published)
	for i := range tables {
		t := &tables[i]
		t.Rows = slices.DeleteFunc(slices.Clone(t.Rows), func(r measure.PublishedRow) bool {
			return measure.MetricByName(r.Metric) == nil || len(r.Values) != len(t.Columns)
		})
	}
	return tables
}

package scenario

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// published reads the results that a source gives for the scenario. It runs after flows and controllers, which it
// names.
func (d *decoder) published(v *yamlspec.Value) {
	const example = "a table must be a mapping such as {title: Table 6, columns: [dcqcn], rows: [{metric: fct_mean, " +
		"unit: ms, values: [5.2]}]}"
	for _, item := range v.Mappings(example) {
		var t measure.PublishedTable
		var shared measure.PublishedRow
		m := publishedKeys(&t, &shared).Decode(item)
		columns, rows := m.Get("columns"), m.Get("rows")
		t.Columns = d.runNames(columns)
		d.figure(m, &shared)
		if columns.IsSequence() && len(columns.Items()) == 0 {
			columns.Errorf("a table needs at least one column, named like its run")
		}
		if rows.IsSequence() && len(rows.Items()) == 0 {
			rows.Errorf("a table needs at least one row")
		}
		for _, row := range rows.Mappings("a row must be a mapping such as {metric: fct_mean, unit: ms, values: [5.2]}") {
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

// publishedKeys returns the keys of a table, including defaults for its rows.
func publishedKeys(t *measure.PublishedTable, shared *measure.PublishedRow) keys.Table {
	return append(publishedTableKeys(t), figureKeys(shared)...)
}

// publishedTableKeys returns the keys of a table without the defaults for its rows.
func publishedTableKeys(t *measure.PublishedTable) keys.Table {
	rows := func() keys.Table { return publishedRowKeys(new(measure.PublishedRow)) }
	return keys.Table{
		keys.Text("title", &t.Title).Need().Means("heading"),
		keys.Text("source", &t.Source).Means("position of the figures in the source"),
		keys.Text("note", &t.Note).Means("a line under the table"),
		keys.Names("columns").Need().Means("runs, by the names of controllers and variants"),
		keys.List("rows", rows).Need().Means("the figures"),
	}
}

func publishedRowKeys(r *measure.PublishedRow) keys.Table {
	values := func() keys.Schema {
		return keys.Schema{"type": "array", "items": keys.OfTypes("string", "number", "null")}
	}
	return append(figureKeys(r), keys.Other("values", "numbers", values).Need().Means(
		"one per column, `~` where the source has none"))
}

// unitsOf returns the units of a kind, in Markdown.
func unitsOf(kind measure.Kind) string { return "`" + strings.Join(kind.UnitNames(), "`, `") + "`" }

// figureKeys returns the keys of a row that its table may set as defaults.
func figureKeys(r *measure.PublishedRow) keys.Table {
	t := keys.Table{keys.Text("label", &r.Label).Usually("the metric and which flows").Means("first column of the row")}
	return append(append(t, r.FigureKeys()...), keys.Table{
		keys.Other("relative_to", "name", aText).Means(
			"a run: the values are changes relative to it in percent, `-47%`; differences are in percentage points"),
		keys.Text("unit", &r.Unit).Present("required if the metric has one").Means(
			"of a time " + unitsOf(measure.KindTime) + "; of a rate " + unitsOf(measure.KindRate) + "; of a size " +
				unitsOf(measure.KindSize)),
	}...)
}

// figure reads the keys of a row, or of a table for its rows, that select the flows and the run of its figures.
func (d *decoder) figure(m *yamlspec.Mapping, r *measure.PublishedRow) {
	if tag := m.Get("tag"); tag.IsScalar() {
		d.checkTag(r.Tag, tag)
	}
	if relative := m.Get("relative_to"); relative != nil {
		if names := d.runNames(relative); len(names) == 1 {
			r.RelativeTo = names[0]
		} else if len(names) > 1 {
			relative.Errorf("a change is relative to one run: name only one")
		}
	}
}

// runNames returns names of controllers and variants, and reports unknown ones.
func (d *decoder) runNames(v *yamlspec.Value) []string {
	var names []string
	for _, n := range v.Names() {
		name, _, err := d.s.Controller(n.Text)
		if err != nil {
			n.At.Errorf("%v", err)
			name = n.Text // still counts as a column
		} else if slices.Contains(names, name) {
			n.At.Errorf("column %q is listed twice", name)
		}
		names = append(names, name)
	}
	return names
}

// checkRow checks the keys of a row against each other and completes the row. at returns the value of a key in the row
// or its table.
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
			at(key).Errorf("%s describes the whole run: remove the key that selects flows", r.Metric)
		}
	}
	if r.UpTo > 0 && r.UpTo <= r.Over {
		at("up_to").Errorf("no flow is larger than %v and at most %v: raise up_to", r.Over, r.UpTo)
	}
	names := known.Kind.UnitNames()
	unit := row.At("unit") // the row if it has no unit
	if unit == row {
		unit = nil
		if !slices.Contains(names, r.Unit) {
			r.Unit = "" // the table's unit is for its other rows
		}
	}
	switch {
	case r.RelativeTo != "":
		unit.Errorf("a change relative to another run is in percent: remove the unit")
		r.Unit = "%"
	case len(names) == 0:
		unit.Errorf("%s has no unit: remove it", r.Metric)
	case unit == nil && r.Unit == "":
		row.Errorf("%s is %s: set the unit of its values, one of %s", r.Metric, known.Kind.Name, strings.Join(names, ", "))
	default:
		unit.Choice(&r.Unit, names...)
	}
	r.Label = cmp.Or(r.Label, r.Name(known))
	return true
}

// values reads a row's values, one for each column; ~ marks a value that the source does not have.
func (d *decoder) values(v *yamlspec.Value, r *measure.PublishedRow, columns []string) {
	items := v.Items()
	if v != nil && len(items) != len(columns) && len(columns) > 0 {
		v.Errorf("the row has %d values for %d columns: write ~ where the source has none", len(items), len(columns))
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
			item.Errorf("a change relative to another run is in percent: write a value such as -47%%")
		case r.RelativeTo == "" && (percent || err != nil):
			item.Errorf("%q is not a number: write one such as 5.03, and set its unit with the row's unit", text)
		case r.RelativeTo != "" && i < len(columns) && columns[i] == r.RelativeTo:
			item.Errorf("this is the column of %s itself, which the values are relative to: write ~", r.RelativeTo)
		}
		r.Values = append(r.Values, measure.Printed(number))
	}
}

// Tables returns the published tables of a view without rows whose metric this version of pausenet does not know.
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

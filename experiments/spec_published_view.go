package experiments

import (
	"encoding/json"
	"strconv"

	"github.com/pausenet/pausenet/units"
)

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
	Share      int         `json:"share,omitempty"` // twentieth by size, from 1
	RelativeTo string      `json:"relative_to,omitempty"`
	Unit       string      `json:"unit,omitempty"`
	// Values have the source's decimals.
	Values []*json.Number `json:"values"`
}

func viewPublished(tables []PublishedTable) []PublishedView {
	var views []PublishedView
	for i := range tables {
		t := &tables[i]
		view := PublishedView{Title: t.Title, Source: t.Source, Note: t.Note, Columns: t.Columns}
		for k := range t.Rows {
			r := &t.Rows[k]
			row := PublishedRowView{
				Label: r.Label, Metric: r.Metric, Tag: r.Flows.Tag, Over: r.Flows.Over, UpTo: r.Flows.UpTo, Share: r.Flows.Share,
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

// tables are the published ones of a view. A metric that this pausenet does not know is left out.
func (v *View) tables() []PublishedTable {
	var tables []PublishedTable
	for _, from := range v.Published {
		t := PublishedTable{Title: from.Title, Source: from.Source, Note: from.Note, Columns: from.Columns}
		for _, row := range from.Rows {
			if metricByName(row.Metric) == nil || len(row.Values) != len(from.Columns) {
				continue
			}
			r := PublishedRow{
				Label: row.Label, Metric: row.Metric, Flows: FlowSet{row.Tag, row.Over, row.UpTo, row.Share}, RelativeTo: row.RelativeTo, Unit: row.Unit,
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

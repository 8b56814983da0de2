package scenario

import (
	"encoding/json"
	"strconv"

	"github.com/pausenet/pausenet/experiments/measure"
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
	SizeBin    int         `json:"size_bin,omitempty"` // 5 % bin by flow size, from 1
	RelativeTo string      `json:"relative_to,omitempty"`
	Unit       string      `json:"unit,omitempty"`
	// Values have the source's decimals.
	Values []*json.Number `json:"values"`
}

// OldKeys are the keys that a manifest had under other names: share of a published row (now size_bin); see
// measure.Summary.OldKeys.
func (r *Resolution) OldKeys() (into any, take func()) {
	var old struct {
		Configuration struct {
			Published []struct {
				Rows []struct {
					Share int `json:"share"`
				} `json:"rows"`
			} `json:"published"`
		} `json:"configuration"`
	}
	return &old, func() {
		for i := range old.Configuration.Published {
			for k, row := range old.Configuration.Published[i].Rows {
				if at := &r.Configuration.Published[i].Rows[k]; at.SizeBin == 0 {
					at.SizeBin = row.Share
				}
			}
		}
	}
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

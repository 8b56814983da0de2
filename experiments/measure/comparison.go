package measure

import (
	"fmt"
	"math"
	"strings"
)

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

// ComparisonCell is one value: as published, as measured with as many decimals (± the half-width of its confidence
// interval, if there are several seeds), and the difference. Measured and Difference are empty if the run was not made
// or cannot be trusted, all three where the source has no value.
type ComparisonCell struct{ Published, Measured, Difference string }

// Compare is published tables beside what runs measured. A table of which no run was made is left out.
func Compare(tables []PublishedTable, runs []*Summary) []Comparison {
	return CompareMeasured(tables, Measurements(runs))
}

// CompareMeasured is Compare of what has been measured.
func CompareMeasured(tables []PublishedTable, runs []Measurement) []Comparison {
	cells := map[*PublishedRow][]ComparisonCell{}
	made := map[*PublishedRow]bool{}
	for _, c := range Claims(tables, runs) {
		if cells[c.row] == nil {
			cells[c.row] = make([]ComparisonCell, len(c.row.Values))
		}
		cells[c.row][c.column] = c.cell()
		made[c.row] = made[c.row] || c.Measured != nil
	}
	var all []Comparison
	for i := range tables {
		t := &tables[i]
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
	text := string(c.row.Values[c.column])
	cell := ComparisonCell{Published: text}
	if c.Measured == nil {
		return cell
	}
	decimals := 0
	if _, fraction, ok := strings.Cut(text, "."); ok {
		decimals = len(fraction)
	}
	sign := ""
	if c.RelativeTo != "" {
		sign = "+"
	}
	if c.Half != nil && *c.Half > 0 {
		// An interval of ±0 would be wrong: it has a digit, if two decimals more are enough for one.
		decimals = max(decimals, min(decimals+2, -int(math.Floor(math.Log10(*c.Half)))))
	}
	cell.Measured = notMinusZero(fmt.Sprintf("%"+sign+".*f", decimals, *c.Measured))
	if c.Half != nil {
		cell.Measured += fmt.Sprintf(" ± %.*f", decimals, *c.Half)
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

// notMinusZero is a number as printed, without the sign if it rounds to zero: a change of -0 % is none.
func notMinusZero(text string) string {
	if strings.Trim(text, "+-0.") == "" {
		return strings.TrimLeft(text, "+-")
	}
	return text
}

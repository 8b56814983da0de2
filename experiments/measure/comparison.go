package measure

import (
	"fmt"
	"math"
	"strings"
)

// Comparison holds a published table with the measured values beside it, as text for people.
type Comparison struct {
	Title, Source, Note string
	Columns             []string
	Rows                []ComparisonRow
}

// ComparisonRow holds one figure, with a cell for each column.
type ComparisonRow struct {
	Label, Unit string
	Cells       []ComparisonCell
}

// ComparisonCell holds one value as text: as published, as measured with as many decimals (± half the width of its
// confidence interval, if there are several seeds), and the difference. Measured and Difference are empty if the run is
// missing or cannot be trusted. All are empty if the source has no value.
type ComparisonCell struct{ Published, Measured, Difference string }

// Compare compares published tables with the runs' measurements. It omits tables without any run.
func Compare(tables []PublishedTable, runs []*Summary) []Comparison {
	return CompareMeasured(tables, Measurements(runs))
}

// CompareMeasured compares published tables with measurements.
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
		// Show an interval with at least one digit, because ±0 would be wrong, unless that takes more than two further
		// decimals.
		decimals = max(decimals, min(decimals+2, -int(math.Floor(math.Log10(*c.Half)))))
	}
	cell.Measured = notMinusZero(fmt.Sprintf("%"+sign+".*f", decimals, *c.Measured))
	if c.Half != nil {
		cell.Measured += fmt.Sprintf(" ± %.*f", decimals, *c.Half)
	}
	if c.Difference == nil {
		return cell
	}
	// A tenth of a percent matters in small differences; in very large ones no decimals do.
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

// notMinusZero formats a number without a minus sign if it rounds to zero.
func notMinusZero(text string) string {
	if strings.Trim(text, "+-0.") == "" {
		return strings.TrimLeft(text, "+-")
	}
	return text
}

package command

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pausenet/pausenet/experiments/measure"
)

// abreast is how many runs' figures stand beside each other: a terminal is not endlessly wide.
const abreast = 4

// writePublished prints what a source says of a scenario's runs beside what they measured. changed says that the user's
// settings have changed the scenario.
func writePublished(w io.Writer, tables []measure.Comparison, changed bool) {
	for i := range tables {
		t := &tables[i]
		heading := t.Title
		if t.Source != "" {
			heading += " (" + t.Source + ")"
		}
		fmt.Fprintf(w, "\n  %s: published, measured, difference\n", heading)
		from := 0
		for part := range slices.Chunk(t.Columns, abreast) {
			fmt.Fprintln(w)
			writeAligned(w, comparisonLines(t, part, from))
			from += len(part)
		}
		if t.Note != "" {
			fmt.Fprintf(w, "  %s\n", t.Note)
		}
	}
	if changed && len(tables) > 0 {
		fmt.Fprintf(w, "\n  --set has changed the scenario: what is published may not be about what was run\n")
	}
}

// comparisonLines are the lines of some columns of a table, the first of them column from: a cell for the label and three
// a run. The head has the run's name in the second of the three.
func comparisonLines(t *measure.Comparison, columns []string, from int) [][]string {
	head := []string{""}
	for _, name := range columns {
		head = append(head, "", name, "")
	}
	lines := [][]string{head}
	for _, row := range t.Rows {
		label := row.Label
		if row.Unit != "" {
			label += " [" + row.Unit + "]"
		}
		line := []string{label}
		for k := range columns {
			c := row.Cells[from+k]
			line = append(line, orDash(c.Published), orDash(c.Measured), c.Difference)
		}
		lines = append(lines, line)
	}
	return lines
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// writeAligned prints cells in columns: the first to the left, numbers to the right.
func writeAligned(w io.Writer, lines [][]string) {
	var widths []int
	for _, line := range lines {
		for i, cell := range line {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range lines {
		var b strings.Builder
		for i, cell := range line {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case i == 0:
				b.WriteString("  " + cell + pad)
			case i%3 == 1: // a run begins
				b.WriteString("    " + pad + cell)
			default:
				b.WriteString("  " + pad + cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

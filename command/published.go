package command

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/pausenet/pausenet/experiments/measure"
)

// writePublished prints a source's figures next to the runs' measurements. changed means that the user's settings
// changed the scenario.
func writePublished(w io.Writer, tables []measure.Comparison, changed bool) {
	_, width := screenOf(w)
	for i := range tables {
		t := &tables[i]
		heading := t.Title
		if t.Source != "" {
			heading += " (" + t.Source + ")"
		}
		fmt.Fprintln(w)
		writeParagraph(w, "", "  "+heading+": published, measured, difference")
		for from := 0; from < len(t.Columns); {
			lines := comparisonLines(t, t.Columns[from:from+1], from)
			n := 1
			for ; from+n < len(t.Columns); n++ { // as many runs side by side as fit
				wider := comparisonLines(t, t.Columns[from:from+n+1], from)
				if alignedWidth(wider) > width {
					break
				}
				lines = wider
			}
			fmt.Fprintln(w)
			writeAligned(w, lines)
			from += n
		}
		if t.Note != "" {
			writeParagraph(w, "", "  "+t.Note)
		}
	}
	if changed && len(tables) > 0 {
		fmt.Fprintln(w)
		writeParagraph(w, "", "  --set changed the scenario: the published figures may not apply")
	}
}

// comparisonLines returns the table's lines for some of its columns, the first of which has the index from. A line has
// one cell for the label and three for each run. The run's name heads the second of the three.
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

// alignedWidths returns the widths of columns of cells.
func alignedWidths(lines [][]string) (widths []int) {
	for _, line := range lines {
		for i, cell := range line {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// alignedWidth returns the width of cells printed by writeAligned.
func alignedWidth(lines [][]string) (width int) {
	for i, n := range alignedWidths(lines) {
		width += n + 2
		if i%3 == 1 {
			width += 2
		}
	}
	return width
}

// writeAligned prints cells in columns: the first left-aligned, numbers right-aligned.
func writeAligned(w io.Writer, lines [][]string) {
	widths := alignedWidths(lines)
	for _, line := range lines {
		var b strings.Builder
		for i, cell := range line {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case i == 0:
				b.WriteString("  " + cell + pad)
			case i%3 == 1: // a run's columns start
				b.WriteString("    " + pad + cell)
			default:
				b.WriteString("  " + pad + cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

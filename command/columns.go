package command

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// writeColumns prints lines of cells: words to the left, and from the verdict on, which the head names, to the right. On a
// terminal that is too narrow for all the numbers they stand in several tables below each other.
func writeColumns(w io.Writer, lines [][]string) {
	width, to := 0, w
	if o, ok := to.(*output); ok {
		to = o.to
	}
	if f, ok := to.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		width, _, _ = term.GetSize(int(f.Fd())) // an error: 0
	}
	writeColumnsWithin(w, lines, width)
}

// writeColumnsWithin is writeColumns on a screen of a width; 0: as wide as need be.
func writeColumnsWithin(w io.Writer, lines [][]string, width int) {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	words := slices.Index(lines[0], "verdict") + 1
	for k, numbers := range abreastWithin(widths, words, width) {
		if k > 0 {
			fmt.Fprintln(w)
		}
		for _, line := range lines {
			var b strings.Builder
			for i, cell := range line {
				pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
				switch {
				case i < words:
					b.WriteString("  " + cell + pad)
				case slices.Contains(numbers, i):
					b.WriteString("  " + pad + cell)
				}
			}
			fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
		}
	}
}

// abreastWithin are the columns of numbers, those that fit beside each other and beside the words together; at least one.
func abreastWithin(widths []int, words, width int) [][]int {
	own := 0
	for _, n := range widths[:words] {
		own += 2 + n
	}
	parts := [][]int{nil}
	used := own
	for i := words; i < len(widths); i++ {
		last := len(parts) - 1
		if width > 0 && len(parts[last]) > 0 && used+2+widths[i] > width {
			parts, used = append(parts, nil), own
			last++
		}
		parts[last] = append(parts[last], i)
		used += 2 + widths[i]
	}
	return parts
}

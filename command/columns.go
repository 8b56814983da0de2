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

// defaultWidth sets the width of tables, in columns, if the output is not a terminal.
const defaultWidth = 80

// screenOf returns an output's terminal and its width, or nil and defaultWidth if it is not a terminal.
func screenOf(w io.Writer) (*os.File, int) {
	if f, ok := w.(*folded); ok {
		w = f.to
	}
	if o, ok := w.(*output); ok {
		w = o.to
	}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil, defaultWidth
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return f, width
	}
	return f, defaultWidth
}

// Colours of a terminal, by meaning.
var colours = map[string]string{"bold": "1", "ok": "32", "incomplete": "33", "broken": "31", "note": "2"}

// paint writes text, in a colour if the output is a terminal that shows colours (NO_COLOR, no-color.org).
func paint(w io.Writer, colour, text string) {
	code := colours[colour]
	if f, _ := screenOf(w); f == nil || code == "" || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		fmt.Fprint(w, text)
		return
	}
	fmt.Fprintf(raw(w), "\x1b[%sm", code)
	fmt.Fprint(w, text)
	fmt.Fprint(raw(w), "\x1b[0m")
}

// writeParagraph prints a line in a colour, folded to the width of the screen.
func writeParagraph(w io.Writer, colour, text string) {
	_, width := screenOf(w)
	for _, line := range foldLine(text, width) {
		paint(w, colour, line)
		fmt.Fprintln(w)
	}
}

// writeColumns prints a head and lines of cells: the first words columns left-aligned, the rest as right-aligned
// numbers. If the screen is too narrow for all numbers, it prints several tables below each other.
func writeColumns(w io.Writer, lines [][]string, words int) {
	_, width := screenOf(w)
	writeColumnsWithin(w, lines, words, width)
}

// writeColumnsWithin does the work of writeColumns for a screen of the given width; 0 means no limit. If the table is
// too wide, it first breaks the heads of numbers into lines.
func writeColumnsWithin(w io.Writer, lines [][]string, words, width int) {
	heads := 1
	if width > 0 && tableWidth(lines) > width {
		lines, heads = brokenHeads(lines, words)
	}
	widths := columnWidths(lines)
	for k, numbers := range abreastWithin(widths, words, width) {
		if k > 0 {
			fmt.Fprintln(w)
		}
		for n, line := range lines {
			blanks, printed := 0, false
			for i, cell := range line {
				if i >= words && !slices.Contains(numbers, i) {
					continue
				}
				pad := widths[i] - utf8.RuneCountInString(cell)
				before := 2 + blanks
				if i >= words {
					before, pad = before+pad, 0
				}
				if blanks = pad; cell == "" {
					blanks += before
					continue
				}
				fmt.Fprint(w, strings.Repeat(" ", before))
				colour := ""
				if n < heads {
					colour = "bold"
				} else if _, known := colours[cell]; known {
					colour = cell
				}
				paint(w, colour, cell)
				printed = true
			}
			if printed || n >= heads { // none of these columns has a head of so many lines
				fmt.Fprintln(w)
			}
		}
	}
}

// leastHead sets the minimum width of a broken head's lines.
const leastHead = 9

// brokenHeads breaks the heads that are wider than the numbers below them. heads is the number of lines of the
// tallest head.
func brokenHeads(lines [][]string, words int) (broken [][]string, heads int) {
	parts := make([][]string, len(lines[0]))
	for i, head := range lines[0] {
		if parts[i] = []string{head}; i < words {
			continue
		}
		numbers := leastHead
		for _, line := range lines[1:] {
			numbers = max(numbers, utf8.RuneCountInString(line[i]))
		}
		parts[i] = wrapText(head, numbers)
	}
	for _, p := range parts {
		heads = max(heads, len(p))
	}
	for k := range heads {
		line := make([]string, len(parts))
		for i, p := range parts {
			if at := k - (heads - len(p)); at >= 0 { // above the numbers
				line[i] = p[at]
			}
		}
		broken = append(broken, line)
	}
	return append(broken, lines[1:]...), heads
}

func columnWidths(lines [][]string) []int {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// tableWidth returns the width of lines of cells.
func tableWidth(lines [][]string) (width int) {
	for _, n := range columnWidths(lines) {
		width += 2 + n
	}
	return width
}

// abreastWithin groups the columns of numbers that fit next to the words, at least one per group.
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

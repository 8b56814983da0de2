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

// defaultWidth is how wide tables are where the output is no terminal.
const defaultWidth = 80

// screenOf returns the terminal that an output goes to and its width; nil and defaultWidth where it goes to none.
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

// Colours of a terminal, by what they say.
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

// writeParagraph prints a line in a colour, with as much on each line of the screen as fits.
func writeParagraph(w io.Writer, colour, text string) {
	_, width := screenOf(w)
	for _, line := range foldLine(text, width) {
		paint(w, colour, line)
		fmt.Fprintln(w)
	}
}

// writeColumns prints lines of cells below a head: as many words to the left, and numbers to the right. Where the
// screen is too narrow for all the numbers, they stand in several tables below each other.
func writeColumns(w io.Writer, lines [][]string, words int) {
	_, width := screenOf(w)
	writeColumnsWithin(w, lines, words, width)
}

// writeColumnsWithin is writeColumns on a screen of a width; 0: as wide as need be. Where the table is too wide, the
// heads of numbers are broken into lines first.
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

// leastHead is the width that the lines of a broken head may have in any case.
const leastHead = 9

// brokenHeads breaks the heads of numbers that are wider than the numbers below them. heads is the number of lines that
// the heads take.
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

// tableWidth is how wide a screen has to be for lines of cells beside each other.
func tableWidth(lines [][]string) (width int) {
	for _, n := range columnWidths(lines) {
		width += 2 + n
	}
	return width
}

// abreastWithin are the columns of numbers, those that fit beside each other and beside the words together; at least
// one.
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

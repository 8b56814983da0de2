package command

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/pausenet/pausenet/internal/lazy"
)

// folded wraps a writer and folds lines at blanks to the width of the screen, or to defaultWidth.
type folded struct {
	to      io.Writer
	partial []byte // the start of an unfinished line
}

// people returns a folding writer to w.
func people(w io.Writer) io.Writer { return &folded{to: w} }

// onScreen returns w as an output for people if it is a terminal, and w itself if not: logs and scripts get whole
// lines.
func onScreen(w io.Writer) io.Writer {
	if f, _ := screenOf(w); f == nil {
		return w
	}
	return people(w)
}

// stderr returns standard error for lines to people.
func stderr() io.Writer { return onScreen(&output{to: os.Stderr}) }

// Write writes all complete lines.
func (f *folded) Write(p []byte) (int, error) {
	f.partial = append(f.partial, p...)
	end := bytes.LastIndexByte(f.partial, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	var b strings.Builder
	_, width := screenOf(f.to) // as it is now: a shell's terminal may be resized
	for line := range strings.Lines(string(f.partial[:end])) {
		for _, part := range foldLine(strings.TrimRight(line, " \n"), width) {
			b.WriteString(part + "\n")
		}
	}
	f.partial = append(f.partial[:0], f.partial[end:]...)
	if _, err := io.WriteString(f.to, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// deepIndent is the least indentation of a line that continues a table's cell. When folded, such a line keeps its
// indentation.
const deepIndent = 8

// asItIs matches a line that is not folded: a line with one of our commands, so that it can be copied, and a line of a
// file, because the next line marks the column of a mistake.
var asItIs = regexp.MustCompile(`^ *([a-z ]+: +)?(sudo )?pausenet [a-z]|^ *[0-9]* \| `)

// foldLine breaks a line at blanks into lines of at most width columns. Lines after the first are indented to the last
// cell of the line if it starts in the first half, or else by two more columns; those of a sentence or of a deeply
// indented line keep its indentation. Cells are separated by two or more blanks. foldLine does not break a word that is
// too long, as it may be a path.
func foldLine(line string, width int) []string {
	if utf8.RuneCountInString(line) <= width || asItIs.MatchString(line) {
		return []string{line}
	}
	indent := len(line) - len(strings.TrimLeft(line, " "))
	hang := indent + 2
	if indent >= deepIndent || indent == 0 && strings.HasSuffix(line, ".") {
		hang = indent
	}
	if cell := strings.LastIndex(line, "  "); cell > indent {
		if column := utf8.RuneCountInString(line[:cell+2]); column <= width/2 {
			hang = column
		}
	}
	var parts []string
	rest, room := line, width
	for utf8.RuneCountInString(rest) > room {
		at := breakAt(rest, room)
		if at < 0 {
			break
		}
		parts = append(parts, strings.TrimRight(rest[:at], " "))
		rest = strings.Repeat(" ", hang) + strings.TrimLeft(rest[at:], " ")
	}
	return append(parts, rest)
}

// breakAt returns the byte position at which to break a text: its last blank between words within the columns, or else
// its first blank after them; -1 if there is none, or if the text fits.
func breakAt(text string, columns int) int {
	first := len(text) - len(strings.TrimLeft(text, " "))
	at, column := -1, 0
	for i, r := range text {
		if r == ' ' && i > first {
			if column > columns && at >= 0 {
				return at
			}
			at = i
			if column > columns {
				return at
			}
		}
		column++
	}
	if column > columns {
		return at
	}
	return -1
}

// beginsAnew matches a line of Markdown that does not continue a paragraph: an empty line, a heading, a table's row, a
// code block, or an item of a list.
var beginsAnew = lazy.Regexp("^ *($|#|\\||```|- |[0-9]+\\. )")

// paragraphs joins the lines of each paragraph of a text in Markdown, so that it can be folded to another width.
func paragraphs(text string) string {
	var b strings.Builder
	inCode, joins := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		edge := strings.HasPrefix(strings.TrimLeft(line, " "), "```")
		switch starts := beginsAnew().MatchString(line); {
		case b.Len() == 0:
		case joins && !starts && !inCode:
			b.WriteByte(' ')
			line = strings.TrimLeft(line, " ")
		default:
			b.WriteByte('\n')
		}
		b.WriteString(line)
		inCode = inCode != edge
		joins = !edge && !inCode && line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "|")
	}
	return b.String()
}

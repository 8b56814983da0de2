package yamlspec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/lists"
)

// maxProblems limits the mistakes of one reading. More of them mean that the file is of another kind.
const maxProblems = 50

// maxExcerpt limits the width of a source line, in characters, that an excerpt shows in full.
const maxExcerpt = 120

// Problem describes one mistake in a file.
type Problem struct {
	File string `json:"file"` // "--set" if it is in such a flag
	// path of the value or key, in the form of --set: "flows.2.size"; empty: the whole file, or text that is no value
	Path    string `json:"path"`
	Line    int    `json:"line,omitempty"`   // from 1; 0: the whole file
	Column  int    `json:"column,omitempty"` // in characters from 1
	Message string `json:"message"`
	Width   int    `json:"-"` // characters to underline, at least 1
	Source  string `json:"-"` // the line, or the part of a very long line around the mistake
	skipped int    // number of characters of the line before Source
	given   int    // Column as reported, which may be after the line's end
	order   int    // number of the file among those read, by which problems are sorted
}

// Error returns the position and the message, and below them the line with carets under the mistake:
//
//	fabric.yaml:3:1: unknown key "hostz": did you mean "hosts"?
//	  3 | hostz: 4
//	    | ^^^^^
func (p Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	position, number := fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column), strconv.Itoa(p.Line)
	if strings.HasPrefix(p.File, "--") { // A command-line flag has no lines.
		position, number = p.File, " "
	}
	line := []rune(strings.ReplaceAll(p.Source, "\t", " "))
	column := min(max(p.Column-p.skipped, 1), len(line)+1) - 1
	if len(line) > maxExcerpt {
		from := max(0, min(column-maxExcerpt/3, len(line)-maxExcerpt))
		cut := line[from:min(from+maxExcerpt, len(line))]
		column -= from
		if from > 0 {
			cut = append([]rune("…"), cut...)
			column++
		}
		if from+maxExcerpt < len(line) {
			cut = append(slices.Clone(cut), '…')
		}
		line = cut
	}
	width := max(1, min(p.Width, len(line)-column))
	return fmt.Sprintf("%s: %s\n  %s | %s\n  %s | %s%s", position, p.Message, number, string(line),
		strings.Repeat(" ", len(number)), strings.Repeat(" ", column), strings.Repeat("^", width))
}

// Problems holds the mistakes of one reading, sorted by file and position.
type Problems []Problem

// Error returns the texts of all problems, one after the other.
func (ps Problems) Error() string {
	return strings.Join(lists.Map(ps, func(p Problem) string { return p.Error() }), "\n")
}

// Report collects the problems of one reading, which may cover several files (a scenario and its topology).
type Report struct {
	// Elsewhere, if set, returns the full paths at which an unknown key would be known.
	Elsewhere func(key string) []string
	// Sources reads the files that a file names; nil: reads them from disk.
	Sources *files.Sources

	problems Problems
	sources  int
	dropped  int
}

// Err returns all reported problems, or nil if there are none.
func (r *Report) Err() error {
	if len(r.problems) == 0 {
		return nil
	}
	ps := slices.Clone(r.problems)
	slices.SortStableFunc(ps, func(a, b Problem) int {
		if a.order != b.order {
			return a.order - b.order
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	if r.dropped > 0 {
		last := ps[len(ps)-1]
		ps = append(ps, Problem{File: last.File, Message: fmt.Sprintf("and %d more problems", r.dropped)})
	}
	return ps
}

// Add adds the problems of another report on the same file.
func (r *Report) Add(other *Report) {
	for _, p := range other.problems {
		if r.wants(&p) {
			r.problems = append(r.problems, p)
		}
	}
}

// Count returns the number of reported problems, for decoders that continue only after a part without mistakes.
func (r *Report) Count() int { return len(r.problems) + r.dropped }

// wants reports whether to keep a problem: it is new, and there is room. It reads no lines, because a very long line
// may have many problems.
func (r *Report) wants(p *Problem) bool {
	// Shared parts (anchors, a name in a range) would otherwise report the same mistake repeatedly.
	same := func(q Problem) bool {
		return q.order == p.order && q.given == p.given && q.Width == p.Width && q.Message == p.Message &&
			(q.Line == p.Line || q.Line == 0)
	}
	if slices.ContainsFunc(r.problems, same) {
		return false
	}
	if len(r.problems) == maxProblems {
		r.dropped++
		return false
	}
	return true
}

// source holds one file's text.
type source struct {
	name   string
	order  int
	text   string
	starts []int // offsets of the lines; nil until they are needed
	report *Report
	root   *Value // nil during reading
}

func (r *Report) open(name, text string) *source {
	r.sources++
	return &source{name: name, order: r.sources, text: text, report: r}
}

// line returns the text of a line, counted from 1.
func (s *source) line(n int) (text string, ok bool) {
	if s.starts == nil {
		s.starts = []int{0}
		for at := 0; ; {
			end := strings.IndexByte(s.text[at:], '\n')
			if end < 0 {
				break
			}
			at += end + 1
			s.starts = append(s.starts, at)
		}
	}
	switch {
	case n < 1 || n > len(s.starts):
		return "", false
	case n == len(s.starts):
		text = s.text[s.starts[n-1]:]
	default:
		text = s.text[s.starts[n-1] : s.starts[n]-1]
	}
	return strings.TrimRight(text, "\r"), true
}

func (s *source) problem(line, column, width int, message string) {
	s.problemAt(nil, line, column, width, message)
}

func (s *source) problemAt(v *Value, line, column, width int, message string) {
	p := Problem{
		File: s.name, Line: line, Column: column, Width: width, Message: abridge(message), given: column,
		order: s.order,
	}
	if !s.report.wants(&p) {
		return
	}
	p.Path = abridge(v.Path()) // computed last, because most problems of a file with very many are dropped
	if text, ok := s.line(line); ok {
		p.Column = min(max(column, 1), utf8.RuneCountInString(text)+1)
		p.Source, p.skipped = about(text, p.Column)
	} else {
		p.Line = 0
	}
	s.report.problems = append(s.report.problems, p)
}

// about returns the part of a line that an excerpt around a column may show, and the number of characters before it.
func about(line string, column int) (part string, skipped int) {
	if len(line) <= 16*maxExcerpt {
		return line, 0
	}
	from, to, n := 0, len(line), 0
	for i := range line {
		switch n++; n {
		case column - maxExcerpt:
			from, skipped = i, n-1
		case column + 2*maxExcerpt:
			to = i
		}
		if to < len(line) {
			break
		}
	}
	return strings.Clone(line[from:to]), skipped
}

// Problem reports a problem of a whole file.
func (r *Report) Problem(name, message string) { r.open(name, "").problem(0, 0, 0, message) }

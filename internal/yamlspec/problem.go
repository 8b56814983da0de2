package yamlspec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pausenet/pausenet/internal/files"
)

// maxProblems bounds the mistakes kept of one reading: past it the file is not what its reader thinks it is.
const maxProblems = 50

// maxExcerpt is the widest source line, in characters, that an excerpt shows whole.
const maxExcerpt = 120

// Problem is one mistake in a file.
type Problem struct {
	File    string
	Line    int // from 1; 0: the whole file
	Column  int // in characters from 1
	Width   int // characters to underline, at least 1
	Message string
	// of the value or key, as --set names places: "flows.2.size"; empty: the file itself, or no place of its tree
	Path    string
	Source  string // the line, or of one that is very long what is about the place
	skipped int    // characters of the line before Source
	given   int    // Column as it was reported, which may be behind the line's end
	order   int    // of the file among those read, so that problems sort by file
}

// Error is the place and the message, and below it the line with carets under the spot:
//
//	fabric.yaml:3:1: unknown key "hostz": did you mean "hosts"?
//	  3 | hostz: 4
//	    | ^^^^^
func (p Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	place, number := fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column), strconv.Itoa(p.Line)
	if strings.HasPrefix(p.File, "--") { // A command-line flag has no lines.
		place, number = p.File, " "
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
	return fmt.Sprintf("%s: %s\n  %s | %s\n  %s | %s%s", place, p.Message, number, string(line),
		strings.Repeat(" ", len(number)), strings.Repeat(" ", column), strings.Repeat("^", width))
}

// Problems are the mistakes of one reading, by file and place.
type Problems []Problem

// Error is every problem, one after the other.
func (ps Problems) Error() string {
	texts := make([]string, len(ps))
	for i, p := range ps {
		texts[i] = p.Error()
	}
	return strings.Join(texts, "\n")
}

// Report collects the problems of one reading, which may span files (a scenario and its topology).
type Report struct {
	// Elsewhere, if set, returns the full paths at which an unknown key would be known.
	Elsewhere func(key string) []string
	// Sources are where files are read from that a file names; nil: from where they are.
	Sources *files.Sources

	problems Problems
	sources  int
	dropped  int
}

// Err is everything that was reported, nil if nothing was.
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

// Count is how many problems were reported, for a decoder that goes on only if a part was fine.
func (r *Report) Count() int { return len(r.problems) + r.dropped }

// wants says that a problem is to be kept: it is a new one, and there is room. It looks at no line, since there may be
// many problems in a very long one.
func (r *Report) wants(p *Problem) bool {
	// Shared parts (anchors, a name in a range) would report the same mistake again and again.
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

// source is one file's text.
type source struct {
	name   string
	order  int
	text   string
	starts []int // of the lines; nil until one is asked for
	report *Report
	root   *Value // nil while it is read
}

func (r *Report) open(name, text string) *source {
	r.sources++
	return &source{name: name, order: r.sources, text: text, report: r}
}

// line is the text of a line, from 1.
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

// problemAt is problem with the value that it is of.
func (s *source) problemAt(v *Value, line, column, width int, message string) {
	p := Problem{
		File: s.name, Line: line, Column: column, Width: width, Message: abridge(message), given: column,
		order: s.order,
	}
	if !s.report.wants(&p) {
		return
	}
	p.Path = abridge(v.Path()) // not before: of a file with very many mistakes nobody wants most
	if text, ok := s.line(line); ok {
		p.Column = min(max(column, 1), utf8.RuneCountInString(text)+1)
		p.Source, p.skipped = about(text, p.Column)
	} else {
		p.Line = 0
	}
	s.report.problems = append(s.report.problems, p)
}

// about is what of a line an excerpt about a column may show, and how many characters before it are left out.
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

// Problem reports what is wrong with a file as a whole.
func (r *Report) Problem(name, message string) { r.open(name, "").problem(0, 0, 0, message) }

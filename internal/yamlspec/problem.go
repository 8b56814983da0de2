// Package yamlspec reads the YAML files that users write: topologies and scenarios. It is strict, and it reports every
// mistake of a file at once, each with the place and the line it stands in.
//
// A file is read into a tree of Values that know where they come from. A decoder walks the tree; a key that it never
// asked for is a mistake of the user's. See Mapping for the shape of a decoder.
package yamlspec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	Source  string // the line
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
	column := min(max(p.Column, 1), len(line)+1) - 1
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

func (r *Report) add(p Problem) {
	// Shared parts (anchors, a name in a range) would report the same mistake again and again.
	if slices.Contains(r.problems, p) {
		return
	}
	if len(r.problems) == maxProblems {
		r.dropped++
		return
	}
	r.problems = append(r.problems, p)
}

// source is one file's text.
type source struct {
	name   string
	order  int
	lines  []string
	report *Report
}

func (r *Report) open(name string, data []byte) *source {
	r.sources++
	return &source{name: name, order: r.sources, lines: strings.Split(string(data), "\n"), report: r}
}

func (s *source) problem(line, column, width int, message string) {
	p := Problem{File: s.name, Line: line, Column: column, Width: width, Message: message, order: s.order}
	if line >= 1 && line <= len(s.lines) {
		p.Source = strings.TrimRight(s.lines[line-1], "\r")
		p.Column = min(max(column, 1), len([]rune(p.Source))+1)
	} else {
		p.Line = 0
	}
	s.report.add(p)
}

// Problem reports what is wrong with a file as a whole.
func (r *Report) Problem(name, message string) { r.open(name, nil).problem(0, 0, 0, message) }

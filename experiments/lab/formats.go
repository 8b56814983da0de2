package lab

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/escape"
	"github.com/pausenet/pausenet/internal/lists"
)

// Gradescope holds the content of results.json for Gradescope ("Autograder Specifications", Output format). Optional
// fields that it leaves out have Gradescope's defaults.
type Gradescope struct {
	Score         float64 `json:"score"`
	ExecutionTime float64 `json:"execution_time,omitempty"` // in seconds of the grader's clock
	Output        string  `json:"output,omitempty"`
	// Students do not see what the autograder prints: it may name hidden checks.
	StdoutVisibility string             `json:"stdout_visibility"`
	Tests            []GradescopeTest   `json:"tests"`
	Leaderboard      []GradescopeRanked `json:"leaderboard,omitempty"`
}

// GradescopeTest holds one check.
type GradescopeTest struct {
	Name       string  `json:"name"`
	Number     string  `json:"number"`
	Score      float64 `json:"score"`
	MaxScore   float64 `json:"max_score"`
	Status     string  `json:"status"` // passed or failed
	Output     string  `json:"output"`
	Visibility string  `json:"visibility"`
}

// Visibilities of Gradescope: students see a hidden check when the teacher publishes the grades.
const (
	gradescopeVisible   = "visible"
	gradescopeHidden    = "hidden"
	gradescopePublished = "after_published"
)

// GradescopeRanked holds one column of the leaderboard.
type GradescopeRanked struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Order string  `json:"order"`
}

// Gradescope returns the grade in Gradescope's format. seconds is the time that grading took; 0 for none.
func (g *Grade) Gradescope(seconds float64) Gradescope {
	texts := slices.DeleteFunc([]string{g.problemText(), strings.Join(g.Failures, "\n"), strings.Join(g.Warnings, "\n")},
		func(s string) bool { return s == "" })
	out := Gradescope{
		Score: float64(g.Points), ExecutionTime: math.Round(seconds*1000) / 1000, Output: strings.Join(texts, "\n"),
		StdoutVisibility: gradescopeHidden, Tests: []GradescopeTest{},
	}
	for i := range g.Checks {
		o := &g.Checks[i]
		t := GradescopeTest{
			Name: o.Title, Number: fmt.Sprint(i + 1), Score: float64(o.Points), MaxScore: float64(o.Of), Status: "failed",
			Output: o.text(), Visibility: gradescopeVisible,
		}
		if o.Passed {
			t.Status = "passed"
		}
		if o.Hidden {
			t.Visibility = gradescopePublished
		}
		out.Tests = append(out.Tests, t)
	}
	if g.Score > 0 {
		out.Leaderboard = []GradescopeRanked{{"score", g.Score, "asc"}}
	}
	return out
}

// Classroom holds the result that GitHub Classroom's autograding reporter reads from the environment, in base64.
type Classroom struct {
	Version  int             `json:"version"`
	Status   string          `json:"status"` // pass or fail
	MaxScore float64         `json:"max_score"`
	Tests    []ClassroomTest `json:"tests"`
}

// ClassroomTest holds one check.
type ClassroomTest struct {
	Name    string  `json:"name"`
	Status  string  `json:"status"`
	Score   float64 `json:"score"`
	Message string  `json:"message"`
}

// Classroom returns the grade in GitHub Classroom's format.
func (g *Grade) Classroom() Classroom {
	out := Classroom{Version: 1, Status: "fail", MaxScore: float64(g.Of), Tests: []ClassroomTest{}}
	if g.Full() {
		out.Status = "pass"
	}
	for i := range g.Checks {
		o := &g.Checks[i]
		status := "fail"
		if o.Passed {
			status = "pass"
		}
		out.Tests = append(out.Tests, ClassroomTest{o.Title, status, float64(o.Points), o.text()})
	}
	if len(g.Problems) > 0 && len(out.Tests) > 0 {
		out.Tests[0].Message = g.problemText() + "\n" + out.Tests[0].Message
	}
	return out
}

// text returns the feedback for a student on a check.
func (o *Outcome) text() string {
	text := "required: " + o.Required + "\nmeasured: " + o.Measured
	if o.Hint != "" {
		text += "\nhint: " + o.Hint
	}
	return text
}

// problemText returns the mistakes in the submitted files, by file.
func (g *Grade) problemText() string {
	var files []string
	for file := range g.Problems {
		files = append(files, file)
	}
	slices.Sort(files)
	return strings.Join(lists.Map(files, func(file string) string { return g.Problems[file] }), "\n")
}

// Gradebook returns a CSV table with one row for each student: the total, the points of each check, and the mistakes.
func Gradebook(e *Exercise, students []Student) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	head := []string{"student", "points", "of", "score"}
	for i := range e.Checks {
		head = append(head, e.Checks[i].Title)
	}
	head = append(head, "problem")
	late := slices.ContainsFunc(students, func(s Student) bool { return s.DaysLate > 0 })
	if late {
		head = append(head, "days_late", "penalty")
	}
	_ = w.Write(head) // a Buffer does not fail
	for _, s := range students {
		score := ""
		if s.Score > 0 {
			score = number(s.Score)
		}
		row := []string{escape.Cell(s.Name), s.Points.String(), s.Of.String(), score}
		for i := range s.Checks {
			row = append(row, s.Checks[i].Points.String())
		}
		row = append(row, escape.Cell(s.Problem()))
		if late {
			row = append(row, fmt.Sprint(s.DaysLate), s.Penalty.String())
		}
		_ = w.Write(row)
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// Problem returns what is wrong with the submission, in a line: a mistake in its files, or why a run failed; empty if
// nothing is.
func (g *Grade) Problem() string {
	if text := firstLine(g.problemText()); text != "" || len(g.Failures) == 0 {
		return text
	}
	return g.Failures[0]
}

package lab

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/escape"
)

// Gradescope holds the content of results.json for Gradescope ("Autograder Specifications", Output format).
type Gradescope struct {
	Score       float64            `json:"score"`
	Output      string             `json:"output,omitempty"`
	Tests       []GradescopeTest   `json:"tests"`
	Leaderboard []GradescopeRanked `json:"leaderboard,omitempty"`
}

// GradescopeTest holds one check.
type GradescopeTest struct {
	Name     string  `json:"name"`
	Score    float64 `json:"score"`
	MaxScore float64 `json:"max_score"`
	Status   string  `json:"status"` // passed or failed
	Output   string  `json:"output"`
}

// GradescopeRanked holds one column of the leaderboard.
type GradescopeRanked struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Order string  `json:"order"`
}

// Gradescope returns the grade in Gradescope's format.
func (g *Grade) Gradescope() Gradescope {
	out := Gradescope{Score: float64(g.Points), Output: g.problemText(), Tests: []GradescopeTest{}}
	for i := range g.Checks {
		o := &g.Checks[i]
		status := "failed"
		if o.Passed {
			status = "passed"
		}
		out.Tests = append(out.Tests, GradescopeTest{o.Title, float64(o.Points), float64(o.Of), status, o.text()})
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
	var texts []string
	for _, file := range files {
		texts = append(texts, g.Problems[file])
	}
	return strings.Join(texts, "\n")
}

// Gradebook returns a CSV table with one row for each student: the total, the points of each check, and the mistakes.
func Gradebook(e *Exercise, students []Student) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	head := []string{"student", "points", "of", "score"}
	for i := range e.Checks {
		head = append(head, e.Checks[i].Title)
	}
	_ = w.Write(append(head, "problem")) // a Buffer does not fail
	for _, s := range students {
		score := ""
		if s.Score > 0 {
			score = number(s.Score)
		}
		row := []string{escape.Cell(s.Name), s.Points.String(), s.Of.String(), score}
		for i := range s.Checks {
			row = append(row, s.Checks[i].Points.String())
		}
		_ = w.Write(append(row, escape.Cell(firstLine(s.problemText()))))
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

package lab

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/pausenet/pausenet/experiments/pages/report"
)

// mostShown limits the students in a chart of curves, so that readers can distinguish the curves.
const mostShown = 6

// FeedbackPage returns the HTML page for a student.
func FeedbackPage(version string, s *Student) ([]byte, error) {
	sheet := &report.Sheet{
		Kicker: "pausenet lab", Title: s.Title, Version: version, Lead: s.Name,
		Facts: []report.Fact{{Label: "Points", Text: fmt.Sprintf("%v of %v", s.Points, s.Of)}},
		Foot:  "Times are virtual: the same submission gets the same grade on any machine.",
	}
	if s.Score > 0 {
		sheet.Facts = append(sheet.Facts, report.Fact{
			Label: "Score",
			Text:  fmt.Sprintf("%.4g (less is better)", s.Score),
		})
	}
	if len(s.Problems) > 0 {
		sheet.Parts = append(sheet.Parts, report.SheetPart{
			Title: "Mistakes in the submission",
			Texts: []string{s.problemText()}, Failed: true,
		})
	}
	if texts := slices.Concat(s.Failures, s.Warnings); len(texts) > 0 {
		sheet.Parts = append(sheet.Parts, report.SheetPart{Title: "Likely mistakes", Texts: texts})
	}
	t := &report.SheetTable{
		Caption: "Points by check",
		Heads:   []string{"check", "points", "required", "measured", "what to do"},
	}
	for i := range s.Checks {
		o := &s.Checks[i]
		todo := o.Hint
		if o.LookAt != "" {
			todo += " In the report look at: " + o.LookAt + "."
		}
		t.Rows = append(t.Rows, report.SheetRow{Cells: []string{
			o.Title, fmt.Sprintf("%v of %v", o.Points, o.Of), o.Required,
			o.Measured, todo,
		}, Best: o.Passed, Part: -1})
	}
	sheet.Parts = append(sheet.Parts, report.SheetPart{Title: "Checks", Table: t})
	if len(s.Curves) > 0 {
		sheet.Parts = append(sheet.Parts, curvePart("Slowdown by flow size", [][]Curve{s.Curves}, []string{""}))
	}
	return render(sheet)
}

// curvePart returns a part with a chart of curves, in groups. names holds the student of each group, or "" for runs
// that are the same for all students.
func curvePart(title string, groups [][]Curve, names []string) report.SheetPart {
	chart := report.LineChart{
		Name: "Mean slowdown by flow size", XTitle: "log10 of the flow size in bytes",
		Unit: report.None, Log: true,
	}
	for i, curves := range groups {
		for _, c := range curves {
			label := c.Run
			if names[i] != "" {
				label = names[i] + ": " + c.Run
			}
			line := report.NumberLine{Label: label, Dots: true}
			for k := range c.Size {
				line.X, line.Y = append(line.X, math.Log10(c.Size[k])), append(line.Y, c.Mean[k])
			}
			chart.Lines = append(chart.Lines, line)
		}
	}
	return report.SheetPart{Title: title, Lines: &report.Lines{Title: title, Charts: []report.LineChart{chart}}}
}

// ClassPage returns the HTML page of a class: the distribution of points, the difficulty of each check, and the ranks
// of a contest.
func ClassPage(version string, e *Exercise, students []Student) ([]byte, error) {
	var sum Points
	for _, s := range students {
		sum += s.Points
	}
	sheet := &report.Sheet{
		Kicker: "pausenet lab", Title: e.Title, Version: version, Lead: e.Goal,
		Facts: []report.Fact{
			{Label: "Submissions", Text: fmt.Sprint(len(students))},
			{Label: "Mean", Text: fmt.Sprintf("%.1f of %v points", float64(sum)/float64(max(1, len(students))), e.Total())},
		},
		Parts: []report.SheetPart{
			{Title: "Points", Table: distribution(e, students)},
			{Title: "Checks", Table: passed(e, students)},
		},
		Foot: "Times are virtual: the same submissions get the same grades on any machine, in any order.",
	}
	if ranked := Ranked(students); len(ranked) > 0 {
		t := &report.SheetTable{
			Caption: "By score (less is better)",
			Heads:   []string{"rank", "student", "score", "points"},
		}
		for i, s := range ranked {
			t.Rows = append(t.Rows, report.SheetRow{Cells: []string{
				fmt.Sprint(i + 1), s.Name, fmt.Sprintf("%.4g", s.Score),
				s.Points.String(),
			}, Best: i == 0, Part: -1})
		}
		sheet.Parts = append(sheet.Parts, report.SheetPart{Title: "Leaderboard", Table: t})
		if part := e.sideBySide(ranked); part.Lines != nil {
			sheet.Parts = append(sheet.Parts, part)
		}
	}
	t := &report.SheetTable{
		Caption: "Submissions",
		Heads:   []string{"student", "points", "what is wrong with the submission"},
	}
	for _, s := range students {
		t.Rows = append(t.Rows, report.SheetRow{
			Cells: []string{s.Name, s.Points.String(), s.Problem()},
			Part:  -1,
		})
	}
	sheet.Parts = append(sheet.Parts, report.SheetPart{Title: "Submissions", Table: t})
	return render(sheet)
}

// distribution counts the students by points, in ten intervals and one for all points.
func distribution(e *Exercise, students []Student) *report.SheetTable {
	const classes = 10
	total := float64(e.Total())
	counts := make([]int, classes+1)
	for _, s := range students {
		counts[int(float64(s.Points)/total*classes)]++
	}
	most := max(1, slices.Max(counts))
	t := &report.SheetTable{Caption: "Students by points", Heads: []string{"points", "students"}}
	for i := classes; i >= 0; i-- {
		label := fmt.Sprintf("%s to less than %s", number(total*float64(i)/classes), number(total*float64(i+1)/classes))
		if i == classes {
			label = "all " + number(total)
		}
		t.Rows = append(t.Rows, report.SheetRow{
			Cells: []string{label, fmt.Sprint(counts[i])},
			Part:  float64(counts[i]) / float64(most),
		})
	}
	return t
}

// passed counts the students that passed each check.
func passed(e *Exercise, students []Student) *report.SheetTable {
	t := &report.SheetTable{Caption: "Students who passed each check", Heads: []string{"check", "passed", "points"}}
	for i := range e.Checks {
		n := 0
		for _, s := range students {
			if s.Checks[i].Passed {
				n++
			}
		}
		t.Rows = append(t.Rows, report.SheetRow{
			Cells: []string{e.Checks[i].Title, fmt.Sprintf("%d of %d", n, len(students)), e.Checks[i].Points.String()},
			Part:  float64(n) / float64(max(1, len(students))),
		})
	}
	return t
}

// sideBySide returns a chart of the highest-ranked students' curves, and of the runs that are the same for all
// students.
func (e *Exercise) sideBySide(ranked []Student) report.SheetPart {
	own := &Submission{e: e}
	var groups [][]Curve
	var names []string
	for i, s := range ranked[:min(len(ranked), mostShown)] {
		var theirs, common []Curve
		for _, c := range s.Curves {
			if own.blames(e.run(c.Run)) {
				theirs = append(theirs, c)
			} else if i == 0 {
				common = append(common, c)
			}
		}
		if len(common) > 0 {
			groups, names = append(groups, common), append(names, "")
		}
		if len(theirs) > 0 {
			groups, names = append(groups, theirs), append(names, s.Name)
		}
	}
	if len(groups) == 0 {
		return report.SheetPart{}
	}
	return curvePart("The highest-ranked side by side", groups, names)
}

func render(s *report.Sheet) ([]byte, error) {
	var b bytes.Buffer
	err := report.WriteSheet(&b, s)
	return b.Bytes(), err
}

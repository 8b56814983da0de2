package lab

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/pausenet/pausenet/internal/escape"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/jsonfile"
)

// gradesFile holds the grades of a class, for gradebooks of a course.
const gradesFile = "grades.json"

// ClassGrades holds the grades of a class in an exercise.
type ClassGrades struct {
	Exercise string         `json:"exercise"`
	Of       Points         `json:"of"`
	Students []StudentGrade `json:"students"`

	folder string
}

// StudentGrade holds the grade of a student.
type StudentGrade struct {
	Name     string `json:"name"`
	Points   Points `json:"points"`
	DaysLate int    `json:"days_late,omitempty"`
	Problem  string `json:"problem,omitempty"`
}

// gradesOf returns the grades of a class.
func gradesOf(e *Exercise, students []Student) ClassGrades {
	g := ClassGrades{Exercise: e.Name, Of: e.Total(), Students: []StudentGrade{}}
	for _, s := range students {
		g.Students = append(g.Students, StudentGrade{s.Name, s.Points, s.DaysLate, s.Problem()})
	}
	return g
}

// ReadGrades reads the grades that WriteClass has written into a folder.
func ReadGrades(folder string) (g ClassGrades, err error) {
	data, err := os.ReadFile(filepath.Join(folder, gradesFile))
	if err != nil {
		return g, fmt.Errorf("%s: expected a folder that lab grade has written: %w", folder, err)
	}
	if err := json.Unmarshal(data, &g); err != nil {
		return g, fmt.Errorf("%s: %w", filepath.Join(folder, gradesFile), err)
	}
	g.folder = folder
	return g, nil
}

// Files of a course.
const (
	courseFile  = "course.csv"
	historyFile = "history.csv"
)

// WriteCourse writes a gradebook of all exercises, in the order of the course, and the history of each student: all
// grades in the given order. If an exercise was graded several times, the last grade counts, or with best the highest.
func WriteCourse(folder string, all []ClassGrades, best bool) error {
	points := map[string]map[string]Points{} // by student and exercise
	of := map[string]Points{}
	var students, exercises []string
	for _, g := range all {
		if !slices.Contains(exercises, g.Exercise) {
			exercises = append(exercises, g.Exercise)
		}
		of[g.Exercise] = g.Of
		for _, s := range g.Students {
			if points[s.Name] == nil {
				points[s.Name] = map[string]Points{}
				students = append(students, s.Name)
			}
			if last, graded := points[s.Name][g.Exercise]; !best || !graded || s.Points > last {
				points[s.Name][g.Exercise] = s.Points
			}
		}
	}
	slices.Sort(students)
	slices.SortStableFunc(exercises, func(a, b string) int {
		place := func(name string) int {
			if i := slices.Index(Names(), name); i >= 0 {
				return i
			}
			return len(Names())
		}
		return place(a) - place(b)
	})
	var course, history bytes.Buffer
	book, past := csv.NewWriter(&course), csv.NewWriter(&history)
	total := Points(0)
	for _, exercise := range exercises {
		total += of[exercise]
	}
	_ = book.Write(slices.Concat([]string{"student"}, exercises, []string{"points", "of"})) // a Buffer does not fail
	_ = past.Write([]string{"student", "exercise", "points", "of", "days_late", "problem", "grades"})
	for _, name := range students {
		row, sum := []string{escape.Cell(name)}, Points(0)
		for _, exercise := range exercises {
			cell := "" // not submitted
			if p, graded := points[name][exercise]; graded {
				cell, sum = p.String(), sum+p
			}
			row = append(row, cell)
		}
		_ = book.Write(append(row, sum.String(), total.String()))
		for _, g := range all {
			for _, s := range g.Students {
				if s.Name == name {
					_ = past.Write([]string{
						escape.Cell(name), g.Exercise, s.Points.String(), g.Of.String(), fmt.Sprint(s.DaysLate),
						escape.Cell(s.Problem), escape.Cell(g.folder),
					})
				}
			}
		}
	}
	book.Flush()
	past.Flush()
	if err := writeFile(folder, courseFile, course.Bytes()); err != nil {
		return err
	}
	return writeFile(folder, historyFile, history.Bytes())
}

// writeGrades writes the grades of a class.
func writeGrades(out *files.Folder, e *Exercise, students []Student) error {
	data, err := jsonfile.Format(gradesOf(e, students))
	if err != nil {
		return err
	}
	return out.Write(gradesFile, data)
}

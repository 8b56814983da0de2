package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/files"
)

// mostStudents is how many hand-ins a folder may have.
const mostStudents = 10_000

// Job is a hand-in to be graded by a process of its own.
type Job struct {
	Exercise string `json:"exercise"`         // its name or folder
	Hidden   string `json:"hidden,omitempty"` // a teacher's folder
	Folder   string `json:"folder"`
	Scratch  string `json:"scratch"` // for results, which the grader removes
	Memory   uint64 `json:"memory_bytes"`

	Made map[string][]*measure.Summary `json:"made"` // same as for Options
}

// LoadFor is the exercise with what a teacher hides; hidden may be empty.
func LoadFor(exercise, hidden string) (*Exercise, error) {
	e, err := Load(exercise)
	if err != nil || hidden == "" {
		return e, err
	}
	all, err := e.WithHidden(files.Dir(hidden, exerciseFile))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", hidden, err)
	}
	return all, nil
}

// Students are the folders of the hand-ins, by name; whatever else is there is none, and is told.
func Students(folder string) (names, others []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range entries {
		switch name := entry.Name(); {
		case strings.HasPrefix(name, "."):
		case entry.IsDir():
			names = append(names, name)
		default:
			others = append(others, name)
		}
	}
	if len(names) > mostStudents {
		return nil, nil, fmt.Errorf("%s has %d folders: at most %d hand-ins are graded at a time", folder, len(names),
			mostStudents)
	}
	return names, others, nil
}

// harmless are names that may name a student's files.
var harmless = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}$`)

// hashed begins the names of the files of students whose own names are not used.
const hashed = "student-"

// filesOf returns what the files of each student are called: by the student's name if that is harmless, and no earlier
// student's in other letters, which some file systems take for the same.
func filesOf(students []Student) []string {
	taken := map[string]bool{}
	all := make([]string, len(students))
	for i := range students {
		name := students[i].Name
		like := strings.TrimRight(strings.ToLower(name), ".")
		if !harmless.MatchString(name) || strings.HasPrefix(like, hashed) || taken[like] {
			sum := sha256.Sum256([]byte(name))
			name = hashed + hex.EncodeToString(sum[:8])
		}
		taken[like], all[i] = true, name
	}
	return all
}

// Files of the grades' folder.
const (
	gradebookFile = "gradebook.csv"
	classFile     = "class.html"
	studentFolder = "students"
)

// WriteClass writes the gradebook, the page of the class, and for each student a page of feedback and what Gradescope
// and GitHub Classroom read.
func WriteClass(folder, version string, e *Exercise, students []Student) error {
	out, err := files.OpenFolder(folder, folder)
	if err != nil {
		return err
	}
	defer out.Close()
	book, err := Gradebook(e, students)
	if err != nil {
		return err
	}
	page, err := ClassPage(version, e, students)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{gradebookFile: book, classFile: page} {
		if err := out.Write(name, data); err != nil {
			return err
		}
	}
	for i, name := range filesOf(students) {
		if err := writeStudent(out, name, version, &students[i]); err != nil {
			return err
		}
	}
	return nil
}

func writeStudent(out *files.Folder, name, version string, s *Student) error {
	own, err := out.Sub(studentFolder + "/" + name)
	if err != nil {
		return err
	}
	defer own.Close()
	page, err := FeedbackPage(version, s)
	if err != nil {
		return err
	}
	if err := own.Write("feedback.html", page); err != nil {
		return err
	}
	// whose form is theirs
	for name, v := range map[string]any{"results.json": s.Gradescope(), "classroom.json": s.Classroom()} {
		data, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return err
		}
		if err := own.Write(name, append(data, '\n')); err != nil {
			return err
		}
	}
	data, err := files.FormatJSON(s.Grade)
	if err != nil {
		return err
	}
	return own.Write("grade.json", data)
}

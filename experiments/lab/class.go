package lab

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/jsonfile"
	"github.com/pausenet/pausenet/internal/lazy"
)

// mostStudents limits the submissions in a folder.
const mostStudents = 10_000

// Job represents a submission that a process of its own grades.
type Job struct {
	Exercise string   `json:"exercise"`          // its name or folder
	Hidden   string   `json:"hidden,omitempty"`  // a folder with a teacher's hidden checks
	Teacher  string   `json:"teacher,omitempty"` // a teacher's material; used if Hidden is empty
	Student  string   `json:"student"`           // whose parameters the exercise has
	Folders  []string `json:"folders"`           // see Found
	Scratch  string   `json:"scratch"`           // folder for results, which the grader removes
	Memory   uint64   `json:"memory_bytes"`
	// Time limits the processor time; 0 for none.
	Time time.Duration `json:"time_ns"`

	Made map[string][]*measure.Summary `json:"made"` // see Options.Made
}

// LoadFor returns an exercise with a student's parameters, and with hidden checks: those of the folder hidden, or else
// those of a teacher's material. Each may be empty.
func LoadFor(exercise, hidden, teacher, student string) (*Exercise, error) {
	e, err := Load(exercise)
	if err == nil && student != "" {
		e, err = e.For(student)
	}
	if err != nil || hidden == "" && teacher == "" {
		return e, err
	}
	path, all := cmp.Or(hidden, teacher), e
	if hidden != "" {
		all, err = e.WithHidden(files.Dir(hidden, exerciseFile))
	} else if material, failed := OpenTeacher(teacher); failed != nil {
		return nil, failed
	} else {
		all, err = e.WithTeacher(material)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

// harmless matches students' names that can be names of files.
var harmless = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}$`)

// hashed prefixes the files of students whose own names are not used.
const hashed = "student-"

// filesOf returns the file name of each student. It is the student's name if that is harmless and differs from earlier
// ones by more than case, which some file systems ignore.
func filesOf(students []Student) []string {
	taken := map[string]bool{}
	all := make([]string, len(students))
	for i := range students {
		name := students[i].Name
		like := strings.TrimRight(strings.ToLower(name), ".")
		if !harmless().MatchString(name) || strings.HasPrefix(like, hashed) || taken[like] {
			sum := sha256.Sum256([]byte(name))
			name = hashed + hex.EncodeToString(sum[:8])
		}
		taken[like], all[i] = true, name
	}
	return all
}

// Files in the folder of grades.
const (
	gradebookFile = "gradebook.csv"
	classFile     = "class.html"
	studentFolder = "students"
)

// WriteClass writes the gradebook, the page of the class, and for each student a feedback page and the files for
// Gradescope and GitHub Classroom.
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
	if err := writeGrades(out, e, students); err != nil {
		return err
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
	// in the formats of these services
	for name, v := range map[string]any{"results.json": s.Gradescope(0), "classroom.json": s.Classroom()} {
		data, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return err
		}
		if err := own.Write(name, append(data, '\n')); err != nil {
			return err
		}
	}
	data, err := jsonfile.Format(s.Grade)
	if err != nil {
		return err
	}
	return own.Write("grade.json", data)
}

package lab

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.CollectLess()
	goleak.VerifyTestMain(m)
}

// grade returns the grade of the submission in a folder.
func grade(t *testing.T, e *Exercise, folder string) *Grade {
	t.Helper()
	return gradeWith(t, e, folder, Options{})
}

func gradeWith(t *testing.T, e *Exercise, folder string, o Options) *Grade {
	t.Helper()
	o.Results, o.Jobs = t.TempDir(), 2
	g, err := Submit(e, folder).Check(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// material returns the teacher's material of the repository.
func material(t *testing.T) fs.FS {
	t.Helper()
	m, err := OpenTeacher("teacher")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// triedBy names the students whose parameters the trials have.
var triedBy = []string{"anna", "emil"}

// TestTrials tries each exercise with ten honest submissions of rising quality and ten cheats, for two students. No
// honest one gets fewer points than the one before, the reference solution gets (nearly) all, and no cheat more than
// half. The table in docs/course.md has the points; -update writes it.
func TestTrials(t *testing.T) {
	testenv.WholeScenario(t)
	entries, err := os.ReadDir("exercises")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, entry := range entries {
		folders = append(folders, entry.Name())
	}
	if names := slices.Sorted(slices.Values(Names())); !slices.Equal(names, folders) {
		t.Fatalf("the course has %v, and the folder %v", names, folders)
	}
	tables := make([]string, len(course))
	t.Run("exercises", func(t *testing.T) {
		for i, name := range Names() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				tables[i] = try(t, name)
			})
		}
	})
	if slices.Contains(tables, "") {
		return // an exercise failed, or was not selected by -run
	}
	const page, from, to = "../../docs/course.md", "<!-- trials -->\n", "<!-- end of trials -->"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), from)
	_, after, ended := strings.Cut(rest, to)
	if !found || !ended {
		t.Fatalf("%s has no place for the table of trials", page)
	}
	testenv.Golden(t, page, before+from+strings.Join(tables, "")+to+after)
}

// try tries one exercise, and returns its part of the table.
func try(t *testing.T, name string) string {
	var all [][]TrialGrade
	for _, student := range triedBy {
		e, err := LoadFor(name, "", "", student)
		if err != nil {
			t.Fatal(err)
		}
		if e.Total() != 10 || e.Minutes == 0 || e.CheckTime == 0 {
			t.Errorf("%v points, %d minutes, a check takes %v", e.Total(), e.Minutes, e.CheckTime)
		}
		if len(e.Parameters()) == 0 && len(all) > 0 {
			break // the same for all
		}
		grades, err := e.Try(t.Context(), material(t), Options{Results: t.TempDir(), Jobs: 2})
		if err != nil {
			t.Fatal(err)
		}
		least, honest := Points(0), 0
		for i := range grades {
			g := &grades[i]
			if !g.Honest && g.Points > g.Of/2 {
				t.Errorf("%s: the cheat %q has %v points", student, g.What, g.Points)
			}
			if g.Honest {
				if honest++; g.Points < least {
					t.Errorf("%s: %q has %v points, fewer than one before it, %v", student, g.What, g.Points, least)
				}
				least = max(least, g.Points)
			}
		}
		if honest != 10 || len(grades) != 20 {
			t.Errorf("%d honest submissions, %d cheats", honest, len(grades)-honest)
		}
		most := e.Total()
		if len(e.Score) > 0 {
			most *= 0.8 // a contest has room above the reference
		}
		if reference := &grades[honest-1]; reference.Points < most || len(reference.Problems) > 0 {
			t.Errorf("%s: the reference solution has %v points: %v", student, reference.Points, reference.Problems)
		}
		if grades[0].Points > 2 {
			t.Errorf("%s: what a student starts with has %v points", student, grades[0].Points)
		}
		all = append(all, grades)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n`%s`\n\n| | submission | points |\n|---|---|---|\n", name)
	for i := range all[0] {
		kind, points := "cheat", []string{}
		if all[0][i].Honest {
			kind = "honest"
		}
		for _, grades := range all {
			points = append(points, grades[i].Points.String())
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", kind, all[0][i].What, strings.Join(points, ", "))
	}
	return b.String()
}

// TestStart checks that what a student starts with has no mistake, names exercise and student, and is not overwritten.
func TestStart(t *testing.T) {
	for _, name := range Names() {
		e, err := LoadFor(name, "", "", "Zoë: 2")
		if err != nil {
			t.Fatal(err)
		}
		started := filepath.Join(t.TempDir(), name)
		if _, err := Start(t.Context(), e, name, started, true); err != nil {
			t.Fatal(err)
		}
		if s := Submit(e, started); len(s.Problems) > 0 {
			t.Errorf("%s: %v", name, s.Problems)
		}
		if of, student, err := Started(started); of != name || student != "Zoë: 2" || err != nil {
			t.Errorf("%q, %q, %v", of, student, err)
		}
		if _, err := Start(t.Context(), e, name, started, true); err == nil {
			t.Error("what a student wrote would be replaced")
		}
		text, err := os.ReadFile(filepath.Join(started, TextFile))
		if err != nil || strings.Contains(string(text), "${") {
			t.Errorf("%s: %s %v", name, text, err)
		}
	}
}

// TestHidden checks that a teacher's checks replace the public ones. TestTrials grades by them.
func TestHidden(t *testing.T) {
	e, err := Builtin("challenge")
	if err != nil {
		t.Fatal(err)
	}
	all, err := e.WithTeacher(material(t))
	if err != nil {
		t.Fatal(err)
	}
	if all == e || all.Total() != 10 || slices.Equal(all.Seeds["search.yaml"], e.Seeds["search.yaml"]) {
		t.Errorf("%v points, %v", all.Total(), e.Seeds)
	}
}

package lab

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// TestExercises checks that the reference solution of each exercise gets all points, that a plausible wrong one gets
// the points stated in the exercise, and that the start files get next to none and have no mistake.
func TestExercises(t *testing.T) {
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
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := Builtin(name)
			if err != nil {
				t.Fatal(err)
			}
			if e.Total() != 10 || e.Minutes == 0 || e.CheckTime == 0 {
				t.Errorf("%v points, %d minutes, a check takes %v", e.Total(), e.Minutes, e.CheckTime)
			}
			// The runs that all three have in common are made once, as lab grade makes them for a class. TestHidden has
			// submissions make them.
			common, err := e.Common(t.Context(), Options{Results: t.TempDir(), Jobs: 2})
			if err != nil {
				t.Fatal(err)
			}
			for folder, want := range map[string]Points{"solution": e.Total(), "wrong": e.Wrong} {
				g := gradeWith(t, e, filepath.Join("teacher", name, folder), Options{Made: common})
				if g.Points == want && len(g.Problems) == 0 {
					continue
				}
				t.Errorf("%s: %v points, want %v; %v", folder, g.Points, want, g.Problems)
				for _, o := range g.Checks {
					t.Logf("%v/%v %s: %s: %s", o.Points, o.Of, o.Title, o.Required, o.Measured)
				}
			}
			if e.Wrong >= e.Total() {
				t.Errorf("a wrong submission has %v of %v points", e.Wrong, e.Total())
			}
			started := filepath.Join(t.TempDir(), name)
			if _, err := Start(e, name, started); err != nil {
				t.Fatal(err)
			}
			if g := gradeWith(t, e, started, Options{Made: common}); len(g.Problems) > 0 || g.Points > 2 {
				t.Errorf("what a student starts with has %v points: %v", g.Points, g.Problems)
			}
			if of, err := Started(started); of != name || err != nil {
				t.Errorf("%q, %v", of, err)
			}
			if _, err := Start(e, name, started); err == nil {
				t.Error("what a student wrote would be replaced")
			}
		})
	}
}

// TestHidden checks that a teacher's checks replace the public ones, and that the reference solution passes them too.
func TestHidden(t *testing.T) {
	testenv.WholeScenario(t)
	e, err := Builtin("challenge")
	if err != nil {
		t.Fatal(err)
	}
	all, err := e.WithHidden(os.DirFS("teacher/challenge/hidden"))
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Runs) != len(e.Runs)+3 || all.Total() != 10 || len(e.Seeds) != 1 ||
		!slices.Equal(e.Seeds["search.yaml"], []uint64{1, 3}) {
		t.Errorf("%d runs, %v points, %v", len(all.Runs), all.Total(), e.Seeds)
	}
	if g := grade(t, all, "teacher/challenge/solution"); !g.Full() || g.Score < 1 {
		t.Errorf("%+v", g)
	}
}

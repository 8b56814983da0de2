package lab

import (
	"path/filepath"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
)

// TestReferences checks that the reference solution of each exercise has (nearly) all points by the checks that students
// have, with the parameters of students other than those of TestTrials.
func TestReferences(t *testing.T) {
	testenv.WholeScenario(t)
	for _, name := range Names() {
		for _, student := range []string{"mara", "chen"} {
			e, err := LoadFor(name, "", "", student)
			if err != nil {
				t.Fatal(err)
			}
			if len(e.Parameters()) == 0 {
				break // the same for all
			}
			trials, err := e.Trials(material(t))
			if err != nil {
				t.Fatal(err)
			}
			folder := filepath.Join(t.TempDir(), name)
			err = Reference(trials).Write(t.Context(), e, material(t), folder, Options{Results: t.TempDir(), Jobs: 2})
			if err != nil {
				t.Fatal(err)
			}
			if g := grade(t, e, folder); g.Points < 0.9*g.Of {
				t.Errorf("%s of %s (%s): %v points", name, student, e.ParameterText(), g.Points)
			}
		}
	}
}

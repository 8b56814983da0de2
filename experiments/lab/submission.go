package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/pausenet/pausenet/experiments/ccfile"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/guest"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// handIn is what a file of a student's may be: short, and nothing but a file.
var handIn = files.Kind{Name: "a hand-in", Most: 256 << 10, Plain: true}

// Submission is what a student handed in.
type Submission struct {
	e       *Exercise
	folder  string
	answers map[string]float64 // in base units
	// scenarios are the changed ones, by their file, and sources their content.
	scenarios map[string]*scenario.Scenario
	trees     map[string]*yamlspec.Value
	// programs are the controllers' sources, by their file.
	programs map[string][]byte
	// Problems are what is wrong with a file, by its name. Checks that need it fail.
	Problems map[string]string
	// Mistakes are the same as errors, which have places: for editors.
	Mistakes []error
}

// Submit reads what a student handed in. Nothing of it is run, and no other file than the hand-ins is opened.
func Submit(e *Exercise, folder string) *Submission {
	s := &Submission{
		e: e, folder: folder, answers: map[string]float64{}, scenarios: map[string]*scenario.Scenario{},
		trees: map[string]*yamlspec.Value{}, programs: map[string][]byte{}, Problems: map[string]string{},
	}
	for _, file := range e.plainHandIns() {
		s.note(file, s.take(file, file))
	}
	for _, names := range e.Controllers {
		s.note(names[0], s.takeOne(names))
	}
	return s
}

func (s *Submission) note(file string, problem error) {
	if problem != nil {
		s.Problems[file] = problem.Error()
		s.Mistakes = append(s.Mistakes, problem)
	}
}

// takeOne takes the one of some files that is there.
func (s *Submission) takeOne(names []string) error {
	there := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, err := os.Lstat(filepath.Join(s.folder, name))
		return errors.Is(err, fs.ErrNotExist)
	})
	switch len(there) {
	case 0:
		return s.take(names[0], strings.Join(names, " or "))
	case 1:
		return s.take(there[0], there[0])
	}
	return fmt.Errorf("%s are there, and one of them is to be handed in: move the others away",
		strings.Join(there, " and "))
}

// take reads a file; called is what is said to be missing if it is.
func (s *Submission) take(file, called string) error {
	data, err := files.Read(filepath.Join(s.folder, file), handIn)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing: pausenet lab start %s FOLDER writes it", called, s.e.Name)
	}
	if err != nil {
		return plainError(file, err)
	}
	switch {
	case file == AnswersFile:
		return s.readAnswers(data)
	case s.e.changed(file) != nil:
		return s.readScenario(s.e.changed(file), data)
	}
	if _, err := ccfile.Parse(file, data, nil); err != nil {
		return err
	}
	s.programs[file] = data
	return nil
}

// plainError is an error without the path of the machine that grades.
func plainError(file string, err error) error {
	var refused *files.Error
	var path *os.PathError
	switch {
	case errors.As(err, &refused):
		return fmt.Errorf("%s: %s", file, refused.Reason)
	case errors.As(err, &path):
		return fmt.Errorf("%s: %w", file, path.Err)
	}
	return err
}

// readAnswers reads answers.yaml: a number with its unit for each question. An answer that is left empty is none, and
// no mistake.
func (s *Submission) readAnswers(data []byte) error {
	report := new(yamlspec.Report)
	root := report.Parse(AnswersFile, data)
	if root != nil {
		m := root.Mapping()
		for i := range s.e.Answers {
			q := &s.e.Answers[i]
			v := m.Get(q.Name)
			if v == nil || v.Raw() == "" && !v.IsMapping() && !v.IsSequence() {
				continue
			}
			x, err := q.Kind.Parse(v.Raw())
			if err != nil {
				v.Errorf("%v", err)
				continue
			}
			s.answers[q.Name] = x
		}
		m.Done()
	}
	return report.Err()
}

// readScenario reads a changed scenario. It is the exercise's, with other values where the student may change them: so
// nothing in it names a file that the exercise does not.
func (s *Submission) readScenario(c *ChangedScenario, data []byte) error {
	original, err := fs.ReadFile(s.e.Files, StartFolder+"/"+c.File)
	if err != nil {
		return err
	}
	report := new(yamlspec.Report)
	theirs := report.Parse(c.File, data)
	ours := new(yamlspec.Report).Parse(c.File, original)
	if theirs == nil || ours == nil {
		return report.Err()
	}
	compare(theirs, ours, theirs, "", c)
	if err := report.Err(); err != nil {
		return err
	}
	read, err := scenario.Parse(c.File, data, nil)
	if err != nil {
		return err
	}
	s.scenarios[c.File], s.trees[c.File] = read, theirs
	return nil
}

// compare reports where a student's scenario differs from the exercise's and may not. At is the nearest place in the
// student's file.
func compare(theirs, ours, at *yamlspec.Value, path string, c *ChangedScenario) {
	if theirs != nil {
		at = theirs
	}
	if c.may(path) {
		return
	}
	onTheWay := path == "" || slices.ContainsFunc(c.May, func(may string) bool { return strings.HasPrefix(may, path+".") })
	kind := func(v *yamlspec.Value) string {
		switch {
		case v == nil && onTheWay, v != nil && v.IsMapping():
			return "mapping"
		case v == nil:
			return "nothing"
		case v.IsSequence():
			return "list"
		}
		return "value"
	}
	differ := func() {
		at.Errorf("%s is not to be changed: what you may change is %s; pausenet lab start writes the file anew", path,
			strings.Join(c.May, ", "))
	}
	if kind(theirs) != kind(ours) {
		differ()
		return
	}
	switch kind(ours) {
	case "mapping":
		for _, key := range keysOf(theirs, ours) {
			compare(child(theirs, key), child(ours, key), at, strings.TrimPrefix(path+"."+key, "."), c)
		}
	case "list":
		a, b := theirs.Items(), ours.Items()
		if len(a) != len(b) {
			differ()
			return
		}
		for i := range a {
			compare(a[i], b[i], at, fmt.Sprintf("%s.%d", path, i), c)
		}
	case "value":
		if theirs.Raw() != ours.Raw() {
			differ()
		}
	}
}

// keysOf returns the keys that any of the mappings has.
func keysOf(mappings ...*yamlspec.Value) []string {
	var all []string
	for _, v := range mappings {
		if v == nil {
			continue
		}
		v.Mapping().All(func(key, _ *yamlspec.Value) {
			if !slices.Contains(all, key.Raw()) {
				all = append(all, key.Raw())
			}
		})
	}
	return all
}

func child(v *yamlspec.Value, key string) *yamlspec.Value {
	if v == nil || !v.Has(key) {
		return nil
	}
	return v.Mapping().Get(key)
}

// with is a scenario whose runs may be under the student's controllers. What their calls take is counted.
func (s *Submission) with(u *scenario.Scenario, spent *spent, most uint64) (*scenario.Scenario, error) {
	c := *u
	for _, file := range slices.Sorted(maps.Keys(s.programs)) {
		spec, err := ccfile.Parse(file, s.programs[file], &guest.Meter{MostSteps: most, Took: spent.took})
		if err == nil {
			c.Catalog, err = c.Catalog.With(spec)
		}
		if err != nil {
			return nil, err
		}
	}
	return &c, nil
}

// spent is what the calls of controllers took in all.
type spent struct{ calls, steps atomic.Uint64 }

func (s *spent) took(steps uint64) {
	s.calls.Add(1)
	s.steps.Add(steps)
}

// scenario is that of a run: the student's, or the exercise's own, with the student's values if the run is with them.
func (s *Submission) scenario(r *Run) (*scenario.Scenario, error) {
	for _, file := range []string{r.Scenario, r.With} {
		if s.e.changed(file) != nil && s.scenarios[file] == nil {
			return nil, fmt.Errorf("%s cannot be run", file)
		}
	}
	if read := s.scenarios[r.Scenario]; read != nil {
		return read, nil
	}
	data, err := fs.ReadFile(s.e.Files, ownFolder+"/"+r.Scenario)
	if err != nil {
		return nil, err
	}
	var sets []string
	if c := s.e.changed(r.With); c != nil {
		for _, place := range c.May {
			if v := valueAt(s.trees[c.File], place); v != nil {
				sets = append(sets, place+"="+v.Flow())
			}
		}
	}
	return scenario.Parse(r.Scenario, data, sets)
}

// valueAt is what stands at a place, nil if nothing does.
func valueAt(tree *yamlspec.Value, place string) *yamlspec.Value {
	if v := tree.At(place); v != nil && v.Path() == place {
		return v
	}
	return nil
}

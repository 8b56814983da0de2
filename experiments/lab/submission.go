package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/experiments/analysis/bound"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// submittedFile limits a student's file, which must be a short regular file.
var submittedFile = files.Kind{Name: "a submitted file", Most: 256 << 10, Plain: true}

// Submission holds the files that a student submitted.
type Submission struct {
	e       *Exercise
	folder  string
	paths   map[string]string  // of the files found, by the exercise's names for them
	answers map[string]float64 // in base units, predictions as they were locked
	// predicted holds the predictions in answers.yaml, as written.
	predicted map[string]string
	sentences map[string]string
	evidence  map[string][]byte // pictures and outputs by file
	// unread holds the mistakes of answers by name; nil if the file cannot be read at all.
	unread map[string]string
	// scenarios holds the changed scenarios by file, sources their content.
	scenarios map[string]*scenario.Scenario
	trees     map[string]*yamlspec.Value
	// programs holds the sources of controllers by file.
	programs map[string][]byte
	// found holds the bounds of runs by folder and seed, once they are known.
	found map[string]map[uint64]*bound.Discipline
	// Problems holds the mistakes by file. Checks that need such a file fail.
	Problems map[string]string
	// Mistakes holds the problems as errors with positions, for editors.
	Mistakes []error
	// Warnings holds likely mistakes in controllers that can be run.
	Warnings []string
}

// Submit reads a student's files in a folder, and in further ones that have those of its archives. It runs nothing and
// opens no other files.
func Submit(e *Exercise, folder string, further ...string) *Submission {
	s := &Submission{
		e: e, folder: folder, answers: map[string]float64{}, predicted: map[string]string{},
		scenarios: map[string]*scenario.Scenario{}, trees: map[string]*yamlspec.Value{},
		sentences: map[string]string{}, evidence: map[string][]byte{},
		programs: map[string][]byte{}, found: map[string]map[uint64]*bound.Discipline{}, Problems: map[string]string{},
	}
	s.paths, s.Warnings = e.locate(append([]string{folder}, further...))
	for _, file := range e.plainSubmitted() {
		s.note(file, s.take(file, file))
	}
	for _, file := range slices.Concat(e.Pictures, e.Outputs) {
		data, err := files.Read(s.path(file), evidenceFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it comes of a run, and is not there at the start
		}
		s.evidence[file] = data
		s.note(file, plainError(file, err))
	}
	if e.predicts() {
		s.note(LockedFile, s.takeLocked())
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

// takeOne reads the only existing file among some names.
func (s *Submission) takeOne(names []string) error {
	there := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !s.exists(name) })
	switch len(there) {
	case 0:
		return s.take(names[0], strings.Join(names, " or "))
	case 1:
		return s.take(there[0], there[0])
	}
	return fmt.Errorf("%s exist, but only one can be submitted: move the others away",
		strings.Join(there, " and "))
}

// take reads a file; called is its name in an error if it is missing.
func (s *Submission) take(file, called string) error {
	data, err := files.Read(s.path(file), submittedFile)
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
	spec, err := controllerfile.Parse(file, data, nil)
	if err != nil {
		return err
	}
	s.programs[file] = data
	s.Warnings = append(s.Warnings, spec.File.Warnings...)
	return nil
}

// plainError returns an error without paths of the grading machine.
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

// readAnswers reads answers.yaml: a number with its unit for each question. An empty answer counts as missing and is
// no mistake. If the file is no YAML, each line that is gives its answer: a mistake spoils only the answers that have
// it.
func (s *Submission) readAnswers(data []byte) error {
	s.unread = map[string]string{}
	report := new(yamlspec.Report)
	if root := report.Parse(AnswersFile, data); root != nil {
		s.answersIn(root.Mapping())
		return report.Err()
	}
	report = new(yamlspec.Report)
	seen := map[string]bool{}
	for i, line := range strings.Split(string(data), "\n") {
		name, _, _ := strings.Cut(line, ":")
		if name = strings.Trim(name, " \t\"'"); strings.HasPrefix(name, "#") || name == "" || seen[name] {
			continue
		}
		seen[name] = true
		own := new(yamlspec.Report)
		if root := own.Parse(AnswersFile, []byte(strings.Repeat("\n", i)+line)); root != nil {
			s.answersIn(root.Mapping())
		} else {
			s.unread[name] = firstLine(own.Err().Error())
		}
		report.Add(own)
	}
	return report.Err()
}

// answersIn reads the answers of a mapping.
func (s *Submission) answersIn(m *yamlspec.Mapping) {
	for i := range s.e.Answers {
		q := &s.e.Answers[i]
		v := m.Get(q.Name)
		if v == nil || v.Raw() == "" && !v.IsMapping() && !v.IsSequence() {
			continue
		}
		if q.Sentence {
			s.sentences[q.Name] = v.Raw()
			continue
		}
		x, err := q.Kind.Parse(v.Raw())
		if err != nil {
			v.Errorf("%v", err)
			s.unread[q.Name] = err.Error()
			continue
		}
		if q.Predicted {
			s.predicted[q.Name] = v.Raw() // it counts once it is locked
		} else {
			s.answers[q.Name] = x
		}
	}
	m.Done()
}

// readScenario reads a changed scenario. It may differ from the exercise's only in values that the student may change,
// so that it names no other files.
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

// compare reports differences between a student's scenario and the exercise's that are not allowed. at is the nearest
// value in the student's file.
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
		at.Errorf("%s must not change (you may change %s): restore it, or write the file anew with pausenet lab start", path,
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

// with returns a scenario whose runs may use the student's controllers. The meter counts the steps of their calls.
func (s *Submission) with(u *scenario.Scenario, meter *controllerfile.Meter) (*scenario.Scenario, error) {
	c := *u
	for _, file := range slices.Sorted(maps.Keys(s.programs)) {
		spec, err := controllerfile.Parse(file, s.programs[file], meter)
		if err == nil {
			c.Catalog, err = c.Catalog.With(spec)
		}
		if err != nil {
			return nil, err
		}
	}
	return &c, nil
}

// spent counts the calls of controllers and their steps.
type spent struct{ calls, steps atomic.Uint64 }

func (s *spent) took(steps uint64) {
	s.calls.Add(1)
	s.steps.Add(steps)
}

// scenario returns the scenario of a run: the student's or the exercise's, with the student's values if the run has
// with.
func (s *Submission) scenario(r *Run) (*scenario.Scenario, error) {
	for _, file := range []string{r.Scenario, r.With} {
		if s.e.changed(file) != nil && s.scenarios[file] == nil {
			return nil, fmt.Errorf("%s is missing or has mistakes", file)
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
		for _, path := range c.May {
			if v := valueAt(s.trees[c.File], path); v != nil {
				sets = append(sets, path+"="+v.Flow())
			}
		}
	}
	return scenario.Parse(r.Scenario, data, sets)
}

// valueAt returns the value at a path, nil if there is none.
func valueAt(tree *yamlspec.Value, path string) *yamlspec.Value {
	if v := tree.At(path); v != nil && v.Path() == path {
		return v
	}
	return nil
}

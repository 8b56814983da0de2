package lab

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/lab/picture"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/lazy"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// TrialsFile lists submissions that try an exercise, in an exercise's folder of a teacher's material: honest ones of
// rising quality, of which the last is the reference solution, and cheats. Its text has the student's parameters.
const TrialsFile = "trials.yaml"

// trialFolder has the controllers of trials.
const trialFolder = "trials"

// Trial describes a submission of the teacher's material.
type Trial struct {
	What   string
	Honest bool
	// Copied names the student for whom the answers and settings are right; empty: the student who submits them.
	Copied string

	answers map[string]float64           // by question: how many times the right answer
	set     map[string]map[string]string // by scenario and path
	files   map[string]string            // a file of trials/, by the submitted file's name
	// sentences holds the text of answers by question, in which {NAME} stands for the right value of the check of that
	// name, and {0.9*NAME} for a part of it.
	sentences map[string]string
	// pictures holds by file the plot that is drawn, as RUN/TITLE, or a text that is written instead.
	pictures map[string]string
}

// Trials returns the trials of an exercise: the honest ones first, the best of them last.
func (e *Exercise) Trials(material fs.FS) ([]Trial, error) {
	name := path.Join(e.Name, TrialsFile)
	data, err := fs.ReadFile(material, name)
	if err != nil {
		return nil, err
	}
	report := new(yamlspec.Report)
	var all []Trial
	if root := report.Parse(name, data); root != nil {
		m := root.Mapping()
		for _, item := range few(m.Need("honest")) {
			all = append(all, e.trial(item, true))
		}
		for _, item := range few(m.Need("cheats")) {
			all = append(all, e.trial(item, false))
		}
		m.Done()
	}
	return all, report.Err()
}

func (e *Exercise) trial(v *yamlspec.Value, honest bool) Trial {
	t := Trial{
		Honest: honest, answers: map[string]float64{}, set: map[string]map[string]string{}, files: map[string]string{},
		sentences: map[string]string{}, pictures: map[string]string{},
	}
	m := v.Mapping()
	m.Need("what").String(&t.What)
	if copied := m.Get("copied"); copied != nil {
		copied.String(&t.Copied)
	}
	if answers := m.Get("answers"); answers != nil {
		answers.Mapping().All(func(key, value *yamlspec.Value) {
			var times float64
			if value.Float(&times) {
				t.answers[key.Raw()] = times
			}
			if e.question(key.Raw()) == nil {
				key.Errorf("hand_in has no answer %q", key.Raw())
			}
		})
	}
	if set := m.Get("set"); set != nil {
		set.Mapping().All(func(file, settings *yamlspec.Value) {
			t.set[file.Raw()] = map[string]string{}
			settings.Mapping().All(func(key, value *yamlspec.Value) { t.set[file.Raw()][key.Raw()] = value.Raw() })
		})
	}
	for name, into := range map[string]map[string]string{
		"files": t.files, "sentences": t.sentences,
		"pictures": t.pictures,
	} {
		if texts := m.Get(name); texts != nil {
			texts.Mapping().All(func(key, value *yamlspec.Value) { into[key.Raw()] = value.Raw() })
		}
	}
	m.Done()
	return t
}

// Write writes the trial's files into a folder, as the student of e submits them, with locked predictions.
func (t *Trial) Write(ctx context.Context, e *Exercise, material fs.FS, folder string, o Options) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	of := e
	if t.Copied != "" {
		var err error
		if of, err = e.For(t.Copied); err != nil {
			return err
		}
	}
	write := func(name string, data []byte) error {
		return os.WriteFile(filepath.Join(folder, name), data, 0o600)
	}
	for i := range e.Changed {
		file := e.Changed[i].File
		data, err := fs.ReadFile(e.Files, StartFolder+"/"+file)
		if err != nil {
			return err
		}
		report := new(yamlspec.Report)
		root := report.Parse(file, data)
		for where, value := range t.set[file] {
			if value, err = of.parameters.fill(TrialsFile, value); err != nil {
				return err
			}
			root = root.Override(where + "=" + value)
		}
		if err := report.Err(); err != nil {
			return err
		}
		if err := write(file, []byte(root.Flow())); err != nil {
			return err
		}
	}
	for i := range e.Controllers {
		name, from := e.Controllers[i][0], StartFolder+"/"+e.Controllers[i][0]
		files := e.Files
		if t.files[name] != "" {
			files, from = material, path.Join(e.Name, trialFolder, t.files[name])
		}
		data, err := fs.ReadFile(files, from)
		if err != nil {
			return err
		}
		if err := write(name, data); err != nil {
			return err
		}
	}
	for _, name := range e.Outputs {
		if t.files[name] == "" {
			continue
		}
		data, err := fs.ReadFile(material, path.Join(e.Name, trialFolder, t.files[name]))
		if err != nil {
			return err
		}
		text, err := of.parameters.fill(TrialsFile, string(data))
		if err == nil {
			err = write(name, []byte(text))
		}
		if err != nil {
			return err
		}
	}
	if len(e.Answers) == 0 {
		return nil
	}
	evidence, err := t.evidence(ctx, e, of, folder, o, write)
	if err != nil {
		return err
	}
	if t.Copied != "" {
		o.Made = nil
	}
	truth, err := of.truth(ctx, o)
	if err != nil {
		return err
	}
	text := evidence
	for i := range e.Answers {
		q := &e.Answers[i]
		if times, given := t.answers[q.Name]; given && !q.Sentence {
			unit := ""
			if names := q.Kind.UnitNames(); len(names) > 0 {
				unit = names[0]
			}
			text += q.Name + ": " + strconv.FormatFloat(times*truth[q.Name], 'f', 3, 64) + unit + "\n"
		}
	}
	if err := write(AnswersFile, []byte(text+"# end\n")); err != nil || !e.predicts() {
		return err
	}
	return write(LockedFile, []byte(Submit(e, folder).Sealed()))
}

// evidence draws the trial's pictures, and returns the lines of its sentences for answers.yaml, by the runs of its own
// files.
func (t *Trial) evidence(ctx context.Context, e, of *Exercise, folder string, o Options,
	write func(name string, data []byte) error,
) (lines string, err error) {
	if len(t.sentences)+len(t.pictures) == 0 {
		return "", nil
	}
	if err := write(AnswersFile, nil); err != nil {
		return "", err
	}
	s := Submit(e, folder)
	runs, err := s.runAll(ctx, o)
	if err != nil {
		return "", err
	}
	for file, shows := range t.pictures {
		data := []byte(shows)
		if run, title, plotted := strings.Cut(shows, "/"); plotted && runs[run] != nil {
			data = picture.Draw(runs[run].panel(title))
		}
		if err := write(file, data); err != nil {
			return "", err
		}
	}
	all := measurements(runs)
	for name, text := range t.sentences {
		text = quoted().ReplaceAllStringFunc(text, func(found string) string {
			parts := quoted().FindStringSubmatch(found)
			times, _ := strconv.ParseFloat(cmp.Or(parts[1], "1"), 64)
			c := of.check(parts[2])
			if c == nil {
				err = fmt.Errorf("trial %q: no check %q", t.What, parts[2])
				return ""
			}
			kind, _ := c.kind()
			switch figure := measured(c.Run, &c.Row, all); {
			case c.Is != nil:
				return kind.Text(times * *c.Is)
			case figure != nil:
				return kind.Text(times * c.Times * *figure)
			}
			return "nothing"
		})
		lines += name + ": " + strconv.Quote(text) + "\n"
	}
	return lines, err
}

// quoted matches the place of a value in a trial's sentence.
var quoted = lazy.Regexp(`\{(?:([0-9.]+)\*)?([a-z][a-z0-9_-]*)\}`)

// truth returns the right answers: by the runs that measure them, or as the exercise states them.
func (e *Exercise) truth(ctx context.Context, o Options) (map[string]float64, error) {
	if o.tried != nil && o.tried.truths[e.Student] != nil {
		return o.tried.truths[e.Student], nil
	}
	runs, err := e.common(ctx, o)
	if err != nil {
		return nil, err
	}
	var all []measure.Measurement
	for name, results := range runs {
		for _, summary := range results {
			all = append(all, summary.Measurement(name))
		}
	}
	right := map[string]float64{}
	for i := range e.Checks {
		switch c := &e.Checks[i]; {
		case c.Answer == "", e.question(c.Answer).Sentence:
		case c.Is != nil:
			right[c.Answer] = *c.Is
		default:
			figure := measured(c.Run, &c.Row, all)
			if figure == nil {
				return nil, fmt.Errorf("run %s does not measure %s for answer %s", c.Run, c.Row.Metric, c.Answer)
			}
			right[c.Answer] = c.Times * *figure
		}
	}
	if o.tried != nil {
		o.tried.truths[e.Student] = right
	}
	return right, nil
}

// tried holds what trials of an exercise share.
type tried struct {
	truths map[string]map[string]float64 // by student
	runs   map[string]*made
}

// run returns a run that an earlier trial made with the same files; nil: there is none.
func (t *tried) run(s *Submission, r *Run) *made {
	if t == nil {
		return nil
	}
	return t.runs[s.key(r)]
}

// keep keeps the runs of a trial.
func (t *tried) keep(s *Submission, runs map[string]*made) {
	for name, r := range runs {
		if t != nil {
			t.runs[s.key(s.e.run(name))] = r
		}
	}
}

// key identifies the files that decide a run of a submission.
func (s *Submission) key(r *Run) string {
	key := fmt.Sprintf("%s\x00%s\x00%s", s.e.Student, r.Name, r.CC)
	for _, file := range []string{r.Scenario, r.With} {
		if tree := s.trees[file]; tree != nil {
			key += "\x00" + tree.Flow()
		}
	}
	for _, name := range s.e.controller(r.CC) {
		key += "\x00" + string(s.programs[name])
	}
	return key
}

// TrialGrade holds a trial and its grade.
type TrialGrade struct {
	Trial
	*Grade
}

// Try grades the trials of a teacher's material as submissions of the exercise's student, by its hidden checks if it
// has some. o.Results is a scratch folder.
func (e *Exercise) Try(ctx context.Context, material fs.FS, o Options) ([]TrialGrade, error) {
	e, err := e.WithTeacher(material)
	if err != nil {
		return nil, err
	}
	trials, err := e.Trials(material)
	if err != nil {
		return nil, err
	}
	own := o
	own.Results = filepath.Join(o.Results, "common")
	if o.Made, err = e.common(ctx, own); err != nil {
		return nil, err
	}
	o.tried = &tried{map[string]map[string]float64{}, map[string]*made{}}
	own = o
	var all []TrialGrade
	for i := range trials {
		folder := filepath.Join(o.Results, strconv.Itoa(i))
		own.Results = filepath.Join(folder, "truth")
		if err := trials[i].Write(ctx, e, material, folder, own); err != nil {
			return nil, fmt.Errorf("trial %q: %w", trials[i].What, err)
		}
		each := o
		each.Results = ResultsFolder(folder)
		g, err := Submit(e, folder).Check(ctx, each)
		if err != nil {
			return nil, fmt.Errorf("trial %q: %w", trials[i].What, err)
		}
		all = append(all, TrialGrade{trials[i], g})
	}
	return all, nil
}

// Reference returns the reference solution: the last honest trial.
func Reference(trials []Trial) *Trial {
	for i := range slices.Backward(trials) {
		if trials[i].Honest {
			return &trials[i]
		}
	}
	return nil
}

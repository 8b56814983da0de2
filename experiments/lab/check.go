package lab

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/suite"
)

// Options holds options for checking a submission.
type Options struct {
	Results          string // folder for results and reports
	Jobs             int    // number of concurrent runs
	Version, Command string // for the manifests
	// Begin, if set, is called with the suite before it runs, to lock its folders and show progress. It returns a
	// function to call after the runs.
	Begin func(*suite.Suite) (end func(), err error)
	// Locked makes runs that measure a prediction wait until the student has locked it.
	Locked bool
	// Made holds runs of the exercise that do not depend on the student, by name, as returned by Common. Check does
	// not repeat them.
	Made map[string][]*measure.Summary

	// tried, if set, keeps runs by the files that decide them, and right answers by student, for trials that share them.
	tried *tried

	// Lower limits for tests; 0: mostEvents, and mostSteps beyond freeSteps for each call.
	mostEvents int64
	mostSteps  uint64
}

// Grade holds the result of checking a submission.
type Grade struct {
	Exercise string `json:"exercise"`
	// Student names whose parameters the exercise had.
	Student    string            `json:"student,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Title      string            `json:"title"`
	Points     Points            `json:"points"`
	Of         Points            `json:"of"`
	Checks     []Outcome         `json:"checks"`
	Problems   map[string]string `json:"problems,omitempty"` // mistakes in submitted files, by file
	Warnings   []string          `json:"warnings,omitempty"` // likely mistakes in controllers that can be run
	// Failures holds the reasons why runs of the submission have no figures, such as a mistake that ended one.
	Failures []string `json:"failures,omitempty"`
	// Score holds the geometric mean by which a contest ranks; 0 if a figure is missing or the exercise is no contest.
	Score float64 `json:"score,omitempty"`
	// Curves holds the curves of a contest.
	Curves []Curve `json:"curves,omitempty"`
}

// Full reports whether the grade has all points.
func (g *Grade) Full() bool { return g.Points == g.Of }

// Outcome holds the result of one check.
type Outcome struct {
	Title    string  `json:"title"`
	Passed   bool    `json:"passed"` // it has all points
	Credit   float64 `json:"credit"` // part of the points, without the checks that multiply it
	Points   Points  `json:"points"`
	Of       Points  `json:"of"`
	Required string  `json:"required"`
	Measured string  `json:"measured"`
	Hint     string  `json:"hint,omitempty"`
	LookAt   string  `json:"look_at,omitempty"`
	Report   string  `json:"report,omitempty"` // the page to look at
	Hidden   bool    `json:"hidden,omitempty"` // students do not have this check
}

// Check makes the runs that the exercise needs, and grades the submission. It returns an error for problems of the
// machine or the exercise only; the student's mistakes are in the grade.
func (s *Submission) Check(ctx context.Context, o Options) (*Grade, error) {
	runs, err := s.runAll(ctx, o)
	if err != nil {
		return nil, err
	}
	e := s.e
	g := e.grade(s.Problems)
	g.Warnings = s.Warnings
	all := measurements(runs)
	summaries := map[string][]*measure.Summary{}
	for name, r := range runs {
		summaries[name] = r.results
	}
	g.Failures = s.failures(runs)
	for i := range e.Checks {
		c := &e.Checks[i]
		outcome := Outcome{Title: c.Title, Of: c.Points, Required: c.required(e), Hidden: c.Hidden}
		outcome.Measured, outcome.Credit = s.judge(c, runs, all)
		outcome.Credit = math.Round(1e4*outcome.Credit) / 1e4 // the last digits may differ between processors
		part := outcome.Credit
		for _, name := range c.With {
			k := slices.IndexFunc(e.Checks, func(of Check) bool { return of.Name == name })
			if by := &g.Checks[k]; by.Credit < 1 {
				part *= by.Credit
				if outcome.Credit > 0 {
					outcome.Measured += fmt.Sprintf(", times %s %% for %q", percent(by.Credit), by.Title)
				}
			}
		}
		outcome.Points = Points(math.Round(100*part*float64(c.Points)) / 100)
		outcome.Passed = part == 1
		if outcome.Credit < 1 && !s.blocked(c, runs) { // what multiplies it has a hint of its own
			outcome.Hint, outcome.LookAt = c.Hint, c.LookAt
			if r := runs[c.Run]; r != nil {
				outcome.Report = r.report
			}
		}
		g.Points += outcome.Points
		g.Checks = append(g.Checks, outcome)
	}
	g.Points = Points(math.Round(100*float64(g.Points)) / 100)
	if g.Score = score(e, all); g.Score > 0 {
		g.Curves = curves(e, summaries)
	}
	return g, nil
}

// measurements returns the figures of runs whose numbers can be trusted. If one seed's cannot, the mean over the others
// would be that of other traffic.
func measurements(runs map[string]*made) (all []measure.Measurement) {
	for name, r := range runs {
		if !slices.ContainsFunc(r.results, untrusted) {
			for _, summary := range r.results {
				all = append(all, summary.Measurement(name))
			}
		}
	}
	return all
}

// grade returns a grade without checks.
func (e *Exercise) grade(problems map[string]string) *Grade {
	return &Grade{
		Exercise: e.Name, Title: e.Title, Of: e.Total(), Problems: problems, Student: e.Student,
		Parameters: e.Parameters(),
	}
}

func untrusted(s *measure.Summary) bool { return !s.Trusted() }

// Failed returns the grade of a submission that could not be checked.
func (e *Exercise) Failed(problem string) *Grade {
	g := e.grade(map[string]string{"": problem})
	for i := range e.Checks {
		c := &e.Checks[i]
		g.Checks = append(g.Checks, Outcome{
			Title: c.Title, Of: c.Points, Required: c.required(e), Measured: "not checked", Hidden: c.Hidden,
		})
	}
	return g
}

// failures returns the reasons why the runs of submitted files have no figures, in the order of the exercise.
func (s *Submission) failures(runs map[string]*made) (all []string) {
	for i := range s.e.Runs {
		r := &s.e.Runs[i]
		if !s.blames(r) || runs[r.Name] == nil {
			continue
		}
		text := firstLine(runs[r.Name].problem)
		for _, result := range runs[r.Name].results {
			if v := &result.Verdict; text == "" && !result.Trusted() && len(v.Messages) > 0 {
				text = v.Messages[0]
			}
		}
		if text != "" {
			all = append(all, "run "+r.Name+": "+text)
		}
	}
	return all
}

// blocked reports whether a check cannot pass because of something else: a file or a run that it needs.
func (s *Submission) blocked(c *Check, runs map[string]*made) bool {
	for _, name := range []string{c.Run, c.Row.RelativeTo, c.Like} {
		r := runs[name]
		if r != nil && (r.problem != "" || len(c.Verdict) == 0 && slices.ContainsFunc(r.results, untrusted)) {
			return true
		}
	}
	return c.Answer != "" && s.unread == nil || c.Setting != "" && s.scenarios[c.Changed] == nil
}

// judge returns the measured value of a check, in words, and the part of the points that it has.
func (s *Submission) judge(c *Check, runs map[string]*made, all []measure.Measurement) (text string, credit float64) {
	if c.Answer != "" {
		return s.judgeAnswer(c, runs, all)
	}
	if c.Setting != "" {
		return s.judgeSetting(c)
	}
	if c.Output != "" {
		return s.judgeOutput(c)
	}
	r := runs[c.Run]
	if r.problem != "" {
		return "not run: " + firstLine(r.problem), 0
	}
	switch {
	case c.Picture != "":
		return s.judgePicture(c, r)
	case c.Like != "" && runs[c.Like].problem != "":
		return "nothing to compare with: " + firstLine(runs[c.Like].problem), 0
	case c.Like != "":
		return c.judgePanel(r, runs[c.Like])
	case len(c.Verdict) > 0:
		return judgeVerdict(c, r)
	case c.MostSteps > 0:
		return judgeSteps(c, r)
	}
	v, err := s.figure(c, all)
	if err != nil {
		return "no bound: " + firstLine(err.Error()), 0
	}
	if v == nil {
		return r.unmeasured(c, runs), 0
	}
	return c.judged(*v)
}

// judged returns a value in words with its credit: 1 within the bounds, 0 from Zero on, and linear in between.
func (c *Check) judged(v float64) (text string, credit float64) {
	if (c.Least == nil || v >= *c.Least) && (c.Most == nil || v <= *c.Most) {
		return c.text(v), 1
	}
	if c.Zero != nil {
		full := c.Least
		if full == nil {
			full = c.Most
		}
		credit = max(0, (v-*c.Zero)/(*full-*c.Zero))
	}
	return c.text(v) + shared(credit), credit
}

// shared returns a credit in words, if it is a part of the points.
func shared(credit float64) string {
	if credit <= 0 || credit >= 1 {
		return ""
	}
	return ": " + percent(credit) + " % of the points"
}

func percent(credit float64) string { return number(math.Round(1000*credit) / 10) }

// passes returns the credit of a check that passes or fails.
func passes(passed bool) float64 {
	if passed {
		return 1
	}
	return 0
}

func (s *Submission) judgeSetting(c *Check) (text string, credit float64) {
	if s.scenarios[c.Changed] == nil {
		return c.Changed + " cannot be read", 0
	}
	v := valueAt(s.trees[c.Changed], c.Setting)
	if v == nil {
		return "it is not set", 0
	}
	x, err := c.kindOf.Parse(v.Raw())
	if err != nil {
		return err.Error(), 0
	}
	return c.judged(x)
}

func (s *Submission) judgeAnswer(c *Check, runs map[string]*made,
	all []measure.Measurement,
) (text string, credit float64) {
	answer, given := s.answers[c.Answer]
	q := s.e.question(c.Answer)
	told := s.sentences[c.Answer]
	switch {
	case !given && s.unread == nil:
		return AnswersFile + " cannot be read", 0
	case !given && s.unread[c.Answer] != "":
		return "no answer: " + s.unread[c.Answer], 0
	case q.Sentence && told == "":
		return "no sentence: write one into " + AnswersFile, 0
	case q.Sentence:
	case !given && q.Predicted:
		return fmt.Sprintf("no locked prediction: write it into %s, such as %s: %s, and lock it with pausenet lab predict",
			AnswersFile, q.Name, q.Kind.Example()), 0
	case !given:
		return fmt.Sprintf("no answer: write one into %s, such as %s: %s", AnswersFile, q.Name, q.Kind.Example()), 0
	}
	is := c.Is
	if c.Run != "" {
		if problem := runs[c.Run].problem; problem != "" {
			return "not run: " + firstLine(problem), 0
		}
		figure := measured(c.Run, &c.Row, all)
		if figure == nil {
			return runs[c.Run].unmeasured(c, runs), 0
		}
		product := c.Times * *figure
		is = &product
	}
	if q.Sentence {
		return c.judgeSentence(told, *is)
	}
	credit = c.closeness(answer, *is)
	return "your answer is " + q.Kind.Text(answer) + shared(credit), credit
}

func judgeVerdict(c *Check, r *made) (text string, credit float64) {
	for _, result := range r.results {
		v := &result.Verdict
		text = string(v.Status)
		if len(v.Messages) > 0 {
			text += ": " + v.Messages[0]
		}
		if !slices.Contains(c.Verdict, v.Status) || !slices.ContainsFunc(append(v.Messages, ""),
			func(m string) bool { return strings.Contains(m, c.Message) }) {
			return text, 0
		}
	}
	return text, passes(len(r.results) > 0)
}

func judgeSteps(c *Check, r *made) (text string, credit float64) {
	if len(r.results) == 0 || slices.ContainsFunc(r.results, untrusted) {
		return r.unmeasured(c, nil), 0
	}
	calls, steps := r.spent.calls.Load(), r.spent.steps.Load()
	if calls == 0 {
		return "no call", 0
	}
	each := float64(steps) / float64(calls)
	return fmt.Sprintf("%.1f steps a call", each), passes(each <= float64(c.MostSteps))
}

// unmeasured returns the reason why a figure of a run is missing.
func (r *made) unmeasured(c *Check, runs map[string]*made) string {
	for _, of := range []*made{r, runs[c.Row.RelativeTo]} {
		if of == nil {
			continue
		}
		if of.problem != "" {
			return "nothing to compare with: " + firstLine(of.problem)
		}
		for _, result := range of.results {
			if v := &result.Verdict; !result.Trusted() && len(v.Messages) > 0 {
				return fmt.Sprintf("nothing: the run's numbers cannot be trusted, its verdict is %s: %s", v.Status, v.Messages[0])
			}
		}
	}
	return "nothing: the run does not have this figure (have its flows ended?)"
}

// score returns the geometric mean of the figures that rank submissions, where less is better; 0 if one is missing.
func score(e *Exercise, all []measure.Measurement) float64 {
	var values []float64
	for i := range e.Score {
		v := measured(e.Score[i].Run, &e.Score[i].Row, all)
		if v == nil || *v <= 0 {
			return 0
		}
		values = append(values, *v)
	}
	return math.Round(1e6*geometricMean(values)) / 1e6 // the last digits may differ between processors
}

// ResultsFolder returns the folder for results of the submission in a folder.
func ResultsFolder(folder string) string { return filepath.Join(folder, resultFolder) }

package lab

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/vtime"
)

// Exercise is an exercise as its folder has it.
type Exercise struct {
	Name  string // of its folder
	Title string
	Goal  string // what a student can do afterwards, in a sentence
	// Minutes is how long a student takes; CheckTime how long a check takes on a laptop.
	Minutes   int
	CheckTime vtime.Time

	Answers []Question
	Changed []ChangedScenario
	// Controllers are those of the student's: for each the files that it may be in, of which one is handed in. Runs name
	// the first.
	Controllers [][]string
	Given       []string // files of start/ that are not handed in
	Runs        []Run
	Seeds       map[string][]uint64 // of a scenario's runs, by its file; absent: the scenario's own seed
	Checks      []Check
	// Score are the figures whose geometric mean ranks hand-ins, the least first; empty: the exercise is no contest.
	Score []Score
	// Wrong is what the hand-in in the folder wrong/ comes to.
	Wrong Points

	Files fs.FS // the exercise's folder
}

// Points are what checks are worth; halves are allowed, in whole hundredths.
type Points float64

// Question is a number that a student hands in.
type Question struct {
	Name string
	Text string
	Kind measure.Kind
}

// ChangedScenario is a scenario of start/ that a student hands in changed.
type ChangedScenario struct {
	File string
	May  []string // paths, as --set has them, at and below which it may differ
}

// may says whether a student may change what is at a path.
func (c *ChangedScenario) may(path string) bool {
	return slices.ContainsFunc(c.May, func(may string) bool { return path == may || strings.HasPrefix(path, may+".") })
}

// Run is a run that checks look at.
type Run struct {
	Name     string
	Scenario string // a file of start/ (then it is the student's) or of scenarios/
	CC       string // a controller, a variant of the scenario's, or a file of Controllers
	// With is a changed scenario whose values, where the student may change them, Scenario is run with; empty: none.
	With string
}

// folder is where the run's results go, beside others of its scenario.
func (r *Run) folder() string {
	name := strings.TrimSuffix(r.Scenario, ".yaml")
	if r.With != "" {
		name += "-with-" + strings.TrimSuffix(r.With, ".yaml")
	}
	return name
}

// Score is a figure of a run.
type Score struct {
	Run string
	Row measure.PublishedRow
}

// Check is one thing that a hand-in is required to be.
type Check struct {
	Title   string
	Points  Points
	Chained bool   // it counts only if the check before it passed
	Hint    string // is told of a check that failed
	LookAt  string // what to look at in the report of Run

	Run string // that it is about; empty of an answer that is not a run's figure

	Answer    string           // the answer that is checked; empty: the run is, or a setting
	Setting   string           // the place of Changed whose value is checked: what a solution may cost
	Changed   string           // a changed scenario
	Verdict   []measure.Status // that the run may have; empty: Row is checked
	MostSteps int              // that a call of the run's controller may take on average; 0: Row is checked
	Message   string           // a part of one of the verdict's messages

	// Row is the run's figure. Its values are in the base unit, or in per cent of RelativeTo, another run.
	Row measure.PublishedRow
	// Least and Most bound it, or the setting; nil: not. An answer is compared with it, or with Is; Tolerance is a part of
	// that.
	Least, Most, Is *float64
	Tolerance       float64

	kindOf  *measure.Kind // of Setting
	verdict []string      // as it is read
}

// Total is what all checks are worth.
func (e *Exercise) Total() Points {
	var sum Points
	for i := range e.Checks {
		sum += e.Checks[i].Points
	}
	return sum
}

// Started are the files that a student starts with.
func (e *Exercise) Started() []string {
	all := e.plainHandIns()
	for _, names := range e.Controllers {
		all = append(all, names[0])
	}
	return append(all, e.Given...)
}

// HandIns are what a student hands in, for people: a file each, or one of several such as "control.star or
// control.wasm".
func (e *Exercise) HandIns() []string {
	all := e.plainHandIns()
	for _, names := range e.Controllers {
		all = append(all, strings.Join(names, " or "))
	}
	return all
}

// plainHandIns are the files to be handed in that are no controllers.
func (e *Exercise) plainHandIns() []string {
	var all []string
	if len(e.Answers) > 0 {
		all = append(all, AnswersFile)
	}
	for _, c := range e.Changed {
		all = append(all, c.File)
	}
	return all
}

// Names of files in an exercise's folder, and in a student's.
const (
	ExerciseFile = "exercise.yaml"
	TextFile     = "text.md"
	AnswersFile  = "answers.yaml"
	LabFile      = "lab.yaml" // says of which exercise a student's folder is
	StartFolder  = "start"
	ownFolder    = "scenarios"
	resultFolder = "results"
)

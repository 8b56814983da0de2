package lab

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/vtime"
)

// Exercise represents an exercise as read from its folder.
type Exercise struct {
	Name  string // name of its folder
	Title string
	Goal  string // the skill that a student learns, in one sentence
	// Minutes estimates the time that a student needs; CheckTime the time that a check takes on a laptop.
	Minutes   int
	CheckTime vtime.Time

	Answers []Question
	Changed []ChangedScenario
	// Controllers lists the student's controllers, each with the names that its file may have. The student submits one
	// of these files. Runs use the first name.
	Controllers [][]string
	Given       []string // files of start/ that the student does not submit
	// Counted describes the run that the student diagnoses; nil: none. When a student with a name starts, the run's
	// counters are written to CountersFile, which must be in Given.
	Counted  *Run
	Outputs  []string // text files with the output of programs on a live fabric, or with the fabric's counters
	Pictures []string // PNG files with plots of runs that the student draws and submits
	Runs     []Run
	Seeds    map[string][]uint64 // for a scenario's runs, by its file; absent: the scenario's own seed
	Checks   []Check
	// Wrong holds the points of the submission in the folder wrong/.
	Wrong Points
	// Score lists the figures whose geometric mean ranks submissions, the lowest first; empty: the exercise is no
	// contest.
	Score   []Score
	Student string // student whose parameters Files has; empty: none
	Files   fs.FS  // the exercise's folder, with the student's parameters in its texts

	source     fs.FS // the folder without parameters filled in
	hidden     bool  // Checks include those of a teacher's hidden.yaml
	parameters *parameters
}

// Points counts points, with at most two decimals.
type Points float64

// Question describes a question whose answer is a number.
type Question struct {
	Name string
	Text string
	Kind measure.Kind
	// Sentence marks an answer in words, whose numbers are checked; it has no Kind.
	Sentence bool
	// Predicted answers are locked before the runs that measure them (see Lock).
	Predicted bool
}

// ChangedScenario describes a scenario of start/ that a student changes and submits.
type ChangedScenario struct {
	File string
	May  []string // paths, as for --set, below which it may differ
}

// may reports whether a student may change the value at a path.
func (c *ChangedScenario) may(path string) bool {
	return slices.ContainsFunc(c.May, func(may string) bool { return path == may || strings.HasPrefix(path, may+".") })
}

// Run describes a run that checks use.
type Run struct {
	Name     string
	Scenario string // a file of start/ (the student's) or of scenarios/
	CC       string // a controller, a variant of the scenario's, or a file of Controllers
	// With names a changed scenario, or is empty. The run takes its values at the paths that the student may change, and
	// everything else from Scenario.
	With string
}

// folder returns the folder of the run's results, next to other runs of its scenario.
func (r *Run) folder() string {
	name := strings.TrimSuffix(r.Scenario, ".yaml")
	if r.With != "" {
		name += "-with-" + strings.TrimSuffix(r.With, ".yaml")
	}
	return name
}

// Score describes a figure of a run that counts for the ranks.
type Score struct {
	Run string
	Row measure.PublishedRow
}

// Check describes one requirement of a submission.
type Check struct {
	Name   string // for With; may be empty
	Title  string
	Points Points
	// With names other checks. The credit of this one is multiplied by the credit of each.
	With   []string
	Hint   string // shown if the check misses points
	LookAt string // the part of the report of Run to look at

	Run string // the run of the check; empty for an answer that no run measures

	Answer    string           // the answer to check; empty: check a run or a setting
	Setting   string           // the path in Changed whose value is checked, for limits on a solution's cost
	Changed   string           // a changed scenario
	Verdict   []measure.Status // accepted verdicts of the run; empty: check Row
	Hidden    bool             // it is a teacher's, and students do not have it
	MostSteps int              // maximum average steps of a call of the run's controller; 0: check Row
	Message   string           // a part of one of the verdict's messages
	// Panel names a plot of the run by its title. The check compares its first series with that of the run Like, or with
	// the curve in the student's file Picture.
	Panel, Like, Picture string
	// Output names the student's file with the output of perftest or with counters. The check compares its figure Value,
	// which is "bandwidth", "bytes", "iterations" or the name of a counter, with Is.
	Output, Value string

	// Row describes the figure of the run, in the base unit, or in percent of RelativeTo, another run.
	Row measure.PublishedRow
	// A figure or setting from Least to Most gets full credit; nil: no bound. Beyond a bound the credit falls to 0 at
	// Zero; if Zero is nil, it is 0 at once.
	Least, Most, Zero *float64
	// An answer is compared with Is, or with Times the figure. A relative error up to Tolerance gets full credit, one of
	// Miss or more gets none. A Miss of 0 equals Tolerance.
	Is                     *float64
	Times, Tolerance, Miss float64

	kindOf *measure.Kind // of Setting
}

// Total returns the points of all checks.
func (e *Exercise) Total() Points {
	var sum Points
	for i := range e.Checks {
		sum += e.Checks[i].Points
	}
	return sum
}

// Started returns the files that a student starts with.
func (e *Exercise) Started() []string {
	all := e.plainSubmitted()
	for _, names := range e.Controllers {
		all = append(all, names[0])
	}
	return append(all, e.Given...)
}

// Submitted returns the files that a student submits, in words: one file each, or alternatives such as "control.star or
// control.wasm".
func (e *Exercise) Submitted() []string {
	all := slices.Concat(e.plainSubmitted(), e.Pictures, e.Outputs)
	if e.predicts() {
		all = append(all, LockedFile)
	}
	for _, names := range e.Controllers {
		all = append(all, strings.Join(names, " or "))
	}
	return all
}

// predicts reports whether some answers are predictions.
func (e *Exercise) predicts() bool {
	return slices.ContainsFunc(e.Answers, func(q Question) bool { return q.Predicted })
}

// plainSubmitted returns the submitted files except controllers and locked predictions.
func (e *Exercise) plainSubmitted() []string {
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
	// CountersFile holds the counters of all nodes after the exercise's run Counted, which students do not see.
	CountersFile = "counters.txt"
	LabFile      = "lab.yaml" // names the exercise and the student of a student's folder
	LockedFile   = "predictions.yaml"
	StartFolder  = "start"
	ownFolder    = "scenarios"
	resultFolder = "results"
)

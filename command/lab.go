package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/lab"
	"github.com/pausenet/pausenet/experiments/suite"
	"github.com/pausenet/pausenet/internal/escape"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
)

func newLabCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "lab",
		Short: "Do exercises that check themselves, or grade them",
		Long: `Do the exercises of a course on lossless fabrics. Each has a text, files to
change, and checks with points and hints. No root and no network are needed.`,
		Example: `  pausenet lab list
  pausenet lab start pfc
  pausenet lab check pfc`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newLabListCommand(), newLabShowCommand(), newLabStartCommand(), newLabPredictCommand(),
		newLabCheckCommand(),
		newLabGradeCommand(), newLabTeacherCommand(), newLabGradeOneCommand(), newLabGradebookCommand(), newLabTestCommand(),
		newLabTournamentCommand())
	return c
}

// listedExercise represents an exercise in the output of "lab list -o json".
type listedExercise struct {
	Name    string     `json:"name"`
	Title   string     `json:"title"`
	Goal    string     `json:"goal"`
	Minutes int        `json:"minutes"`
	Points  lab.Points `json:"points"`
	HandIns []string   `json:"hand_in"`
}

func newLabListCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the exercises in the order of the course",
		Long:    `List the exercises in the order of the course.`,
		Example: `  pausenet lab list`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var all []listedExercise
			t := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "EXERCISE\tMINUTES\tPOINTS\tTOPIC")
			for _, name := range lab.Names() {
				e, err := lab.Builtin(name)
				if err != nil {
					return err
				}
				all = append(all, listedExercise{e.Name, e.Title, e.Goal, e.Minutes, e.Total(), e.Submitted()})
				fmt.Fprintf(t, "%s\t%d\t%v\t%s\n", e.Name, e.Minutes, e.Total(), e.Title)
			}
			if structured(format) {
				return writeStructured(c.OutOrStdout(), format, all)
			}
			return t.Flush()
		},
	}
	formatFlag(c, &format)
	return c
}

// completeExercise completes names of exercises, and folders.
func completeExercise(c *cobra.Command) {
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return lab.Names(), cobra.ShellCompDirectiveFilterDirs
	}
}

func newLabShowCommand() *cobra.Command {
	var student string
	c := &cobra.Command{
		Use:   "show NAME|FOLDER",
		Short: "Print an exercise's text, and what its checks require",
		Long: `Print the text of an exercise, and what its checks require for all points and
for none. FOLDER is the folder of an exercise, or your own folder from "lab
start". Your own folder also has your parameters.`,
		Example: `  pausenet lab show pfc
  pausenet lab show pfc --student anna`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			name := args[0]
			if of, who, err := lab.Started(name); err == nil && (of == name || !slices.Contains(lab.Names(), name)) {
				name, student = of, cmp.Or(student, who)
			}
			e, err := lab.LoadFor(name, "", "", student)
			if err != nil {
				return badInput(err)
			}
			text, err := e.Text()
			if err != nil {
				return badInput(err)
			}
			w := people(c.OutOrStdout())
			fmt.Fprintf(w, "%s\n\n%d minutes, %v points. Files to hand in: %s. A check takes about %v.\n\n",
				paragraphs(strings.TrimSpace(text)), e.Minutes, e.Total(), strings.Join(e.Submitted(), ", "), e.CheckTime)
			for i := range e.Checks {
				required, with := e.Requirement(&e.Checks[i])
				fmt.Fprintf(w, "  %4v  %s\n        %s\n", e.Checks[i].Points, e.Checks[i].Title, required)
				if len(with) > 0 {
					fmt.Fprintf(w, "        multiplied by: %s\n", strings.Join(with, "; "))
				}
			}
			return nil
		},
	}
	studentFlag(c, &student)
	completeExercise(c)
	return c
}

// studentFlag adds --student, the name by which an exercise's parameters are drawn.
func studentFlag(c *cobra.Command, student *string) {
	c.Flags().StringVar(student, "student", "", "your `name`, as in your teacher's list: parameters are drawn by it")
	completeNothing(c, "student")
}

func newLabStartCommand() *cobra.Command {
	var (
		student, teacher string
		notebook         bool
	)
	c := &cobra.Command{
		Use:   "start NAME|FOLDER [INTO]",
		Short: "Copy an exercise's files into a folder",
		Long: `Copy the files that you change in an exercise, and its text, into the folder
INTO; the default is the exercise's name. Existing files are not overwritten.
Rates, sizes and times of an exercise differ between students: --student names
you. A teacher uses --teacher to hand out incidents that students cannot make.

--notebook adds NAME.ipynb for Jupyter: the text, and cells that run your files,
check them and draw the runs. It needs the Python package pausenet.`,
		Example: `  pausenet lab start pfc --student anna
  pausenet lab start pfc my-solution --student anna --notebook`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			e, err := lab.LoadFor(args[0], "", teacher, student)
			if err != nil {
				return badInput(err)
			}
			reference, folder := args[0], e.Name
			if !slices.Contains(lab.Names(), reference) { // a teacher's folder, as an absolute path
				if reference, err = filepath.Abs(reference); err != nil {
					return badInput(err)
				}
			}
			if len(args) > 1 {
				folder = args[1]
			}
			names, err := lab.Start(c.Context(), e, reference, folder, notebook)
			if err != nil {
				return badInput(err)
			}
			w := c.OutOrStdout()
			for _, name := range names {
				fmt.Fprintf(w, "  %s\n", filepath.Join(folder, name))
			}
			if text := e.ParameterText(); text != "" {
				fmt.Fprintf(w, "\nyour parameters:   %s\n", text)
			}
			fmt.Fprintf(w, "\nread the text:     pausenet lab show %s\n", folder)
			if slices.ContainsFunc(e.Answers, func(q lab.Question) bool { return q.Predicted }) {
				fmt.Fprintf(w, "lock predictions:  pausenet lab predict %s\n", folder)
			}
			fmt.Fprintf(w, "check your files:  pausenet lab check %s\n", folder)
			return nil
		},
	}
	studentFlag(c, &student)
	c.Flags().StringVar(&teacher, "teacher", "",
		"`folder` or archive of a teacher's material, whose parameters replace the exercise's")
	c.Flags().BoolVar(&notebook, "notebook", false, "add a notebook for Jupyter")
	completeExercise(c)
	return c
}

func newLabPredictCommand() *cobra.Command {
	var f labCheckFlags
	c := &cobra.Command{
		Use:   "predict [FOLDER]",
		Short: "Lock your predictions before you measure",
		Long: `Lock the predictions in FOLDER/answers.yaml (default: the current folder) by
writing them into FOLDER/predictions.yaml. Only locked predictions get points,
by how close they are. check runs the measurements of a prediction only after it
is locked.`,
		Example: `  pausenet lab predict pfc`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			folder := "."
			if len(args) > 0 {
				folder = args[0]
			}
			e, err := f.load(c.ErrOrStderr(), folder)
			if err != nil {
				return badInput(err)
			}
			s, err := lab.Lock(e, folder)
			if err != nil {
				return badInput(err)
			}
			w := people(c.OutOrStdout())
			for _, name := range slices.Sorted(maps.Keys(s.Predictions())) {
				fmt.Fprintf(w, "  %s: %s\n", name, s.Predictions()[name])
			}
			fmt.Fprintf(w, "\nlocked in %s\n", filepath.Join(folder, lab.LockedFile))
			return nil
		},
		ValidArgsFunction: completeFolders,
	}
	f.exerciseFlags(c)
	return c
}

type labCheckFlags struct {
	exercise string
	student  string
	hidden   string
	teacher  string
	format   string
	jobs     int
}

func newLabCheckCommand() *cobra.Command {
	var f labCheckFlags
	c := &cobra.Command{
		Use:   "check [FOLDER]",
		Short: "Check your solution: measurements, points and hints",
		Long: `Check the solution in FOLDER (default: the current folder). check runs the
exercise's scenarios. For each check it prints what it requires, the
measurement and the points, with a hint and a report if it is not met. The
results are in FOLDER/results.

The exit code is 0 for full marks, and 1 otherwise.`,
		Example: `  pausenet lab check pfc
  pausenet lab check --exercise my-exercise anna`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			folder := "."
			if len(args) > 0 {
				folder = args[0]
			}
			return f.run(c, folder)
		},
		ValidArgsFunction: completeFolders,
	}
	f.exerciseFlags(c)
	flags := c.Flags()
	flags.StringVar(&f.hidden, "hidden", "", "a teacher's `folder` with hidden.yaml and its scenarios")
	flags.StringVar(&f.teacher, "teacher", "", "`folder` or archive of a teacher's material: adds its hidden checks")
	jobsFlag(c, &f.jobs, "runs")
	formatFlag(c, &f.format, formatGradescope, formatClassroom)
	completeFolder(c, "hidden")
	c.MarkFlagsMutuallyExclusive("hidden", "teacher")
	return c
}

// Formats of grades: Gradescope's results.json, and GitHub Classroom's.
const (
	formatGradescope = "gradescope"
	formatClassroom  = "classroom"
)

func (f *labCheckFlags) run(c *cobra.Command, folder string) error {
	if err := errors.Join(notEmpty(c, "exercise"), checkJobs(c, &f.jobs)); err != nil {
		return err
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return badInput(fmt.Errorf("no folder %s (create it with \"pausenet lab start NAME\")", folder))
	}
	if err := files.NoLink(folder, lab.ResultsFolder(folder)); err != nil {
		return badInput(fmt.Errorf("%w (remove it)", err))
	}
	e, err := f.load(c.ErrOrStderr(), folder)
	if err != nil {
		return badInput(err)
	}
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	began := time.Now()
	g, err := lab.Submit(e, folder).Check(ctx, f.options(ctx, folder))
	if err != nil {
		return runError(err)
	}
	var shown any
	switch w := c.OutOrStdout(); f.format {
	case formatJSON, formatYAML:
		shown = g
	case formatGradescope:
		shown = g.Gradescope(time.Since(began).Seconds())
	case formatClassroom:
		shown = g.Classroom()
	default:
		writeGrade(people(w), g)
	}
	if shown != nil {
		if err := writeStructured(c.OutOrStdout(), f.format, shown); err != nil {
			return err
		}
	}
	if !g.Full() {
		return &exitError{exitVerdict, fmt.Errorf("%v of %v points", g.Points, g.Of)}
	}
	return nil
}

// exerciseFlags adds the flags that name the exercise and the student of a folder.
func (f *labCheckFlags) exerciseFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.exercise, "exercise", "",
		"`name` or folder of the exercise (default: the one in FOLDER/lab.yaml)")
	c.Flags().StringVar(&f.student, "student", "", "`name` of the student (default: the one in FOLDER/lab.yaml)")
	completeList(c, "exercise", func([]string) []string { return lab.Names() })
	completeNothing(c, "student")
}

// load returns the exercise of a student's folder, with the student's parameters.
func (f *labCheckFlags) load(w io.Writer, folder string) (*lab.Exercise, error) {
	name, err := f.exerciseOf(w, folder)
	if err != nil {
		return nil, err
	}
	student := f.student
	if _, who, err := lab.Started(folder); err == nil {
		student = cmp.Or(student, who)
	}
	return lab.LoadFor(name, f.hidden, f.teacher, student)
}

// exerciseOf returns the name or folder of the exercise to check a folder against. Students can edit the folder's
// lab.yaml, and could name an easier exercise there. So the name of a course exercise as the folder's name takes
// precedence, and an exercise outside of the course must be named.
func (f *labCheckFlags) exerciseOf(w io.Writer, folder string) (string, error) {
	if f.exercise != "" {
		return f.exercise, nil
	}
	name, _, err := lab.Started(folder)
	if err != nil || slices.Contains(lab.Names(), name) {
		return name, err
	}
	path, other := escape.Line(filepath.Join(folder, lab.LabFile)), escape.Line(name)
	against := func(exercise string) string {
		return escape.Line(commandLine([]string{"pausenet", "lab", "check", "--exercise", exercise, folder}))
	}
	if base := filepath.Base(folder); slices.Contains(lab.Names(), base) {
		fmt.Fprintf(w, "pausenet: the exercise is %s, by the folder's name. %s names another, %s. To check against "+
			"that:\n  %s\n",
			base, path, other, against(name))
		return base, nil
	}
	fmt.Fprintf(w, "pausenet: %s names an exercise that does not come with pausenet, %s. To check against one that "+
		"does:\n  %s\n",
		path, other, against("NAME"))
	return name, nil
}

func (f *labCheckFlags) options(ctx context.Context, folder string) lab.Options {
	return lab.Options{
		Results: lab.ResultsFolder(folder), Jobs: f.jobs, Version: version(), Command: commandLine(os.Args),
		Locked: true,
		Begin: func(batch *suite.Suite) (end func(), err error) {
			unlock, err := lockResults(ctx, batch)
			if err != nil {
				return nil, err
			}
			progress := newProgress(os.Stderr)
			batch.Started = progress.start(batch)
			return func() {
				progress.wait()
				unlock()
			}, nil
		},
	}
}

// parametersOf returns the parameters of a grade in words.
func parametersOf(g *lab.Grade) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(g.Parameters)) {
		all = append(all, name+" "+g.Parameters[name])
	}
	return strings.Join(all, ", ")
}

// writeGrade prints the grade of a submission.
func writeGrade(w io.Writer, g *lab.Grade) {
	fmt.Fprintf(w, "%s: %s\n", g.Exercise, g.Title)
	if len(g.Parameters) > 0 {
		fmt.Fprintf(w, "parameters of %s: %s\n", cmp.Or(g.Student, "nobody"), parametersOf(g))
	}
	for _, name := range slices.Sorted(maps.Keys(g.Problems)) {
		fmt.Fprintf(w, "\n  %s\n", strings.ReplaceAll(strings.TrimSpace(g.Problems[name]), "\n", "\n  "))
	}
	for _, text := range g.Warnings {
		fmt.Fprintf(w, "\n  warning: %s\n", text)
	}
	for i := range g.Checks {
		o := &g.Checks[i]
		mark := " "
		if o.Passed {
			mark = "x"
		}
		fmt.Fprintf(w, "\n  [%s] %v/%v  %s\n", mark, o.Points, o.Of, o.Title)
		fmt.Fprintf(w, "      required: %s\n      measured: %s\n", o.Required, o.Measured)
		if o.Hint != "" {
			fmt.Fprintf(w, "      hint: %s\n", o.Hint)
		}
		if o.Report != "" {
			fmt.Fprintf(w, "      look at: %s", o.Report)
			if o.LookAt != "" {
				fmt.Fprintf(w, ": %s", o.LookAt)
			}
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintf(w, "\n%v of %v points\n", g.Points, g.Of)
	if g.Score > 0 {
		fmt.Fprintf(w, "score %.4g (lower is better)\n", g.Score)
	}
}

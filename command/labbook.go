package command

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/lab"
	"github.com/pausenet/pausenet/internal/shutdown"
)

func newLabGradebookCommand() *cobra.Command {
	var out string
	var best bool
	c := &cobra.Command{
		Use:   "gradebook GRADES...",
		Short: "Merge the grades of several exercises",
		Long: `Merge folders that "lab grade" has written, one for each exercise of a course.
gradebook writes

  DIR/course.csv     a row per student, a column per exercise, and the total
  DIR/history.csv    all grades of each student, in the order of GRADES

If an exercise was graded several times, the last of GRADES counts.`,
		Example:           `  pausenet lab gradebook grades/pfc grades/ecn --out course`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeFolders,
		RunE: func(c *cobra.Command, folders []string) error {
			if err := notEmpty(c, "out"); err != nil {
				return err
			}
			var all []lab.ClassGrades
			for _, folder := range folders {
				g, err := lab.ReadGrades(folder)
				if err != nil {
					return badInput(err)
				}
				all = append(all, g)
			}
			if err := lab.WriteCourse(out, all, best); err != nil {
				return writeError(err)
			}
			fmt.Fprintf(c.OutOrStdout(), "  course: %s\n  history: %s\n", filepath.Join(out, "course.csv"),
				filepath.Join(out, "history.csv"))
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", "course", "output `folder`")
	c.Flags().BoolVar(&best, "best", false, "the best grade of an exercise counts, not the last")
	completeFolder(c, "out")
	return c
}

type labTestFlags struct {
	teacher, format string
	jobs            int
}

func newLabTestCommand() *cobra.Command {
	var f labTestFlags
	c := &cobra.Command{
		Use:   "test NAME|FOLDER",
		Short: "Test an exercise with its own solutions and wrong answers",
		Long: `Grade an exercise's own submissions: start/, and the folders whose names begin
with solution or wrong. A solution must get all points, wrong/ the points that
exercise.yaml states, any other wrong answer fewer than all, and start/ at most
2. --teacher adds the folders of a teacher's material, and its trials. An honest
trial must get at least the points of every honest trial before it, and a cheat
at most half. A copy of another student's files may get any points.

The exit code is 1 if a submission gets other points.`,
		Example: `  pausenet lab test my-exercise
  pausenet lab test pfc --teacher experiments/lab/teacher`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	flags := c.Flags()
	flags.StringVar(&f.teacher, "teacher", "", "`folder` or archive of the teacher's material")
	jobsFlag(c, &f.jobs, "runs")
	formatFlag(c, &f.format)
	completeExercise(c)
	return c
}

func (f *labTestFlags) run(c *cobra.Command, name string) error {
	if err := checkJobs(c, &f.jobs); err != nil {
		return err
	}
	e, err := lab.Load(name)
	if err != nil {
		return badInput(err)
	}
	var material fs.FS
	if f.teacher != "" {
		if material, err = lab.OpenTeacher(f.teacher); err != nil {
			return badInput(err)
		}
	}
	scratch, err := os.MkdirTemp("", "pausenet-test-")
	if err != nil {
		return runError(err)
	}
	defer os.RemoveAll(scratch)
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	all, err := lab.SelfTest(ctx, e, material, lab.Options{Results: scratch, Jobs: f.jobs, Version: version()})
	if err != nil {
		return runError(err)
	}
	failed := 0
	for _, t := range all {
		if !t.OK {
			failed++
		}
	}
	if structured(f.format) {
		err = writeStructured(c.OutOrStdout(), f.format, all)
	} else {
		t := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "SUBMISSION\tPOINTS\tEXPECTED\tRESULT\tPROBLEM")
		for _, tried := range all {
			result := "ok"
			if !tried.OK {
				result = "failed"
			}
			fmt.Fprintf(t, "%s\t%v of %v\t%s\t%s\t%s\n", tried.Folder, tried.Points, tried.Of, tried.Expected, result,
				tried.Problem())
		}
		err = t.Flush()
	}
	switch {
	case err != nil:
		return err
	case len(all) < 2:
		return badInput(fmt.Errorf("%s has no solution and no wrong answer (add solution/ and wrong/, or --teacher)", e.Name))
	case failed > 0:
		return &exitError{exitVerdict, fmt.Errorf("%d of %d submissions did not get the expected points", failed, len(all))}
	}
	return nil
}

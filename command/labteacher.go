package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/lab"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
)

type teacherFlags struct {
	archive, exercise, student, into string
	jobs                             int
	format                           string
}

func newLabTeacherCommand() *cobra.Command {
	var f teacherFlags
	c := &cobra.Command{
		Use:   "teacher FOLDER|ARCHIVE",
		Short: "List, try or archive a teacher's material",
		Long: `List what a teacher's material has for each exercise: files, and hidden checks
of "lab grade --teacher". The material is a folder with a folder for each
exercise, or a zip archive of one. Programs for students do not contain it.

With --exercise, grade the material's honest solutions and cheats, with the
parameters of --student; --into writes the student's reference solution.`,
		Example: `  pausenet lab teacher teacher.zip
  pausenet lab teacher teacher.zip --exercise aimd --student anna
  pausenet lab teacher my-material --archive teacher.zip`,
		Args:              cobra.ExactArgs(1),
		RunE:              func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
		ValidArgsFunction: cobra.FixedCompletions([]string{"zip"}, cobra.ShellCompDirectiveFilterFileExt),
	}
	flags := c.Flags()
	flags.StringVar(&f.archive, "archive", "", "write the material as an archive into this `file`")
	flags.StringVar(&f.exercise, "exercise", "", "grade the trials of the exercise of this `name`")
	flags.StringVar(&f.into, "into", "", "with --exercise: write the reference solution into this new `folder`")
	flags.StringVar(&f.student, "student", "", "`name` of the student whose parameters the exercise has")
	jobsFlag(c, &f.jobs, "runs")
	formatFlag(c, &f.format)
	completeList(c, "exercise", func([]string) []string { return lab.Names() })
	completeFolder(c, "into")
	completeNothing(c, "student")
	return c
}

func (f *teacherFlags) run(c *cobra.Command, path string) error {
	if err := errors.Join(notEmpty(c, "archive"), notEmpty(c, "exercise"), notEmpty(c, "into"),
		checkJobs(c, &f.jobs)); err != nil {
		return err
	}
	if f.into != "" && f.exercise == "" {
		return badInput(errors.New("--into needs --exercise: name the exercise of the solution"))
	}
	material, err := lab.OpenTeacher(path)
	if err != nil {
		return badInput(err)
	}
	if f.exercise != "" {
		return f.try(c, material)
	}
	t := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "EXERCISE\tFILES\tHIDDEN CHECKS")
	for _, name := range lab.Names() {
		e, err := lab.Builtin(name)
		if err != nil {
			return err
		}
		n := 0
		_ = fs.WalkDir(material, name, func(_ string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				n++
			}
			return nil
		})
		all, err := e.WithTeacher(material)
		if err != nil {
			return badInput(fmt.Errorf("%s: %s: %w", path, name, err))
		}
		hidden := "-"
		if all != e {
			hidden = fmt.Sprintf("%d, %v points in all", len(all.Checks), all.Total())
		}
		fmt.Fprintf(t, "%s\t%d\t%s\n", name, n, hidden)
	}
	if err := t.Flush(); err != nil || f.archive == "" {
		return err
	}
	var b bytes.Buffer
	if err := lab.WriteTeacher(&b, material); err != nil {
		return badInput(err)
	}
	into, err := files.OpenFolder(filepath.Dir(f.archive), filepath.Dir(f.archive))
	if err != nil {
		return writeError(err)
	}
	defer into.Close()
	if err := into.Write(filepath.Base(f.archive), b.Bytes()); err != nil {
		return writeError(err)
	}
	fmt.Fprintf(c.OutOrStdout(), "\n  archive: %s\n", f.archive)
	return nil
}

// triedSubmission represents a trial in the output of "lab teacher --exercise NAME -o json".
type triedSubmission struct {
	Kind   string     `json:"kind"`
	What   string     `json:"what"`
	Points lab.Points `json:"points"`
	*lab.Grade
}

// try grades the trials of an exercise, or writes its reference solution.
func (f *teacherFlags) try(c *cobra.Command, material fs.FS) error {
	e, err := lab.LoadFor(f.exercise, "", "", f.student)
	if err != nil {
		return badInput(err)
	}
	scratch, err := os.MkdirTemp("", "pausenet-try-")
	if err != nil {
		return writeError(err)
	}
	defer os.RemoveAll(scratch)
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	o := lab.Options{Results: scratch, Jobs: f.jobs, Version: version(), Command: commandLine(os.Args)}
	if f.into != "" {
		return f.solve(ctx, c, e, material, o)
	}
	tried, err := e.Try(ctx, material, o)
	if err != nil {
		return runError(err)
	}
	var all []triedSubmission
	t := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KIND\tPOINTS\tSUBMISSION")
	for i := range tried {
		kind := "cheat"
		if tried[i].Honest {
			kind = "honest"
		}
		all = append(all, triedSubmission{kind, tried[i].What, tried[i].Points, tried[i].Grade})
		fmt.Fprintf(t, "%s\t%v\t%s\n", kind, tried[i].Points, tried[i].What)
	}
	if structured(f.format) {
		return writeStructured(c.OutOrStdout(), f.format, all)
	}
	return t.Flush()
}

// solve writes the reference solution.
func (f *teacherFlags) solve(ctx context.Context, c *cobra.Command, e *lab.Exercise, material fs.FS,
	o lab.Options,
) error {
	if _, err := os.Lstat(f.into); err == nil {
		return badInput(fmt.Errorf("%s already exists: name a new folder", f.into))
	}
	trials, err := e.Trials(material)
	if err != nil {
		return badInput(err)
	}
	if err := lab.Reference(trials).Write(ctx, e, material, f.into, o); err != nil {
		return runError(err)
	}
	fmt.Fprintf(c.OutOrStdout(), "%s: the reference solution of %s for %q\n", f.into, e.Name, e.Student)
	return nil
}

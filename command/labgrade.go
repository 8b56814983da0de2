package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/pausenet/pausenet/experiments/lab"
	"github.com/pausenet/pausenet/internal/escape"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/internal/workers"
)

// A submission is graded in a process of its own: if it crashes, or exceeds the limits on time or memory, only its
// own points are lost. The process reads its job as JSON from standard input, which then stays open: its end means
// that the grader has ended, and ends the process. It writes the grade to standard output.

// Limits of a submission's process. The limits on steps and events (package lab) apply first, so that grades do not
// depend on the machine.
const (
	gradeTime   = 10 * time.Minute
	gradeMemory = 2 << 30
	// mostWaiting limits the wall-clock time of a submission, in multiples of the processor time, so that a process
	// that is blocked or gets no processor ends too.
	mostWaiting = 20
	// exitTime is the exit code of a submission's process whose processor time is spent.
	exitTime = 75
	// mostGrade limits the length of a grade, in bytes.
	mostGrade = 16 << 20
)

type gradeFlags struct {
	exercise, hidden, teacher, out string
	jobs                           int
	timeout                        time.Duration
	format                         string
	due, late                      string
	policy                         lab.LatePolicy
}

func newLabGradeCommand() *cobra.Command {
	var f gradeFlags
	c := &cobra.Command{
		Use:   "grade SUBMISSIONS",
		Short: "Grade a class: gradebook, feedback, a page of the class",
		Long: `Grade SUBMISSIONS: a folder or archive per student, or an export of Moodle,
Canvas or Gradescope, as a folder or a zip archive. Each submission is checked
in its own process, with limits on steps, events, memory and time. A student's
name determines the parameters. --teacher adds the hidden checks of a teacher's
material, --hidden those of one folder. grade writes, with --out DIR:

  DIR/gradebook.csv    points per student and check
  DIR/class.html       the class side by side, or the leaderboard of a contest
  DIR/similar.csv      pairs of students with similar controllers
  DIR/grades.json      for "lab gradebook", which merges exercises
  DIR/students/NAME/   feedback.html, grade.json, results.json for Gradescope,
                       classroom.json for GitHub Classroom

Grades are the same on any machine and in any order. A submission that exceeds
--timeout gets no grade and is reported: grade it by hand.`,
		Example: `  pausenet lab grade submissions --exercise pfc
  pausenet lab grade submissions --exercise challenge --teacher teacher.zip`,
		Args:              cobra.ExactArgs(1),
		RunE:              func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
		ValidArgsFunction: completeFolders,
	}
	flags := c.Flags()
	flags.StringVar(&f.exercise, "exercise", "", "`name` or folder of the exercise (required)")
	flags.StringVar(&f.hidden, "hidden", "", "`folder` with hidden.yaml and its scenarios")
	flags.StringVar(&f.teacher, "teacher", "", "`folder` or archive of the teacher's material: adds its hidden checks")
	flags.StringVar(&f.out, "out", "grades", "output `folder`")
	jobsFlag(c, &f.jobs, "submissions")
	flags.DurationVar(&f.timeout, "timeout", gradeTime, "`limit` on a submission's processor time, as a last resort")
	flags.StringVar(&f.due, "due", "", "`time` from which submissions are late, such as \"2026-11-20 23:59\"")
	flags.StringVar(&f.late, "late", "10%", "`percent` of all points that each started day costs, with --due")
	formatFlag(c, &f.format)
	completeList(c, "exercise", func([]string) []string { return lab.Names() })
	completeFolder(c, "hidden")
	c.MarkFlagsMutuallyExclusive("hidden", "teacher")
	completeFolder(c, "out")
	completeNothing(c, "timeout", "due", "late")
	_ = c.MarkFlagRequired("exercise")
	return c
}

func (f *gradeFlags) run(c *cobra.Command, folder string) error {
	if err := errors.Join(notEmpty(c, "exercise"), notEmpty(c, "out"), checkJobs(c, &f.jobs)); err != nil {
		return err
	}
	if f.timeout <= 0 {
		return badInput(fmt.Errorf("--timeout %v: expected a time above 0", f.timeout))
	}
	if err := f.readPolicy(); err != nil {
		return badInput(err)
	}
	e, err := lab.LoadFor(f.exercise, f.hidden, f.teacher, "")
	if err != nil {
		return badInput(err)
	}
	scratch, err := os.MkdirTemp("", "pausenet-grade-")
	if err != nil {
		return runError(err)
	}
	defer os.RemoveAll(scratch)
	found, others, err := lab.Collect(folder, scratch)
	if err != nil {
		return badInput(err)
	}
	for _, name := range others {
		fmt.Fprintf(c.ErrOrStderr(), "pausenet: %s is not a submission; skipped\n", escape.Line(filepath.Join(folder, name)))
	}
	if len(found) == 0 {
		return badInput(fmt.Errorf("%s has no submissions (expected a folder or an archive for each student, or an export "+
			"of "+
			"Moodle, Canvas or Gradescope)", folder))
	}
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	students, err := f.gradeAll(ctx, e, found, scratch)
	if err != nil {
		return runError(err)
	}
	for i := range students {
		f.policy.Apply(e, &found[i], &students[i])
	}
	pairs := lab.Similar(e, found)
	if err := errors.Join(lab.WriteClass(f.out, version(), e, students), lab.WriteSimilar(f.out, pairs)); err != nil {
		return writeError(err)
	}
	return f.show(c.OutOrStdout(), students, pairs)
}

// readPolicy reads the flags about late submissions.
func (f *gradeFlags) readPolicy() error {
	if f.due == "" {
		return nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"} {
		if at, err := time.ParseInLocation(layout, f.due, time.Local); err == nil {
			f.policy.Due = at
		}
	}
	if f.policy.Due.IsZero() {
		return fmt.Errorf("--due %q: expected a time such as \"2026-11-20 23:59\", or with its zone "+
			"2026-11-20T23:59:00+01:00", f.due)
	}
	percent, err := strconv.ParseFloat(strings.TrimSuffix(f.late, "%"), 64)
	if err != nil || !(percent >= 0 && percent <= 100) {
		return fmt.Errorf("--late %q: expected 0%% to 100%%", f.late)
	}
	f.policy.PerDay = percent / 100
	return nil
}

func (f *gradeFlags) show(w io.Writer, students []lab.Student, pairs []lab.Pair) error {
	if structured(f.format) {
		return writeStructured(w, f.format, students)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STUDENT\tPOINTS\tSCORE\tPROBLEM")
	for _, s := range students {
		score := "-"
		if s.Score > 0 {
			score = fmt.Sprintf("%.4g", s.Score)
		}
		fmt.Fprintf(t, "%s\t%v of %v\t%s\t%s\n", escape.Line(s.Name), s.Points, s.Of, score, escape.Line(s.Problem()))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n  gradebook: %s\n  class: %s\n", filepath.Join(f.out, "gradebook.csv"),
		filepath.Join(f.out, "class.html"))
	if len(pairs) > 0 {
		fmt.Fprintf(w, "  similar controllers: %d pairs, in %s\n", len(pairs), filepath.Join(f.out, "similar.csv"))
	}
	return nil
}

// gradeAll grades all submissions, a number of them at a time.
func (f *gradeFlags) gradeAll(ctx context.Context, e *lab.Exercise, found []lab.Found,
	scratch string,
) ([]lab.Student, error) {
	made, err := e.Common(ctx, lab.Options{Results: filepath.Join(scratch, "common"), Jobs: f.jobs, Version: version()})
	if err != nil {
		return nil, err
	}
	students := make([]lab.Student, len(found))
	var all errgroup.Group
	all.SetLimit(f.jobs)
	for i, from := range found {
		all.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			own := filepath.Join(scratch, fmt.Sprint(i))
			defer os.RemoveAll(own)
			g, err := f.grade(ctx, &lab.Job{
				Exercise: f.exercise, Hidden: f.hidden, Teacher: f.teacher, Student: from.Name, Folders: from.Folders,
				Scratch: own, Memory: gradeMemory, Time: f.timeout, Made: made,
			})
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				g = e.Failed(err.Error())
			}
			students[i] = lab.Student{Name: from.Name, Grade: g}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	return students, nil
}

// grade grades a submission in a process of its own. An error concerns only that submission.
func (f *gradeFlags) grade(ctx context.Context, job *lab.Job) (*lab.Grade, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS == "linux" {
		self = "/proc/self/exe" // this program, even if its file has been replaced
	}
	wait := max(f.timeout*mostWaiting, time.Minute)
	within, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	p := exec.CommandContext(within, self, "lab", "grade-one")
	p.Args[0] = "pausenet"
	p.WaitDelay = endTimeout
	p.Env = append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%d", job.Memory/4*3), "GOMAXPROCS=1")
	out := &bounded{most: mostGrade}
	p.Stdout = out
	in, err := p.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := p.Start(); err != nil {
		return nil, err
	}
	_ = json.NewEncoder(in).Encode(job) // if the process has ended, Wait reports it
	err = p.Wait()
	var exit *exec.ExitError
	var g lab.Grade
	switch {
	case within.Err() != nil:
		return nil, fmt.Errorf("waited for %v of wall-clock time without a grade; not graded (grade it by hand, or with "+
			"fewer "+
			"--jobs)", wait)
	case errors.As(err, &exit) && exit.ExitCode() == exitTime:
		return nil, fmt.Errorf("exceeded %v of processor time on this machine; not graded (grade it by hand, "+
			"or use a larger --timeout)", f.timeout)
	case errors.As(err, &exit):
		return nil, fmt.Errorf("the process ended without a grade: it crashed, or needed more than %d MiB of memory",
			job.Memory>>20)
	case err != nil:
		return nil, err
	case json.Unmarshal(out.data.Bytes(), &g) != nil:
		return nil, errors.New("the process wrote an unreadable grade")
	}
	return &g, nil
}

// bounded keeps a limited number of bytes, and discards the rest.
type bounded struct {
	data bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.data.Write(p[:min(len(p), b.most-b.data.Len())])
	return len(p), nil
}

// newLabGradeOneCommand returns the internal command of a submission's process.
func newLabGradeOneCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "grade-one",
		Short:  "Grade one submission (internal: grade starts it, with the job as JSON)",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			return gradeOne(c.Context(), os.Stdin, c.OutOrStdout())
		},
	}
}

// startTime approximates when this process started.
var startTime = time.Now()

// processorTime returns the processor time that this process has used, or the time since its start on systems that do
// not report it.
func processorTime() time.Duration { return cmp.Or(workers.Used(), time.Since(startTime)) }

func gradeOne(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := shutdown.Context(ctx)
	defer stop()
	jobs := json.NewDecoder(in)
	var job lab.Job
	if err := jobs.Decode(&job); err != nil {
		return badInput(fmt.Errorf("read the job: %w", err))
	}
	go func() { // the input ends with the grader, and then this process ends
		_, _ = io.Copy(io.Discard, in)
		shutdown.Begin()
	}()
	if err := limitMemory(job.Memory); err != nil {
		return &exitError{exitEnvironment, err}
	}
	if job.Time > 0 {
		go func() {
			for time.Sleep(job.Time - processorTime()); processorTime() < job.Time; {
				time.Sleep(max(time.Millisecond, job.Time-processorTime()))
			}
			os.Exit(exitTime)
		}()
	}
	debug.SetTraceback("none")
	e, err := lab.LoadFor(job.Exercise, job.Hidden, job.Teacher, job.Student)
	if err != nil {
		return badInput(err)
	}
	g, err := lab.Submit(e, job.Folders[0], job.Folders[1:]...).Check(ctx, lab.Options{
		Results: job.Scratch, Jobs: 1, Version: version(),
		Made: job.Made,
	})
	if err != nil {
		return runError(err)
	}
	for i := range g.Checks {
		g.Checks[i].Report = "" // it is removed with the folder
	}
	return json.NewEncoder(out).Encode(g)
}

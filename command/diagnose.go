package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/analysis/diagnose"
	"github.com/pausenet/pausenet/experiments/counters"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// fabricFile names the file of the fabric in a folder of dumps.
const fabricFile = "fabric.yaml"

type diagnoseFlags struct {
	topology, window, format string
	truth                    string
	seed                     uint64
	jobs, top                int
}

func newDiagnoseCommand() *cobra.Command {
	var f diagnoseFlags
	c := &cobra.Command{
		Use:   "diagnose DIR|FILE...",
		Short: "Find the fault that explains the port counters of a network",
		Long: `Explain the counters of a fabric. diagnose runs the fabric again under single
faults, and ranks the faults by the distance between the counters of the run
and those of the dumps. It prints the nearest with the counters that support
them. No fault runs twice, and the result does not depend on --jobs.

It reads show pfc counters, ethtool -S and dumps of COUNTERS_DB, as counters
writes them, and outputs of perftest's clients and of nccl-tests. A file's
content decides its format, and its name begins with the node's: leaf0.pfc.txt,
h3.ethtool.txt.

The fabric's file is a scenario: the topology, the settings of switches and
hosts, and as its duration the time between reset and dump. It needs no flows.
Without them the traffic comes from the outputs of perftest and nccl-tests, or
is estimated from the bytes that hosts sent and received. A topology alone is
enough with --window.

Faults: PFC storms, slow receivers, wrong DSCP, NICs that ignore CNPs, PFC or
ECN off, wrong XOFF, a watchdog that drops too early, slow links, bit errors,
longer cables, links down.

With --truth, the FILE has answers in place of dumps: a line for each incident,
such as "01, PFC storm, h6". diagnose marks them without printing the truth.
The exit code is 1 if an answer is wrong or missing.`,
		Example: `  pausenet diagnose examples/incidents/01
  pausenet diagnose dumps/*.txt --topology fabric.yaml --window 10ms
  pausenet diagnose --truth examples/incidents-truth.txt answers.txt`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if f.truth == "" {
				return f.run(c, args)
			}
			return errors.Join(excludes(c, "truth", "topology", "window", "seed", "jobs", "top"), f.score(c.OutOrStdout(), args))
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.topology, "topology", "", "`file` of the fabric (default: "+fabricFile+" in DIR)")
	flags.StringVar(&f.window, "window", "", "`time` between reset and dump (default: the duration in the fabric's file)")
	flags.Var((*seedFlag)(&f.seed), "seed", "random `seed` (default: that of the fabric's file)")
	jobsFlag(c, &f.jobs, "runs")
	flags.IntVar(&f.top, "top", 3, "`number` of explanations to print")
	flags.StringVar(&f.truth, "truth", "", "mark the answers in FILE by this `file`, such as examples/incidents-truth.txt")
	completeNothing(c, "window")
	completeNothing(c, "seed")
	completeNothing(c, "top")
	formatFlag(c, &f.format)
	return c
}

func (f *diagnoseFlags) run(c *cobra.Command, args []string) error {
	var window vtime.Time
	if f.window != "" {
		var err error
		if window, err = units.ParseTime(f.window); err != nil || window <= 0 || window > 10*vtime.Second {
			return badInput(fmt.Errorf("--window %s: expected a time above 0 and up to 10 s, such as 10ms", f.window))
		}
	}
	if err := errors.Join(checkJobs(c, &f.jobs), atLeastOne(c.Flags(), "top")); err != nil {
		return err
	}
	names, err := f.files(args)
	if err != nil {
		return badInput(err)
	}
	var d diagnose.Dumps
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err == nil {
			err = d.Read(name, data)
		}
		if err != nil {
			return badInput(err)
		}
	}
	text, err := os.ReadFile(f.topology)
	if err != nil {
		return badInput(fmt.Errorf("the fabric's file: %w (name it with --topology)", err))
	}
	k, source, err := diagnose.NewCase(f.topology, text, &d, window)
	if err != nil {
		return badInput(err)
	}
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	found, err := k.Diagnose(ctx, source, diagnose.Options{Jobs: f.jobs, Seed: f.seed})
	if err != nil {
		return runError(err)
	}
	if structured(f.format) {
		found.Explanations = found.Explanations[:min(f.top, len(found.Explanations))]
		return writeStructured(c.OutOrStdout(), f.format, found)
	}
	return found.Write(people(c.OutOrStdout()), f.top)
}

// score marks a file of answers.
func (f *diagnoseFlags) score(w io.Writer, args []string) error {
	if len(args) > 1 {
		return badInput(errors.New("--truth: expected one file of answers"))
	}
	read := func(name string) ([]diagnose.Answer, error) {
		data, err := files.Input(name, files.Kind{Name: "a list of incidents", Most: 1 << 20})
		if err != nil {
			return nil, err
		}
		all, err := diagnose.ReadAnswers(data)
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return all, err
	}
	truth, err := read(f.truth)
	if err != nil {
		return badInput(err)
	}
	answers, err := read(args[0])
	if err != nil {
		return badInput(err)
	}
	s, err := diagnose.ScoreOf(answers, truth)
	switch {
	case err != nil:
		return badInput(fmt.Errorf("%s: %w", args[0], err))
	case structured(f.format):
		err = writeStructured(w, f.format, s)
	default:
		err = s.Write(people(w))
	}
	if err == nil && s.Right < len(s.Marks) {
		err = &exitError{exitVerdict, fmt.Errorf("%d of %d answers are right", s.Right, len(s.Marks))}
	}
	return err
}

// files returns the dumps in folders and among files, in the order of their names, and sets the fabric's file if a
// folder has it.
func (f *diagnoseFlags) files(args []string) (names []string, err error) {
	given := f.topology
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			names = append(names, arg)
			continue
		}
		err = filepath.WalkDir(arg, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil, entry.IsDir(), strings.HasPrefix(entry.Name(), "."):
			case entry.Name() == fabricFile:
				if f.topology == "" {
					f.topology = path
				}
			case filepath.Ext(path) == ".txt" || filepath.Ext(path) == ".json":
				names = append(names, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == given })
	slices.SortFunc(names, counters.CompareNames)
	switch {
	case f.topology == "":
		return nil, fmt.Errorf("no %s in %s: name the fabric's file with --topology", fabricFile, strings.Join(args, " "))
	case len(names) == 0:
		return nil, fmt.Errorf("no dumps (*.txt, *.json) in %s", strings.Join(args, " "))
	}
	return names, nil
}

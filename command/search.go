package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/explore"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/search"
	"github.com/pausenet/pausenet/internal/shutdown"
)

func newSearchCommand() *cobra.Command {
	var f exploreFlags
	var controller, objective string
	c := &cobra.Command{
		Use:   "search SCENARIO|FAMILY.yaml",
		Short: "Find the worst cases of a family of scenarios",
		Long: `Find the worst cases of a family of scenarios, such as a deadlock, lossless
drops, or flows that are slower under one controller than under another. A
family is a scenario's file with a section "search". The section says which
settings, flows and link failures may vary, and what to look for
(docs/search.md).

Of a plain scenario, a file or a built-in, search makes a family: any flows of
such sizes between any hosts, and one failed link. It looks for traffic whose
mean slowdown is at least twice the lower bound. --cc names another
controller, --objective something else to look for.

A third of the candidates is drawn at random. The others modify the
worst candidate of each cause found so far. Then search removes every flow,
failure and setting that a case does not need. For each cause it writes a
scenario of a few lines, and the command that runs it.

The result depends only on the file and the flags. Every run is kept in a
journal in the output folder: if search is interrupted, the same command
continues.

With --serve or --nats, workers on other machines make the runs
(docs/clusters.md). The result is the same.`,
		Example: `  pausenet search examples/search/deadlock.yaml
  pausenet search incast --cc hpcc
  pausenet search mine.yaml --out found --jobs 1
  pausenet search mine.yaml --serve :7422`,
		Args: f.arguments,
		RunE: func(c *cobra.Command, args []string) error {
			filename, data, err := searched(args[0])
			if err != nil {
				return badInput(err)
			}
			if err := errors.Join(notEmpty(c, "cc"), notEmpty(c, "objective")); err != nil {
				return err
			}
			switch plain := !search.HasSection(data); {
			case !plain && controller+objective != "":
				return badInput(fmt.Errorf("--cc and --objective are for plain scenarios: change search.objective in %s", filename))
			case plain:
				var about string
				if data, about, err = search.Around(filename, data, controller, objective); err != nil {
					return badInput(err)
				}
				fmt.Fprintf(c.ErrOrStderr(), "pausenet: family around %s: %s\n", args[0], about)
			}
			family, err := search.Parse(filename, data)
			if err != nil {
				return badInput(err)
			}
			return f.run(c, family.Name, family.Identity(version()), func(ctx context.Context, o explore.Options) error {
				r, err := family.Search(ctx, o)
				if err != nil {
					return err
				}
				return writeResult(c.OutOrStdout(), f.format, r, func(w io.Writer) { writeSearch(w, r) })
			})
		},
	}
	f.add(c)
	c.Flags().StringVar(&controller, "cc", "", "congestion `controller` of a plain scenario's search (default: its first)")
	c.Flags().StringVar(&objective, "objective", "", "`keys` of search.objective for a plain scenario, such as "+
		"'metric: deadlock, at_least: 1'")
	completeList(c, "cc", controllerWords)
	completeNothing(c, "objective")
	return c
}

// searched reads the file of a family or a scenario, or a built-in scenario.
func searched(name string) (filename string, data []byte, err error) {
	if data, err = scenario.BuiltinSource(name); err == nil {
		return name + ".yaml", data, nil
	}
	return readFamily(name, "search")
}

// readFamily reads the file of a family for search or tune.
func readFamily(name, command string) (filename string, data []byte, err error) {
	if filename, data, err = scenario.ReadSpec(name); os.IsNotExist(err) {
		err = fmt.Errorf("no file %q (%s needs a scenario's file with a section %q: docs/%s.md)", name, command, command,
			command)
	}
	return filename, data, err
}

// exploreFlags holds the flags of search and tune.
type exploreFlags struct {
	serveFlags
	out    string
	jobs   int
	format string
}

func (f *exploreFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.out, "out", "", "output `folder` (default: results/"+c.Name()+"-NAME)")
	jobsFlag(c, &f.jobs, "runs")
	formatFlag(c, &f.format)
	f.serveFlags.add(c, "runs")
	completeFolder(c, "out")
}

// run calls do for a search or tuning with that name and identity. It explains its errors.
func (f *exploreFlags) run(c *cobra.Command, name, identity string,
	do func(context.Context, explore.Options) error,
) error {
	if err := notEmpty(c, "out"); err != nil {
		return err
	}
	audit, err := f.serveFlags.check(c)
	if err != nil {
		return err
	}
	if err := checkJobs(c, &f.jobs); err != nil {
		return err
	}
	o := explore.Options{
		Folder: cmp.Or(f.out, filepath.Join("results", c.Name()+"-"+name)), Jobs: f.jobs, Version: version(),
		Progress: func(line string) { fmt.Fprintln(c.ErrOrStderr(), "pausenet: "+line) },
	}
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	if f.served() {
		err = f.lend(ctx, identity, audit, o, do)
	} else {
		err = do(ctx, o)
	}
	var explained *exitError
	var environment *runner.EnvironmentError
	var other *explore.OtherJournalError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &explained):
		return explained
	case errors.Is(err, context.Canceled):
		return &exitError{exitVerdict, fmt.Errorf("interrupted: run the same command to continue with the runs in %s",
			filepath.Join(o.Folder, explore.JournalName))}
	case errors.As(err, &environment):
		return &exitError{exitEnvironment, err}
	case errors.As(err, &other):
		return badInput(err)
	}
	return runError(err)
}

func writeSearch(w io.Writer, r *search.Result) {
	fmt.Fprintf(w, "%s: %s\n%d candidates, %d cannot run, %s; %s\n", r.Family, r.Objective, r.Candidates, r.Invalid,
		count(r.Interested, "case"), effort(r.Runs, r.Known, r.Spent))
	if len(r.Cases) == 0 {
		fmt.Fprintf(w, "\nno case found (the closest candidate has %s): raise budget, lower at_least, or let more vary\n",
			cmp.Or(r.Nearest, "no value"))
	}
	for i := range r.Cases {
		c := &r.Cases[i]
		fmt.Fprintf(w, "\n%d. %s: %s (under seeds 1 to 5: %s)\n", i+1, c.Cause, c.ValueText, c.Seeds)
		fmt.Fprintf(w, "  why: %s\n", c.Why)
		fmt.Fprintf(w, "  shrunk from %s to %d; %s left; value before: %s\n", count(c.FlowsBefore, "flow"), c.Flows,
			count(c.Faults, "fault"), c.FoundText)
		fmt.Fprintf(w, "  fingerprint %.12s\n  %s\n", c.Fingerprint, c.Command)
	}
}

// effort tells what a search has cost.
func effort(runs, known int, spent time.Duration) string {
	text := fmt.Sprintf("%d runs, %.1f s of processor time", runs, spent.Seconds())
	if spent == 0 {
		text = fmt.Sprintf("%d runs by workers", runs)
	}
	if known > 0 {
		text += fmt.Sprintf(" (and %d runs from the journal)", known)
	}
	return text
}

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/pages/view"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/shutdown"
)

type viewFlags struct {
	run    runFlags
	export exportFlags
	open   bool
	fabric string // name of a live fabric
	web    string
}

func newViewCommand() *cobra.Command {
	f := viewFlags{run: runFlags{plane: "auto", format: "text", record: true}}
	c := &cobra.Command{
		Use:   "view DIR...|SCENARIO|FILE|--fabric NAME",
		Short: "Play runs in a browser: PAUSE as it spreads, queues, flows",
		Long: `Play runs in a browser page: those in each DIR, which is the folder of a run,
of a scenario, or of results. A SCENARIO (a built-in or a file) is run first,
with --record, and with --why if it has at most 1000 flows.

The page is served to browsers on this machine only, at an address that view
prints, until you press Ctrl-C. It needs no internet access. With --export
FILE.html the page becomes one file that works without pausenet. FILE.gif is
an animation of one run, or of two side by side; FILE.png is one moment.

With --fabric the page shows a live fabric, until that ends. With --web=rw it
has buttons that change the fabric.

A DIR has PAUSE of all ports, and queues of the ports that its scenario
samples. Runs made with --record have the queues of all ports.`,
		Example: `  pausenet view results/dcon-burst
  pausenet view dcon-burst --cc dcqcn,dcon
  pausenet view results/dcon-burst --export burst.html
  pausenet view dcon-burst --export burst.gif --from 20ms --to 21ms
  sudo pausenet view --fabric lab`,
		Args: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("fabric") {
				return nil
			}
			return cobra.MinimumNArgs(1)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			// nodes set the variable
			if c.Flags().Changed("fabric") && (len(args) == 0 || f.fabric != os.Getenv(variableOf("fabric"))) {
				return f.live(c, args)
			}
			return f.view(c, args)
		},
		ValidArgsFunction: completeScenarios,
	}
	flags := c.Flags()
	f.export.add(c)
	flags.BoolVar(&f.open, "open", false, "open the page in the browser")
	controllersFlag(c, &f.run.controllers)
	flags.Var((*seedFlag)(&f.run.Seed), "seed", "random `seed` (default: the scenario's)")
	setFlag(c, &f.run.Sets)
	f.fabricFlags(c)
	flags.BoolVar(&f.run.quick, "quick", false, "run the quick form of a long scenario")
	jobsFlag(c, &f.run.Jobs, "runs")
	processorsFlag(c, &f.run.Processors, " (default: all)")
	flags.StringVar(&f.run.Directory, "out", "results", "output `folder` for a SCENARIO")
	flags.BoolVar(&f.run.why, "why", false,
		"record where each flow's time goes (default: if there are at most 1000 flows)")
	flags.BoolVar(&f.run.force, "force", false, "overwrite results of other settings")
	completeFolder(c, "out")
	completeNothing(c, "seed")
	return c
}

// fewFlows limits the number of flows for which view records their time without a flag. Recording takes two to four
// times as long, which is below a second for so few.
const fewFlows = 1000

// runOnly lists flags that apply only to a new run.
var runOnly = []string{"cc", "seed", "set", "quick", "jobs", "processors", "out", "force", "why"}

// live shows a live fabric.
func (f *viewFlags) live(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return badInput(fmt.Errorf("%s: --fabric shows only a live fabric (leave one of them out)", args[0]))
	}
	for _, flag := range slices.Concat([]string{"export"}, pictureFlags, animationFlags, runOnly) {
		if c.Flags().Changed(flag) {
			return badInput(fmt.Errorf("--%s applies to runs, but --fabric shows a live fabric (leave one of them out)", flag))
		}
	}
	return f.viewFabric(c)
}

func (f *viewFlags) view(c *cobra.Command, args []string) error {
	if err := errors.Join(notEmpty(c, "export"), atMostOne(c, "export", "open"), f.export.check(c)); err != nil {
		return err
	}
	if c.Flags().Changed("web") {
		return badInput(errors.New("--web is only for a live fabric: name it with --fabric, or leave --web out"))
	}
	folders, verdict := args, error(nil)
	if made := filepath.Join(f.run.Directory, args[0]); len(args) == 1 && !scenario.IsFile(args[0]) &&
		!isFolder(args[0]) &&
		isFolder(made) && scenario.NamePattern.MatchString(args[0]) {
		folders = []string{made} // results of the file's scenario
	}
	if isFolder(folders[0]) {
		for _, flag := range runOnly {
			if c.Flags().Changed(flag) {
				return badInput(fmt.Errorf("--%s applies to a scenario, but %s has results (leave --%s out; write a page, "+
					"an animation or a picture with --export FILE)", flag, args[0], flag))
			}
		}
	} else {
		if len(args) > 1 {
			return badInput(fmt.Errorf("%s: view takes one scenario, or several folders of results", args[0]))
		}
		if !c.Flags().Changed("why") {
			f.run.whyUpTo = fewFlows
		}
		verdict = f.run.run(c, args, c.Flags().Changed("seed"))
		var folder string
		if folder = f.run.shown(); folder == "" || f.run.interrupted {
			return verdict
		}
		folders = []string{folder}
	}
	title, runs, warnings, err := view.Read(folders)
	if err != nil {
		return badInput(err)
	}
	for _, text := range warnings {
		fmt.Fprintf(c.ErrOrStderr(), "pausenet: %s\n", text)
	}
	if f.export.file != "" {
		if err := f.export.write(c, title, runs); err != nil {
			return err
		}
		return verdict
	}
	return errors.Join(f.serve(c, title, runs), verdict)
}

// shown returns the folder of the scenario that was run, or "" if no run has results.
func (f *runFlags) shown() string {
	for _, all := range f.results {
		for _, r := range all {
			if r != nil {
				return filepath.Join(f.Directory, r.Scenario.Name)
			}
		}
	}
	return ""
}

// serve serves the page until a signal ends the process, which is a success.
func (f *viewFlags) serve(c *cobra.Command, title string, runs [][]byte) error {
	ctx, release := shutdown.Context(c.Context())
	defer release()
	server, err := view.Listen(title, runs)
	if err != nil {
		return &exitError{exitEnvironment, fmt.Errorf("serve the page: %w", err)}
	}
	fmt.Fprintf(c.OutOrStdout(), "%s\n", server.URL())
	fmt.Fprintln(stderr(), "open this address in a browser on this machine; Ctrl-C stops")
	if f.open {
		f.openPage(ctx, server.URL())
	}
	if err := server.Serve(ctx); err != nil {
		return &exitError{exitEnvironment, fmt.Errorf("serve the page: %w", err)}
	}
	return nil
}

// openPage opens a page in the browser, or prints why it cannot.
func (f *viewFlags) openPage(ctx context.Context, url string) {
	if err := openBrowser(ctx, url); err != nil {
		writeWarnings(stderr(), "--open", []string{fmt.Sprintf("%v (open the address yourself)", err)})
	}
}

// openBrowser opens an address in the system's browser.
func openBrowser(ctx context.Context, url string) error {
	program := map[string][]string{
		"darwin":  {"open"},
		"windows": {"rundll32", "url.dll,FileProtocolHandler"},
	}[runtime.GOOS]
	if program == nil {
		program = []string{"xdg-open"}
	}
	return exec.CommandContext(ctx, program[0], append(program[1:], url)...).Start()
}

package command

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/results/runfolders"
	"github.com/pausenet/pausenet/experiments/results/why"
	"github.com/pausenet/pausenet/internal/lists"
)

func newWhyCommand() *cobra.Command {
	var (
		format string
		all    bool
	)
	c := &cobra.Command{
		Use:   "why DIR [FLOW|TAG]",
		Short: "Explain where the time of a run's flows went",
		Long: `Explain where a flow's time went, to the picosecond. The run must have been
made with --why. The flow's completion time is divided into parts:

  sending          its bytes on the line
  pacing           waiting for its rate, and the signal that lowered it
  waiting for ACK  the window is full
  queueing         behind the flows named
  paused           the port that sent PAUSE, the queue behind it, and so on to
                   the root: a congested port or a malfunctioning NIC

The parts add up to the flow's completion time.

FLOW is a flow's number in flows.csv, or its tag if no other flow has that
tag. With the tag of several flows, or with none, why prints the sum over the
flows.`,
		Example: `  pausenet run dcon-burst --why
  pausenet why results/dcon-burst/dcqcn
  pausenet why results/dcon-burst/dcqcn f0
  pausenet why results/dcon-burst/dcqcn 17 -o json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			run, err := readWhy(args[0], args[1:]...)
			if err != nil {
				return badInput(err)
			}
			word, name := "", "all"
			if len(args) > 1 {
				word, name = args[1], args[1]
			}
			flows, err := run.Flows(word)
			if err != nil {
				return badInput(err)
			}
			if len(flows) == 0 {
				return badInput(errors.New("no flow has started in this run"))
			}
			return writeWhy(c.OutOrStdout(), run, name, flows, format, all)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				if run, err := readWhy(args[0]); err == nil {
					return run.Tags(), cobra.ShellCompDirectiveNoFileComp
				}
			}
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	formatFlag(c, &format)
	c.Flags().BoolVar(&all, "all", false, "print all parts, however small")
	return c
}

// readWhy reads the record of the only run in a folder. Several are listed in the error, with the command for
// the first of them and the same flow.
func readWhy(folder string, flow ...string) (*why.Run, error) {
	locations, err := runfolders.FindRuns(folder)
	if err != nil {
		return nil, err
	}
	if len(locations) > 1 {
		names := make([]string, len(locations))
		for i := range locations {
			if names[i], err = filepath.Rel(folder, locations[i].Path()); err != nil {
				return nil, err
			}
		}
		command := commandLine(append([]string{"pausenet", "why", locations[0].Path()}, flow...))
		return nil, &rundir.FileError{Path: folder, Err: fmt.Errorf("it has %d runs (%s): name one, as in %s",
			len(locations), lists.Few(names), command)}
	}
	return why.Read(locations[0].Path())
}

func writeWhy(w io.Writer, run *why.Run, name string, flows []*why.Flow, format string, all bool) error {
	switch {
	case structured(format):
		return writeStructured(w, format, run.View(flows))
	case len(flows) == 1:
		run.WriteFlow(people(w), flows[0], all)
	default:
		run.WriteFlows(people(w), name, flows, all)
	}
	return nil
}

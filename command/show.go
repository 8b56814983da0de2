package command

import (
	"errors"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/sweep"
)

func newShowCommand() *cobra.Command {
	var (
		format string
		source bool
		sets   []string
	)
	c := &cobra.Command{
		Use:   "show NAME|FILE",
		Short: "Print a scenario, sweep or topology with all settings resolved",
		Long: `Print a scenario or topology with names, shorthands, defaults and --set
resolved, or the points of a sweep. With --source, print the file as its
author wrote it: use a built-in as the start of your own.`,
		Example: `  pausenet show dcon-burst
  pausenet show dcon-burst --set switch.pfc.xoff=256KB -o json
  pausenet show dcon-burst --source > mine.yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSubjects,
		RunE: func(c *cobra.Command, args []string) error {
			if err := errors.Join(atMostOne(c, "source", "set"), atMostOne(c, "source", "output")); err != nil {
				return err
			}
			out := c.OutOrStdout()
			from, err := read(args[0])
			if err == nil && sweep.Is(from.data) {
				if source {
					_, err := rawUnlessTerminal(out).Write(from.data)
					return err
				}
				return showSweep(out, from, format, sets)
			}
			if err != nil {
				return err
			}
			s, err := from.parse(sets)
			if err != nil {
				return err
			}
			switch {
			case source:
				_, err := rawUnlessTerminal(out).Write(s.source)
				return err
			case s.scenario != nil && structured(format):
				return writeStructured(out, format, s.scenario.View())
			case s.scenario != nil:
				return s.scenario.Describe(people(out))
			case structured(format):
				return writeStructured(out, format, s.topology.View())
			}
			return errors.Join(s.topology.Describe(people(out)), scenario.DescribeDefaults(people(out), s.topology))
		},
	}
	formatFlag(c, &format)
	c.Flags().BoolVar(&source, "source", false, "print the file as it is")
	setFlag(c, &sets)
	return c
}

// showSweep prints a sweep's parameters in a few lines, or all of its points.
func showSweep(w io.Writer, from *source, format string, sets []string) error {
	s, err := sweep.Parse(from.filename, from.data)
	if err == nil {
		err = s.Set(sets)
	}
	if err != nil {
		return badInput(err)
	}
	points, err := s.Points(runtime.GOMAXPROCS(0))
	if err != nil {
		return badInput(err)
	}
	if structured(format) {
		outcomes := make([]sweep.Outcome, len(points))
		for i := range outcomes {
			outcomes[i].State = sweep.Waiting
		}
		return writeStructured(w, format, s.View(points, outcomes))
	}
	return s.Describe(people(w), points)
}

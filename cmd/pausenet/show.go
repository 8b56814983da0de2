package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func newShowCommand() *cobra.Command {
	var (
		format string
		source bool
		sets   []string
	)
	c := &cobra.Command{
		Use:   "show NAME|FILE",
		Short: "Print a scenario or topology as it resolves",
		Long: `show prints what a scenario or topology comes to once its names, shorthands, defaults
and --set are resolved. With --source it prints the file as its author wrote it: a
built-in to start your own from.`,
		Example: `  pausenet show dcon-burst
  pausenet show dcon-burst --set switch.pfc.xoff=256KB -f json
  pausenet show dcon-burst --source > mine.yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSubjects,
		RunE: func(c *cobra.Command, args []string) error {
			if err := errors.Join(atMostOne(c, "source", "set"), atMostOne(c, "source", "format"), checkFormat(format)); err != nil {
				return err
			}
			s, err := load(args[0], sets)
			if err != nil {
				return err
			}
			out := c.OutOrStdout()
			switch {
			case source:
				_, err := out.Write(s.source)
				return err
			case s.scenario != nil && format == "json":
				return writeJSON(out, s.scenario.View())
			case s.scenario != nil:
				return s.scenario.Describe(out)
			case format == "json":
				return writeJSON(out, s.topology.View())
			}
			return s.topology.Describe(out)
		},
	}
	formatFlag(c, &format)
	c.Flags().BoolVar(&source, "source", false, "print the file itself")
	setFlag(c, &sets)
	return c
}

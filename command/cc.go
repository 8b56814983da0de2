package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/controllerfile"
	_ "github.com/pausenet/pausenet/controllerfile/star" // languages of controller files
	_ "github.com/pausenet/pausenet/controllerfile/wasm"
)

func newCCCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "cc",
		Short: "Write your own congestion controller in a file, and check it",
		Long: `Write congestion controllers in files, and check them. A file works wherever a
controller's name does: pausenet run incast --cc ./mine.star. The language is
described in docs/controllers-from-files.md.`,
		Example: `  pausenet cc new mine
  pausenet cc check mine.star
  pausenet run incast --cc dcqcn,./mine.star`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newCCNewCommand(), newCCCheckCommand())
	return c
}

func newCCCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "Check that a congestion controller is safe to run",
		Long: `Read each FILE and run the controller through random histories of a flow:
packets, ACKs, CNPs, CNMs, losses and timers, on three paths. If the
controller does something that the NIC forbids, such as setting a rate above
the line rate, check reports it with the event that caused it. Likely mistakes
are warnings: numbers without a unit, rates and windows below a packet.`,
		Example: `  pausenet cc check examples/controllers/aimd.star`,
		Args:    cobra.MinimumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return controllerfile.Extensions(), cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(c *cobra.Command, names []string) error {
			var errs []error
			for _, name := range names {
				if !controllerfile.Is(name) {
					errs = append(errs, fmt.Errorf("%s: a congestion controller's file must end in .%s", name,
						strings.Join(controllerfile.Extensions(), " or .")))
					continue
				}
				spec, err := controllerfile.Read(name)
				var warnings []string
				if err == nil {
					if warnings, err = controllerfile.Check(spec); err != nil {
						err = fmt.Errorf("%s: %w", name, err)
					}
				}
				if err != nil {
					errs = append(errs, err)
					continue
				}
				writeWarnings(c.ErrOrStderr(), name, warnings)
				fmt.Fprintf(c.OutOrStdout(),
					"%s is valid: tested with %d random histories of a flow on each of %d paths; requires of switches: %v\n",
					name, controllerfile.Histories, len(controllerfile.Paths), spec.Needs)
			}
			return badInput(errors.Join(errs...))
		},
	}
}

func newCCNewCommand() *cobra.Command {
	var language string
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "Write a controller's file to start from",
		Long: `Write the file of a congestion controller that works, with comments that
explain each part. Existing files are not overwritten.`,
		Example: `  pausenet cc new mine
  pausenet cc new mine --lang rust`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			made, err := controllerfile.New(args[0], language)
			if err != nil {
				return badInput(err)
			}
			fmt.Fprint(c.OutOrStdout(), made)
			return nil
		},
	}
	c.Flags().StringVar(&language, "lang", controllerfile.Languages()[0],
		"`language`: "+strings.Join(controllerfile.Languages(), ", "))
	completeFlag(c, "lang", controllerfile.Languages()...)
	return c
}

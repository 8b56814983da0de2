//go:build linux

package command

import (
	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/live"
)

// setView represents a changed setting in structured output.
type setView struct {
	Setting  string   `json:"setting"`
	Warnings []string `json:"warnings"`
}

func newSetCommand() *cobra.Command {
	var fabric, format string
	c := &cobra.Command{
		Use:   "set NODE.SETTING=VALUE...",
		Short: "Change settings of a live fabric's switches",
		Long: `Change settings of switches while they work: of one switch by its name, or of
all with the name "switch". set stops at the first setting that it cannot
change, and warns of settings that are allowed but probably wrong.

-o json prints an array with each setting and its warnings.`,
		Example: `  sudo pausenet set leaf0.pfc.xoff=320KB
  sudo pausenet set switch.ecn.kmin=50KB switch.ecn.kmax=200KB`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeSettings(&fabric),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := dial(fabric)
			if err != nil {
				return err
			}
			defer client.Close()
			views := []setView{}
			for _, setting := range args {
				reply, err := client.Ask(live.Request{Verb: "set", Line: setting})
				if err != nil {
					return clientError(err, exitBadInput)
				}
				views = append(views, setView{setting, append([]string{}, reply.Lines...)})
				if !structured(format) {
					writeWarnings(c.ErrOrStderr(), setting, reply.Lines)
				}
			}
			if structured(format) {
				return writeStructured(c.OutOrStdout(), format, views)
			}
			return nil
		},
	}
	fabricFlag(c, &fabric)
	formatFlag(c, &format)
	return c
}

// completeSettings completes settings of the fabric in --fabric.
func completeSettings(fabric *string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		settings := completeLine(*fabric, "set ", prefix)
		return settings, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

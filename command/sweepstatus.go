package command

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/sweep/cluster"
)

// staleStatus sets the age from which a status means that the coordinator is not running. The coordinator writes it
// every second.
const staleStatus = 15 * time.Second

func newSweepStatusCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "status DIR",
		Short: "Show the progress of a sweep that is served to workers",
		Long: `Show how many points of a served sweep are finished, at which rate, how long
the rest may take, and what each worker is doing. Run it on the coordinator's
machine, as the same user.`,
		Example: `  pausenet sweep status results/sweep-intensity`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := cluster.ReadStatus(args[0])
			if errors.Is(err, fs.ErrNotExist) {
				return badInput(fmt.Errorf("%s: no sweep is being served there (the results of a finished sweep are in its "+
					"sweep.csv)",
					args[0]))
			}
			if err != nil {
				return badInput(err)
			}
			if structured(format) {
				return writeStructured(c.OutOrStdout(), format, s)
			}
			if err := s.Describe(c.OutOrStdout()); err != nil {
				return err
			}
			if age := time.Since(s.Written); age > staleStatus {
				fmt.Fprintf(c.OutOrStdout(), "\n  %v old: the coordinator is not running (continue with the same \"pausenet "+
					"sweep\" command)\n", age.Round(time.Second))
			}
			return nil
		},
	}
	formatFlag(c, &format)
	return c
}

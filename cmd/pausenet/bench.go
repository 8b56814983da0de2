package main

import (
	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/bench"
	"github.com/pausenet/pausenet/internal/shutdown"
)

func newBenchCommand() *cobra.Command {
	rounds := 5
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure what a packet-hop costs on this machine, and how fast fabrics come up",
		Long: `bench measures, on this machine, what a packet-hop costs on the wasm plane and, as root, on
the kernel plane beside a bare pass through the kernel, and how fast fabrics are built.
docs/performance.md has results and says how to read them.`,
		Example: `  sudo pausenet bench
  pausenet bench --rounds 1`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := atLeastOne(c.Flags(), "rounds"); err != nil {
				return err
			}
			ctx, stop := shutdown.Context(c.Context())
			defer stop()
			return bench.Run(ctx, c.OutOrStdout(), rounds)
		},
	}
	c.Flags().IntVar(&rounds, "rounds", rounds, "`times` each workload is measured")
	completeNothing(c, "rounds")
	return c
}

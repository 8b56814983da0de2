package command

import (
	"errors"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/bench"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

func newBenchCommand() *cobra.Command {
	o := bench.Options{Rounds: 5, Processors: min(runtime.NumCPU(), engine.MaxLanes)}
	var file string
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure this machine: packet-hops, whole runs, start-up, bring-up",
		Long: `bench measures this machine: what a packet-hop costs on the wasm plane and, as root, on the
kernel plane beside a bare pass through the kernel; how that changes with the size of the
fabric and the number of processors; the time and memory of whole runs, of up to 16384
hosts; how the program starts and how fabrics come up. It takes some ten minutes.
docs/performance.md has results and says how to read them.`,
		Example: `  sudo pausenet bench
  pausenet bench --rounds 1 --out bench.json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(atLeastOne(c.Flags(), "rounds"), checkProcessors(c, engine.PlaneWasm)); err != nil {
				return err
			}
			var err error
			if o.Program, err = os.Executable(); err != nil {
				return err
			}
			ctx, stop := shutdown.Context(c.Context())
			defer stop()
			result, err := bench.Run(ctx, c.OutOrStdout(), o)
			if file == "" {
				return err
			}
			text, marshalling := files.FormatJSON(result)
			return errors.Join(err, marshalling, os.WriteFile(file, text, 0o666))
		},
	}
	flags := c.Flags()
	flags.IntVar(&o.Rounds, "rounds", o.Rounds, "`times` each workload is measured; three at most where it takes seconds")
	flags.StringVar(&file, "out", "", "`file` to write the result to, as JSON")
	completeNothing(c, "rounds")
	c.AddCommand(newBenchAIFabricCommand())
	processorsFlag(c, &o.Processors, "; measured are 1, 2, 4 and so on, up to this (default: all)")
	return c
}

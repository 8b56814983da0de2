package command

import (
	"errors"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/bench"
	"github.com/pausenet/pausenet/internal/jsonfile"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/orchestrator/engine/partition"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

func newBenchCommand() *cobra.Command {
	o := bench.Options{Rounds: 5, Processors: min(runtime.NumCPU(), partition.MaxWorkers)}
	var file string
	c := &cobra.Command{
		Use:   "bench",
		Short: "Rank controllers, test AI fabrics, or measure this machine",
		Long: `Measure how fast pausenet is on this machine: the cost of a packet-hop on the
wasm plane and, as root, on the kernel plane; how that cost changes with the
size of the fabric and the number of processors; time and memory of whole runs
with up to 16384 hosts; start-up of the program and of live fabrics. It takes
about ten minutes. docs/performance.md explains the results.

bench cc and bench ai-fabric measure congestion controllers and fabrics instead.`,
		Example: `  pausenet bench cc
  sudo pausenet bench
  pausenet bench --rounds 1 --out bench.json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(atLeastOne(c.Flags(), "rounds"), checkProcessors(c, plane.Wasm)); err != nil {
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
			text, marshalling := jsonfile.Format(result)
			return errors.Join(err, marshalling, os.WriteFile(file, text, 0o666))
		},
	}
	flags := c.Flags()
	flags.IntVar(&o.Rounds, "rounds", o.Rounds, "`number` of measurements per workload (slow workloads: at most three)")
	flags.StringVar(&file, "out", "", "also write the result to this `file`, as JSON")
	completeNothing(c, "rounds")
	c.AddCommand(newBenchAIFabricCommand(), newBenchCCCommand())
	processorsFlag(c, &o.Processors, "; bench measures 1, 2, 4 and so on, up to this (default: all)")
	return c
}

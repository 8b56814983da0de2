package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/internal/shutdown"
)

type mergeFlags struct {
	sweepFlags
	partial bool
}

func newSweepMergeCommand() *cobra.Command {
	var f mergeFlags
	c := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Merge the shards of a sweep",
		Long: `Merge folders that "pausenet sweep --shard" has written, one per shard. The
result is what the whole sweep would have written on one machine: the same
files, byte for byte, except times.csv. The shards' folders are not changed.
The sweep's original files are not needed.

merge refuses shards of different sweeps, programs or planes, missing or
repeated shards, unfinished points, and files that have changed since.`,
		Example: `  pausenet sweep merge results/sweep-intensity-shard-*`,
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	flags := c.Flags()
	flags.StringVar(&f.out, "out", "", "output `folder` (default: results/sweep-NAME)")
	flags.BoolVar(&f.partial, "partial", false, "merge even if points are missing; sweep.csv lists them as failed")
	flags.BoolVar(&f.force, "force", false, "overwrite results of other settings")
	figuresFlag(c, &f.figures)
	completeFolder(c, "out")
	formatFlag(c, &f.format)
	parquetFlag(c, &f.parquet)
	return c
}

func (f *mergeFlags) run(c *cobra.Command, folders []string) error {
	if err := notEmpty(c, "out"); err != nil {
		return err
	}
	if err := results.CheckFigureFormats(f.figures); err != nil {
		return badInput(fmt.Errorf("--figures: %w", err))
	}
	merged, err := sweep.Shards(folders)
	if err == nil {
		err = merged.Check(f.partial)
	}
	if err != nil {
		return badInput(err)
	}
	aside := f.out == ""
	if aside {
		f.out = sweepFolder(merged.Plan.Sweep)
	}
	for _, folder := range folders {
		if same, err := sameFolder(folder, f.out); err != nil || same {
			return badInput(errors.Join(err, fmt.Errorf("%s is a shard's own folder (choose another with --out)", f.out)))
		}
	}
	runner := merged.Runner(f.out)
	unlock, err := claimFolder(c.Context(), f.out, runner.Overwrites, f.force, aside)
	if err != nil {
		return err
	}
	defer unlock()
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	outcomes, err := merged.Merge(ctx, f.out)
	if err != nil {
		return runError(err)
	}
	return f.show(c, merged.Plan.Sweep, runner, outcomes, ctx.Err() != nil)
}

// sameFolder reports whether two paths refer to one folder. It is false if either does not exist.
func sameFolder(a, b string) (bool, error) {
	first, err := os.Stat(filepath.Clean(a))
	if err != nil {
		return false, err
	}
	second, err := os.Stat(filepath.Clean(b))
	return err == nil && os.SameFile(first, second), nil
}

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
		Short: "Put the shards of a sweep together",
		Long: `merge puts the folders together that sweep --shard has written, one of each shard, and
writes what the sweep would have written on one machine: the same files, byte for byte, but
for times.csv. The shards' folders stay as they are; the files that the sweep was read from
are not needed.

It refuses shards of another sweep, another program or another plane, a shard that is
missing or there twice, points that were not made, and files that were changed since.`,
		Example: `  pausenet sweep merge results/sweep-intensity-shard-*`,
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	flags := c.Flags()
	flags.StringVar(&f.out, "out", "", "`folder` of the sweep (default: results/sweep-NAME)")
	flags.BoolVar(&f.partial, "partial", false, "merge what there is, though points are missing; they are failed in sweep.csv")
	flags.BoolVar(&f.force, "force", false, "overwrite results that were made under other settings")
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
			return badInput(errors.Join(err, fmt.Errorf("%s is a shard's own folder: choose another with --out", f.out)))
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

// sameFolder says whether two paths are of one folder. One that is not there is none.
func sameFolder(a, b string) (bool, error) {
	first, err := os.Stat(filepath.Clean(a))
	if err != nil {
		return false, err
	}
	second, err := os.Stat(filepath.Clean(b))
	return err == nil && os.SameFile(first, second), nil
}

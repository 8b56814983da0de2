package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/train"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

func newTrainCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "train lstm|pid|cells|features|loop",
		Short: "Repeat the training of the LSTM-PID congestion controller",
		Long: `Repeat the training of the LSTM-PID thesis: of the network that predicts a
flow's next RTT, and of the gains of the PID controller that uses it. Three
more commands repeat the thesis's comparisons of networks and data, and show
how well the network predicts RTTs that its own predictions cause
(docs/lstm-pid.md).`,
		Example: `  pausenet train lstm --out lstm.json
  pausenet train pid`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("no part given: choose lstm, pid, cells, features or loop")
		},
	}
	c.AddCommand(newTrainLSTMCommand(), newTrainPIDCommand(), newTrainCellsCommand(), newTrainFeaturesCommand(),
		newTrainLoopCommand())
	return c
}

func newTrainLSTMCommand() *cobra.Command {
	o := train.Options{Seed: 1, Rounds: train.Rounds, Batch: train.Batch, Passes: train.Passes}
	var out string
	c := &cobra.Command{
		Use:   "lstm",
		Short: "Train the network that predicts RTTs",
		Long: `Train the network that predicts RTTs. lstm collects RTTs, one per round trip
of each flow, from random incasts under TIMELY and under PID with its first
gains. It draws 19058 pairs, the same number from each of four ranges of change,
trains in rounds of 800 pairs to train and 200 to test, and tests the network
on runs of other seeds. It prints each round's error next to the thesis's, and
writes

  FILE                  the weights, for --set cc.lstm-pid.weights=FILE
  FILE-loss.svg         loss per round (figure 11 of the thesis)
  FILE-mape.svg         error per round (its table 1)
  FILE-prediction.svg   predicted and measured RTTs (its figure 17)

without FILE's extension in the names of the drawings. Equal seeds and flags
give equal files, byte for byte.

The thesis gives neither the optimiser nor the batch size: pausenet uses Adam,
one pair per step. Nor does it give the number of --passes over a round's
pairs. With --passes 1 the rounds look as in the thesis, but the error on
other runs is 25 % to 75 % larger.`,
		Example: `  pausenet train lstm --out lstm.json
  pausenet run incast --cc pid,lstm-pid --set cc.lstm-pid.weights=lstm.json
  pausenet train lstm --seed 2 --rounds 38 --passes 1 --out weights/`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runTraining(c, &o, out, "lstm.json", func(ctx context.Context) (training, error) {
				r, err := train.LSTM(ctx, &o)
				if err != nil {
					return training{}, err
				}
				weights, err := r.Weights.Format()
				return training{write: r.Write, drawings: r.Drawings, file: weights}, err
			})
		},
	}
	networkFlags(c, &o)
	trainFlags(c, &out, "lstm.json", "the weights")
	return c
}

// networkFlags adds the flags for training a network.
func networkFlags(c *cobra.Command, o *train.Options) {
	flags := c.Flags()
	flags.Var((*seedFlag)(&o.Seed), "seed", "random `seed` of scenarios, samples and initial weights")
	flags.IntVar(&o.Rounds, "rounds", o.Rounds, "`number` of rounds of 800 pairs to train and 200 to test")
	flags.IntVar(&o.Batch, "batch", o.Batch, "`number` of pairs per step of the optimiser")
	flags.IntVar(&o.Passes, "passes", o.Passes, "`number` of passes over a round's pairs")
	completeNothing(c, "seed", "rounds", "batch", "passes")
}

func newTrainCellsCommand() *cobra.Command {
	o := train.Options{Seed: 1, Rounds: train.Rounds, Batch: train.Batch, Passes: train.Passes}
	var out string
	c := &cobra.Command{
		Use:   "cells",
		Short: "Train an LSTM, a GRU and a simple RNN on the same data",
		Long: `Train three kinds of network on the same pairs as "train lstm", each with 16
units and a linear head, and print how well each predicts. The thesis chose
the LSTM by this comparison. cells writes FILE, a drawing of error and loss
per round. The other two networks have no congestion controller.`,
		Example: `  pausenet train cells
  pausenet train cells --passes 1 --seed 2 --out cells.svg`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runTraining(c, &o, out, "cells.svg", func(ctx context.Context) (training, error) {
				r, err := train.Cells(ctx, &o)
				if err != nil {
					return training{}, err
				}
				return drawn(r.Write, r.Drawings)
			})
		},
	}
	networkFlags(c, &o)
	trainFlags(c, &out, "cells.svg", "the drawing")
	return c
}

func newTrainFeaturesCommand() *cobra.Command {
	o := train.Options{Seed: 1, Rounds: 1, Batch: 1, Passes: 1}
	var out string
	c := &cobra.Command{
		Use:   "features",
		Short: "Show how RTTs change under HPCC, DCTCP, TIMELY and PID",
		Long: `Collect RTTs from random incasts and from the thesis's own, under HPCC, DCTCP,
TIMELY and PID with its first gains. features prints the share of samples
whose |K| is below some values, where K is the difference between an RTT and
the smoothed RTT. It writes FILE, a drawing of the distributions (figure 8 of
the thesis).`,
		Example: `  pausenet train features`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runTraining(c, &o, out, "features.svg", func(ctx context.Context) (training, error) {
				r, err := train.Features(ctx, &o)
				if err != nil {
					return training{}, err
				}
				return drawn(r.Write, r.Drawings)
			})
		},
	}
	c.Flags().Var((*seedFlag)(&o.Seed), "seed", "random `seed` of the scenarios")
	completeNothing(c, "seed")
	trainFlags(c, &out, "features.svg", "the drawing")
	return c
}

func newTrainLoopCommand() *cobra.Command {
	o := train.Options{Seed: 1, Rounds: 1, Batch: 1, Passes: 1}
	var out string
	c := &cobra.Command{
		Use:   "loop",
		Short: "Show how well the network predicts RTTs that it causes",
		Long: `Run the thesis's incast under PID and under LSTM-PID, with targets of 5, 6 and
7 us, and predict each RTT from the three before it with the built-in network.
Under PID nothing acts on the predictions. Under LSTM-PID the rates do, which
causes RTTs that the network was not trained on. loop prints the error of each
and the mean RTT, and writes FILE, a drawing of predicted and measured RTTs.`,
		Example: `  pausenet train loop`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runTraining(c, &o, out, "loop.svg", func(ctx context.Context) (training, error) {
				r, err := train.Loop(ctx, &o)
				if err != nil {
					return training{}, err
				}
				return drawn(r.Write, r.Drawings)
			})
		},
	}
	trainFlags(c, &out, "loop.svg", "the drawing")
	return c
}

// drawn returns a training whose only output file is a drawing.
func drawn(write func(io.Writer) error, drawings func() ([]train.Drawing, error)) (training, error) {
	d, err := drawings()
	if err != nil {
		return training{}, err
	}
	return training{write: write, file: d[0].SVG}, nil
}

func newTrainPIDCommand() *cobra.Command {
	o := train.Options{Seed: 1, Rounds: train.GainsRounds, Batch: 1, Passes: 1}
	var out string
	c := &cobra.Command{
		Use:   "pid",
		Short: "Train the gains of the PID controller",
		Long: `Run the thesis's incast (20 flows into one host) under PID while each flow
trains its own gains: after every RTT, by the error that its last change of
the rate caused. pid prints the gains during the training and at its end, next
to the thesis's, and writes FILE, a drawing of the gains over the updates
(figure 13).

The training ends because its steps become smaller and smaller; it does not
reach an optimum. Nothing in the incast is random.`,
		Example: `  pausenet train pid
  pausenet train pid --rounds 3 --out gains.svg
  pausenet run incast --cc pid --set cc.pid.kp=-0.361 --set cc.pid.kd=0.042`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runTraining(c, &o, out, "pid-gains.svg", func(ctx context.Context) (training, error) {
				r, err := train.Gains(ctx, &o)
				if err != nil {
					return training{}, err
				}
				return drawn(r.Write, r.Drawings)
			})
		},
	}
	c.Flags().IntVar(&o.Rounds, "rounds", o.Rounds, "`number` of incasts in a row; each starts with the gains of the one before")
	completeNothing(c, "rounds")
	trainFlags(c, &out, "pid-gains.svg", "the drawing")
	return c
}

func trainFlags(c *cobra.Command, out *string, file, content string) {
	c.Flags().StringVar(out, "out", file, "`file` for "+content+", or a folder for "+file)
	c.Flags().String("plane", "wasm", "`plane` to run the pipelines on: kernel, wasm or auto; results are equal")
	completeFlag(c, "plane", planes...)
}

// training holds the results of a training.
type training struct {
	write    func(io.Writer) error
	file     []byte
	drawings func() ([]train.Drawing, error) // drawings next to the file; nil for none
}

// runTraining trains, then prints and writes the result. out is the user's path; if it is a folder, name is the
// file's name.
func runTraining(c *cobra.Command, o *train.Options, out, name string,
	do func(context.Context) (training, error),
) error {
	if err := notEmpty(c, "out"); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return badInput(err)
	}
	plane, err := choosePlane(c.Flags().Lookup("plane").Value.String())
	if err != nil {
		return err
	}
	o.Plane, o.Version = kernel.Opener(plane), version()
	o.Progress = func(line string) { fmt.Fprintln(c.ErrOrStderr(), "pausenet: "+line) }
	if info, err := os.Stat(out); err == nil && info.IsDir() || strings.HasSuffix(out, string(filepath.Separator)) {
		out = filepath.Join(out, name)
	}
	// Before the training, so that it does not run in vain.
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return cannotWrite(err)
	}
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	result, err := do(ctx)
	var environment *runner.EnvironmentError
	switch {
	case errors.Is(err, context.Canceled):
		return &exitError{exitVerdict, errors.New("interrupted: nothing written")}
	case errors.As(err, &environment):
		return &exitError{exitEnvironment, err}
	case err != nil:
		return &exitError{exitVerdict, err}
	}
	w := c.OutOrStdout()
	if err := result.write(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return writeTraining(w, out, &result)
}

// writeTraining writes the files and prints their names.
func writeTraining(w io.Writer, out string, result *training) error {
	written := []train.Drawing{{Name: out, SVG: result.file}}
	if result.drawings != nil {
		drawings, err := result.drawings()
		if err != nil {
			return err
		}
		for _, d := range drawings {
			written = append(written, train.Drawing{
				Name: strings.TrimSuffix(out, filepath.Ext(out)) + "-" + d.Name + ".svg",
				SVG:  d.SVG,
			})
		}
	}
	for _, f := range written {
		if err := files.WriteWhole(f.Name, f.SVG); err != nil {
			return cannotWrite(err)
		}
		fmt.Fprintf(w, "  %s\n", f.Name)
	}
	return nil
}

func cannotWrite(err error) error {
	return &exitError{exitEnvironment, fmt.Errorf("write the result: %w (choose another file with --out)", err)}
}

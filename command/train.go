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
	for i := range trainParts {
		c.AddCommand(trainParts[i].command())
	}
	return c
}

// trainPart describes a subcommand of train.
type trainPart struct {
	name, short, long, example string
	file, content              string // the default file, and what it holds
	flags                      func(*cobra.Command, *train.Options)
	train                      func(context.Context, *train.Options) (training, error)
}

var trainParts = []trainPart{
	{
		name: "lstm", short: "Train the network that predicts RTTs",
		long: `Train the network that predicts RTTs. lstm collects RTTs, one per round trip
of each flow, from random incasts under TIMELY and under PID with its first
gains. It draws 19058 pairs, the same number from each of four ranges of change,
trains in rounds of 800 pairs to train and 200 to test, and tests the network
on runs of other seeds. It prints each round's error next to the thesis's, and
writes

  FILE                  the weights, for --set cc.lstm-pid.weights=FILE
  FILE-loss.svg         loss per round (figure 11 of the thesis)
  FILE-mape.svg         error per round (its table 1)
  FILE-prediction.svg   predicted and measured RTTs (its figure 17)

The names of the drawings have FILE without its extension. Equal seeds and
flags give equal files, byte for byte.

The thesis gives neither the optimiser nor the batch size: pausenet uses Adam,
one pair per step. Nor does it give the number of --passes over a round's
pairs. With --passes 1 the rounds look as in the thesis, but the error on
other runs is 25 % to 75 % larger.`,
		example: `  pausenet train lstm --out lstm.json
  pausenet run incast --cc pid,lstm-pid --set cc.lstm-pid.weights=lstm.json
  pausenet train lstm --seed 2 --rounds 38 --passes 1 --out weights/`,
		file: "lstm.json", content: "the weights",
		flags: networkFlags,
		train: func(ctx context.Context, o *train.Options) (training, error) {
			r, err := train.LSTM(ctx, o)
			if err != nil {
				return training{}, err
			}
			weights, err := r.Weights.Format()
			return training{write: r.Write, drawings: r.Drawings, file: weights}, err
		},
	},
	{
		name: "pid", short: "Train the gains of the PID controller",
		long: `Run the thesis's incast (20 flows into one host) under PID while each flow
trains its own gains: after every RTT, by the error that its last change of
the rate caused. pid prints the gains during the training and at its end, next
to the thesis's, and writes FILE, a drawing of the gains over the updates
(figure 13).

The training ends because its steps become smaller and smaller; it does not
reach an optimum. Nothing in the incast is random.`,
		example: `  pausenet train pid
  pausenet train pid --rounds 3 --out gains.svg
  pausenet run incast --cc pid --set cc.pid.kp=-0.361 --set cc.pid.kd=0.042`,
		file: "pid-gains.svg", content: "the drawing",
		flags: func(c *cobra.Command, o *train.Options) {
			o.Rounds = train.GainsRounds
			c.Flags().IntVar(&o.Rounds, "rounds", o.Rounds,
				"`number` of incasts in a row; each starts with the gains of the one before")
			completeNothing(c, "rounds")
		},
		train: drawn(train.Gains),
	},
	{
		name: "cells", short: "Train an LSTM, a GRU and a simple RNN on the same data",
		long: `Train three kinds of network on the same pairs as "train lstm", each with 16
units and a linear head, and print how well each predicts. The thesis chose
the LSTM by this comparison. cells writes FILE, a drawing of error and loss
per round. The other two networks have no congestion controller.`,
		example: `  pausenet train cells
  pausenet train cells --passes 1 --seed 2 --out cells.svg`,
		file: "cells.svg", content: "the drawing",
		flags: networkFlags,
		train: drawn(train.Cells),
	},
	{
		name: "features", short: "Show how RTTs change under HPCC, DCTCP, TIMELY and PID",
		long: `Collect RTTs from random incasts and from the thesis's own, under HPCC, DCTCP,
TIMELY and PID with its first gains. features prints the share of samples
whose |K| is below some values, where K is the difference between an RTT and
the smoothed RTT. It writes FILE, a drawing of the distributions (figure 8 of
the thesis).`,
		example: `  pausenet train features`,
		file:    "features.svg", content: "the drawing",
		flags: func(c *cobra.Command, o *train.Options) {
			c.Flags().Var((*seedFlag)(&o.Seed), "seed", "random `seed` of the scenarios")
			completeNothing(c, "seed")
		},
		train: drawn(train.Features),
	},
	{
		name: "loop", short: "Show how well the network predicts RTTs that it causes",
		long: `Run the thesis's incast under PID and under LSTM-PID, with targets of 5, 6 and
7 us, and predict each RTT from the three before it with the built-in network.
Under PID nothing acts on the predictions. Under LSTM-PID the rates do, which
causes RTTs that the network was not trained on. loop prints the error of each
and the mean RTT, and writes FILE, a drawing of predicted and measured RTTs.`,
		example: `  pausenet train loop`,
		file:    "loop.svg", content: "the drawing",
		train: drawn(train.Loop),
	},
}

// command returns the subcommand.
func (p *trainPart) command() *cobra.Command {
	o := train.Options{Seed: 1, Rounds: 1, Batch: 1, Passes: 1}
	var out string
	c := &cobra.Command{
		Use: p.name, Short: p.short, Long: p.long, Example: p.example, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return p.run(c, &o, out) },
	}
	if p.flags != nil {
		p.flags(c, &o)
	}
	c.Flags().StringVar(&out, "out", p.file, "`file` for "+p.content+", or a folder for "+p.file)
	c.Flags().String("plane", "wasm", "`plane` to run the pipelines on: kernel, wasm or auto; results are equal")
	completeFlag(c, "plane", planes...)
	return c
}

func networkFlags(c *cobra.Command, o *train.Options) {
	o.Rounds, o.Batch, o.Passes = train.Rounds, train.Batch, train.Passes
	flags := c.Flags()
	flags.Var((*seedFlag)(&o.Seed), "seed", "random `seed` of scenarios, samples and initial weights")
	flags.IntVar(&o.Rounds, "rounds", o.Rounds, "`number` of rounds of 800 pairs to train and 200 to test")
	flags.IntVar(&o.Batch, "batch", o.Batch, "`number` of pairs per step of the optimiser")
	flags.IntVar(&o.Passes, "passes", o.Passes, "`number` of passes over a round's pairs")
	completeNothing(c, "seed", "rounds", "batch", "passes")
}

// drawn returns a function that trains, and whose only output file is a drawing.
func drawn[R interface {
	Write(w io.Writer) error
	Drawings() ([]train.Drawing, error)
}](do func(context.Context, *train.Options) (R, error)) func(context.Context, *train.Options) (training, error) {
	return func(ctx context.Context, o *train.Options) (training, error) {
		r, err := do(ctx, o)
		if err != nil {
			return training{}, err
		}
		drawings, err := r.Drawings()
		if err != nil {
			return training{}, err
		}
		return training{write: r.Write, file: drawings[0].SVG}, nil
	}
}

// training holds the results of a training.
type training struct {
	write    func(io.Writer) error
	file     []byte
	drawings func() ([]train.Drawing, error) // drawings next to the file; nil for none
}

// run trains, then prints and writes the result. out is the user's path, which may be a folder for the default file.
func (p *trainPart) run(c *cobra.Command, o *train.Options, out string) error {
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
		out = filepath.Join(out, p.file)
	}
	// Before the training, so that it does not run in vain.
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return cannotWrite(err)
	}
	ctx, stop := shutdown.Context(c.Context())
	defer stop()
	result, err := p.train(ctx, o)
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

package command

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pausenet/pausenet/experiments/analysis/bound"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/machine"
	"github.com/pausenet/pausenet/units"
)

type boundFlags struct {
	sets   []string
	force  bool
	quick  bool
	seed   uint64
	out    string
	format string
}

func newBoundCommand() *cobra.Command {
	var f boundFlags
	c := &cobra.Command{
		Use:   "bound SCENARIO",
		Short: "Compute bounds that no congestion controller can beat (fluid)",
		Long: `Compute flow completion times and slowdowns of a fluid model. Each flow takes
the path that its packets would take, and the links' rates are shared anew
whenever a flow starts or ends. No packets are sent. Two ways of sharing are
computed:

  max-min         max-min fair shares: perfectly fair, with no delay
  shortest-first  the flow with the fewest bytes left goes first, a heuristic
                  that is close to the best mean

bound also prints a lower bound of the mean FCT, which holds for every
congestion controller (proof: SRPT on single links). For collectives and jobs,
whose flows depend on each other, it prints lower bounds of their times. Faults
are ignored. A flow that shares no link gets its ideal FCT, as in flows.csv.

With --out, the flows are written to DIR/SCENARIO/WAY/flows.csv.`,
		Example: `  pausenet bound dcon-websearch
  pausenet bound dcon-websearch --set workloads.websearch.poisson.load=0.4
  pausenet bound mine.yaml --out results -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := notEmpty(c, "out"); err != nil {
				return err
			}
			return f.run(c.OutOrStdout(), args[0], c.Flags().Changed("seed"))
		},
		ValidArgsFunction: completeScenarios,
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		var none *pflag.NotExistError
		if errors.As(err, &none) && none.GetSpecifiedName() == "cc" {
			return errors.New("--cc: bounds hold for every congestion controller; leave --cc out (for one controller's times " +
				"next to the bounds: pausenet run SCENARIO --cc NAME)")
		}
		return flagError(c, err)
	})
	flags := c.Flags()
	flags.Var((*seedFlag)(&f.seed), "seed", "random `seed` (default: the scenario's)")
	setFlag(c, &f.sets)
	flags.BoolVar(&f.quick, "quick", false, "use the quick form of a long scenario")
	flags.StringVar(&f.out, "out", "", "write the flows' times below this `folder`")
	flags.BoolVar(&f.force, "force", false, "overwrite results of other settings")
	formatFlag(c, &f.format)
	completeFolder(c, "out")
	completeNothing(c, "seed")
	return c
}

func (f *boundFlags) run(w io.Writer, name string, seedGiven bool) error {
	s, err := scenario.Reading{Memory: machine.AvailableMemory(), Quick: f.quick, Sets: f.sets}.Load(name)
	if err == nil && seedGiven {
		s, err = s.WithSeed(f.seed)
	}
	if err != nil {
		return badInput(err)
	}
	b, err := bound.Find(s)
	if err != nil {
		return badInput(err)
	}
	var files []string
	if f.out != "" {
		files, err = b.Write(f.out, f.force)
		var other *rundir.OverwriteError
		if errors.As(err, &other) {
			return elsewhere(other, f.out)
		}
		if err != nil {
			return runError(err)
		}
	}
	return writeResult(w, f.format, b, func(w io.Writer) { writeBound(w, s, b, files) })
}

func writeBound(w io.Writer, s *scenario.Scenario, b *bound.Bound, files []string) {
	fmt.Fprintf(w, "%s: %s; seed %d\n\n", s.Name, s.Topology.Summary(), b.Seed)
	without := "" // faults that the bounds ignore
	if len(s.Faults) > 0 {
		without = ", without faults"
	}
	writeLimits(w, b, without)
	lines := [][]string{{"shares", "flows done", "FCT mean", "FCT p50", "FCT p99", "slowdown mean", "p99"}}
	for i := range b.Disciplines {
		d := &b.Disciplines[i]
		if d.Count == 0 {
			continue
		}
		sum := measure.FlowStatistics{Completed: d.Completed, Slowdown: d.Slowdown}
		mean := "-"
		if d.Completed > 0 {
			mean = fmt.Sprintf("%.2f", d.Slowdown.Mean)
		}
		lines = append(lines, []string{
			d.Name, fmt.Sprintf("%d/%d", d.Completed, d.Count), span(sum, d.FCT.Mean), span(sum, d.FCT.P50),
			span(sum, d.FCT.P99), mean, ratio(sum),
		})
	}
	if len(lines) > 1 {
		writeColumns(w, lines, 1)
	}
	if b.MeanFCT > 0 {
		fmt.Fprintf(w, "\n  lower bound of the mean FCT%s: %s, if all %d flows of known size finish\n",
			without, span(measure.FlowStatistics{Completed: 1}, b.MeanFCT), b.Sized)
	}
	for _, note := range b.Notes {
		fmt.Fprintf(w, "  note: %s\n", note)
	}
	for _, file := range files {
		fmt.Fprintf(w, "  flows: %s\n", file)
	}
}

// writeLimits prints lower bounds on the completion times of jobs and collectives.
func writeLimits(w io.Writer, b *bound.Bound, without string) {
	if len(b.Jobs) == 0 {
		return
	}
	lines := [][]string{{"lower bounds" + without, "ranks", "count", "time", "algbw", "busbw"}}
	took := func(ns int64) string { return span(measure.FlowStatistics{Completed: 1}, float64(ns)) }
	for i := range b.Jobs {
		j := &b.Jobs[i]
		lines = append(lines, []string{j.Tag + ", whole", strconv.Itoa(j.Ranks), "", took(j.JCT), "", ""})
		for k := range b.Collectives {
			c := &b.Collectives[k]
			if c.Tag != j.Tag {
				continue
			}
			line := []string{
				fmt.Sprintf("%s, %s by %s, %v", c.Tag, c.Kind, c.Algorithm, units.Bytes(c.Size)), strconv.Itoa(c.Ranks),
				strconv.Itoa(c.Count), took(c.Time), "", "",
			}
			if c.Bus > 0 {
				line[4], line[5] = gigabits(c.Algorithmic), gigabits(c.Bus)
			}
			lines = append(lines, line)
		}
	}
	writeColumns(w, lines, 1)
	fmt.Fprintln(w)
}

// span formats a flow time, or a placeholder if no flow has finished.
func span(f measure.FlowStatistics, ns float64) string {
	if f.Completed == 0 {
		return "-"
	}
	return duration(ns)
}

func ratio(f measure.FlowStatistics) string {
	if f.Completed == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", f.Slowdown.P99)
}

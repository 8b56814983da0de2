package command

import (
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/analysis/estimate"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/machine"
)

func newEstimateCommand() *cobra.Command {
	var (
		sets, controllers []string
		quick             bool
		format            string
	)
	c := &cobra.Command{
		Use:   "estimate SCENARIO",
		Short: "Estimate packet-hops, time and memory before a run",
		Long: `Estimate what a run costs, under each controller, without running it. A
packet-hop is one frame over one link; ACKs count, too. Each flow is taken to
send at line rate, shared with the other flows of its two hosts. So the number
of hops is too large if flows share links between switches or stand still, and
too small if they retransmit. Processor time is that of hops, set-up and files,
from the time of a hop that is measured on this machine (50 ms). A run with
drain: true ends when its flows do, and then ports.csv is smaller.`,
		Example: `  pausenet estimate dcon-websearch
  pausenet estimate mine.yaml --set topology.fattree.k=64 -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSubjects,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := scenario.Reading{
				Memory: machine.AvailableMemory(), Quick: quick, Sets: sets,
				Controllers: controllers,
			}.Load(args[0])
			if err != nil {
				return badInput(err)
			}
			names := s.Controllers
			if len(controllers) > 0 {
				if names, err = s.ControllerNames(controllers); err != nil {
					return badInput(err)
				}
			}
			hop, err := estimate.Hop(c.Context())
			if err != nil {
				return runError(err)
			}
			var runs []*estimate.Run
			for _, name := range names {
				r, err := estimate.Of(s, name)
				if err != nil {
					return badInput(err)
				}
				r.SetTime(hop)
				runs = append(runs, r)
			}
			return writeResult(c.OutOrStdout(), format, runs, func(w io.Writer) { writeEstimate(w, s, runs, hop) })
		},
	}
	controllersFlag(c, &controllers)
	setFlag(c, &sets)
	c.Flags().BoolVar(&quick, "quick", false, "use the quick form of a long scenario")
	formatFlag(c, &format)
	return c
}

func writeEstimate(w io.Writer, s *scenario.Scenario, runs []*estimate.Run, hop float64) {
	fmt.Fprintf(w, "%s: %s; seed %d\n\n", s.Name, s.Topology.Summary(), s.Seed)
	lines := [][]string{{"run", "packet-hops", "processor time", "memory", "ports.csv, at most"}}
	for _, r := range runs {
		lines = append(lines, []string{
			r.Controller, rounded(float64(r.Hops)), seconds(r.Seconds), sizeText(r.Memory), sizeText(r.PortsTable),
		})
	}
	writeColumns(w, lines, 1)
	fmt.Fprintf(w, "\n  one processor; %.0f ns a hop in a small fabric on this machine\n", hop*1e9)
	if free := machine.AvailableMemory(); free > 0 {
		fmt.Fprintf(w, "  memory available here: %s\n", sizeText(free))
	}
}

// sizeText formats a number of bytes with three digits: "2.29 GB".
func sizeText(n int64) string { return measure.KindSize.Text(float64(n)) }

// rounded formats a large number with three digits: "105 M".
func rounded(v float64) string {
	for _, u := range []struct {
		per  float64
		name string
	}{{1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if v >= u.per {
			return fmt.Sprintf("%.3g%s", v/u.per, u.name)
		}
	}
	return fmt.Sprintf("%.0f", v)
}

// seconds formats a duration with two digits, as an estimate deserves.
func seconds(v float64) string {
	switch {
	case v < 1:
		return fmt.Sprintf("%.2g s", v)
	case v < 100:
		return fmt.Sprintf("%.0f s", v)
	case v < 2*3600:
		return fmt.Sprintf("%.0f min", v/60)
	}
	return fmt.Sprintf("%.0f h", v/3600)
}

// runsInMemory returns the number of runs at a time for which the machine has the memory, at least 1.
func runsInMemory(s *scenario.Scenario) int {
	free := machine.AvailableMemory()
	if free == 0 {
		return math.MaxInt
	}
	return max(1, int(free/estimate.Memory(s)))
}

// memoryWarning warns if so many runs at a time may not fit into the machine's memory.
func memoryWarning(s *scenario.Scenario, runs int) []string {
	needed, free := estimate.Memory(s)*int64(runs), machine.AvailableMemory()
	if free == 0 || needed <= free {
		return nil
	}
	what := "the run needs"
	if runs > 1 {
		what = fmt.Sprintf("%d runs at a time (--jobs) need", runs)
	}
	return []string{fmt.Sprintf("%s about %s of memory, and %s are available: the system may kill the program", what,
		sizeText(needed), sizeText(free))}
}

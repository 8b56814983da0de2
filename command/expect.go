package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/analysis/expect"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/units"
)

type expectFlags struct {
	log, collective, algorithm, ranks, placement string
	most, format, controller                     string
	sets                                         []string
	only                                         bool
}

func newExpectCommand() *cobra.Command {
	var f expectFlags
	c := &cobra.Command{
		Use:   "expect SCENARIO|TOPOLOGY --nccl FILE",
		Short: "Compare nccl-tests with what the fabric should reach",
		Long: `Compare the output of nccl-tests on a real cluster with what its fabric should
reach. For each size, expect prints the limit that no controller can beat, the
result of a simulated run, the measurement, and the gap from run to measurement.

If the gap is more than 5 %, expect runs the collective under single faults: a
slower link, a longer or lossy cable, a slow NIC, a PFC storm, a wrong priority,
spraying off, ranks in another order. It prints the three that explain the
measurement best, with their places.

Sizes above --most are not run: their times are extrapolated, marked with ~.
Bandwidths are in GB/s, defined as in nccl-tests (doc/PERFORMANCE.md).`,
		Example: `  pausenet expect leafspine --nccl examples/expect/all_reduce.log
  all_reduce_perf -b 64K -e 64M -f 4 > all.log
  pausenet expect mine.yaml --nccl all.log --ranks h0..h7 --cc dcqcn
  pausenet expect pod.yaml --nccl - --collective allgather < gather.log`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSubjects,
		RunE: func(c *cobra.Command, args []string) error {
			ctx, release := shutdown.Context(c.Context())
			defer release()
			return f.run(ctx, c.OutOrStdout(), args[0])
		},
	}
	setFlag(c, &f.sets)
	flags := c.Flags()
	flags.StringVar(&f.log, "nccl", "",
		"`file` with the output of all_reduce_perf or another program of nccl-tests; -: standard input")
	flags.StringVar(&f.collective, "collective", "allreduce",
		"`kind` that was measured: "+strings.Join(expect.Kinds(), ", "))
	flags.StringVar(&f.algorithm, "algorithm", "auto",
		"`algorithm`; auto: for allreduce the faster of ring and tree at each size")
	flags.StringVar(&f.ranks, "ranks", "",
		"`hosts` of the measurement, in the order of ranks, such as h0..h7 (default: all)")
	flags.StringVar(&f.placement, "placement", "given", "`order` of the ranks: given, packed, across-racks, random")
	flags.StringVar(&f.most, "most", "4MiB", "largest `size` to run")
	flags.StringVar(&f.controller, "cc", "", "congestion controller or variant, by `name` (default: the scenario's first)")
	flags.BoolVar(&f.only, "no-suspects", false, "only compare: do not look for a fault")
	completeController(c, controllerWords)
	completeFlag(c, "collective", expect.Kinds()...)
	completeFlag(c, "algorithm", append([]string{"auto"}, expect.Algorithms()...)...)
	completeFlag(c, "placement", "given", "packed", "across-racks", "random")
	completeNothing(c, "ranks", "most")
	formatFlag(c, &f.format)
	return c
}

func (f *expectFlags) run(ctx context.Context, w io.Writer, name string) error {
	q, err := f.question(name)
	if err != nil {
		return err
	}
	a, err := expect.Ask(ctx, q)
	var fabric *expect.FabricError
	switch {
	case err == nil:
	case errors.As(err, &fabric):
		return badInput(err)
	case a == nil && ctx.Err() != nil:
		return err
	case a == nil:
		return badInput(fmt.Errorf("%s: %w", f.log, err))
	}
	return errors.Join(err, writeResult(w, f.format, a, func(w io.Writer) { writeAnswer(w, name, f.log, a) }))
}

// question reads the log and the fabric.
func (f *expectFlags) question(name string) (*expect.Question, error) {
	q := &expect.Question{
		Sets: f.sets, Controller: f.controller, Collective: f.collective, Ranks: f.ranks, Placement: f.placement,
		Suspects: !f.only,
	}
	if f.log == "" {
		return nil, badInput(errors.New("--nccl FILE is missing: name the output of all_reduce_perf, or - for standard " +
			"input"))
	}
	if files.IsStream(f.log) && files.IsStream(name) {
		return nil, badInput(errors.New("only one of the fabric and --nccl can be standard input"))
	}
	if err := expect.CheckKind(f.collective); err != nil {
		return nil, badInput(err)
	}
	if f.algorithm != "auto" {
		if !slices.Contains(expect.Algorithms(), f.algorithm) {
			return nil, badInput(fmt.Errorf("--algorithm %s: expected auto, %s", f.algorithm,
				strings.Join(expect.Algorithms(), ", ")))
		}
		q.Algorithms = []string{f.algorithm}
	}
	most, err := units.ParseBytes(f.most)
	if err != nil || most < 1<<10 || most > 1<<30 {
		return nil, badInput(fmt.Errorf("--most %s: expected a size from 1 KiB to 1 GiB, such as 4MiB", f.most))
	}
	q.Most = int64(most)
	s, err := read(name)
	if err != nil {
		return nil, err
	}
	q.File, q.Text = s.filename, s.data
	if !s.scenario {
		if len(f.sets) > 0 {
			return nil, badInput(fmt.Errorf("%s is a topology: --set applies only to scenarios", name))
		}
		of := name
		if _, err := spec.BuiltinSource(name); err != nil {
			if files.IsStream(name) {
				return nil, badInput(errors.New("a topology on standard input: write it to a file, or give a scenario"))
			}
			of = "./" + filepath.Base(name)
		}
		q.File = filepath.Join(filepath.Dir(s.filename), "expect.yaml")
		q.Text = fmt.Appendf(nil, "topology: %q\n", of)
	}
	data, err := files.Input(f.log, files.Kind{Name: "a log of nccl-tests", Most: 64 << 20})
	if err != nil {
		return nil, badInput(err)
	}
	if q.Log, err = expect.ReadLog(data); err != nil {
		return nil, badInput(fmt.Errorf("%s: %w", f.log, err))
	}
	return q, nil
}

func writeAnswer(w io.Writer, name, log string, a *expect.Answer) {
	fmt.Fprintf(w, "%s: %s of %d ranks on %d hosts under %s; fingerprint %.12s\n\n", name, a.Collective, a.Ranks, a.Hosts,
		a.Controller,
		a.Fingerprint)
	lines := [][]string{{"size (B)", "by", "limit busbw", "pausenet algbw", "busbw", "measured algbw", "busbw", "gap"}}
	for _, s := range a.Sizes {
		line := []string{
			strconv.FormatInt(s.Size, 10), "-", "-", "-", "-", expect.GB(s.MeasuredAlg),
			expect.GB(s.MeasuredBus), "-",
		}
		if s.Time > 0 {
			about := ""
			if s.Extrapolated {
				about = "~"
			}
			copy(line[1:], []string{s.Algorithm, about + expect.GB(s.Limit), about + expect.GB(s.Alg), about + expect.GB(s.Bus)})
			line[7] = fmt.Sprintf("%.0f %%", 100*s.Gap)
		}
		lines = append(lines, line)
	}
	writeColumns(w, lines, 2)
	fmt.Fprintln(w, "  GB/s; ~: not run, extrapolated from the two largest sizes that were")
	switch {
	case len(a.Suspects) > 0:
		fmt.Fprintf(w, "\nfirst suspects, of single faults that were tried in %d runs:\n", a.Runs)
		for i, s := range a.Suspects[:min(3, len(a.Suspects))] {
			fmt.Fprintf(w, "  %d. %s: times within %.0f %%\n", i+1, s.Text, 100*s.Error)
			for _, or := range s.Or {
				fmt.Fprintf(w, "     or as well: %s\n", or)
			}
			if len(s.Alike) > 0 {
				fmt.Fprintf(w, "     the same at %s\n", lists.Few(s.Alike))
			}
		}
	case a.Interrupted:
	case a.Runs > 2:
		fmt.Fprintf(w, "\nno single fault explains the gap: %d runs\n", a.Runs)
	default:
		fmt.Fprintf(w, "\nmeasured times differ from the runs' by %.0f %% on average\n", 100*a.Healthy)
	}
	for _, note := range a.Notes {
		fmt.Fprintf(w, "  note: %s: %s\n", log, note)
	}
	if a.Interrupted {
		fmt.Fprintf(w, "  note: interrupted after %d runs: suspects are of those; run the command again to try all\n", a.Runs)
	}
}

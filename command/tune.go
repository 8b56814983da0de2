package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/analysis/paired"
	"github.com/pausenet/pausenet/experiments/explore"
	"github.com/pausenet/pausenet/experiments/tune"
	"github.com/pausenet/pausenet/internal/lists"
)

func newTuneCommand() *cobra.Command {
	var f exploreFlags
	c := &cobra.Command{
		Use:   "tune FAMILY.yaml",
		Short: "Tune a controller, ECN or PFC for a fabric and its traffic",
		Long: `Tune parameters of a congestion controller, ECN, PFC or headroom for a fabric
and its traffic. The scenario's file has a section "tune". It says which
settings may vary, what to improve, and which limits hold, such as no drops
(docs/tune.md).

Each candidate runs under the training seeds, and is compared with the file's
own values in pairs of equal seeds. At the end, the best candidate is compared
with the file's values under other seeds, and in other scenarios if the file
names some. Only this hold-out shows whether the tuning helps.

tune prints the tuned values, how much each matters, the hold-out, and the
trade-off against a second metric. It writes a scenario with the tuned
values. The result depends only on the file. If tune is interrupted, run the
same command to continue.

With --serve or --nats, workers on other machines make the runs
(docs/clusters.md). The result is the same.`,
		Example: `  pausenet tune examples/tune/dcqcn.yaml
  pausenet tune mine.yaml --out tuned -o json`,
		Args: f.arguments,
		RunE: func(c *cobra.Command, args []string) error {
			filename, data, err := readFamily(args[0], "tune")
			if err != nil {
				return badInput(err)
			}
			t, err := tune.Parse(filename, data)
			if err != nil {
				return badInput(err)
			}
			return f.run(c, t.Name, t.Identity(version()), func(ctx context.Context, o explore.Options) error {
				r, err := t.Tune(ctx, o)
				if err != nil {
					return err
				}
				return writeResult(c.OutOrStdout(), f.format, r, func(w io.Writer) { writeTuning(w, t, r) })
			})
		},
	}
	f.add(c)
	return c
}

func writeTuning(w io.Writer, t *tune.Tuning, r *tune.Result) {
	fmt.Fprintf(w, "%s: %s\n%d candidates, %d cannot run; %s\n\n", r.Tuning, r.Objective, r.Candidates, r.Invalid,
		effort(r.Runs, r.Known, r.Spent))
	lines := [][]string{{"parameter", "file", "tuned", "step down", "step up", "as in file"}}
	for i := range r.Parameters {
		p := &r.Parameters[i]
		line := []string{p.Path, cmp.Or(p.Own, "default"), cmp.Or(p.Tuned, "as in file"), "", "", ""}
		for k := range p.Steps {
			text := fmt.Sprintf("%+.1f %%", p.Steps[k].Percent)
			if p.Steps[k].Broken {
				text = "breaks a limit"
			}
			at := 3 + k
			if k == len(p.Steps)-1 {
				at = 5
			}
			line[at] = text
		}
		lines = append(lines, line)
	}
	writeColumns(w, lines, 1)
	fmt.Fprintf(w, "\ntraining, seeds %s: %.3f times the file's own %s", seedText(t.Train), r.Ratio, t.Metric.Name)
	if !r.Feasible {
		fmt.Fprint(w, "; no candidate keeps all limits")
	}
	h := &r.HoldOut
	fmt.Fprintf(w, "\nhold-out, seeds %s: %.3f times; better in %d of %d pairs (sign test: p %s); worst pair %.3f times\n",
		seedText(t.HoldOut), h.Ratio, h.Better, h.Compared, paired.PText(h.P), h.Worst)
	for _, c := range h.Scenarios {
		if len(h.Scenarios) > 1 {
			fmt.Fprintf(w, "  %s: %.3f times; better in %d of %d pairs\n", c.Scenario, c.Ratio, c.Better, c.Compared)
		}
	}
	fmt.Fprintf(w, "hold-out runs that exceed a limit: %d of the tuned values, %d of the file's own\n", h.Broken,
		h.OwnBroken)
	if len(r.TradeOff) > 0 {
		fmt.Fprintf(w, "\ntrade-off, means over the training seeds:\n")
		for i := range r.TradeOff {
			objective, against := t.Texts(&r.TradeOff[i])
			fmt.Fprintf(w, "  %s %s, %s %s: %s\n", t.TradeOff.Name, against, t.Metric.Name, objective,
				settingsText(r.TradeOff[i].Settings))
		}
	}
	fmt.Fprintf(w, "\n  %s\n", r.Command)
	for _, file := range r.Files {
		fmt.Fprintf(w, "  %s\n", file)
	}
}

// settingsText lists settings by the last words of their paths.
func settingsText(all []explore.Setting) string {
	if len(all) == 0 {
		return "the file's own"
	}
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.Path[strings.LastIndexByte(s.Path, '.')+1:] + "=" + s.Value
	}
	return strings.Join(texts, " ")
}

// seedText writes seeds as users do: 1..3, or 1,4.
func seedText(seeds []uint64) string {
	texts := lists.Map(seeds, func(s uint64) string { return strconv.FormatUint(s, 10) })
	if n := uint64(len(seeds)); n > 2 && seeds[n-1]-seeds[0] == n-1 {
		return texts[0] + ".." + texts[n-1]
	}
	return strings.Join(texts, ",")
}

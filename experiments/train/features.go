package train

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"text/tabwriter"

	"github.com/pausenet/pausenet/experiments/pages/report"
	"github.com/pausenet/pausenet/hostagent/lstm"
)

// featuresUnder lists the controllers whose |K| the thesis draws (figure 8); PID has untrained gains.
var featuresUnder = []string{"hpcc", "dctcp", "timely", "pid"}

// publishedFeatures holds the only numbers that the thesis gives for figure 8: the fraction of |K| below 0.04.
var publishedFeatures = map[string]float64{"hpcc": 0.90, "dctcp": 0.87}

// FeaturesResult holds the distribution of |K|, the relative difference between an RTT and the smoothed RTT (equation
// 3): in the random incasts from which pairs are collected, and in the thesis' own incast. The thesis does not say
// which traffic its figure 8 shows.
type FeaturesResult struct{ Under, Incast []FeaturesUnder }

// FeaturesUnder holds the distribution in the runs under one controller.
type FeaturesUnder struct {
	Controller string
	K          []float64 // |K| of every sample except each flow's first, whose K is 0 by definition; ascending
}

// Features collects RTTs as LSTM does, under the controllers of the thesis' figure 8.
func Features(ctx context.Context, o *Options) (*FeaturesResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	all, err := gather(ctx, o, featuresUnder, o.Seed*1000, cmp.Or(o.collect, collectRuns))
	if err != nil {
		return nil, err
	}
	r := &FeaturesResult{}
	for _, controller := range featuresUnder {
		r.Under = append(r.Under, featuresOf(controller, all.under(controller).sequences()))
		s, err := thesisIncast()
		if err != nil {
			return nil, err
		}
		flows, err := collect(ctx, o, s, controller)
		if err != nil {
			return nil, err
		}
		o.tell("%s under %s: %d RTTs", s.Name, controller, samples(flows))
		r.Incast = append(r.Incast, featuresOf(controller, flows))
	}
	return r, nil
}

func featuresOf(controller string, flows []sequence) FeaturesUnder {
	u := FeaturesUnder{Controller: controller}
	for _, q := range flows {
		u.K = append(u.K, q.changes()...)
	}
	slices.Sort(u.K)
	return u
}

// changes returns |K| of the samples after the first.
func (q sequence) changes() (all []float64) {
	var series lstm.Series
	for i, rtt := range q {
		if series.Add(rtt); i > 0 {
			all = append(all, math.Abs(series.Features[lstm.Steps-1]))
		}
	}
	return all
}

// below returns the fraction of the samples whose |K| is below k.
func (u *FeaturesUnder) below(k float64) float64 {
	if len(u.K) == 0 {
		return math.NaN()
	}
	return float64(sort.SearchFloat64s(u.K, k)) / float64(len(u.K))
}

// featureEnds lists the ends of the strata, and those that the thesis mentions.
var featureEnds = []float64{0.02, 0.04, 0.08, 0.15, 1, 2}

// Write writes a table of the fractions of samples with |K| below each of featureEnds.
func (r *FeaturesResult) Write(w io.Writer) error {
	fmt.Fprint(w, "Fraction of the samples with |K| below (thesis: figure 8)\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, part := range r.parts() {
		fmt.Fprintf(t, "%s\tsamples\t", part.name)
		for _, k := range featureEnds {
			fmt.Fprintf(t, "%g\t", k)
		}
		fmt.Fprintln(t, "0.04, thesis\t")
		for i := range part.under {
			u := &part.under[i]
			fmt.Fprintf(t, "%s\t%d\t", u.Controller, len(u.K))
			for _, k := range featureEnds {
				fmt.Fprintf(t, "%.1f %%\t", 100*u.below(k))
			}
			if p, ok := publishedFeatures[u.Controller]; ok {
				fmt.Fprintf(t, "%.0f %%\t\n", 100*p)
			} else {
				fmt.Fprintln(t, "-\t")
			}
		}
	}
	return t.Flush()
}

// featuresPart holds the distributions in one kind of traffic.
type featuresPart struct {
	name  string
	under []FeaturesUnder
}

func (r *FeaturesResult) parts() []featuresPart {
	return []featuresPart{{"random incasts", r.Under}, {"the thesis' incast", r.Incast}}
}

// drawnFeatures sets the number of intervals of a line.
const drawnFeatures = 400

// Drawings returns drawings of the distributions up to |K| of 2.
func (r *FeaturesResult) Drawings() ([]Drawing, error) {
	lines := &report.Lines{Title: "How far RTTs are from the smoothed RTT"}
	for _, part := range r.parts() {
		chart := report.LineChart{Name: part.name + ": samples up to |K|", XTitle: "|K|", Unit: report.Percent}
		for i := range part.under {
			u := &part.under[i]
			l := report.NumberLine{Label: u.Controller}
			for k := range drawnFeatures + 1 {
				x := 2 * float64(k) / drawnFeatures
				l.X, l.Y = append(l.X, x), append(l.Y, 100*u.below(math.Nextafter(x, 3))) // up to x
			}
			chart.Lines = append(chart.Lines, l)
		}
		lines.Charts = append(lines.Charts, chart)
	}
	return draw("features", lines)
}

package train

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/pausenet/pausenet/hostagent/cc"
)

// Write writes the results of the training beside the thesis'.
func (r *LSTMResult) Write(w io.Writer) error {
	p := &r.Weights.Provenance
	fmt.Fprintf(w, "%d runs, %d pairs; by |K| ", len(p.Scenarios), p.Pairs)
	for i, name := range []string{"below 0.02", "below 0.08", "below 0.15", "above"} {
		if i > 0 {
			fmt.Fprint(w, ", ")
		}
		fmt.Fprintf(w, "%s: %d of %d", name, r.Taken[i], r.Available[i])
	}
	fmt.Fprint(w, "\n\nMAPE of the predicted RTT (thesis: table 1)\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "round\ttrain\ttest\tthesis train\tthesis test\t")
	for i, m := range p.MAPE {
		fmt.Fprintf(t, "%d\t%.3f\t%.3f\t", i+1, m.Train, m.Test)
		if i < len(PublishedMAPE) {
			fmt.Fprintf(t, "%.3f\t%.3f\t", PublishedMAPE[i].Train, PublishedMAPE[i].Test)
		} else {
			fmt.Fprint(t, "-\t-\t")
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	u := &r.Unseen
	fmt.Fprintf(w, "\non runs of other seeds (%d samples): MAPE %.4f; with equal weight per |K| range %.4f\n",
		u.Pairs, u.All, u.Strata)
	for i, v := range u.Under {
		fmt.Fprintf(w, "  under %s: %.4f\n", collectedUnder[i], v)
	}
	_, err := fmt.Fprintf(w, "  predicting the last RTT again: %.4f; the smoothed RTT: %.4f\n", u.Standstill,
		u.Smoothed)
	return err
}

// Write writes the results of the training beside the thesis'.
func (r *GainsResult) Write(w io.Writer) error {
	f := &r.Flows[0]
	fmt.Fprintf(w, "Gains on the way, flow %d (target 5 us)\n\n", f.Flow)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "updates\tKp\tKi\tKd\t")
	next := 0
	for i, s := range f.Path {
		if s.Updates >= next || i == len(f.Path)-1 {
			gainsRow(t, fmt.Sprint(s.Updates), s.Gains)
			next = max(1, 2*s.Updates)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprint(w, "\nGains at the end, by flow\n\n")
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "flow\tupdates\tKp\tKi\tKd\t")
	for i := range r.Flows {
		f := &r.Flows[i]
		gainsRow(t, fmt.Sprintf("%d\t%d", f.Flow, f.Updates), f.Gains)
	}
	gainsRow(t, "thesis\t-", PublishedGains)
	return t.Flush()
}

func gainsRow(w io.Writer, name string, g cc.PIDGains) {
	fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t\n", name, g.P, g.I, g.D)
}

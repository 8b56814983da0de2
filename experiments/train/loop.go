package train

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/pages/report"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/hostagent/lstm"
	"github.com/pausenet/pausenet/vtime"
)

// loopTargets lists the thesis' targets (its tables 4 and 5), and loopUnder the two controllers of its incast with
// each: the same control law on the measured RTT, where no prediction acts on the network, and on the predicted RTT.
var (
	loopTargets = []vtime.Time{5 * vtime.Microsecond, 6 * vtime.Microsecond, 7 * vtime.Microsecond}
	loopUnder   = []string{"pid", "lstm-pid"}
)

// loopFrom excludes the first queue, in which all flows start.
const loopFrom = 500 * vtime.Microsecond

// LoopResult compares how well the built-in network predicts RTTs that its own predictions influence, and RTTs that
// they do not.
type LoopResult struct{ Runs []LoopRun }

// LoopRun holds the errors of one run of the thesis' incast, relative to the measured RTT. The samples are those from
// 0.5 ms until all flows but one have ended: a single flow sees no queue, whatever its target.
type LoopRun struct {
	Controller string
	Target     vtime.Time
	Samples    int
	MAPE, Bias float64 // means of |predicted - true| / true, and of (predicted - true) / true
	// Mean and MeanPredicted hold the mean RTT and the mean prediction, in us; Alone holds how long the last flow was
	// alone.
	Mean, MeanPredicted float64
	Alone               vtime.Time
	shown               Prediction
}

// timed holds an RTT sample, in us, and its time.
type timed struct {
	at  vtime.Time
	rtt float64
}

// Loop runs the thesis' incast under each control with each target.
func Loop(ctx context.Context, o *Options) (*LoopResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	w, err := lstm.BuiltIn()
	if err != nil {
		return nil, err
	}
	network := lstm.New(&w.Parameters)
	r := &LoopResult{}
	for _, target := range loopTargets {
		for _, controller := range loopUnder {
			s, err := thesisIncast()
			if err != nil {
				return nil, err
			}
			s.ControllerSettings = map[string]map[string]string{controller: {"target": target.String(), "control_from": "2"}}
			flows := make([][]timed, len(s.Flows))
			sum, err := runner.Watch(ctx, s, o.runOptions(controller, o.Seed), runner.Watching{
				Sample: func(flow int, now, rtt vtime.Time) {
					flows[flow] = append(flows[flow], timed{now, rtt.Microseconds()})
				},
			})
			if err != nil {
				return nil, err
			}
			if sum.Verdict.Status == measure.Fail {
				return nil, fmt.Errorf("%s under %s: the run's verdict is FAIL: %v", s.Name, controller, sum.Verdict.Messages)
			}
			run := inLoop(network, flows)
			run.Controller, run.Target = controller, target
			r.Runs = append(r.Runs, run)
			o.tell("%s under %s, target %v: %d samples", s.Name, controller, target, run.Samples)
		}
	}
	return r, nil
}

// inLoop predicts each sample from the three before it, as the controller does.
func inLoop(n lstm.Model, flows [][]timed) LoopRun {
	var r LoopRun
	var ends []vtime.Time
	for _, samples := range flows {
		if len(samples) > 0 {
			ends = append(ends, samples[len(samples)-1].at)
		}
	}
	slices.Sort(ends)
	if len(ends) < 2 {
		return r
	}
	until := ends[len(ends)-2]
	r.Alone = ends[len(ends)-1] - until
	for flow, samples := range flows {
		var series lstm.Series
		for i, sample := range samples {
			if series.Count == lstm.Steps && sample.at >= loopFrom && sample.at <= until {
				predicted := series.Prediction(n.Predict(&series.Features))
				off := (predicted - sample.rtt) / sample.rtt
				r.Samples++
				r.MAPE += math.Abs(off)
				r.Bias += off
				r.Mean += sample.rtt
				r.MeanPredicted += predicted
				if flow == 0 && len(r.shown.Measured) < mostShown {
					if len(r.shown.Measured) == 0 {
						r.shown.From = i
					}
					r.shown.Measured, r.shown.Predicted = append(r.shown.Measured, sample.rtt), append(r.shown.Predicted, predicted)
				}
			}
			series.Add(sample.rtt)
		}
	}
	if count := float64(r.Samples); count > 0 {
		r.MAPE, r.Bias, r.Mean, r.MeanPredicted = r.MAPE/count, r.Bias/count, r.Mean/count, r.MeanPredicted/count
	}
	return r
}

// Write writes a row a run.
func (r *LoopResult) Write(w io.Writer) error {
	fmt.Fprint(w, "The built-in network in the thesis' incast: from 0.5 ms on, until one flow is alone\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "target\tunder\tsamples\tmean RTT [us]\tmean predicted\tMAPE\tmean error\tone flow alone\t")
	for i := range r.Runs {
		u := &r.Runs[i]
		fmt.Fprintf(t, "%v\t%s\t%d\t%.3f\t%.3f\t%.1f %%\t%+.2f %%\t%.1f ms\t\n",
			u.Target, u.Controller, u.Samples, u.Mean, u.MeanPredicted, 100*u.MAPE, 100*u.Bias, u.Alone.Seconds()*1e3)
	}
	return t.Flush()
}

// Drawings returns drawings of the first samples of flow 0 in each run, with their predictions.
func (r *LoopResult) Drawings() ([]Drawing, error) {
	lines := &report.Lines{Title: "RTT of flow 0 of the thesis' incast, and what was predicted one sample before"}
	for i := range r.Runs {
		u := &r.Runs[i]
		lines.Charts = append(lines.Charts, u.shown.chart(fmt.Sprintf("%s, target %v", u.Controller, u.Target)))
	}
	return draw("loop", lines)
}

package aifabric

import (
	"cmp"
	"math"
	"slices"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// value describes a figure of a test: one of measure.Metrics, or one computed from a run's files.
type value struct {
	kpi    string
	metric string // a name of measure.Metrics
	tag    string // tag of the flows; empty: all
	// of computes the value from a run and the first run of the same test; NaN if it has none.
	of    func(r, first *run) (float64, error)
	unit  string
	per   float64 // one unit, in the figure's base unit; 0: 1
	bound *bound
	only  string // part of the labels of the cases that have the value; empty: all
}

// read returns the value, in its unit.
func (v *value) read(r, first *run) (x float64, err error) {
	if v.metric == "" {
		x, err = v.of(r, first)
	} else {
		flows := r.summary.Flows
		if v.tag != "" {
			flows = r.summary.ByTag[v.tag]
		}
		x = measure.MetricByName(v.metric).Of(r.summary, &flows)
	}
	return x / cmp.Or(v.per, 1), err
}

// lineRate returns the maximum rate of a host, in bit/s: the sum of its ports.
func lineRate(p *topologies.Plan) float64 {
	sum := 0.0
	for _, id := range p.Interfaces {
		sum += float64(p.Ports[id].Rate)
	}
	return sum / float64(len(p.Hosts))
}

// payloadShare returns the fraction of line time that carries payload, in a stream of full packets.
func payloadShare(p *topologies.Plan) float64 {
	return float64(p.MTU) / float64(p.Framing.LineBytes(measure.FullFrame(p)))
}

// jctRatio returns the measured JCT over Roofline_seq (section 10.1): the time of the computes, plus 8 S algo_factor /
// B_acc for each collective.
func jctRatio(r, _ *run) (float64, error) {
	if len(r.summary.Jobs) != 1 || r.summary.Jobs[0].JCT == 0 {
		return math.NaN(), nil
	}
	job := &r.summary.Jobs[0]
	roofline := float64(job.Compute)
	for i := range r.summary.Collectives {
		c := &r.summary.Collectives[i]
		if c.Algorithmic > 0 {
			factor := c.Bus / c.Algorithmic
			roofline += 1e9 * float64(c.Count) * 8 * float64(c.Size) * factor / lineRate(r.plan())
		}
	}
	return float64(job.JCT) / roofline, nil
}

// busEfficiency returns the bus bandwidth over the line rate of a host, in per cent (section 9.1).
func busEfficiency(r, _ *run) (float64, error) {
	return 100 * measure.MetricByName("busbw").Of(r.summary, nil) / lineRate(r.plan()), nil
}

// interference returns the first job's JCT over that of the test's first run.
func interference(r, first *run) (float64, error) {
	if len(r.summary.Jobs) == 0 || r.summary.Jobs[0].JCT == 0 || first.summary.Jobs[0].JCT == 0 {
		return math.NaN(), nil
	}
	return float64(r.summary.Jobs[0].JCT) / float64(first.summary.Jobs[0].JCT), nil
}

// efficiency returns the payload of all flows over the capacity of the receivers' links until the last flow has ended,
// in per cent; receivers 0: every host.
func efficiency(receivers int) func(r, _ *run) (float64, error) {
	return func(r, _ *run) (float64, error) {
		bytes := 0.0
		for i := range r.scenario.Flows {
			bytes += float64(r.scenario.Flows[i].Size)
		}
		n := cmp.Or(receivers, len(r.plan().Hosts))
		if r.summary.Flows.Finish == 0 {
			return math.NaN(), nil
		}
		return 100 * 8e9 * bytes / float64(r.summary.Flows.Finish) / (float64(n) * lineRate(r.plan())), nil
	}
}

func retransmittedShare(r, _ *run) (float64, error) {
	var retransmitted, all int64
	err := rundir.Read(r.directory, rundir.Flows, func(f *rundir.FlowRow) error {
		all += f.Size
		retransmitted += f.Retransmitted
		return nil
	})
	return 100 * float64(retransmitted) / float64(all), err
}

// convergenceWindow sets the time over which rates are averaged before they are compared.
const convergenceWindow = vtime.Millisecond

// converged returns the time from the last flow's start until all flows are within 10 % of their fair share of the
// payload that the port carries, by their goodput over a window; NaN if they never are.
func converged(r, _ *run) (float64, error) {
	n := len(r.scenario.Flows)
	onset := vtime.Time(0)
	for i := range r.scenario.Flows {
		onset = max(onset, r.scenario.Flows[i].Start)
	}
	fair := lineRate(r.plan()) * payloadShare(r.plan()) / float64(n)
	interval := r.scenario.Sample.Interval
	width := max(int(convergenceWindow/interval), 1)
	recent := make([][]float64, n)
	var now int64
	found := math.NaN()
	within := func() bool {
		for _, goodputs := range recent {
			sum := 0.0
			for _, x := range goodputs {
				sum += x
			}
			if len(goodputs) < width || math.Abs(sum/float64(width)-fair) > 0.1*fair {
				return false
			}
		}
		return true
	}
	check := func() {
		if after := float64(now) - nanoseconds(onset); math.IsNaN(found) && after > 0 && within() {
			found = after
		}
	}
	err := rundir.Read(r.directory, rundir.Rates, func(row *rundir.RateRow) error {
		if row.Time != now {
			check()
			now = row.Time
		}
		if row.Flow < n {
			own := append(recent[row.Flow], float64(row.Goodput))
			recent[row.Flow] = own[max(len(own)-width, 0):]
		}
		return nil
	})
	check()
	return found, err
}

func nanoseconds(t vtime.Time) float64 { return float64(t) / float64(vtime.Nanosecond) }

// deadlocks counts the deadlocks that last to the run's end.
func deadlocks(r, _ *run) (float64, error) {
	n := 0
	if r.summary.Faults != nil {
		for i := range r.summary.Faults.Deadlocks {
			if r.summary.Faults.Deadlocks[i].EndedNS == 0 {
				n++
			}
		}
	}
	return float64(n), nil
}

func ended(r, _ *run) (float64, error) {
	return 100 * float64(r.summary.Flows.Completed) / float64(r.summary.Flows.Count), nil
}

// lost counts the frames lost to a cause.
func lost(cause string) func(r, _ *run) (float64, error) {
	return func(r, _ *run) (float64, error) {
		if r.summary.Faults == nil {
			return 0, nil
		}
		return float64(r.summary.Faults.Lost[cause].Frames), nil
	}
}

// lossDuration returns the bytes lost by the only flow over its rate (RFC 6412's loss-derived method), in ns.
func lossDuration(r, _ *run) (float64, error) {
	f := &r.scenario.Flows[0]
	if f.Extra().ConstantRate == 0 {
		return math.NaN(), nil
	}
	bytes := r.summary.Drops.Frames * r.plan().Framing.LineBytes(measure.FullFrame(r.plan()))
	return 1e9 * 8 * float64(bytes) / float64(f.Extra().ConstantRate), nil
}

// iterations returns the durations of a job's iterations, each from the end of the previous collective to the end of
// its own: before the first fault, across it, and after it, in ns.
func iterations(r *run) (before []float64, across float64, after []float64, err error) {
	at := int64(0)
	if len(r.scenario.Faults) > 0 {
		at = r.scenario.Faults[0].At.RoundNanoseconds()
	}
	across = math.NaN()
	last := int64(0)
	err = rundir.Read(r.directory, rundir.Collectives, func(row *rundir.CollectiveRow) error {
		if row.Completion < 0 {
			return nil
		}
		end := row.Begin + row.Completion
		took := float64(end - last)
		switch {
		case end <= at:
			before = append(before, took)
		case last <= at:
			across = took
		default:
			after = append(after, took)
		}
		last = end
		return nil
	})
	return before, across, after, err
}

func failureOverhead(r, _ *run) (float64, error) {
	before, across, _, err := iterations(r)
	return across / mean(before), err
}

func afterFailure(r, _ *run) (float64, error) {
	before, _, after, err := iterations(r)
	return mean(after) / mean(before), err
}

func failureOverLongest(r, _ *run) (float64, error) {
	before, across, _, err := iterations(r)
	if len(before) == 0 {
		return math.NaN(), err
	}
	return across / slices.Max(before), err
}

func mean(all []float64) float64 {
	sum := 0.0
	for _, x := range all {
		sum += x
	}
	return sum / float64(len(all)) // NaN of none
}

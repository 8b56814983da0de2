package runner

import (
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/vtime"
)

// rttRecorders holds the RTT samples of a run's flows, sampled in two ways.
type rttRecorders struct {
	every   workerRTTs // every acknowledged packet that requested its ACK
	sampled workerRTTs // one sample of each flow at a time
}

// workerRTTs holds a recorder for each of the engine's workers, which record at the same time. Their sum does not
// depend on which worker recorded a sample.
type workerRTTs []*rttRecorder

// newRTTRecorders returns recorders for the flows of an engine with some workers.
func newRTTRecorders(workers int) *rttRecorders {
	return &rttRecorders{every: make(workerRTTs, workers), sampled: make(workerRTTs, workers)}
}

func (l workerRTTs) record(worker int, rtt vtime.Time) {
	if l[worker] == nil {
		l[worker] = newRTTRecorder()
	}
	l[worker].Record(rtt)
}

// sum returns the samples of all workers. If only one has any, it returns that one's recorder, since an empty histogram
// takes a while to make.
func (l workerRTTs) sum() *rttRecorder {
	some := slices.DeleteFunc(slices.Clone(l), func(r *rttRecorder) bool { return r == nil })
	switch len(some) {
	case 0:
		return &rttRecorder{}
	case 1:
		return some[0]
	}
	sum := newRTTRecorder()
	for _, r := range some {
		sum.take(r)
	}
	return sum
}

// flowRTT receives the RTTs of one flow. It records all, and also samples one per RTT, as the LSTM-PID thesis does:
// the first packet sent while no sample is pending is timed until its ACK. Its RTT identifies that packet: it is the
// first sent at or after the arrival of the previous sample's ACK. So sampling has no cost when packets are sent.
type flowRTT struct {
	all  *rttRecorders
	from vtime.Time                // arrival of the last sample's ACK
	tell func(now, rtt vtime.Time) // called with each sample; nil: no call
}

// Record records the RTT of a packet whose ACK has just arrived.
func (f *flowRTT) Record(worker int, now, rtt vtime.Time) {
	f.all.every.record(worker, rtt)
	if now-rtt < f.from {
		return
	}
	f.from = now
	f.all.sampled.record(worker, rtt)
	if f.tell != nil {
		f.tell(now, rtt)
	}
}

// rttRecorder holds a distribution of RTT samples. Its memory does not grow with their number.
type rttRecorder struct {
	histogram *hdrhistogram.Histogram // in ns, with three significant digits
	sum       vtime.Time
	max       vtime.Time
	count     int64
}

// longestRTT limits the histogram, in ns. Longer samples count as this, except in the mean and the maximum.
const longestRTT = 10_000_000_000

func newRTTRecorder() *rttRecorder {
	return &rttRecorder{histogram: hdrhistogram.New(1, longestRTT, 3)}
}

// Record records one sample.
func (r *rttRecorder) Record(rtt vtime.Time) {
	r.count++
	r.sum += rtt
	r.max = max(r.max, rtt)
	_ = r.histogram.RecordValue(min(rtt.RoundNanoseconds(), longestRTT)) // within its range, so it cannot fail
}

// take adds another recorder's samples.
func (r *rttRecorder) take(o *rttRecorder) {
	r.count += o.count
	r.sum += o.sum
	r.max = max(r.max, o.max)
	r.histogram.Merge(o.histogram)
}

func (r *rttRecorder) summary() measure.RTTSummary {
	if r.count == 0 {
		return measure.RTTSummary{}
	}
	most := float64(r.max.RoundNanoseconds())
	// The histogram returns the largest value that it cannot distinguish from a quantile.
	quantile := func(q float64) float64 { return min(float64(r.histogram.ValueAtQuantile(q)), most) }
	return measure.RTTSummary{
		Samples: r.count, Mean: float64(r.sum) / float64(r.count) / float64(vtime.Nanosecond),
		P50: quantile(50), P95: quantile(95), P99: quantile(99), Max: most,
	}
}

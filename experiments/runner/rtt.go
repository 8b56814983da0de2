package runner

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/vtime"
)

// rttRecorders are the RTT samples of a run's flows, in two ways of sampling.
type rttRecorders struct {
	every   workerRTTs // of every acknowledged packet that asked for its ACK
	sampled workerRTTs // one at a time of each flow
}

// workerRTTs holds a recorder for each of the engine's workers, which record at the same time. Their sum does not
// depend on which worker recorded a sample.
type workerRTTs []*rttRecorder

// newRTTRecorders are those of the flows in an engine of so many workers.
func newRTTRecorders(workers int) *rttRecorders {
	return &rttRecorders{every: make(workerRTTs, workers), sampled: make(workerRTTs, workers)}
}

func (l workerRTTs) record(worker int, rtt vtime.Time) {
	if l[worker] == nil {
		l[worker] = newRTTRecorder()
	}
	l[worker].Record(rtt)
}

// sum is all workers' samples.
func (l workerRTTs) sum() *rttRecorder {
	sum := newRTTRecorder()
	for _, r := range l {
		if r != nil {
			sum.take(r)
		}
	}
	return sum
}

// flowRTT is told of the RTTs of one flow. Beside taking them all it samples one per RTT, as the LSTM-PID thesis does:
// the first packet sent while no sample is pending is timed until its ACK. Which packet that is shows in its RTT: it is
// the first that was sent when the ACK of the sample before it had come, or later. So sampling costs nothing as packets
// are sent.
type flowRTT struct {
	all  *rttRecorders
	from vtime.Time                // when the last sample's ACK came
	tell func(now, rtt vtime.Time) // nil, or told of each sample
}

// Record takes the RTT of a packet whose ACK has just arrived.
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

// rttRecorder is a distribution of RTT samples. It takes no memory per sample.
type rttRecorder struct {
	histogram *hdrhistogram.Histogram // in ns, three digits
	sum       vtime.Time
	max       vtime.Time
	count     int64
}

// longestRTT bounds the histogram, in ns. Longer ones count as this long, but for the mean and the greatest.
const longestRTT = 10_000_000_000

func newRTTRecorder() *rttRecorder {
	return &rttRecorder{histogram: hdrhistogram.New(1, longestRTT, 3)}
}

// Record takes one sample.
func (r *rttRecorder) Record(rtt vtime.Time) {
	r.count++
	r.sum += rtt
	r.max = max(r.max, rtt)
	_ = r.histogram.RecordValue(min(rtt.RoundNanoseconds(), longestRTT)) // within its range
}

// take adds another's samples.
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
	// The histogram says the greatest value that it does not tell from a quantile.
	quantile := func(q float64) float64 { return min(float64(r.histogram.ValueAtQuantile(q)), most) }
	return measure.RTTSummary{
		Samples: r.count, Mean: float64(r.sum) / float64(r.count) / float64(vtime.Nanosecond),
		P50: quantile(50), P95: quantile(95), P99: quantile(99), Max: most,
	}
}

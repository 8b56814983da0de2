package experiments

import (
	"math"
	"slices"
	"sort"

	"github.com/pausenet/pausenet/internal/units"
	"github.com/pausenet/pausenet/internal/vtime"
)

// sizeBins are the upper ends, in bytes, of the bins by flow size.
var sizeBins = []int64{10_000, 100_000, 1_000_000, 10_000_000, 0}

func (r *runner) summariseFlows(sum *Summary) {
	s := r.scenario
	var all collection
	tags := map[string]*collection{}
	bins := make([]collection, len(sizeBins))
	samples := make([]sample, len(r.engine.Flows()))
	for i := range samples {
		tag := s.Flows[i].Tag
		if tags[tag] == nil {
			tags[tag] = &collection{}
		}
		sets := []*collection{&all, tags[tag]}
		if size := int64(s.Flows[i].Size); size > 0 {
			b := sort.Search(len(sizeBins)-1, func(b int) bool { return size <= sizeBins[b] })
			sets = append(sets, &bins[b])
		}
		samples[i] = r.sample(i)
		for _, c := range sets {
			c.add(&samples[i])
		}
	}
	now := r.engine.Now()
	sum.BySizeShare = sizeSharesOf(samples, now)
	sum.Flows = all.statistics(now)
	for tag, c := range tags {
		sum.ByTag[tag] = c.statistics(now)
	}
	low := int64(0)
	for i, high := range sizeBins {
		if bins[i].count > 0 {
			label := "over " + units.Bytes(low).String()
			if high > 0 {
				label = "up to " + units.Bytes(high).String()
			}
			sum.BySize = append(sum.BySize, SizeBin{Label: label, UpTo: high, FlowStatistics: bins[i].statistics(now)})
		}
		low = high
	}
}

// sample is what the statistics need of a flow.
type sample struct {
	size, delivered int64 // payload bytes
	start, end      vtime.Time
	ended           bool
	expected        bool // to outlast the run, as may be
	started         bool
	stopped         bool     // it can never end
	times           flowTime // of a flow that has ended
	ce, ue          int64    // marked packets that arrived
}

func (r *runner) sample(flow int) sample {
	f := &r.engine.Flows()[flow]
	v := sample{
		size: f.Size, start: f.Start, end: f.Finished, ended: f.Finished != vtime.Never,
		expected: r.scenario.Flows[flow].ExpectUnfinished, started: f.Sender != nil,
	}
	_, v.stopped = slices.BinarySearch(r.stopped, flow)
	if v.ended {
		v.times = r.times[flow]
	}
	if f.Receiver != nil {
		v.delivered, v.ce, v.ue = f.Receiver.Delivered, f.Receiver.Marked, f.Receiver.Undetermined
	}
	return v
}

// collection gathers flows.
type collection struct {
	count       int
	fct         []float64    // ns; of the flows that ended, like slowdown
	slowdown    [3][]float64 // over the time alone, that by HPCC's simulator, the size at line rate
	delivered   int64
	ce, ue      int64
	unfinished  UnfinishedFlows
	ended       int64      // payload bytes of the flows that ended
	taken       vtime.Time // the sum of their FCTs
	first, last vtime.Time // the first start of any, the last end
}

func (c *collection) add(v *sample) {
	if c.count == 0 || v.start < c.first {
		c.first = v.start
	}
	c.count++
	c.delivered += v.delivered
	c.ce += v.ce
	c.ue += v.ue
	if v.ended {
		fct := v.end - v.start
		c.fct = append(c.fct, float64(fct)/float64(vtime.Nanosecond))
		for i, s := range [...]float64{v.times.slowdown(), v.times.slowdownHPCC(), v.times.slowdownLine()} {
			c.slowdown[i] = append(c.slowdown[i], s)
		}
		c.ended += v.size
		c.taken += fct
		c.last = max(c.last, v.end)
	} else if v.size > 0 {
		c.unfinished.add(v)
	}
}

func (u *UnfinishedFlows) add(v *sample) {
	u.Flows++
	for _, c := range []struct {
		so   bool
		into *int
	}{{v.expected, &u.Expected}, {!v.started, &u.NotStarted}, {v.stopped, &u.Stopped}} {
		if c.so {
			*c.into++
		}
	}
}

// statistics are those of the flows gathered, in a run that took until now.
func (c *collection) statistics(now vtime.Time) FlowStatistics {
	s := FlowStatistics{
		Count: c.count, Completed: len(c.fct), FCT: quantiles(c.fct), Slowdown: quantiles(c.slowdown[0]),
		SlowdownHPCC: quantiles(c.slowdown[1]), SlowdownLine: quantiles(c.slowdown[2]), CE: c.ce, UE: c.ue,
	}
	if c.unfinished.Flows > 0 {
		u := c.unfinished
		s.Unfinished = &u
	}
	if now > 0 {
		s.Goodput = float64(c.delivered) * 8 / now.Seconds()
	}
	if c.taken > 0 {
		s.MeanRate = float64(c.ended) * 8 / c.taken.Seconds()
	}
	if c.count > 0 && s.Completed == c.count {
		s.Finish = wholeNanoseconds(c.last - c.first)
	}
	return s
}

// quantiles sorts values. A quantile is the smallest value that at least that part of the values do not exceed.
func quantiles(values []float64) Quantiles {
	if len(values) == 0 {
		return Quantiles{}
	}
	sort.Float64s(values)
	var sum float64
	for _, v := range values {
		sum += v
	}
	at := func(q float64) float64 {
		return values[max(int(math.Ceil(q*float64(len(values))))-1, 0)]
	}
	return Quantiles{
		Mean: sum / float64(len(values)), P50: at(0.50), P95: at(0.95), P99: at(0.99), Max: values[len(values)-1],
	}
}

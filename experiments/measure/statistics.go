package measure

import (
	"math"
	"sort"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// sizeBins are the upper ends, in bytes, of the bins by flow size.
var sizeBins = []int64{10_000, 100_000, 1_000_000, 10_000_000, 0}

// FlowRecord is what a flow of a run came to, as far as the statistics go by it.
type FlowRecord struct {
	Tag             string
	Size, Delivered int64 // payload bytes; of size 0 a flow that sends until the run ends
	Start, End      vtime.Time
	Ended           bool // End is when; Times hold
	Expected        bool // it may outlast the run
	Started         bool
	Stopped         bool // it can never end
	Times           FlowTimes
	CE, UE          int64 // marked packets that arrived
	Retransmitted   int64 // payload bytes
}

// TakeFlows fills in what a summary has of flows: of all, by tag, and by size. The run took until now.
func (s *Summary) TakeFlows(flows []FlowRecord, now vtime.Time) {
	var all collection
	tags := map[string]*collection{}
	bins := make([]collection, len(sizeBins))
	for i := range flows {
		f := &flows[i]
		if tags[f.Tag] == nil {
			tags[f.Tag] = &collection{}
		}
		sets := []*collection{&all, tags[f.Tag]}
		if f.Size > 0 {
			b := sort.Search(len(sizeBins)-1, func(b int) bool { return f.Size <= sizeBins[b] })
			sets = append(sets, &bins[b])
		}
		for _, c := range sets {
			c.add(f)
		}
	}
	s.BySizeBin = sizeBinsOf(flows, now)
	s.Flows = all.statistics(now)
	s.ByTag = map[string]FlowStatistics{}
	for tag, c := range tags {
		s.ByTag[tag] = c.statistics(now)
	}
	low := int64(0)
	for i, high := range sizeBins {
		if bins[i].count > 0 {
			label := "over " + units.Bytes(low).String()
			if high > 0 {
				label = "up to " + units.Bytes(high).String()
			}
			s.BySize = append(s.BySize, SizeBin{Label: label, UpTo: high, FlowStatistics: bins[i].statistics(now)})
		}
		low = high
	}
}

// StatisticsOf are those of some flows of a run that took until now.
func StatisticsOf(flows []FlowRecord, now vtime.Time) FlowStatistics {
	var c collection
	for i := range flows {
		c.add(&flows[i])
	}
	return c.statistics(now)
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

func (c *collection) add(v *FlowRecord) {
	if c.count == 0 || v.Start < c.first {
		c.first = v.Start
	}
	c.count++
	c.delivered += v.Delivered
	c.ce += v.CE
	c.ue += v.UE
	if v.Ended {
		fct := v.End - v.Start
		c.fct = append(c.fct, float64(fct)/float64(vtime.Nanosecond))
		for i, s := range [...]float64{v.Times.Slowdown(), v.Times.slowdownHPCC(), v.Times.slowdownLine()} {
			c.slowdown[i] = append(c.slowdown[i], s)
		}
		c.ended += v.Size
		c.taken += fct
		c.last = max(c.last, v.End)
	} else if v.Size > 0 {
		c.unfinished.add(v)
	}
}

func (u *UnfinishedFlows) add(v *FlowRecord) {
	u.Flows++
	for _, c := range []struct {
		so   bool
		into *int
	}{{v.Expected, &u.Expected}, {!v.Started, &u.NotStarted}, {v.Stopped, &u.Stopped}} {
		if c.so {
			*c.into++
		}
	}
}

// statistics are those of the flows gathered, in a run that took until now.
func (c *collection) statistics(now vtime.Time) FlowStatistics {
	s := FlowStatistics{
		Count: c.count, Completed: len(c.fct), FCT: QuantilesOf(c.fct), Slowdown: QuantilesOf(c.slowdown[0]),
		SlowdownHPCC: QuantilesOf(c.slowdown[1]), SlowdownLine: QuantilesOf(c.slowdown[2]), CE: c.ce, UE: c.ue,
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
		s.Finish = (c.last - c.first).RoundNanoseconds()
	}
	return s
}

// QuantilesOf sorts values. A quantile is the smallest value that at least that part of the values do not exceed.
func QuantilesOf(values []float64) Quantiles {
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

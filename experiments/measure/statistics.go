package measure

import (
	"math"
	"slices"
	"sort"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// sizeBins holds the upper ends, in bytes, of the bins by flow size.
var sizeBins = []int64{10_000, 100_000, 1_000_000, 10_000_000, 0}

// FlowRecord holds the results of a flow that the statistics need.
type FlowRecord struct {
	Tag             string
	Size, Delivered int64 // payload bytes; Size 0: the flow sends until the run ends
	Start, End      vtime.Time
	Ended           bool // End and Times are set
	Expected        bool // may outlast the run
	Started         bool
	Stopped         bool // can never end
	Times           FlowTimes
	CE, UE          int64 // marked packets that arrived
	Retransmitted   int64 // payload bytes
}

// Flows provides the flows of a run, by number. There may be millions, so a record is made on demand.
type Flows interface {
	Len() int
	Record(flow int) FlowRecord
}

// Records implements Flows by a list of flow records.
type Records []FlowRecord

// Len returns the number of flows.
func (r Records) Len() int { return len(r) }

// Record returns the record of a flow.
func (r Records) Record(flow int) FlowRecord { return r[flow] }

// TakeFlows fills in a summary's statistics of flows (all, by tag, and by size) for a run that ended at now.
func (s *Summary) TakeFlows(flows Flows, now vtime.Time) {
	tags, bins := map[string]int{}, make([]int, len(sizeBins)) // number of flows
	for i := range flows.Len() {
		f := flows.Record(i)
		tags[f.Tag]++
		if f.Size > 0 {
			bins[sizeBinOf(&f)]++
		}
	}
	c := collection{flows: flows, now: now}
	s.Flows = c.statistics(nil)
	of := func(n int, has func(*FlowRecord) bool) FlowStatistics {
		if n == flows.Len() {
			return s.Flows
		}
		members := make([]int32, 0, n)
		for i := range flows.Len() {
			if f := flows.Record(i); has(&f) {
				members = append(members, int32(i))
			}
		}
		return c.statistics(members)
	}
	s.ByTag = map[string]FlowStatistics{}
	for tag, n := range tags {
		s.ByTag[tag] = of(n, func(f *FlowRecord) bool { return f.Tag == tag })
	}
	low := int64(0)
	for i, high := range sizeBins {
		if bins[i] > 0 {
			label := "over " + units.Bytes(low).String()
			if high > 0 {
				label = "up to " + units.Bytes(high).String()
			}
			s.BySize = append(s.BySize, SizeBin{
				Label: label, UpTo: high,
				FlowStatistics: of(bins[i], func(f *FlowRecord) bool { return f.Size > 0 && sizeBinOf(f) == i }),
			})
		}
		low = high
	}
	s.BySizeBin = c.sizeBins()
}

// sizeBinOf returns the index in sizeBins of a flow with a size.
func sizeBinOf(f *FlowRecord) int {
	return sort.Search(len(sizeBins)-1, func(b int) bool { return f.Size <= sizeBins[b] })
}

// StatisticsOf returns the statistics of the flows of a run that ended at now.
func StatisticsOf(flows Flows, now vtime.Time) FlowStatistics {
	c := collection{flows: flows, now: now}
	return c.statistics(nil)
}

// collection computes the statistics of one set of a run's flows after another. The values that it sorts for quantiles
// take 8 bytes for each flow and quantity; it reuses this memory.
type collection struct {
	flows  Flows
	now    vtime.Time // the end of the run
	values [len(quantities)][]float64
}

// quantities lists the values of an ended flow of which statistics have quantiles: the FCT in ns, and the slowdown over
// the ideal FCT, over that of HPCC's simulator, and over the time at line rate.
var quantities = [...]func(*FlowRecord) float64{
	func(f *FlowRecord) float64 { return float64(f.End-f.Start) / float64(vtime.Nanosecond) },
	func(f *FlowRecord) float64 { return f.Times.Slowdown() },
	func(f *FlowRecord) float64 { return f.Times.slowdownHPCC() },
	func(f *FlowRecord) float64 { return f.Times.slowdownLine() },
}

// atOnce sets the number of flows up to which statistics collect the values of all quantities at once. Beyond it, each
// quantity takes a pass over all flows.
const atOnce = 4 << 20

// statistics returns the statistics of the flows with these numbers; nil: of all.
func (c *collection) statistics(members []int32) FlowStatistics {
	n, count := len(members), len(quantities)
	if members == nil {
		n = c.flows.Len()
	}
	if n > atOnce {
		count = 1
	}
	var t totals
	var f FlowRecord // one for all, as functions get its address
	var all [len(quantities)]Quantiles
	completed := 0
	for from := 0; from < len(quantities); from += count {
		t = totals{}
		for i := range count {
			c.values[i] = slices.Grow(c.values[i][:0], n)
		}
		for k := range n {
			if members != nil {
				k = int(members[k])
			}
			if f = c.flows.Record(k); t.add(&f) {
				for i, of := range quantities[from:][:count] {
					c.values[i] = append(c.values[i], of(&f))
				}
			}
		}
		completed = len(c.values[0])
		for i := range count {
			all[from+i] = QuantilesOf(c.values[i])
		}
	}
	s := FlowStatistics{
		Count: n, Completed: completed, FCT: all[0], Slowdown: all[1], SlowdownHPCC: all[2], SlowdownLine: all[3],
		CE: t.ce, UE: t.ue,
	}
	if t.unfinished.Flows > 0 {
		s.Unfinished = &t.unfinished
	}
	if c.now > 0 {
		s.Goodput = float64(t.delivered) * 8 / c.now.Seconds()
	}
	if t.taken > 0 {
		s.MeanRate = float64(t.ended) * 8 / t.taken.Seconds()
	}
	if n > 0 && s.Completed == n {
		s.Finish = (t.last - t.first).RoundNanoseconds()
	}
	return s
}

// totals holds sums over flows.
type totals struct {
	count       int
	delivered   int64
	ce, ue      int64
	unfinished  UnfinishedFlows
	ended       int64      // payload bytes of the flows that ended
	taken       vtime.Time // sum of their FCTs
	first, last vtime.Time // earliest start and latest end of the flows
}

// add adds a flow, and reports whether it has ended.
func (t *totals) add(v *FlowRecord) bool {
	if t.count == 0 || v.Start < t.first {
		t.first = v.Start
	}
	t.count++
	t.delivered += v.Delivered
	t.ce += v.CE
	t.ue += v.UE
	switch {
	case v.Ended:
		t.ended += v.Size
		t.taken += v.End - v.Start
		t.last = max(t.last, v.End)
	case v.Size > 0:
		t.unfinished.add(v)
	}
	return v.Ended
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

// QuantilesOf sorts values and returns their quantiles. A quantile is the smallest value that at least that fraction
// of the values does not exceed.
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

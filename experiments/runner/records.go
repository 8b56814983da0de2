package runner

import (
	"cmp"
	"slices"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/vtime"
)

// flowRecords are what the run's flows came to.
type flowRecords struct {
	run   *runner
	alone []alone // by flow, of those that have ended
}

// alone is how long a flow would have taken without others, and that by HPCC's simulator: what costs to work out.
type alone struct{ ideal, hpcc vtime.Time }

// flowRecords works out what the records need.
func (r *runner) flowRecords() flowRecords {
	flows, plan := r.flows(), r.Scenario.Topology
	all := flowRecords{r, make([]alone, flows.n)}
	for i := range flows.n {
		end := flows.finished(i)
		switch f := &flows.qps[i]; {
		case end == vtime.Never || r.cut(i):
		case flows.others(i) != nil:
			size := int64(r.Scenario.Flows[i].Size)
			all.alone[i] = alone{r.ideal(i, size), vtime.Time(measure.HPCCAlone(plan, f.Source, f.Destination, f.Ports.Pair,
				size)) * vtime.Nanosecond}
		default:
			path := paths.Forward(plan, f.Source, f.Destination, f.Ports)
			back := paths.Back(plan, f.Source, f.Destination, f.Ports)
			t := measure.TimesOf(plan, path, back, f.Size, f.Finished-f.Start)
			all.alone[i] = alone{t.Ideal, t.HPCC}
		}
	}
	return all
}

// Len is how many there are.
func (r *flowRecords) Len() int { return len(r.alone) }

// Record is that of a flow.
func (r *flowRecords) Record(flow int) measure.FlowRecord {
	s, spec, plan := r.run.flows(), &r.run.Scenario.Flows[flow], r.run.Scenario.Topology
	end, cut := s.finished(flow), r.run.cut(flow)
	v := measure.FlowRecord{
		Tag: spec.Tag, Size: int64(spec.Size), Start: s.start(flow), End: end, Ended: end != vtime.Never && !cut,
		Expected: spec.ExpectUnfinished || cut, Started: s.started(flow), Delivered: s.delivered(flow),
		Retransmitted: s.retransmitted(flow),
	}
	if spec.Waits() && !v.Started {
		v.Start = r.run.engine.Now() // it is at least as late
	}
	if v.Ended {
		v.Times = measure.FlowTimes{
			FCT: end - v.Start, Ideal: r.alone[flow].ideal, HPCC: r.alone[flow].hpcc,
			Line: measure.LineTime(plan, plan.Nodes[spec.Source].Ports[s.qps[flow].Ports.From], int64(spec.Size)),
		}
	} else {
		_, v.Stopped = slices.BinarySearch(r.run.stopped, flow)
	}
	v.CE, v.UE = s.marked(flow)
	return v
}

// byStart are the numbers of flows in the order of their starts; nil if that is the order in which they stand.
func byStart(flows []scenario.Flow) []int32 {
	compare := func(a, b *scenario.Flow) int { return cmp.Compare(a.Start, b.Start) }
	if slices.IsSortedFunc(flows, func(a, b scenario.Flow) int { return compare(&a, &b) }) {
		return nil
	}
	order := make([]int32, len(flows))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return compare(&flows[a], &flows[b]) })
	return order
}

// starting goes through flows in the order of their starts. It takes no memory a flow.
type starting struct {
	flows []scenario.Flow
	order []int32 // byStart
	of    func(*scenario.Flow) bool
	gone  int // flows of the order that it has gone through
	// begun are the flows that wait and have started, in order, of which it has gone through some; nil: there are none.
	begun     *[]begun
	goneBegun int
}

// begun is a flow that an operation has started.
type begun struct {
	flow int32
	at   vtime.Time
}

// before is the next flow that starts before a time, if there is one.
func (s *starting) before(at vtime.Time) (flow int, ok bool) {
	for {
		flow = s.next(at)
		if flow < 0 || s.of(&s.flows[flow]) {
			return max(flow, 0), flow >= 0
		}
	}
}

// next is the next flow, of all, that starts before a time; -1 without one.
func (s *starting) next(at vtime.Time) int {
	if s.gone < len(s.flows) {
		flow := s.gone
		if s.order != nil {
			flow = int(s.order[s.gone])
		}
		if start := s.flows[flow].Start; start < at && !s.waited(start) {
			s.gone++
			return flow
		}
	}
	if s.waited(at) {
		s.goneBegun++
		return int((*s.begun)[s.goneBegun-1].flow)
	}
	return -1
}

// waited says whether the next flow to go through is one that waited and has started before a time.
func (s *starting) waited(at vtime.Time) bool {
	return s.begun != nil && s.goneBegun < len(*s.begun) && (*s.begun)[s.goneBegun].at < at
}

// underWay is a flow that has started and had not ended when last looked at.
type underWay struct {
	flow   int32
	tag    int32 // fairness's
	before int64 // payload bytes that had been delivered then
}

// flowSamples samples flows while they are under way.
type flowSamples struct {
	interval vtime.Time
	waiting  starting
	active   []underWay
}

// sample tells of each flow that is under way, or has ended since the last sample: its controller's rate, 0 once it has
// ended, what it delivered since, both in bit/s, and its last RTT.
func (s *flowSamples) sample(now vtime.Time, flows flowSet,
	tell func(flow int, rate, goodput float64, rtt vtime.Time),
) {
	for i, ok := s.waiting.before(now); ok; i, ok = s.waiting.before(now) {
		s.active = append(s.active, underWay{flow: int32(i)})
	}
	kept := s.active[:0]
	for _, a := range s.active {
		i := int(a.flow)
		if !flows.started(i) {
			kept = append(kept, a)
			continue
		}
		delivered := flows.delivered(i)
		goodput := float64(delivered-a.before) * 8 / s.interval.Seconds()
		a.before = delivered
		rate := 0.0
		if flows.finished(i) == vtime.Never {
			rate = flows.rate(i)
			kept = append(kept, a)
		}
		tell(i, rate, goodput, flows.lastRTT(i))
	}
	s.active = kept
}

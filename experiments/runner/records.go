package runner

import (
	"cmp"
	"slices"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// flowRecords provides the results of the run's flows.
type flowRecords struct {
	run   *runner
	alone []alone              // by flow, for ended flows that have an entry of their own
	first []sizedAlone         // by further entry: of one size
	alike map[alikeFlows]alone // of messages of further sizes
}

// sizedAlone holds the ideal FCTs of an entry's messages of one size; 0: of none so far.
type sizedAlone struct {
	size int64
	alone
}

// alikeFlows identifies messages with equal paths.
type alikeFlows struct {
	entry int
	size  int64
}

// alone holds a flow's ideal FCT and HPCC's, which are costly to compute.
type alone struct{ ideal, hpcc vtime.Time }

// flowRecords computes the data that the records need.
func (r *runner) flowRecords() flowRecords {
	flows, plan := r.flows(), r.Scenario.Topology
	own := r.Scenario.Entries()
	all := flowRecords{
		r, make([]alone, own), make([]sizedAlone, len(r.Scenario.Flows)-own), map[alikeFlows]alone{},
	}
	for i := range all.alone {
		end := flows.finished(i)
		switch f := flows.qp(i); {
		case end == vtime.Never || r.cut(i):
		case flows.others(i) != nil:
			size := r.sizeOf(i)
			all.alone[i] = alone{r.ideal(i, size), vtime.Time(measure.HPCCAlone(plan, f.Source, f.Destination, f.Ports.Pair,
				size)) * vtime.Nanosecond}
		default:
			all.alone[i] = aloneOf(plan, f)
		}
	}
	return all
}

// aloneOf computes the ideal FCTs of a flow of one QP.
func aloneOf(plan *topologies.Plan, f *engine.Flow) alone {
	t := measure.TimesOf(plan, paths.Forward(plan, f.Source, f.Destination, f.Ports),
		paths.Back(plan, f.Source, f.Destination, f.Ports), f.Size, f.Finished-f.Start)
	return alone{t.Ideal, t.HPCC}
}

// aloneOf returns the ideal FCTs of an ended flow.
func (r *flowRecords) aloneOf(flow int) alone {
	if flow < len(r.alone) {
		return r.alone[flow]
	}
	s, entry := r.run.flows(), r.run.Scenario.Entry(flow)
	f := s.qp(flow)
	first := &r.first[entry-len(r.alone)]
	if first.size == 0 {
		*first = sizedAlone{f.Size, aloneOf(r.run.Scenario.Topology, f)}
	}
	if first.size == f.Size {
		return first.alone
	}
	of := alikeFlows{entry, f.Size}
	own, known := r.alike[of]
	if !known {
		own = aloneOf(r.run.Scenario.Topology, f)
		r.alike[of] = own
	}
	return own
}

// Len returns the number of flows.
func (r *flowRecords) Len() int { return r.run.flows().n }

// Record returns the record of a flow.
func (r *flowRecords) Record(flow int) measure.FlowRecord {
	s, spec, plan := r.run.flows(), r.run.Scenario.Flow(flow), r.run.Scenario.Topology
	end, cut := s.finished(flow), r.run.cut(flow)
	v := measure.FlowRecord{
		Tag: spec.Tag, Size: int64(spec.Size), Start: s.start(flow), End: end, Ended: end != vtime.Never && !cut,
		Expected: spec.ExpectUnfinished || cut, Started: s.started(flow), Delivered: s.delivered(flow),
		Retransmitted: s.retransmitted(flow),
	}
	if spec.Waits() && !v.Started {
		v.Start = r.run.engine.Now() // not started yet: its start is no earlier than this
	}
	if v.Ended {
		alone := r.aloneOf(flow)
		v.Times = measure.FlowTimes{
			FCT: end - v.Start, Ideal: alone.ideal, HPCC: alone.hpcc,
			Line: measure.LineTime(plan, plan.Nodes[spec.Source].Ports[s.qp(flow).Ports.From], int64(spec.Size)),
		}
	} else {
		_, v.Stopped = slices.BinarySearch(r.run.stopped, flow)
	}
	v.CE, v.UE = s.marked(flow)
	return v
}

// byStart returns the numbers of flows in order of their starts; nil if they already are in that order.
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

// starting iterates over flows in order of their starts, without memory for each flow.
type starting struct {
	scenario *scenario.Scenario
	order    []int32 // byStart
	of       func(*scenario.Flow) bool
	seen     int // number of flows of the order already returned
	// started lists the dependent flows that have started, in order; nil: there are none. The first startedSeen of them
	// have already been returned.
	started     *startedFlows
	startedSeen int
}

// startedFlows lists dependent flows that have started, in order, without the first ones.
type startedFlows struct {
	without int
	flows   []startedFlow
}

// forget frees the flows that all readers have seen.
func (s *startedFlows) forget(readers ...*starting) {
	seen := s.without + len(s.flows)
	for _, r := range readers {
		seen = min(seen, r.startedSeen)
	}
	s.flows = s.flows[:copy(s.flows, s.flows[seen-s.without:])]
	s.without = seen
}

// startedFlow represents a flow that an operation has started.
type startedFlow struct {
	flow int32
	at   vtime.Time
}

// before returns the next flow that starts before a time, if there is one.
func (s *starting) before(at vtime.Time) (flow int, ok bool) {
	for {
		flow = s.next(at)
		if flow < 0 || s.of(&s.scenario.Flows[s.scenario.Entry(flow)]) {
			return max(flow, 0), flow >= 0
		}
	}
}

// next returns the next of all flows that starts before a time; -1: there is none.
func (s *starting) next(at vtime.Time) int {
	if flows := s.scenario.Flows; s.seen < len(flows) {
		flow := s.seen
		if s.order != nil {
			flow = int(s.order[s.seen])
		}
		if start := flows[flow].Start; start < at && !s.dependent(start) {
			s.seen++
			return flow
		}
	}
	if s.dependent(at) {
		s.startedSeen++
		return int(s.started.flows[s.startedSeen-1-s.started.without].flow)
	}
	return -1
}

// dependent reports whether the next flow is a dependent one that started before a time.
func (s *starting) dependent(at vtime.Time) bool {
	if s.started == nil {
		return false
	}
	i := s.startedSeen - s.started.without
	return i < len(s.started.flows) && s.started.flows[i].at < at
}

// underWay represents a flow that had started and not ended at the last sample.
type underWay struct {
	flow   int32
	tag    int32 // index of the tag in fairness
	before int64 // payload bytes delivered until then
}

// flowSamples samples flows while they are in progress.
type flowSamples struct {
	interval vtime.Time
	waiting  starting
	active   []underWay
}

// sample reports each flow that is in progress or has ended since the last sample: its controller's rate (0 after its
// end) and the goodput since the last sample, both in bit/s, and its last RTT.
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

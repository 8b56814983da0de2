package runner

import (
	"slices"
	"sort"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/vtime"
)

// flowRecords are what the run's flows came to.
func (r *runner) flowRecords() []measure.FlowRecord {
	records := make([]measure.FlowRecord, len(r.engine.Flows()))
	for i := range records {
		records[i] = r.flowRecord(i)
	}
	return records
}

func (r *runner) flowRecord(flow int) measure.FlowRecord {
	f, spec, plan := &r.engine.Flows()[flow], &r.Scenario.Flows[flow], r.Scenario.Topology
	v := measure.FlowRecord{
		Tag: spec.Tag, Size: f.Size, Start: f.Start, End: f.Finished, Ended: f.Finished != vtime.Never,
		Expected: spec.ExpectUnfinished, Started: f.Sender != nil,
	}
	_, v.Stopped = slices.BinarySearch(r.stopped, flow)
	if v.Ended {
		path := engine.Path(plan, f.Source, f.Destination, f.Ports)
		back := engine.WayBack(plan, f.Source, f.Destination, f.Ports)
		v.Times = measure.TimesOf(plan, path, back, f.Size, f.Finished-f.Start)
	}
	if f.Sender != nil {
		v.Retransmitted = f.Sender.Retransmitted
	}
	if f.Receiver != nil {
		v.Delivered, v.CE, v.UE = f.Receiver.Delivered, f.Receiver.Marked, f.Receiver.Undetermined
	}
	return v
}

// sortByStart puts flows in the order of their starts.
func sortByStart(ids []int, flows []scenario.Flow) {
	sort.SliceStable(ids, func(a, b int) bool { return flows[ids[a]].Start < flows[ids[b]].Start })
}

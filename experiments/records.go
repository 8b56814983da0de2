package experiments

import (
	"slices"

	"github.com/pausenet/pausenet/vtime"
)

// flowRecords are what the run's flows came to.
func (r *runner) flowRecords() []FlowRecord {
	records := make([]FlowRecord, len(r.engine.Flows()))
	for i := range records {
		records[i] = r.flowRecord(i)
	}
	return records
}

func (r *runner) flowRecord(flow int) FlowRecord {
	f, spec := &r.engine.Flows()[flow], &r.scenario.Flows[flow]
	v := FlowRecord{
		Tag: spec.Tag, Size: f.Size, Start: f.Start, End: f.Finished, Ended: f.Finished != vtime.Never,
		Expected: spec.ExpectUnfinished, Started: f.Sender != nil,
	}
	_, v.Stopped = slices.BinarySearch(r.stopped, flow)
	if v.Ended {
		v.Times = r.times[flow]
	}
	if f.Receiver != nil {
		v.Delivered, v.CE, v.UE = f.Receiver.Delivered, f.Receiver.Marked, f.Receiver.Undetermined
	}
	return v
}

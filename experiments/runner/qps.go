package runner

import (
	"cmp"
	"slices"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/vtime"
)

// flowSet holds a run's flows, each with all of its QPs, which are flows of the engine.
type flowSet struct {
	qps  []engine.Flow     // each flow's first QP, followed by all others
	more map[int32][]int32 // the others, for flows with several QPs; nil: every flow has one
	n    int
	// Messages of rings have numbers beyond qps: engine has them, and message holds the one that was asked for last.
	engine  *engine.Engine
	message *engine.Flow
}

// qp returns the QP of a number, until the next call.
func (s *flowSet) qp(number int) *engine.Flow {
	if number < len(s.qps) {
		return &s.qps[number]
	}
	if s.message.Number != number || s.message.Finished == vtime.Never {
		*s.message = s.engine.Message(number)
	}
	return s.message
}

// flows returns the run's flows.
func (r *runner) flows() flowSet {
	return r.recorder.all()
}

// others returns a flow's QPs except the first.
func (s *flowSet) others(flow int) []int32 {
	if s.more == nil {
		return nil
	}
	return s.more[int32(flow)]
}

// start returns a flow's start; for a flow that waits its actual start, or vtime.Never before it.
func (s *flowSet) start(flow int) vtime.Time { return s.qp(flow).Start }

// delivered returns the payload bytes of a flow that have arrived.
func (s *flowSet) delivered(flow int) int64 {
	sum := s.qp(flow).Delivered()
	for _, q := range s.others(flow) {
		sum += s.qp(int(q)).Delivered()
	}
	return sum
}

// retransmitted returns the retransmitted payload bytes of a flow.
func (s *flowSet) retransmitted(flow int) int64 {
	sum := s.qp(flow).Retransmitted()
	for _, q := range s.others(flow) {
		sum += s.qp(int(q)).Retransmitted()
	}
	return sum
}

// marked returns the numbers of a flow's data packets that arrived with CE and with UE.
func (s *flowSet) marked(flow int) (congested, undetermined int64) {
	congested, undetermined = s.qp(flow).Marked()
	for _, q := range s.others(flow) {
		c, u := s.qp(int(q)).Marked()
		congested, undetermined = congested+c, undetermined+u
	}
	return congested, undetermined
}

// recovery returns the counts of a flow's loss recovery.
func (s *flowSet) recovery(flow int) engine.FlowRecovery {
	met := s.qp(flow).Recovery()
	for _, q := range s.others(flow) {
		m := s.qp(int(q)).Recovery()
		met.Spurious, met.Duplicates, met.Reordered =
			met.Spurious+m.Spurious, met.Duplicates+m.Duplicates, met.Reordered+m.Reordered
		met.Trimmed, met.Extent = met.Trimmed+m.Trimmed, max(met.Extent, m.Extent)
	}
	return met
}

// cut reports whether a flow was stopped before all of it was sent: it has ended but has no FCT.
func (r *runner) cut(flow int) bool {
	if t := r.Of(flow).Traits; t == nil || t.Stop == 0 {
		return false
	}
	s, size := r.flows(), r.sizeOf(flow)
	return s.finished(flow) != vtime.Never && (size == 0 || s.delivered(flow) < size)
}

// started reports whether a flow has started; all its QPs start together.
func (s *flowSet) started(flow int) bool { return s.qp(flow).Started() }

// finished returns when the last byte of a flow's last QP was acknowledged; vtime.Never before.
func (s *flowSet) finished(flow int) vtime.Time {
	end := s.qp(flow).Finished
	for _, q := range s.others(flow) {
		end = max(end, s.qp(int(q)).Finished)
	}
	return end
}

// rate returns the sum of a flow's controllers' rates, over QPs that have not ended.
func (s *flowSet) rate(flow int) float64 {
	sum := 0.0
	if f := s.qp(flow); f.Sender != nil && f.Finished == vtime.Never {
		sum = f.Sender.Rate()
	}
	for _, q := range s.others(flow) {
		if f := s.qp(int(q)); f.Sender != nil && f.Finished == vtime.Never {
			sum += f.Sender.Rate()
		}
	}
	return sum
}

// lastRTT returns the longest of its QPs' last RTTs; 0 before the first.
func (s *flowSet) lastRTT(flow int) vtime.Time {
	last := s.qp(flow).LastRTT()
	for _, q := range s.others(flow) {
		last = max(last, s.qp(int(q)).LastRTT())
	}
	return last
}

// ideal returns the ideal FCT of a flow, or of some bytes of it, with all of its QPs.
func (r *runner) ideal(flow int, size int64) vtime.Time {
	plan, s := r.Scenario.Topology, r.flows()
	others := s.others(flow)
	n, total := int64(1+len(others)), r.sizeOf(flow)
	qps := make([]measure.QPPath, 0, n)
	for _, q := range append([]int32{int32(flow)}, others...) {
		f := s.qp(int(q))
		part := size / n
		if total > 0 { // in proportion to its part of the flow
			part = int64(float64(size) * float64(f.Size) / float64(total))
		}
		qps = append(qps, measure.QPPath{
			Path: paths.Forward(plan, f.Source, f.Destination, f.Ports),
			Back: paths.Back(plan, f.Source, f.Destination, f.Ports), Size: max(part, 1),
		})
	}
	return measure.IdealOfQPs(plan, qps)
}

// sizeOf returns the bytes of a flow; 0: it is unbounded.
func (r *runner) sizeOf(flow int) int64 {
	f := r.Scenario.Flow(flow)
	return int64(f.Size)
}

// writeQPs writes qps.csv, if a flow has several QPs: one row for each QP of such flows.
func (r *runner) writeQPs(folder *files.Folder) error {
	s := r.flows()
	if s.more == nil {
		return nil
	}
	return rundir.Write(folder, rundir.QPs, func(yield func(*rundir.QPRow) bool) {
		flows := make([]int32, 0, len(s.more))
		for flow := range s.more {
			flows = append(flows, flow)
		}
		slices.SortFunc(flows, func(a, b int32) int { return cmp.Compare(a, b) })
		for _, flow := range flows {
			for k, q := range append([]int32{flow}, s.more[flow]...) {
				f := s.qp(int(q))
				row := rundir.QPRow{
					Flow: int(flow), QP: k, Port: int(f.Ports.Source), Size: f.Size, FCT: -1, Delivered: f.Delivered(),
					Retransmitted: f.Retransmitted(),
				}
				if f.Finished != vtime.Never {
					row.FCT = (f.Finished - f.Start).RoundNanoseconds()
				}
				row.Marked, _ = f.Marked()
				if !yield(&row) {
					return
				}
			}
		}
	})
}

// all returns the run's flows.
func (r *recorder) all() flowSet {
	return flowSet{r.engine.Flows(), r.more, r.scenario.FlowCount(), r.engine, &r.message}
}

package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/units"
)

// verdict makes the final check. runErr is the error that ended the run early, or nil.
func (r *runner) verdict(sum *measure.Summary, runErr error) measure.Verdict {
	v := measure.Verdict{Status: measure.Pass, Messages: []string{}}
	switch {
	case errors.Is(runErr, context.Canceled) && r.engine.Now() > r.Scenario.Duration: // it is draining
		v.Worsen(measure.Fail, "interrupted at %v, while draining: the results are partial", r.engine.Now())
	case errors.Is(runErr, context.Canceled):
		v.Worsen(measure.Fail, "interrupted at %v of %v: the results are partial", r.engine.Now(), r.Scenario.Duration)
	case runErr != nil:
		v.Worsen(measure.Fail, "stopped at %v: %v", r.engine.Now(), runErr)
	}
	if isHalfway(runErr) {
		return v
	}
	deadlock := r.engine.Deadlocked()
	if deadlock != nil {
		v.Worsen(measure.Fail, "deadlock since %v: %s. Flow control stops each of these ports until the next one has sent",
			deadlock.Since, r.engine.DescribeCycle(deadlock))
	}
	for _, broken := range r.engine.Check() {
		v.Worsen(measure.Fail, "%v", broken)
	}
	if err := r.observers.check(); err != nil {
		v.Worsen(measure.Fail, "%v", err)
	}
	if runErr == nil {
		r.judgeStopped(&v, sum, deadlock != nil)
		r.judgeOperations(&v)
	}
	r.judgeDrops(&v, sum)
	if v.Status == measure.Fail {
		return v
	}
	r.judgeFlows(&v, sum)
	r.judgeUndelivered(&v)
	r.judgeUnused(&v, sum)
	r.judgeSettings(&v)
	r.judgeTrimming(&v, sum)
	r.noteReordering(&v, sum)
	return v
}

// noteReordering adds a message about the cost of reordered packets.
func (r *runner) noteReordering(v *measure.Verdict, sum *measure.Summary) {
	if !r.Scenario.Topology.Moving() {
		return
	}
	if of := sum.Recovery; r.Scenario.Host.Recovery == hostagent.SelectiveRepeat && of != nil && of.Spurious > 0 {
		text := fmt.Sprintf("packets were reordered, and %d were retransmitted though they were not lost: with "+
			"host.selective.reorder %d, a packet counts as lost "+
			"when that many later packets have arrived, and the latest arrived behind %d", of.Spurious,
			r.Hosts().Selective.Reorder, of.Extent)
		if sum.Drops.Frames+of.Trimmed+of.Timeouts == 0 { // otherwise the latest packet may have been lost
			v.Worsen(measure.Warn, "%s (try host.selective.reorder %d)", text, of.Extent+1)
		} else {
			v.Note("%s", text)
		}
	}
	var late, naks, again int64
	for i := range r.Scenario.Topology.Interfaces {
		n := r.engine.NIC(i)
		late, naks = late+n.OutOfOrder, naks+n.NaksSent
	}
	for i := range r.engine.AddedFlows() {
		f := r.engine.Message(i)
		again += f.Retransmitted()
	}
	if r.Scenario.Host.Recovery != hostagent.GoBackN || late == 0 || sum.Drops.Frames > 0 {
		return
	}
	v.Note("packets were reordered: %d arrived out of order. Go-back-N treats that as loss (%d NAKs, %v retransmitted), "+
		"but no frame was lost (try host.recovery selective)",
		late, naks, units.Bytes(again))
}

// isHalfway reports whether a run ended in the middle of an event, so that the invariants cannot be checked.
func isHalfway(runErr error) bool {
	var machine *plane.MachineError
	var panicked *engine.PanicError
	return errors.As(runErr, &machine) || errors.As(runErr, &panicked)
}

// judgeTrimming adds a note on trimmed packets.
func (r *runner) judgeTrimming(v *measure.Verdict, sum *measure.Summary) {
	switch {
	case sum.Recovery == nil || !r.Scenario.Switch.Trim:
	case sum.Recovery.Trimmed > 0:
		v.Note("%d data packets were trimmed to their headers", sum.Recovery.Trimmed)
	default:
		r.unused(v, "", "switch.trim", "trimming was not needed: the queues had room for every lossy data frame")
	}
}

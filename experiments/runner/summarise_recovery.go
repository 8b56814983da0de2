package runner

import (
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/rundir"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/files"
)

// recovers says whether the run has something to tell of how what was lost has come.
func (r *runner) recovers() bool {
	return r.Scenario.Host.Recovery == hostagent.SelectiveRepeat || r.Scenario.Switch.Trim
}

// summariseRecovery counts drops in lossy classes by cause, and what it took to make up for them.
func (r *runner) summariseRecovery(sum *measure.Summary) {
	e, plan := r.engine, r.Scenario.Topology
	of := measure.RecoverySummary{}
	for i, id := range plan.Switch {
		for _, port := range plan.Nodes[id].Ports {
			p := e.Switch(i).Port(int(port))
			of.Trimmed += p.TrimmedFrames
			for why, cause := range dropCauses {
				if n := p.DroppedFrames[why]; n > 0 && why.Lossy() {
					if sum.Drops.Lossy == nil {
						sum.Drops.Lossy = map[string]int64{}
					}
					sum.Drops.Lossy[cause] += n
				}
			}
		}
	}
	if !r.recovers() {
		return
	}
	for i := range plan.Interfaces {
		n := e.NIC(i)
		of.Timeouts, of.Naks, of.Duplicates = of.Timeouts+n.Timeouts, of.Naks+n.NaksSent, of.Duplicates+n.Duplicates
	}
	for i := range e.Flows() {
		f := &e.Flows()[i]
		met := f.Recovery()
		of.Retransmitted, of.Spurious = of.Retransmitted+f.Retransmitted(), of.Spurious+met.Spurious
		of.Reordered, of.Extent = of.Reordered+met.Reordered, max(of.Extent, met.Extent)
	}
	sum.Recovery = &of
}

// writeRecovery writes recovery.csv, if flows are of selective repeat.
func (r *runner) writeRecovery(folder *files.Folder) error {
	if r.Scenario.Host.Recovery != hostagent.SelectiveRepeat {
		return nil
	}
	flows := r.flows()
	return rundir.WriteRecovery(folder, flows.n, func(i int) rundir.FlowRecovery {
		met := flows.recovery(i)
		return rundir.FlowRecovery{
			Spurious: met.Spurious, Duplicates: met.Duplicates, Reordered: met.Reordered, Extent: met.Extent, Trimmed: met.Trimmed,
		}
	})
}

// judgeTrimming notes how many packets were trimmed.
func (r *runner) judgeTrimming(v *measure.Verdict, sum *measure.Summary) {
	switch {
	case sum.Recovery == nil || !r.Scenario.Switch.Trim:
	case sum.Recovery.Trimmed > 0:
		v.Note("%d data packets were trimmed to their headers", sum.Recovery.Trimmed)
	default:
		r.unused(v, "", "switch.trim", "trimming was not needed: every lossy data frame found room")
	}
}

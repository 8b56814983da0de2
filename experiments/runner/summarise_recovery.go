package runner

import (
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/rundir"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/switchagent"
)

// lossyCauses name the traffic managers' drops in lossy classes.
var lossyCauses = map[switchagent.Drop]string{
	switchagent.DropLossy: measure.LossyQueue, switchagent.DropAlpha: measure.LossyThreshold, switchagent.DropFull: measure.LossyBuffer,
}

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
			for why, cause := range lossyCauses {
				if n := p.DroppedFrames[why]; n > 0 {
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

// judgeLossy says what lossy classes have dropped, by cause, and what was trimmed.
func (r *runner) judgeLossy(v *measure.Verdict, sum *measure.Summary) {
	var said []string
	for _, c := range []struct{ cause, text string }{
		{measure.LossyQueue, "beyond switch.lossy_limit"},
		{measure.LossyThreshold, "beyond what switch.lossy_alpha gives"},
		{measure.LossyBuffer, "as the shared buffer was full"},
	} {
		if n := sum.Drops.Lossy[c.cause]; n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n, c.text))
		}
	}
	if said != nil {
		v.Note("lossy classes dropped frames: %s", strings.Join(said, ", "))
	}
	switch {
	case sum.Recovery == nil || !r.Scenario.Switch.Trim:
	case sum.Recovery.Trimmed > 0:
		v.Note("%d data packets were trimmed to their headers", sum.Recovery.Trimmed)
	default:
		r.unused(v, "", "switch.trim", "trimming was not needed: every lossy data frame found room")
	}
}

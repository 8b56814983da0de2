package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// dropCauses names the causes of drops in traffic managers. engine.LossNames names the causes of loss by faults.
var dropCauses = map[switchagent.Drop]string{
	switchagent.DropHeadroom: measure.LosslessHeadroom, switchagent.DropBuffer: measure.LosslessBuffer,
	switchagent.DropLossy: measure.LossyQueue, switchagent.DropAlpha: measure.LossyThreshold,
	switchagent.DropFull: measure.LossyBuffer,
}

// Limits on the listed positions of drops in a summary and a verdict.
const (
	mostDropPositions = 64
	mostDropsListed   = 4
)

// dropPositions returns the ports and causes of drops, most frames first.
func (r *runner) dropPositions() []measure.DropPosition {
	plan := r.Scenario.Topology
	var all []measure.DropPosition
	for i := range plan.Ports {
		node := &plan.Nodes[plan.Ports[i].Node]
		add := func(cause string, frames int64) {
			if frames > 0 {
				all = append(all, measure.DropPosition{
					Cause: cause, Node: node.Name, Peer: plan.PeerNode(plan.Ports[i].ID).Name,
					Frames: frames,
				})
			}
		}
		for why, n := range r.engine.LostAt(i) {
			add(engine.LossNames[why], n.Frames)
		}
		if node.Kind != topologies.Switch {
			continue
		}
		for why, n := range r.engine.Switch(node.Index).Port(i).DroppedFrames {
			if cause, ok := dropCauses[switchagent.Drop(why)]; ok {
				add(cause, n)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b measure.DropPosition) int { return cmp.Compare(b.Frames, a.Frames) })
	return all[:min(len(all), mostDropPositions)]
}

// judgeDrops adds notes on dropped frames, by cause and port.
func (r *runner) judgeDrops(v *measure.Verdict, sum *measure.Summary) {
	var causes []string
	of := map[string][]measure.DropPosition{}
	for _, p := range sum.Drops.Positions {
		if of[p.Cause] == nil {
			causes = append(causes, p.Cause)
		}
		of[p.Cause] = append(of[p.Cause], p)
	}
	for _, cause := range causes {
		var at []string
		frames := int64(0)
		for i, p := range of[cause] {
			frames += p.Frames
			switch {
			case i < mostDropsListed && len(of[cause]) == 1:
				at = append(at, fmt.Sprintf("%s to %s", p.Node, p.Peer))
			case i < mostDropsListed:
				at = append(at, fmt.Sprintf("%s to %s (%d)", p.Node, p.Peer, p.Frames))
			}
		}
		if more := len(of[cause]) - len(at); more > 0 {
			at = append(at, fmt.Sprintf("and %d other ports", more))
		}
		v.Note("dropped %s: %d frames at %s", measure.DropTexts[cause], frames, strings.Join(at, ", "))
	}
}

// recovers reports whether the run has loss recovery to report.
func (r *runner) recovers() bool {
	return r.Scenario.Host.Recovery == hostagent.SelectiveRepeat || r.Scenario.Switch.Trim
}

// summariseRecovery counts drops in lossy classes by cause, and the packets of loss recovery.
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
	for i := range e.AddedFlows() {
		f := e.Message(i)
		recovery := f.Recovery()
		of.Retransmitted, of.Spurious = of.Retransmitted+f.Retransmitted(), of.Spurious+recovery.Spurious
		of.Reordered, of.Extent = of.Reordered+recovery.Reordered, max(of.Extent, recovery.Extent)
	}
	sum.Recovery = &of
}

// writeRecovery writes recovery.csv, if flows use selective repeat.
func (r *runner) writeRecovery(folder *files.Folder) error {
	if r.Scenario.Host.Recovery != hostagent.SelectiveRepeat {
		return nil
	}
	flows := r.flows()
	return rundir.Write(folder, rundir.Recovery, func(yield func(*rundir.RecoveryRow) bool) {
		for i := range flows.n {
			r := flows.recovery(i)
			if !yield(&rundir.RecoveryRow{
				Flow: i, Spurious: r.Spurious, Duplicates: r.Duplicates, Reordered: r.Reordered, Extent: r.Extent,
				Trimmed: r.Trimmed,
			}) {
				return
			}
		}
	})
}

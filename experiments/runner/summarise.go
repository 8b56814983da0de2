package runner

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

func (r *runner) summarise(wall time.Duration) measure.Summary {
	e, s := r.engine, r.Scenario
	now := e.Now()
	sum := measure.Summary{
		Scenario: s.Name, Controller: r.Name, Seed: r.Seed, Plane: r.plane.Name(),
		Fingerprint: e.Fingerprint(), VirtualNS: now.RoundNanoseconds(),
		Drops: measure.DropSummary{Frames: e.Dropped, Lossless: e.LosslessDropped, Positions: r.dropPositions()},
	}
	r.linkRows = r.links()
	r.records = r.flowRecords()
	sum.TakeFlows(&r.records, now)
	r.summarisePFC(&sum)
	r.summariseCredits(&sum)
	sum.LowestGoodput = r.recorder.lowest.summary()
	sum.Fairness, sum.Victims, sum.Links =
		r.recorder.fairness.summary(), r.victims(), measure.SummariseLinks(r.Scenario.Topology, r.linkRows)
	sum.Imbalance = measure.ImbalanceOf(r.Scenario.Topology, r.linkRows)
	r.summariseSwitches(&sum)
	r.summariseRecovery(&sum)
	if g := r.engine.Grants(); g.Initial+g.Granted > 0 {
		sum.Grants = &measure.GrantSummary{Given: g.Initial + g.Granted, Sent: g.Initial + g.Received - g.Left}
	}
	sum.Faults = r.summariseFaults()
	r.summariseSteps(&sum)
	for i := range s.Topology.Interfaces {
		sum.CNPs += e.NIC(i).CNPsSent
	}
	sum.RTT, sum.RTTSampled = r.recorder.rtt.every.sum().summary(), r.recorder.rtt.sampled.sum().summary()
	sum.Speed = measure.SpeedSummary{Frames: e.Created.Frames, Hops: e.Hops, Passes: e.Passes, Events: e.Events}
	if r.options.Anywhere {
		return sum
	}
	sum.Speed.WallSeconds, sum.Speed.VirtualPerSec, sum.Speed.HopsPerSecond =
		wall.Seconds(), now.Seconds()/wall.Seconds(), float64(e.Hops)/wall.Seconds()
	if e.Hops > 0 {
		sum.Speed.NSPerHop = float64(wall.Nanoseconds()) / float64(e.Hops)
	}
	return sum
}

func (r *runner) summarisePFC(sum *measure.Summary) {
	plan, p := r.Scenario.Topology, &r.recorder.pfc
	now := r.engine.Now()
	seconds := now.Seconds()
	sum.PFC = measure.PFCSummary{
		Pauses: p.pauses, Resumes: p.resumes, SwitchPauses: p.switchPauses,
		Links: []measure.PFCLink{},
	}
	if seconds > 0 {
		sum.PFC.Rate = float64(p.pauses) / seconds
	}
	ids := append([]int(nil), p.order...)
	sort.Ints(ids)
	for _, id := range ids {
		port := &plan.Ports[id]
		of := p.byPort[id]
		paused := of.pausedTime(now).RoundNanoseconds()
		sum.PFC.PausedNS += paused
		sum.PFC.Links = append(sum.PFC.Links, measure.PFCLink{
			Node: plan.Nodes[port.Node].Name, Port: port.Name, Peer: plan.PeerNode(port.ID).Name,
			Pauses: of.pauses, Resumes: of.resumes, Rate: float64(of.pauses) / seconds, PausedNS: paused,
		})
	}
	slices.SortStableFunc(sum.PFC.Links, func(a, b measure.PFCLink) int { return cmp.Compare(b.PausedNS, a.PausedNS) })
	sum.PFC.Links = sum.PFC.Links[:min(len(sum.PFC.Links), mostPFCLinks)]
	sum.PFC.Spread = r.recorder.spread.summary()
}

// mostPFCLinks limits the links in the summary that sent PAUSE.
const mostPFCLinks = 32

func (r *runner) summariseCredits(sum *measure.Summary) {
	if !r.byCredits() {
		return
	}
	c := &measure.CreditSummary{Messages: r.engine.CreditMessages()}
	plan := r.Scenario.Topology
	for i := range plan.Ports {
		n := int64(r.engine.State().Extras[i].CreditStalls)
		c.Stalls += n
		c.StalledNS += r.stalled(i)
		if plan.Nodes[plan.Ports[i].Node].Kind == topologies.Switch {
			c.SwitchStalls += n
		}
	}
	sum.Credits = c
}

func (r *runner) byCredits() bool { return r.Scenario.Switch.FlowControl == switchagent.FlowCBFC }

// stalled returns the nanoseconds for which frames waited at a port for credits, summed over priorities.
func (r *runner) stalled(port int) int64 {
	var t vtime.Time
	for priority := range uint8(classes) {
		t += r.engine.PausedTime(port, priority)
	}
	return t.RoundNanoseconds()
}

func (r *runner) summariseSwitches(sum *measure.Summary) {
	plan, state := r.Scenario.Topology, r.engine.State()
	sum.Switches = []measure.SwitchPeak{}
	for _, id := range plan.Switch {
		peak := measure.SwitchPeak{Node: plan.Nodes[id].Name}
		for _, port := range plan.Nodes[id].Ports {
			reg, extra := &state.Ports[port], &state.Extras[port]
			peak.QueuePeak = max(peak.QueuePeak, r.recorder.congestion.ports[port].peak)
			for _, priority := range r.recorder.data {
				peak.Ingress = max(peak.Ingress, int64(reg.Class[priority].Peak))
			}
			peak.Bursts += int64(extra.Bursts)
			sum.ECNMarks += int64(reg.EcnMarked)
			sum.UEMarks += int64(extra.UeMarked)
			sum.CNMs += int64(extra.CnmsSent)
		}
		sum.PeakIngress = max(sum.PeakIngress, peak.Ingress)
		sum.Switches = append(sum.Switches, peak)
	}
}

// summariseFaults returns the summary of faults, losses and deadlocks, or nil if the run had none and planned no fault.
func (r *runner) summariseFaults() *measure.FaultSummary {
	e, plan := r.engine, r.Scenario.Topology
	s := &measure.FaultSummary{
		Events: r.recorder.events, Lost: map[string]measure.Lost{},
		Deadlocks: []measure.DeadlockSummary{},
	}
	for why, n := range e.Lost() {
		if n.Frames > 0 {
			s.Lost[engine.LossNames[why]] = measure.Lost{Frames: n.Frames, Bytes: n.Bytes}
		}
	}
	for _, d := range e.Deadlocks() {
		row := measure.DeadlockSummary{SinceNS: d.Since.RoundNanoseconds(), SeenNS: d.Seen.RoundNanoseconds()}
		if d.Ended != vtime.Never {
			row.EndedNS = d.Ended.RoundNanoseconds()
		}
		for _, h := range d.Cycle {
			p := &plan.Ports[h.Port]
			row.Cycle = append(row.Cycle, measure.CycleQueue{
				Node: plan.Nodes[p.Node].Name, Port: p.Name,
				Peer: plan.PeerNode(p.ID).Name, Priority: h.Priority,
			})
		}
		s.Deadlocks = append(s.Deadlocks, row)
	}
	if len(s.Events)+len(s.Lost)+len(s.Deadlocks)+len(r.Scenario.Faults) == 0 {
		return nil
	}
	return s
}

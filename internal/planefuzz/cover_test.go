package planefuzz_test

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// pauseWatch implements an observer that follows each pause to its end.
type pauseWatch struct {
	scenario *scenario.Scenario
	until    map[pausedPort]vtime.Time // when the pause in force ends by itself, at the port that it holds up
	sent     [2]int                    // RESUMEs, PAUSEs
	ranOut   int                       // pauses that ended by themselves
	events   []engine.FaultEvent
}

type pausedPort struct {
	port     int
	priority uint8
}

func newPauseWatch(s *scenario.Scenario) pauseWatch {
	return pauseWatch{scenario: s, until: map[pausedPort]vtime.Time{}}
}

// FlowDone is called by the engine.
func (w *pauseWatch) FlowDone(vtime.Time, int) {}

// PFCReceived implements Observer.
func (w *pauseWatch) PFCReceived(engine.PFCArrival) {}

// FaultEvent is called by the engine.
func (w *pauseWatch) FaultEvent(ev engine.FaultEvent) { w.events = append(w.events, ev) }

// PFC is called by the engine.
func (w *pauseWatch) PFC(now vtime.Time, port int, priority uint8, pause bool) {
	plan := w.scenario.Topology
	from := &plan.Ports[port]
	arrival := now + from.Rate.TimeFor(plan.Framing.LineBytes(wire.PFCLen)) + from.Delay
	at := pausedPort{int(from.Peer), priority}
	if until, paused := w.until[at]; paused && until <= arrival {
		w.ranOut++
	}
	delete(w.until, at)
	if !pause {
		w.sent[0]++
		return
	}
	w.sent[1]++
	w.until[at] = arrival + from.Rate.TimeFor(512/8)*vtime.Time(w.scenario.Switch.PFC.Quanta)
}

func (w *pauseWatch) end(now vtime.Time) {
	for _, until := range w.until {
		if until <= now {
			w.ranOut++
		}
	}
}

// features returns the names of the mechanisms that a run has exercised.
func features(r *run) []string {
	var names []string
	on := func(happened bool, name string) {
		if happened {
			names = append(names, name)
		}
	}
	s, e := r.scenario, r.engine
	var ports struct { // sums
		ebpf.Port
		ebpf.PortExtra
	}
	for i := range e.State().Ports {
		ports.EcnMarked += e.State().Ports[i].EcnMarked
		ports.Draws += e.State().Ports[i].Draws
		p := &e.State().Extras[i]
		ports.CnmsSent += p.CnmsSent
		ports.CnmsForwarded += p.CnmsForwarded
		ports.Bursts += p.Bursts
		ports.UeMarked += p.UeMarked
		ports.CreditsReceived += p.CreditsReceived
		ports.CreditStalls += p.CreditStalls
		for k, n := range p.Entered {
			ports.Entered[k] += n
		}
		ports.Dropped[ebpf.ReasonCNMLost] += p.Dropped[ebpf.ReasonCNMLost]
	}
	var drops [switchagent.Drops]int64
	var trimmed int64
	for i, id := range s.Topology.Switch {
		for _, p := range s.Topology.Nodes[id].Ports {
			for k, n := range e.Switch(i).Port(int(p)).DroppedFrames {
				drops[k] += n
			}
			trimmed += e.Switch(i).Port(int(p)).TrimmedFrames
		}
	}
	var naks, cnps, unknown, duplicates, changes int64
	for i := range s.Topology.Interfaces {
		n := e.NIC(i)
		naks += n.NaksReceived
		cnps += n.CNPsReceived
		unknown += n.CNMsUnknown
		duplicates += n.Duplicates
		changes += n.RateChanges
	}
	retransmitted, ended, unbounded, constant, preset, mixed := false, 0, false, false, false, false
	var reordered, spurious int64
	for i := range e.Flows() {
		f := &e.Flows()[i]
		retransmitted = retransmitted || f.Retransmitted() > 0
		reordered += f.Recovery().Reordered
		spurious += f.Recovery().Spurious
		if f.Finished != vtime.Never {
			ended++
		}
		unbounded = unbounded || f.Size == 0
		constant = constant || s.Flows[r.setup.Flow(i)].Extra().ConstantRate > 0
		preset = preset || s.Flows[r.setup.Flow(i)].Extra().StartRate > 0
		mixed = mixed || s.Flows[r.setup.Flow(i)].Extra().CC != ""
	}
	weighted := 0
	for _, q := range s.Switch.Scheduler.Quantum {
		if q > 0 {
			weighted++
		}
	}
	pfc := &s.Switch.PFC
	names = append(names, "controller "+s.Controllers[0])
	on(r.pauses.sent[1] > 0, "PAUSE")
	on(r.pauses.sent[0] > 0, "RESUME")
	on(r.pauses.ranOut > 0, "PAUSE ran out")
	on(r.pauses.sent[1] > 0 && pfc.Alpha > 0, "PAUSE at a dynamic threshold")
	on(r.pauses.sent[1] > 0 && int(e.State().Switches[0].Buffer) < int(s.Switch.Buffer), "PAUSE with reserved headroom")
	on(s.Switch.FlowControl == switchagent.FlowCBFC, "credits")
	on(ports.CreditsReceived > 0, "credit messages")
	on(ports.CreditStalls > 0, "credits ran out")
	rates := false // a switch has ports of several rates
	for _, id := range s.Topology.Switch {
		ports := s.Topology.Nodes[id].Ports
		for _, p := range ports {
			rates = rates || s.Topology.Ports[p].Rate != s.Topology.Ports[ports[0]].Rate
		}
	}
	on(rates && r.pauses.sent[1] > 0 && pfc.PerRate > 0 && pfc.Alpha > 0, "PAUSE at a dynamic threshold by rate")
	on(rates && ports.EcnMarked > 0 && s.Switch.ECN.PerRate > 0, "ECN marks by rate")
	on(pfc.Priorities == 0, "PFC off")
	on(e.Dropped > 0, "frames dropped")
	on(drops[switchagent.DropHeadroom] > 0, "headroom overrun")
	on(drops[switchagent.DropBuffer] > 0, "lossless frame, full buffer")
	on(drops[switchagent.DropLossy] > 0, "lossy queue full")
	on(drops[switchagent.DropAlpha] > 0, "lossy queue at a dynamic threshold")
	on(drops[switchagent.DropFull] > 0, "lossy frame, full buffer")
	on(trimmed > 0, "trimmed packets")
	selective := s.Host.Recovery == hostagent.SelectiveRepeat
	on(trimmed > 0 && selective, "trimmed packets, selective repeat")
	on(retransmitted && selective, "retransmission by selective repeat")
	on(reordered > 0 && selective, "packets placed out of order")
	on(spurious > 0, "spurious retransmission")
	on(ports.Dropped[ebpf.ReasonCNMLost] > 0, "CNM lost")
	on(naks > 0, "NAK")
	on(retransmitted, "retransmission")
	on(retransmitted && naks == 0, "retransmission by timeout alone")
	on(duplicates > 0, "duplicates")
	on(ports.EcnMarked > 0 && s.Switch.ECN.Point == switchagent.ECNEnqueue, "ECN marks at enqueue")
	on(ports.EcnMarked > 0 && s.Switch.ECN.Point == switchagent.ECNDequeue, "ECN marks at dequeue")
	on(ports.EcnMarked > 0 && s.Switch.ECN.Mode == switchagent.ECNRED, "ECN marks by RED")
	on(ports.EcnMarked > 0 && s.Switch.ECN.Mode == switchagent.ECNStep, "ECN marks by step")
	on(ports.EcnMarked > 0 && s.Switch.ECN.Mode == switchagent.ECNPCN, "ECN marks by PCN")
	on(ports.Entered[ebpf.TCDUndetermined] > 0, "TCD: undetermined")
	on(ports.Entered[ebpf.TCDCongested] > 0, "TCD: congested")
	on(ports.UeMarked > 0, "TCD: UE marks")
	on(sawPause(r), "pause seen by an ECN detector")
	on(ports.Draws > 0, "random numbers drawn")
	on(cnps > 0, "CNP")
	six := s.Topology.IP == wire.V6
	on(six, "RoCE over IPv6")
	on(six && cnps > 0, "CNP over IPv6")
	on(six && ports.CnmsSent > 0, "CNM for a flow over IPv6")
	on(ports.Bursts > 0, "burst")
	on(ports.Bursts > 0 && s.Switch.CNM.QCNM == 0, "burst at a dynamic threshold")
	on(ports.CnmsSent > 0, "CNM")
	on(ports.CnmsSent > 0 && s.Switch.CNM.AtOnset && s.Switch.CNM.SharedBy != switchagent.SharedByAny,
		"CNM by other ports' packets around the onset")
	on(ports.CnmsForwarded > 0, "CNM forwarded")
	on(unknown > 0, "CNM for an ended flow")
	on(changes > 0, "rate change")
	on(weighted > 0, "DWRR")
	on(weighted > 1, "DWRR of several priorities")
	on(choices(s.Topology), "ECMP")
	on(choices(s.Topology) && s.Topology.Hash == topologies.HashHPCC, "ECMP by HPCC's hash")
	b := &s.Topology.Balancing
	on(choices(s.Topology) && s.Host.Entropy == hostagent.EntropyREPS, "REPS")
	on(choices(s.Topology) && s.Host.Entropy == hostagent.EntropyRandom, "source ports at random")
	how := "balancing by " + b.Mode.String()
	if b.Other() {
		how += ", by some fields, in turn or by flowlet"
	}
	on(choices(s.Topology), how)
	on(s.Topology.Framing != 0, "framing ns3")
	on(choices(s.Topology) && s.Topology.Weighted(), "ECMP by weights")
	several := 0
	for i := range s.Flows {
		if s.Flows[i].Pair != (topologies.Pair{}) && e.Flows()[i].Delivered() > 0 {
			several++
		}
	}
	on(several > 0, "a flow by another than the first port")
	on(s.Host.DataPriority == s.Host.ControlPriority, "data and control of one priority")
	on(s.Host.ACKsWithData, "ACKs with the data")
	on(s.Host.ACKsWhenPaused && r.pauses.sent[1] > 0, "PAUSE that lets ACKs go")
	on(s.Host.AckEvery > 1, "ACK of several packets")
	on(unbounded, "unbounded flow")
	on(constant, "constant rate")
	on(preset, "preset rate")
	on(mixed, "congestion controls of flows")
	on(len(r.setup.QPs) > 0, "several QPs")
	set := s.DataPriorities()
	on(set&(set-1) != 0, "several data priorities")
	for _, f := range r.setup.Flows {
		if t := f.Traits; t != nil {
			on(t.Stop > 0 && !slices.Contains(names, "stopped flow"), "stopped flow")
			on(t.Off > 0 && !slices.Contains(names, "on and off"), "on and off")
			on(t.Weight > 0 && !slices.Contains(names, "weighted flow"), "weighted flow")
		}
	}
	waited := 0
	for i := range s.Flows {
		if s.Flows[i].Waits() && e.Flows()[i].Started() {
			waited++
		}
	}
	on(waited > 0, "flows that waited")
	on(waited > 0 && e.OpenOperations() == 0, "a job that ended")
	on(e.OpenFlows() == 0, "all flows ended")
	on(ended > 0, "a flow ended")
	on(e.Created == e.Ended, "fabric empty at the end")
	for why, n := range e.Lost() {
		on(n.Frames > 0, "lost: "+engine.LossNames[why])
	}
	kinds := map[string]bool{}
	for _, ev := range r.pauses.events {
		if !kinds[ev.Kind] {
			kinds[ev.Kind] = true
			names = append(names, "event "+ev.Kind)
		}
	}
	on(slices.ContainsFunc(r.violations, func(v string) bool { return strings.HasPrefix(v, losing) }),
		"lossless loss, reported alike")
	return names
}

// sawPause reports whether a packet left a switch after a pause, and ECN depended on that.
func sawPause(r *run) bool {
	for i := range r.engine.State().Ports {
		for _, d := range r.engine.State().Extras[i].Detector {
			if d.OnSeen != 0 {
				return true
			}
		}
	}
	return false
}

// coverage counts cases by what happened in them.
type coverage map[string]int

func (c coverage) add(names []string) {
	for _, n := range names {
		c[n]++
	}
}

func (c coverage) write(w io.Writer, cases int) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(w, "%8d  %5.1f %%  %s\n", c[name], 100*float64(c[name])/float64(max(cases, 1)), name)
	}
}

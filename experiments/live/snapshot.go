//go:build linux

package live

import (
	"time"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// mostFlows limits the open flows of a snapshot. It keeps the oldest.
const mostFlows = 1000

// Snapshot represents a live fabric between two events. Counters start at bring-up; times are virtual unless noted.
type Snapshot struct {
	Fabric    string         `json:"fabric"`
	Clock     Clock          `json:"clock"`
	Late      int64          `json:"events"` // events whose lateness the clock measures
	LateNS    int64          `json:"lateness_sum_ns"`
	FramesNS  int64          `json:"frame_lateness_sum_wall_ns"` // of programs' frames
	Ports     []PortSnapshot `json:"ports"`
	Hosts     []HostSnapshot `json:"hosts"`
	Flows     []FlowSnapshot `json:"flows"` // open ones, 1000 at most
	OpenFlows int            `json:"open_flows"`
	Ended     EndedFlows     `json:"ended_flows"`
	// Deadlock describes the cycle of queues if the fabric is in a deadlock, and is empty otherwise.
	Deadlock string `json:"deadlock,omitempty"`
	// TookNS holds the wall-clock time for which the engine stopped for the snapshot.
	TookNS int64 `json:"took_ns"`
}

// PortSnapshot represents one port.
type PortSnapshot struct {
	Node    string `json:"node"`
	Port    string `json:"port"` // the interface's name
	Peer    string `json:"peer"` // the node at the other end
	Up      bool   `json:"up"`
	RateBPS int64  `json:"rate_bps"`
	TxBytes int64  `json:"tx_bytes"`
	BusyNS  int64  `json:"busy_ns"` // sending
	// PFC frames, summed over priorities.
	PausesSent      uint64 `json:"pauses_sent"`
	PausesReceived  uint64 `json:"pauses_received"`
	ResumesSent     uint64 `json:"resumes_sent"`
	ResumesReceived uint64 `json:"resumes_received"`
	// Counters of the egress pipeline.
	ECNMarks uint64     `json:"ecn_marks"`
	UEMarks  uint64     `json:"ue_marks"`
	CNMs     uint64     `json:"cnms_sent"`
	Drops    []PortDrop `json:"drops,omitempty"`
	// priorities that are lossless, or have sent, buffered or paused something
	Classes []ClassSnapshot `json:"classes,omitempty"`
}

// ClassSnapshot represents one priority of a port.
type ClassSnapshot struct {
	Priority      uint8  `json:"priority"`
	QueueBytes    uint64 `json:"queue_bytes"`    // of the egress queue
	BufferedBytes uint64 `json:"buffered_bytes"` // in the switch, received through this port
	OldBuffered   uint64 `json:"held_bytes"`     // the same under the old name
	Paused        bool   `json:"paused"`         // by PFC, or a lack of credits
	PausedNS      int64  `json:"paused_ns"`      // since bring-up
	// PAUSE frames.
	PausesSent     uint64 `json:"pauses_sent"`
	PausesReceived uint64 `json:"pauses_received"`
	Storm          bool   `json:"storm,omitempty"`
	// Counters of the egress pipeline. CNMs counts those for bursts in the queue.
	ECNMarks uint64 `json:"ecn_marks"`
	UEMarks  uint64 `json:"ue_marks"`
	CNMs     uint64 `json:"cnms_sent"`
}

// PortDrop counts a port's dropped frames of one priority and cause.
type PortDrop struct {
	Cause    string `json:"cause"`
	Priority uint8  `json:"priority"`
	Frames   int64  `json:"frames"`
}

// Drop counts dropped frames of one cause.
type Drop struct {
	Cause  string `json:"cause"`
	Frames int64  `json:"frames"`
}

// HostSnapshot represents a host's NIC.
type HostSnapshot struct {
	Node         string `json:"node"`
	CNPsSent     int64  `json:"cnps_sent"`
	CNPsReceived int64  `json:"cnps_received"`
	CNMsReceived int64  `json:"cnms_received"`
	Drops        []Drop `json:"drops,omitempty"` // of programs' frames, before they left
}

// FlowSnapshot represents an unfinished RDMA flow.
type FlowSnapshot struct {
	Flow           int     `json:"flow"`
	From           string  `json:"from"`
	To             string  `json:"to"`
	SizeBytes      int64   `json:"size_bytes"`
	StartNS        int64   `json:"start_ns"`
	DeliveredBytes int64   `json:"delivered_bytes"`
	RateBPS        float64 `json:"rate_bps"` // rate of the congestion control
	RTTNS          int64   `json:"rtt_ns"`   // the last measurement; 0 if none
	// QueuePair holds the number of the flow's queue pair if a program owns it; otherwise 0.
	QueuePair uint32 `json:"queue_pair,omitempty"`
	State     string `json:"state,omitempty"` // state of that queue pair
}

// Snapshot takes a snapshot of the fabric.
func (f *Fabric) Snapshot() (*Snapshot, error) {
	s := &Snapshot{
		Fabric: f.Name, Ports: make([]PortSnapshot, len(f.Plan.Ports)), Hosts: make([]HostSnapshot, len(f.Plan.Hosts)),
		Flows: []FlowSnapshot{},
	}
	// The engine is stopped during Do. So static fields are filled before, which also allocates the memory.
	for i := range s.Ports {
		p := &f.Plan.Ports[i]
		s.Ports[i] = PortSnapshot{Node: f.Plan.Nodes[p.Node].Name, Port: p.Name, Peer: f.Plan.PeerNode(p.ID).Name}
	}
	classes := make([]ClassSnapshot, 2*len(f.Plan.Ports))
	for i := range classes {
		classes[i].Priority = 1
	}
	classes = classes[:0]
	return s, f.Do(func(e *engine.Engine) error {
		start := time.Now()
		status := f.live.Status()
		s.Clock, s.Late, s.LateNS, s.FramesNS =
			clockOf(status), status.Late, status.LateSum.Nanoseconds(), status.FrameSum.Nanoseconds()
		for i := range s.Ports {
			classes = f.snapshotPort(e, &s.Ports[i], i, classes)
		}
		for i, id := range f.Plan.Hosts {
			snapshotHost(e, &s.Hosts[i], &f.Plan.Nodes[id])
		}
		f.snapshotFlows(e, s)
		s.OpenFlows, s.Ended = e.OpenFlows(), f.ended.look()
		if d := e.Deadlocked(); d != nil {
			s.Deadlock = e.DescribeCycle(d)
		}
		s.TookNS = time.Since(start).Nanoseconds()
		return nil
	})
}

// snapshotPort fills in a port, and appends its priorities to classes.
func (f *Fabric) snapshotPort(e *engine.Engine, s *PortSnapshot, id int, classes []ClassSnapshot) []ClassSnapshot {
	p := &f.Plan.Ports[id]
	node := &f.Plan.Nodes[p.Node]
	r, x := &e.State().Ports[id], &e.State().Extras[id]
	w := e.Wire(id)
	s.Up, s.RateBPS, s.BusyNS = w.Up, int64(w.Rate), e.BusyTime(id).Nanoseconds()
	s.PausesSent, s.PausesReceived, s.ResumesSent, s.ResumesReceived =
		x.PausesSent, x.PausesReceived, x.ResumesSent, x.ResumesReceived
	s.ECNMarks, s.UEMarks, s.CNMs, s.Drops = r.EcnMarked, x.UeMarked, x.CnmsSent, classDrops(e, id)
	used := e.TxFrames(id) > 0 || r.RxFrames > 0
	lossless := uint8(0)
	if node.Kind == topologies.Switch {
		lossless = uint8(e.State().Switches[node.Index].Lossless)
		used = used || e.Switch(node.Index).Port(id).Waiting()
	} else if peer := f.Plan.PeerNode(p.ID); peer.Kind == topologies.Switch {
		lossless = uint8(e.State().Switches[peer.Index].Lossless)
	}
	first := len(classes)
	look := uint8(0xff)
	if !used { // nothing is in the others' registers
		look = lossless
	}
	for i := range uint8(switchagent.Priorities) {
		if look>>i&1 == 0 {
			continue
		}
		c, tx := &r.Class[i], e.TxBytes(id, i)
		s.TxBytes += tx
		sent, received := e.Pauses(id, i)
		counts := e.Counts(id, i)
		if lossless>>i&1 == 0 && tx == 0 && c.QueueBytes == 0 && c.Buffered == 0 && sent+received+counts.CNMs == 0 {
			continue
		}
		classes = append(classes, ClassSnapshot{
			Priority: i, QueueBytes: uint64(c.QueueBytes), BufferedBytes: uint64(c.Buffered), OldBuffered: uint64(c.Buffered),
			Paused:   e.State().Paused(id, i, e.Now()),
			PausedNS: e.PausedTime(id, i).Nanoseconds(), PausesSent: sent, PausesReceived: received, Storm: e.Stormy(id, i),
			ECNMarks: counts.CE, UEMarks: counts.UE, CNMs: counts.CNMs,
		})
	}
	s.Classes = classes[first:len(classes):len(classes)]
	return classes
}

// refusals and reasons name the causes of the traffic manager's drops, and of frames that the pipelines dropped.
var (
	refusals = [switchagent.Drops]string{"headroom", "shared_buffer", "lossy_queue", "", "lossy_threshold", "lossy_buffer"}
	reasons  = [ebpf.Reasons]string{
		ebpf.ReasonNoRoute: "no_route", ebpf.ReasonTTL: "ttl", ebpf.ReasonMalformed: "malformed",
		ebpf.ReasonCNMLost: "cnm_unknown_flow",
	}
)

// classDrops returns the drops of portDrops by priority.
func classDrops(e *engine.Engine, id int) (drops []PortDrop) {
	if !e.Counted(id) {
		return nil
	}
	for i := range uint8(switchagent.Priorities) {
		counts := e.Counts(id, i)
		add := func(cause string, frames uint64) {
			if frames > 0 && cause != "" {
				drops = append(drops, PortDrop{cause, i, int64(frames)})
			}
		}
		for why, n := range counts.Lost {
			add(engine.LossNames[why], n)
		}
		for why, n := range counts.Refused {
			add(refusals[why], n)
		}
		for why, n := range counts.Dropped {
			add(reasons[why], n)
		}
	}
	return drops
}

// portDrops returns a port's drops, counting each frame once: by faults, by the traffic manager, by the pipelines.
func portDrops(e *engine.Engine, id int, node *topologies.Node) (drops []Drop) {
	add := func(cause string, frames int64) {
		if frames > 0 {
			drops = append(drops, Drop{cause, frames})
		}
	}
	lost := e.LostAt(id)
	for cause, amount := range lost {
		switch engine.Loss(cause) {
		case engine.LossRoute, engine.LossPause: // the pipelines', and the traffic manager's below
		default:
			add(engine.LossNames[cause], amount.Frames)
		}
	}
	if node.Kind == topologies.Switch {
		p := e.Switch(node.Index).Port(id)
		for why, cause := range refusals {
			if cause != "" {
				add(cause, p.DroppedFrames[why])
			}
		}
	}
	for why, cause := range reasons {
		if cause != "" {
			add(cause, int64(e.State().Extras[id].Dropped[why]))
		}
	}
	return drops
}

// snapshotHost fills in a host's counters, summed over its ports.
func snapshotHost(e *engine.Engine, s *HostSnapshot, host *topologies.Node) {
	o := hostStack(e, host)
	*s = HostSnapshot{Node: host.Name}
	for _, id := range host.Ports {
		n := e.NIC(e.Plan().Ports[id].Interface)
		s.CNPsSent += n.CNPsSent
		s.CNPsReceived += n.CNPsReceived
		s.CNMsReceived += n.CNMsReceived
	}
	if o.HostDrops > 0 {
		s.Drops = append(s.Drops, Drop{"host_queue", o.HostDrops})
	}
	if o.Unknown > 0 {
		s.Drops = append(s.Drops, Drop{"not_carried", o.Unknown})
	}
}

// hostStack returns the counters of frames of a host's programs, summed over its ports.
func hostStack(e *engine.Engine, host *topologies.Node) (sum engine.HostStackCounts) {
	for _, id := range host.Ports {
		sum.Add(e.HostStack(e.Plan().Ports[id].Interface))
	}
	return sum
}

func (f *Fabric) snapshotFlows(e *engine.Engine, s *Snapshot) {
	flows := e.Flows()
	for _, id := range f.watch.open[:min(len(f.watch.open), mostFlows)] {
		w := &flows[id]
		own := FlowSnapshot{
			DeliveredBytes: w.Delivered(), Flow: w.Number, From: f.Plan.EndName(w.Source, w.Ports.From),
			To: f.Plan.EndName(w.Destination, w.Ports.To), SizeBytes: w.Size, StartNS: w.Start.Nanoseconds(),
		}
		if w.Sender != nil {
			own.RateBPS, own.RTTNS = w.Sender.Rate(), w.Sender.LastRTT.Nanoseconds()
		}
		if w.Pair != nil {
			own.QueuePair, own.State = w.Pair.Number, w.Pair.State().String()
		}
		s.Flows = append(s.Flows, own)
	}
}

// virtualNS returns a number of nanoseconds as virtual time.
func virtualNS(ns int64) vtime.Time { return vtime.Time(ns) * vtime.Nanosecond }

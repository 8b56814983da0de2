package engine

import (
	"math"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/hostagent/qp"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// FlowConfig describes a flow.
type FlowConfig struct {
	Source, Destination topologies.NodeID
	Size                int64       // payload bytes; 0: unbounded
	Start               vtime.Time  // set by the operation that sends the flow, if any
	Ports               paths.Ports // with the addresses they decide the path (ECMP)
	// Entropy seeds the random source ports of hostagent.EntropyRandom and EntropyREPS.
	Entropy uint64
	// Hosts holds the settings of the flow's two ends, as its congestion control needs them; nil: those of all hosts.
	// Flows may share them.
	Hosts  *hostagent.Settings
	Traits *hostagent.Traits // nil: none
	// NewController makes the congestion control of the flow with an index, when the flow starts; Controller is its
	// name in messages. Millions of flows may share it.
	NewController func(flow int) (cc.Controller, error)
	Controller    string
	// RTT makes the counter of the flow's RTT samples, likewise; nil: no counter.
	RTT func(flow int) hostagent.RTTCounter
	// Send holds 1 + the operation that starts the flow, at its source; 0: none, the flow starts at Start. Receive
	// holds 1 + the operation that waits for the flow, at its destination; 0: none.
	Send, Receive int32
}

// sourcePort returns the port by which the flow leaves its source.
func (c *FlowConfig) sourcePort(plan *topologies.Plan) topologies.PortID {
	return plan.Nodes[c.Source].Ports[c.Ports.From]
}

// destinationPort returns the port by which the flow reaches its destination.
func (c *FlowConfig) destinationPort(plan *topologies.Plan) topologies.PortID {
	return plan.Nodes[c.Destination].Ports[c.Ports.To]
}

// Flow holds a flow of a run, with its results once it has ended.
type Flow struct {
	FlowConfig
	Number   int                 // number of flows that were added before it
	Sender   *hostagent.Sender   // nil before the start, and after the end
	Receiver *hostagent.Receiver // nil before the start, and after the end
	Pair     *qp.QueuePair       // the connected queue pair that the flow represents, without a Receiver; nil: none
	Finished vtime.Time          // time at which its last byte was acknowledged; vtime.Never before
	timerAt  vtime.Time          // time of its earliest timer event
	past     flowOutcome         // results; set once the flow has ended
}

// flowOutcome holds the results of a flow that has ended. A run may have millions: senders and receivers take 0.5 KB
// each.
type flowOutcome struct {
	delivered, retransmitted int64 // payload bytes
	marked, undetermined     uint32
	lastRTT                  vtime.Time
	recovery                 *FlowRecovery // nil: all zero
}

// FlowRecovery counts packets of selective repeat. It stays zero for other flows.
type FlowRecovery struct {
	hostagent.PlacementCounts
	Spurious int64 // packets retransmitted although they had arrived, according to later answers
}

// Started reports whether the flow has started. It may have ended.
func (f *Flow) Started() bool { return f.Sender != nil || f.Finished != vtime.Never }

// Delivered returns the payload bytes that have arrived in order, once.
func (f *Flow) Delivered() int64 {
	if f.Pair != nil {
		return f.Pair.Delivered()
	}
	if f.Receiver != nil {
		return f.Receiver.Delivered
	}
	return f.past.delivered
}

// Retransmitted returns the payload bytes that the sender has retransmitted.
func (f *Flow) Retransmitted() int64 {
	if f.Sender != nil {
		return f.Sender.Retransmitted
	}
	return f.past.retransmitted
}

// Marked returns the number of data packets that arrived with CE, and with UE (TCD).
func (f *Flow) Marked() (congested, undetermined int64) {
	if f.Receiver != nil {
		return f.Receiver.Marked, f.Receiver.Undetermined
	}
	return int64(f.past.marked), int64(f.past.undetermined)
}

// Recovery returns the counts of selective repeat.
func (f *Flow) Recovery() FlowRecovery {
	switch {
	case f.Sender != nil && f.Receiver != nil:
		return FlowRecovery{f.Receiver.Placed(), f.Sender.Spurious()}
	case f.past.recovery != nil:
		return *f.past.recovery
	}
	return FlowRecovery{}
}

// LastRTT returns the last RTT that the sender measured; 0 before the first.
func (f *Flow) LastRTT() vtime.Time {
	if f.Sender != nil {
		return f.Sender.LastRTT
	}
	return f.past.lastRTT
}

// end frees the sender and receiver of an ended flow, and keeps its results. It keeps both if the congestion control
// returned an impossible value, which the final check reports, or if a count does not fit.
func (f *Flow) end(now vtime.Time) {
	s, r := f.Sender, f.Receiver
	if s.ControlError(now, f.Start) != nil || max(r.Marked, r.Undetermined) > math.MaxUint32 {
		return
	}
	f.past = flowOutcome{r.Delivered, s.Retransmitted, uint32(r.Marked), uint32(r.Undetermined), s.LastRTT, nil}
	if met := f.Recovery(); met != (FlowRecovery{}) {
		f.past.recovery = &met
	}
	f.Sender, f.Receiver, f.timerAt = nil, nil, vtime.Never
}

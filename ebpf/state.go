package ebpf

import "github.com/pausenet/pausenet/vtime"

// The structures of c/state.h, and Out of c/kernel.c. Times in them are picoseconds (vtime.Time), sizes bytes.
type (
	Pass        = pipelinesPass
	Port        = pipelinesPort
	PortClass   = pipelinesPortClass
	PortExtra   = pipelinesPortExtra
	Detector    = pipelinesDetector
	Credit      = pipelinesCredit
	SwitchState = pipelinesSwitchState
	Profile     = pipelinesProfile
	Host        = pipelinesHost
	Route       = pipelinesRoute
	Flow        = pipelinesFlow
	Flowlet     = pipelinesFlowlet
	Out         = pipelinesOut
)

// Verdicts: the result of a pass for its frame.
const (
	VerdictNone     = uint32(pipelinesVerdictVERDICT_NONE)
	VerdictForward  = uint32(pipelinesVerdictVERDICT_FORWARD)
	VerdictHost     = uint32(pipelinesVerdictVERDICT_HOST)
	VerdictStack    = uint32(pipelinesVerdictVERDICT_STACK)
	VerdictConsumed = uint32(pipelinesVerdictVERDICT_CONSUMED)
	VerdictDrop     = uint32(pipelinesVerdictVERDICT_DROP)
	// Verdicts for frames of programs on hosts, in a switch.
	VerdictProcessor = uint32(pipelinesVerdictVERDICT_PROCESSOR)
	VerdictFlood     = uint32(pipelinesVerdictVERDICT_FLOOD)
)

// Reasons of VerdictDrop, the indexes of PortExtra.Dropped.
const (
	ReasonNone      = uint32(pipelinesReasonREASON_NONE)
	ReasonNoRoute   = uint32(pipelinesReasonREASON_NO_ROUTE)
	ReasonTTL       = uint32(pipelinesReasonREASON_TTL)
	ReasonMalformed = uint32(pipelinesReasonREASON_MALFORMED)
	ReasonCNMLost   = uint32(pipelinesReasonREASON_CNM_LOST)
	Reasons         = uint32(pipelinesReasonREASONS)
)

// ReasonNames lists the reasons' names in reports.
var ReasonNames = [...]string{"", "no route", "TTL expired", "malformed", "CNM for an unknown flow"}

// Triggers: purposes of passes other than a frame that arrived. All except TriggerLost carry no frame; they ask a
// pipeline to build one. TriggerLost carries a frame that the wire lost or damaged: the egress pipeline of the port
// that it left handles it as usual, and the ingress pipeline gives it VerdictDrop and ReasonNone.
const (
	TriggerNone   = uint32(pipelinesTriggerTRIGGER_NONE)
	TriggerPause  = uint32(pipelinesTriggerTRIGGER_PAUSE)
	TriggerResume = uint32(pipelinesTriggerTRIGGER_RESUME)
	TriggerWalk   = uint32(pipelinesTriggerTRIGGER_WALK)
	TriggerFlow   = uint32(pipelinesTriggerTRIGGER_FLOW)
	TriggerCredit = uint32(pipelinesTriggerTRIGGER_CREDIT)
	TriggerLost   = uint32(pipelinesTriggerTRIGGER_LOST)
)

// Bits of Pass.Want.
const (
	WantPause    = uint32(pipelinesWantWANT_PAUSE)
	WantWalk     = uint32(pipelinesWantWANT_WALK)
	WantFlow     = uint32(pipelinesWantWANT_FLOW)
	StateChanged = uint32(pipelinesWantSTATE_CHANGED)
)

// Kinds of ports.
const (
	KindHost   = uint8(pipelinesPortKindPORT_HOST)
	KindSwitch = uint8(pipelinesPortKindPORT_SWITCH)
)

// States of an egress queue under DCON.
const (
	BurstNone       = uint32(pipelinesBurstStateBURST_NONE)
	BurstPersistent = uint32(pipelinesBurstStateBURST_PERSISTENT)
	BurstBurst      = uint32(pipelinesBurstStateBURST_BURST)
)

// Packets that make a port shared under DCON.
const (
	SharedByEdge  = uint32(pipelinesSharedBySHARED_BY_EDGE)
	SharedByAny   = uint32(pipelinesSharedBySHARED_BY_ANY)
	SharedByOther = uint32(pipelinesSharedBySHARED_BY_OTHER)
)

// ECN modes.
const (
	ECNOff  = uint32(pipelinesEcnModeECN_OFF)
	ECNRED  = uint32(pipelinesEcnModeECN_RED)
	ECNStep = uint32(pipelinesEcnModeECN_STEP)
	ECNPCN  = uint32(pipelinesEcnModeECN_PCN)
	ECNTCD  = uint32(pipelinesEcnModeECN_TCD)
)

// How switches choose among equal-cost ports.
const (
	ChoiceHash            = uint32(pipelinesPathChoiceCHOICE_HASH)
	ChoiceHPCC            = uint32(pipelinesPathChoiceCHOICE_HPCC)
	ChoiceFields          = uint32(pipelinesPathChoiceCHOICE_FIELDS)
	ChoiceFlowlet         = uint32(pipelinesPathChoiceCHOICE_FLOWLET)
	ChoiceRandom          = uint32(pipelinesPathChoiceCHOICE_RANDOM)
	ChoiceRoundRobin      = uint32(pipelinesPathChoiceCHOICE_ROUND_ROBIN)
	ChoiceAdaptive        = uint32(pipelinesPathChoiceCHOICE_ADAPTIVE)
	ChoiceAdaptiveFlowlet = uint32(pipelinesPathChoiceCHOICE_ADAPTIVE_FLOWLET)
)

// Fields of the 5-tuple that ChoiceFields hashes.
const (
	FieldSource      = uint32(pipelinesHashFieldFIELD_SOURCE)
	FieldDestination = uint32(pipelinesHashFieldFIELD_DESTINATION)
	FieldPorts       = uint32(pipelinesHashFieldFIELD_PORTS)
	FieldProtocol    = uint32(pipelinesHashFieldFIELD_PROTOCOL)
)

// States of an egress port under ternary congestion detection: Detector.Ternary; they index PortExtra.Entered.
const (
	TCDNonCongested = uint8(pipelinesTcdStateTCD_NONCONGESTED)
	TCDUndetermined = uint8(pipelinesTcdStateTCD_UNDETERMINED)
	TCDCongested    = uint8(pipelinesTcdStateTCD_CONGESTED)
)

// FrameMark marks frames that the pipelines send on the kernel plane (SO_MARK, skb->mark).
const FrameMark = uint32(pipelinesFrameMarkFRAME_MARK)

// FirstOuter holds the interface index of the first port's outer end in the hub namespace, and FirstInner that of the
// inner end of a node's first port in its own. The other ports follow.
const (
	FirstOuter = int32(pipelinesIfindexFIRST_OUTER)
	FirstInner = int32(pipelinesIfindexFIRST_INNER)
)

// NoPort in Pass.OutPort means that no frame left a port.
const NoPort = ^uint32(0)

// AtLeaf in Route.Count stands for a switch's own hosts: Host.Port has the port.
const AtLeaf = ^uint32(0)

// FlowIDs counts the flow table entries of one switch: a CRC-16 flow id is an index.
const FlowIDs = 65536

// Flowlets counts the flowlet entries of one switch. MostCompared limits the equal-cost ports that ChoiceAdaptive
// compares.
const (
	Flowlets     = 16384
	MostCompared = 256
)

// FrameMin holds the length of the shortest frame that a pipeline reads, and the size of the blank frame for a
// generated packet.
const FrameMin = 60

// State holds the memory that pipelines and traffic managers share. On the kernel plane it consists of the pipelines'
// mapped maps. Only the engine may access it, and only between passes.
type State struct {
	Features Features // features that the tables have room for
	Pass     *Pass
	Ports    []Port
	Extras   []PortExtra // by port
	Switches []SwitchState
	Hosts    []Host  // by the lower 24 bits of their addresses, less 1
	Routes   []Route // by switch and leaf
	NextHops []uint64
	Flows    []Flow // FlowIDs entries from n*FlowIDs for switch n; nil without burst detection
	// Fanouts holds 1 + the time of the last packet, by (ingress port, egress port) of a switch; nil without burst
	// detection.
	Fanouts  []uint64
	Flowlets []Flowlet // Flowlets entries from n*Flowlets for switch n; nil without Features.Flowlets
}

// Counted returns the size with which a frame of n bytes counts in a switch's buffers and against thresholds. It equals
// counted in c/pfc.h.
func (t *SwitchState) Counted(n int) uint64 { return counted(n, t.Uncounted) }

func counted(n int, uncounted uint32) uint64 { return uint64(max(n-int(uncounted), FrameMin)) }

// Paused reports whether port p may send nothing of the priority at now.
func (s *State) Paused(p int, priority uint8, now vtime.Time) bool {
	return s.Ports[p].Class[priority].PausedUntil > uint64(now)
}

// Release removes a frame of n bytes from the accounts of ingress port in, when it leaves its queue. entry is Pass.Flow
// of its pass, 0 if its flow is not counted.
func (s *State) Release(in int, priority uint8, n int, entry uint32) {
	p := &s.Ports[in]
	t := &s.Switches[p.Node]
	size := t.Counted(n)
	p.Class[priority].Buffered -= uint32(size)
	t.Used -= size
	// The headroom is freed first.
	if t.HeadroomUsed != 0 {
		buffered := &s.Extras[in].HeadroomBuffered[priority]
		freed := min(uint64(*buffered), size)
		*buffered -= uint32(freed)
		t.HeadroomUsed -= freed
	}
	if entry != 0 {
		s.flowListRemove(entry - 1)
	}
}

// Charge adds a frame of n bytes of a lossy priority to the accounts of ingress port in, if the frame differs from the
// one that the pipeline saw. Release reverts it. It equals account in c/pfc.h.
func (s *State) Charge(in int, priority uint8, n int) {
	p := &s.Ports[in]
	t := &s.Switches[p.Node]
	size := t.Counted(n)
	c := &p.Class[priority]
	c.Buffered += uint32(size)
	c.Peak = max(c.Peak, c.Buffered)
	t.Used += size
}

// flowListRemove removes one packet from a flow, and with the last packet the flow from its egress port's list.
func (s *State) flowListRemove(entry uint32) {
	f := &s.Flows[entry]
	f.Queued--
	if f.Queued != 0 {
		return
	}
	out := &s.Extras[f.Egress]
	if f.Previous != 0 {
		s.Flows[f.Previous-1].Next = f.Next
	} else {
		out.FlowHead = f.Next
	}
	if f.Next != 0 {
		s.Flows[f.Next-1].Previous = f.Previous
	}
	f.Next, f.Previous = 0, 0
	out.Flows--
}

// Profiles limits the kinds of ports with their own thresholds per switch.
const Profiles = len(SwitchState{}.Profiles)

// Threshold returns XOFF of port p of a switch now: the bytes of one priority from this ingress port at which its peer
// is paused. It equals xoff_threshold in c/pfc.h; if they differ, a trigger builds nothing, which the final check
// reports.
func (s *State) Threshold(p int) uint64 {
	port := &s.Ports[p]
	sw := &s.Switches[port.Node]
	return xoffAt(sw, port, sw.Used-sw.HeadroomUsed)
}

// Overrun reports whether port p of a switch holds more of the priority than its headroom beyond level, XOFF at the
// time of the PAUSE. A dynamic threshold ignores level: the pipelines count the use of headroom.
func (s *State) Overrun(p int, priority uint8, level, headroom uint64) bool {
	port := &s.Ports[p]
	if s.Switches[port.Node].Profiles[port.Profile].Alpha != 0 {
		return uint64(s.Extras[p].HeadroomBuffered[priority]) > headroom
	}
	return uint64(port.Class[priority].Buffered) > level+headroom
}

// xoffAt returns XOFF of a port of a switch with shared bytes in its shared buffer.
func xoffAt(sw *SwitchState, port *Port, shared uint64) uint64 {
	k := &sw.Profiles[port.Profile]
	if k.Alpha == 0 {
		return k.Xoff
	}
	var threshold uint64
	if shared < sw.Buffer {
		threshold = (sw.Buffer - shared) * k.Alpha >> 16
	}
	if k.Xoff != 0 && threshold > k.Xoff {
		threshold = k.Xoff
	}
	return threshold
}

// ResumeDue reports whether port p must send its peer a RESUME for the priority.
func (s *State) ResumeDue(p int, priority uint8) bool {
	port := &s.Ports[p]
	t := &s.Switches[port.Node]
	if port.Class[priority].Pausing == 0 || t.HeadroomUsed != 0 && s.Extras[p].HeadroomBuffered[priority] != 0 {
		return false
	}
	return uint64(port.Class[priority].Buffered) <= s.ResumeLevel(p, t.Used-t.HeadroomUsed)
}

// ResumeLevel returns XON of port p of a switch with shared bytes in its shared buffer. A RESUME is due for a priority
// that holds at most XON, and nothing in the headroom.
func (s *State) ResumeLevel(p int, shared uint64) uint64 {
	port := &s.Ports[p]
	t := &s.Switches[port.Node]
	if k := &t.Profiles[port.Profile]; k.Alpha == 0 {
		return k.Xon
	}
	xon := xoffAt(t, port, shared)
	return xon - min(xon, t.XoffToXon)
}

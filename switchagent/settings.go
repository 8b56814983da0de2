package switchagent

import (
	"errors"
	"math"

	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Priorities is the number of priorities of a port (IEEE 802.1Q).
const Priorities = 8

// Settings are a switch's settings as a scenario gives them.
type Settings struct {
	Buffer      units.Bytes // shared packet buffer, or Auto; a node of the topology may have its own
	FlowControl FlowControl
	PFC         PFC
	CBFC        CBFC
	ECN         ECN
	Detector    Detector
	TCD         TCD
	CNM         CNM
	Scheduler   Scheduler
	Balancing   LoadBalancing
	// LossyLimit is the most bytes one egress queue of a lossy priority holds; beyond it frames are dropped.
	LossyLimit units.Bytes
	// LossyAlpha > 0 has such a queue hold no more than LossyAlpha * (shared buffer that is free) either: a dynamic
	// threshold (Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", IEEE/ACM ToN
	// 6(2), 1998). What is free is of the buffer without what is set aside for headroom.
	LossyAlpha float64
	// Trim has a lossy data frame for which there is no room cut to its headers, which go on in the hosts' control
	// priority. TrimVictim says which frame that is.
	Trim       bool
	TrimVictim TrimVictim
}

// TrimVictim says which frame is trimmed where a queue is full.
type TrimVictim uint8

// Victims.
const (
	TrimArriving TrimVictim = iota // the one that comes
	// by a coin, that or the newest of the queue (Handley et al., "NDP", SIGCOMM 2017, section 3.1)
	TrimCoin
)

// TrimVictimNames are the values' names.
var TrimVictimNames = []string{TrimArriving: "arriving", TrimCoin: "coin"}

// PFC is priority flow control (IEEE 802.1Qbb).
type PFC struct {
	Priorities uint8 // bit n: priority n is lossless
	// XOFF is the bytes of one priority buffered from one ingress port at which PAUSE is sent: at or above it. With Alpha
	// it is the upper bound of the dynamic threshold; 0 means unbounded. Auto: by the port's rate and cable.
	XOFF units.Bytes
	// XON is the level at or below which RESUME is sent. Auto: XOFFToXON below XOFF. With Alpha it is that anyway.
	XON       units.Bytes
	XOFFToXON units.Bytes
	// Alpha > 0 makes XOFF dynamic: Alpha * (shared buffer that is free).
	Alpha float64
	// Headroom is the bytes one priority of one ingress port may hold beyond XOFF: what is in flight when PAUSE is sent.
	// Auto: what can be, by Cable.InFlight.
	Headroom units.Bytes
	// Response is the time that the hardware at both ends of a cable takes to send and to obey a PAUSE. The model's takes
	// none: only Cable.InFlight counts it, and CellSize and SmallPackets.
	Response vtime.Time
	// CellSize > 0 has a frame take whole cells of so many bytes of the buffer.
	CellSize units.Bytes
	// SmallPackets is the part of the packets in flight, 0 to 1, that have the length that wastes the most of its cells.
	// The others are full.
	SmallPackets float64
	// PerRate > 0 has Alpha and Headroom stand for ports of this rate (see At).
	PerRate units.Rate
	// Quanta is the pause time of a PAUSE frame, in units of 512 bit times of the link. PAUSE is refreshed when half of
	// it has passed.
	Quanta   uint16
	Watchdog Watchdog
}

// ECN is the egress queue's marking of ECN-capable packets.
type ECN struct {
	Mode       ECNMode
	Priorities uint8 // bit n: priority n is marked
	// KMin and KMax are queue lengths. ECNRED marks with a probability rising from 0 at KMin to PMax at KMax and always
	// above KMax. ECNStep marks what meets more than KMax. ECNPCN needs no thresholds. Auto: by the port's rate.
	KMin, KMax units.Bytes
	PMax       float64
	// Point is when RED and the step mark, and so which queue is meant.
	Point ECNPoint
	// Ports are the ports at which RED and the step mark.
	Ports ECNPorts
	// PerRate > 0 has KMin and KMax stand for ports of this rate (see At).
	PerRate units.Rate
}

// At returns Alpha and Headroom, which may be Auto, of a port with this rate. With PerRate they are in proportion to
// it, as HPCC's simulator has them (simulation/scratch/third.cc), but for Alpha, which that makes 1 at most.
func (p *PFC) At(rate units.Rate) (alpha float64, headroom units.Bytes) {
	if p.PerRate == 0 {
		return p.Alpha, p.Headroom
	}
	alpha = p.Alpha * float64(rate) / float64(p.PerRate)
	return min(alpha, max(1, p.Alpha)), proportional(p.Headroom, rate, p.PerRate)
}

// At returns KMin and KMax, which may be Auto, of a port with this rate, with PerRate in proportion to it.
func (e *ECN) At(rate units.Rate) (kmin, kmax units.Bytes) {
	if e.PerRate == 0 {
		return e.KMin, e.KMax
	}
	return proportional(e.KMin, rate, e.PerRate), proportional(e.KMax, rate, e.PerRate)
}

// proportional scales b, which is for the rate per, to another rate.
func proportional(b units.Bytes, rate, per units.Rate) units.Bytes {
	if b == Auto {
		return Auto
	}
	return units.Bytes(math.Round(float64(b) * float64(rate) / float64(per)))
}

// ECNPorts selects ports by what their link leads to.
type ECNPorts uint8

// Selections of ports.
const (
	ECNPortsAuto ECNPorts = iota // as the congestion control asks; else all
	ECNPortsAll
	ECNPortsToSwitches
	ECNPortsToHosts
)

// ECNPortsNames are the values' names.
var ECNPortsNames = []string{
	ECNPortsAuto: "auto", ECNPortsAll: "all", ECNPortsToSwitches: "to-switches",
	ECNPortsToHosts: "to-hosts",
}

// marks returns whether a port is selected.
func (p ECNPorts) marks(toHost bool) bool {
	return p != ECNPortsToSwitches && p != ECNPortsToHosts || toHost == (p == ECNPortsToHosts)
}

// ECNPoint is when a packet is marked by the length of its queue.
type ECNPoint uint8

// Points.
const (
	// ECNByMode has the step mark at enqueue, as DCTCP has it, and RED at dequeue.
	ECNByMode ECNPoint = iota
	// ECNEnqueue marks a packet as it comes, by the queue with itself.
	ECNEnqueue
	// ECNDequeue marks a packet as it leaves, by what it leaves behind (HPCC's simulator: SwitchNotifyDequeue in
	// switch-node.cc).
	ECNDequeue
)

// AtEnqueue reports whether packets are marked on enqueue.
func (e *ECN) AtEnqueue() bool {
	return e.Mode == ECNStep && e.Point != ECNDequeue || e.Mode == ECNRED && e.Point == ECNEnqueue
}

// ECNMode is how ECN marks.
type ECNMode uint8

// Modes.
const (
	ECNOff ECNMode = iota
	ECNRED
	ECNStep
	// ECNPCN is PCN's NP-ECN: a packet that leaves others behind is marked, unless it was queued when a pause ended.
	ECNPCN
)

// CNM is DCON's burst detection and direct congestion notification (DCON paper, sections 4.2 to 4.4). Whether it is
// on depends on the controller.
type CNM struct {
	// QECN is the egress queue length at which congestion is persistent, and under which a burst ends. Auto: as ECN's
	// KMax.
	QECN units.Bytes
	// QCNM is the egress queue length at which a burst begins. 0: dynamic, max(QECN, XOFF/M - 3*d*C*(M-1)) with M the
	// number of egress ports that an ingress port's packets were for (section 4.4), in the running period of T or in the
	// one before if those were more: of the ingress ports whose packets came for this egress port within the last T, the
	// one with the most.
	QCNM units.Bytes
	// Window is T: an ingress port on which a packet to an uncongested egress arrived less than T before T_current, or
	// since, is shared.
	Window vtime.Time
	// AtOnset says that T_current is when the burst began, so that what is told to go slowly is told until the burst ends.
	// Otherwise it is when the packet came that a CNM may answer, and T after a burst has stopped a port's other packets
	// it is shared no more.
	AtOnset bool
	// SharedBy says which packets make a port shared.
	SharedBy SharedBy
	// Repeat is the least time between two CNMs for one flow while N, the number of flows, has not grown by 1/8.
	Repeat vtime.Time
	// RED says that what comes outside of bursts is marked by ECN's curve if that is RED's. Otherwise all that finds more
	// than QECN is, as section 4.1 has it.
	RED bool
}

// SharedBy says which packets for uncongested egress ports make an ingress port shared.
type SharedBy uint8

const (
	// SharedByEdge is as SharedByOther at ports to hosts, as SharedByAny at those to switches: a PAUSE to a host stops
	// nothing but what that host sends; one to a switch stops all that it would send this way next.
	SharedByEdge SharedBy = iota
	// SharedByAny takes those of the congested egress too that came before the burst.
	SharedByAny
	// SharedByOther takes only those of other egress ports.
	SharedByOther
)

// SharedByNames are the values' names.
var SharedByNames = []string{SharedByEdge: "edge", SharedByAny: "any", SharedByOther: "other"}

func (s SharedBy) String() string { return SharedByNames[s] }

// Scheduler shares a port among its priorities.
type Scheduler struct {
	// Quantum is each priority's DWRR quantum in bytes; 0 makes the priority strict. Strict priorities are served first,
	// the highest number first; the others share what is left by deficit weighted round robin.
	Quantum [Priorities]units.Bytes
}

// Default returns the settings of the DCON paper's switches (section 6), which auto makes those of any rate: at 40
// Gb/s XOFF is 320 KB, XON two packets below, ECN by RED 5/200 KB/1 %, 22 MB of shared buffer; every priority is
// strict. And TCD's patent's for what it has: at 40 Gb/s credits of 280 KB a port every 40 us, q_len 5 KB.
func Default() Settings {
	return Settings{
		Buffer: Auto,
		PFC: PFC{
			Priorities: 1 << 3,
			XOFF:       Auto, XON: Auto, XOFFToXON: 2 * units.KB,
			Headroom: Auto, Quanta: 0xFFFF,
		},
		CBFC: CBFC{Priorities: 1 << 3, Period: AutoPeriod, Buffer: Auto},
		ECN:  ECN{Mode: ECNRED, Priorities: 1 << 3, KMin: Auto, KMax: Auto, PMax: 0.01},
		TCD:  TCD{QLen: Auto, Epsilon: 0.05, CreditPeriods: 1.05},
		CNM: CNM{
			QECN: Auto, Window: 120 * vtime.Microsecond, Repeat: 50 * vtime.Microsecond, AtOnset: true,
		},
		Balancing:  LoadBalancing{Seed: OwnSeed, Gap: 50 * vtime.Microsecond},
		LossyLimit: 1 * units.MB,
	}
}

// Validate returns conflicts between settings, as joined schema.FieldErrors, or nil. Package settings checks their
// bounds.
func (s *Settings) Validate() error {
	var errs []error
	bad := func(path, format string, args ...any) { errs = append(errs, schema.Errorf(path, format, args...)) }
	if s.FlowControl == FlowCBFC {
		if b := s.CBFC.Block; b != 0 && (b > s.CBFC.Buffer && s.CBFC.Buffer != Auto || b&(b-1) != 0) {
			bad("cbfc.block", "%v is not 64B times a power of 2, up to cbfc.buffer", b)
		}
		if s.PFC.Watchdog.On() {
			bad("pfc.watchdog", "has no effect: there is no PFC under flow_control cbfc")
		}
	} else if s.PFC.Priorities != 0 && s.PFC.Alpha == 0 {
		if s.PFC.XOFF == 0 {
			bad("pfc.xoff", "must be positive, unless pfc.alpha is set for a dynamic threshold")
		}
		if s.PFC.XOFF != Auto && s.PFC.XON >= s.PFC.XOFF {
			bad("pfc.xon", "%v must be below pfc.xoff %v", s.PFC.XON, s.PFC.XOFF)
		}
	}
	if s.PFC.Watchdog.On() && s.PFC.Watchdog.Restore <= 0 {
		bad("pfc.watchdog.restore", "must be positive")
	}
	if s.ECN.Mode != ECNOff {
		if s.ECN.KMax != Auto && s.ECN.KMin > s.ECN.KMax {
			bad("ecn.kmin", "%v is above ecn.kmax %v", s.ECN.KMin, s.ECN.KMax)
		}
		if s.ECN.Mode == ECNPCN && s.ECN.Point == ECNEnqueue {
			bad("ecn.at", "enqueue: PCN needs marks on dequeue")
		}
	}
	if s.CNM.QCNM != 0 && s.CNM.QCNM < s.CNM.QECN {
		bad("cnm.threshold", "%v is below cnm.ecn_threshold %v", s.CNM.QCNM, s.CNM.QECN)
	}
	return errors.Join(errs...)
}

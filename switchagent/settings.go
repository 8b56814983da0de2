package switchagent

import (
	"errors"
	"math"

	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Priorities counts the priorities of a port (IEEE 802.1Q).
const Priorities = 8

// Settings holds a switch's settings from a scenario.
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
	// LossyLimit limits the egress queue of a lossy priority, in bytes; frames beyond it are dropped.
	LossyLimit units.Bytes
	// LossyAlpha > 0 also limits such a queue to LossyAlpha * (free shared buffer): a dynamic threshold (Choudhury
	// and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", IEEE/ACM ToN 6(2), 1998). The
	// free buffer excludes space reserved for headroom.
	LossyAlpha float64
	// Trim makes the switch trim a lossy data frame without room to its headers, and send these in the hosts'
	// control priority. TrimVictim selects the frame.
	Trim       bool
	TrimVictim TrimVictim
}

// TrimVictim selects the frame to trim when a queue is full.
type TrimVictim uint8

// Victims.
const (
	TrimArriving TrimVictim = iota // the arriving frame
	// TrimCoin trims, by a coin toss, the arriving frame or the newest of the queue (Handley et al., "NDP", SIGCOMM
	// 2017, section 3.1).
	TrimCoin
)

// TrimVictimNames lists the values' names.
var TrimVictimNames = []string{TrimArriving: "arriving", TrimCoin: "coin"}

// PFC holds the settings of priority flow control (IEEE 802.1Qbb).
type PFC struct {
	Priorities uint8 // bit n: priority n is lossless
	// XOFF sets the level at which PAUSE is sent: bytes of one priority buffered from one ingress port. With Alpha it
	// is the upper bound of the dynamic threshold; 0 means unbounded. Auto chooses it by the port's rate and cable.
	XOFF units.Bytes
	// XON sets the level at or below which RESUME is sent. Auto means XOFFToXON below XOFF; with Alpha that always
	// applies.
	XON       units.Bytes
	XOFFToXON units.Bytes
	// Alpha > 0 makes XOFF dynamic: Alpha * (free shared buffer).
	Alpha float64
	// Headroom sets the buffer of one priority of one ingress port beyond XOFF, for frames in flight when PAUSE is
	// sent. Auto chooses it by Cable.InFlight.
	Headroom units.Bytes
	// Response sets the time that the hardware at both ends of a cable takes to send and obey a PAUSE. In the model
	// that takes no time: only Cable.InFlight counts it, like CellSize and SmallPackets.
	Response vtime.Time
	// CellSize > 0 makes a frame occupy whole cells of that many bytes.
	CellSize units.Bytes
	// SmallPackets sets the share of packets in flight, 0 to 1, with the length that wastes the most of their cells.
	// The others are full.
	SmallPackets float64
	// PerRate > 0 means that Alpha and Headroom are for ports of this rate (see At).
	PerRate units.Rate
	// Quanta sets the pause time of a PAUSE frame, in units of 512 bit times of the link. PAUSE is refreshed after half
	// of it.
	Quanta   uint16
	Watchdog Watchdog
}

// ECN holds the settings of marking ECN-capable packets in egress queues.
type ECN struct {
	Mode       ECNMode
	Priorities uint8 // bit n: priority n is marked
	// KMin and KMax set queue lengths. ECNRED marks with a probability that rises from 0 at KMin to PMax at KMax, and
	// always above KMax. ECNStep marks packets that meet more than KMax. ECNPCN uses no thresholds. Auto chooses them
	// by the port's rate.
	KMin, KMax units.Bytes
	PMax       float64
	// Point selects when RED and step marking read the queue's length.
	Point ECNPoint
	// Ports selects the ports at which RED and step marking apply.
	Ports ECNPorts
	// PerRate > 0 means that KMin and KMax are for ports of this rate (see At).
	PerRate units.Rate
}

// At returns Alpha and Headroom, which may be Auto, of a port with this rate. With PerRate they are proportional to it,
// as in HPCC's simulator (simulation/scratch/third.cc), which limits Alpha to 1.
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

// proportional scales b, given for the rate per, to another rate.
func proportional(b units.Bytes, rate, per units.Rate) units.Bytes {
	if b == Auto {
		return Auto
	}
	return units.Bytes(math.Round(float64(b) * float64(rate) / float64(per)))
}

// ECNPorts selects ports by the other end of their link.
type ECNPorts uint8

// Selections of ports.
const (
	ECNPortsAuto ECNPorts = iota // the choice that the congestion controller requires; otherwise all
	ECNPortsAll
	ECNPortsToSwitches
	ECNPortsToHosts
)

// ECNPortsNames lists the values' names.
var ECNPortsNames = []string{
	ECNPortsAuto: "auto", ECNPortsAll: "all", ECNPortsToSwitches: "to-switches",
	ECNPortsToHosts: "to-hosts",
}

// marks returns whether a port is selected.
func (p ECNPorts) marks(toHost bool) bool {
	return p != ECNPortsToSwitches && p != ECNPortsToHosts || toHost == (p == ECNPortsToHosts)
}

// ECNPoint selects the time at which the length of its queue marks a packet.
type ECNPoint uint8

// Points.
const (
	// ECNByMode applies step marking on enqueue, like DCTCP, and RED on dequeue.
	ECNByMode ECNPoint = iota
	// ECNEnqueue marks a packet on enqueue, by the queue including the packet.
	ECNEnqueue
	// ECNDequeue marks a packet on dequeue, by the queue left behind (HPCC's simulator: SwitchNotifyDequeue in
	// switch-node.cc).
	ECNDequeue
)

// AtEnqueue reports whether packets are marked on enqueue.
func (e *ECN) AtEnqueue() bool {
	return e.Mode == ECNStep && e.Point != ECNDequeue || e.Mode == ECNRED && e.Point == ECNEnqueue
}

// ECNMode selects the marking algorithm.
type ECNMode uint8

// Modes.
const (
	ECNOff ECNMode = iota
	ECNRED
	ECNStep
	// ECNPCN marks by PCN's NP-ECN: a packet that leaves others behind is marked, unless it was queued when a pause
	// ended.
	ECNPCN
)

// CNM holds the settings of DCON's burst detection and direct congestion notification (DCON paper, sections 4.2 to
// 4.4). The controller decides whether it is on.
type CNM struct {
	// QECN sets the egress queue length at which congestion is persistent, and below which a burst ends. Auto: like
	// ECN's KMax.
	QECN units.Bytes
	// QCNM sets the egress queue length at which a burst starts. 0 makes it dynamic: max(QECN, XOFF/M - 3*d*C*(M-1)),
	// where M is the number of egress ports of an ingress port's packets (section 4.4), in the current period of T or
	// in the previous one if that had more. Among the ingress ports with packets for this egress port within the last
	// T, the one with the largest M counts.
	QCNM units.Bytes
	// Window sets T: an ingress port is shared if a packet for an uncongested egress port arrived on it less than T
	// before T_current, or later.
	Window vtime.Time
	// AtOnset sets T_current to the start of the burst, so that senders are notified until the burst ends. Otherwise
	// T_current is the arrival of the packet that a CNM may answer: once a burst has blocked a port's other packets
	// for T, the port is no longer shared.
	AtOnset bool
	// SharedBy selects the packets that make a port shared.
	SharedBy SharedBy
	// Repeat sets the minimum time between two CNMs for one flow while N, the number of flows, has not grown by 1/8.
	Repeat vtime.Time
	// RED applies ECN's curve outside of bursts, if that is RED's. Otherwise every packet that meets more than QECN
	// is marked, as in section 4.1.
	RED bool
}

// SharedBy selects the packets for uncongested egress ports that make an ingress port shared.
type SharedBy uint8

const (
	// SharedByEdge means SharedByOther at ports to hosts, and SharedByAny at ports to switches: a PAUSE to a host stops
	// only that host's packets, but one to a switch stops all packets of that switch to this port.
	SharedByEdge SharedBy = iota
	// SharedByAny also counts packets for the congested egress port from before the burst.
	SharedByAny
	// SharedByOther counts only packets for other egress ports.
	SharedByOther
)

// SharedByNames lists the values' names.
var SharedByNames = []string{SharedByEdge: "edge", SharedByAny: "any", SharedByOther: "other"}

func (s SharedBy) String() string { return SharedByNames[s] }

// Scheduler describes how a port's priorities share it.
type Scheduler struct {
	// Quantum sets each priority's DWRR quantum in bytes; 0 makes the priority strict. Strict priorities are served
	// first, the highest number first. The others share the rest by deficit weighted round robin.
	Quantum [Priorities]units.Bytes
}

// Default returns the settings of the DCON paper's switches (section 6), which Auto scales to any rate: at 40 Gb/s XOFF
// is 320 KB, XON two packets below, ECN by RED 5/200 KB/1 %, 22 MB of shared buffer; every priority is strict. Credits
// and TCD have the values of TCD's patent: at 40 Gb/s 280 KB a port every 40 us, q_len 5 KB.
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

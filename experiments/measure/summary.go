package measure

// Summary holds the content of summary.json: a run in numbers. Times are virtual nanoseconds unless a name says
// otherwise.
type Summary struct {
	Scenario    string  `json:"scenario"`
	Controller  string  `json:"controller"`
	Seed        uint64  `json:"seed"`
	Plane       string  `json:"plane"`
	Verdict     Verdict `json:"verdict"`
	Partial     bool    `json:"partial"`
	Fingerprint string  `json:"fingerprint"`
	VirtualNS   int64   `json:"virtual_ns"`

	Flows  FlowStatistics            `json:"flows"`
	ByTag  map[string]FlowStatistics `json:"by_tag"`
	BySize []SizeBin                 `json:"by_size"`
	// BySizeBin holds twenty bins with equally many flows; absent if there are too few flows or all have one size.
	BySizeBin []EqualSizeBin  `json:"by_size_bin,omitempty"`
	Fairness  FairnessSummary `json:"fairness"`
	// LowestGoodput holds each tag's goodput in its worst tenth of the scenario's duration: the mean over the flows
	// that were active throughout, in bits per second. Tags without such flows are absent.
	LowestGoodput map[string]float64 `json:"lowest_goodput_bps,omitempty"`
	Victims       VictimSummary      `json:"victims"`
	Links         LinkSummary        `json:"links"`
	// Imbalance describes switches that choose among equal-cost ports, by tier; absent if no switch chooses or nothing
	// was sent.
	Imbalance []TierImbalance `json:"imbalance,omitempty"`

	PFC PFCSummary `json:"pfc"`
	// Credits counts credit messages; nil without credit-based flow control.
	Credits  *CreditSummary `json:"credits,omitempty"`
	ECNMarks int64          `json:"ecn_marks"`
	UEMarks  int64          `json:"ue_marks,omitempty"` // undetermined encountered (TCD)
	CNPs     int64          `json:"cnps"`
	CNMs     int64          `json:"cnms"`
	RTT      RTTSummary     `json:"rtt"`
	// RTTSampled holds single samples of each flow, as package runner takes them; RTT covers every acknowledged
	// packet.
	RTTSampled RTTSummary  `json:"rtt_sampled"`
	Drops      DropSummary `json:"drops"`
	// Recovery counts retransmissions and their causes; nil for runs with neither selective repeat nor trimming.
	Recovery *RecoverySummary `json:"recovery,omitempty"`
	// Grants counts granted and sent payload under congestion controls with grants (RCCC); nil if no flow uses one.
	Grants *GrantSummary `json:"grants,omitempty"`
	// Faults counts faults and their effects; nil if none occurred or was planned.
	Faults *FaultSummary `json:"faults,omitempty"`
	// Jobs holds the workloads of dependent flows, Collectives their collective operations.
	Jobs        []JobSummary        `json:"jobs,omitempty"`
	Collectives []CollectiveSummary `json:"collectives,omitempty"`
	PeakIngress int64               `json:"peak_ingress_bytes"` // peak occupancy of the data priority at any ingress port
	Switches    []SwitchPeak        `json:"switches"`
	Speed       SpeedSummary        `json:"speed"`
	// Published holds a source's figures for this run and the measurements. Those relative to another run follow once
	// that run exists.
	Published []Claim `json:"published,omitempty"`
	// Figures holds all figures of the scenario's published tables, including those of other runs and of changes.
	Figures []Figure `json:"figures,omitempty"`
}

// RTTSummary describes the RTT samples of all flows.
type RTTSummary struct {
	Samples int64   `json:"samples"`
	Mean    float64 `json:"mean_ns"`
	P50     float64 `json:"p50_ns"`
	P95     float64 `json:"p95_ns"`
	P99     float64 `json:"p99_ns"`
	Max     float64 `json:"max_ns"`
}

// DropSummary counts lost frames.
type DropSummary struct {
	Frames   int64 `json:"frames"`
	Lossless int64 `json:"lossless_frames"` // frames of a lossless class that no fault dropped
	// Lossy counts frames of lossy classes that were dropped for lack of space, by cause: LossyQueue, LossyThreshold,
	// LossyBuffer; absent if there are none.
	Lossy map[string]int64 `json:"lossy_frames,omitempty"`
	// Positions lists the ports with the most drops, by cause; absent if there are none.
	Positions []DropPosition `json:"places,omitempty"`
}

// DropPosition counts the frames that one port dropped for one cause.
type DropPosition struct {
	Cause  string `json:"cause"` // a key of DropTexts
	Node   string `json:"node"`
	Peer   string `json:"peer"` // at the other end of the port's link
	Frames int64  `json:"frames"`
}

// Causes of drops in lossy classes.
const (
	LossyQueue     = "lossy_queue"     // beyond lossy_limit
	LossyThreshold = "lossy_threshold" // beyond the limit set by lossy_alpha
	LossyBuffer    = "lossy_buffer"    // the shared buffer is full
)

// Causes of drops in lossless classes without a fault.
const (
	LosslessHeadroom = "headroom"      // beyond XOFF and headroom
	LosslessBuffer   = "shared_buffer" // the shared buffer is full
)

// DropTexts holds the causes of drops in words that follow "dropped". The causes of faults are package engine's
// LossNames.
var DropTexts = map[string]string{
	LosslessHeadroom: "in a lossless class beyond XOFF and headroom",
	LosslessBuffer:   "in a lossless class, as the shared buffer was full",
	LossyQueue:       "beyond switch.lossy_limit", LossyThreshold: "beyond what switch.lossy_alpha gives",
	LossyBuffer: "as the shared buffer was full",
	"link_down": "as their link went down", "port_down": "as their port's link was down", "wire": "by the wire",
	"fcs":            "for a wrong FCS",
	"receive_buffer": "by a slow receiver whose buffer was full", "watchdog": "by the PFC watchdog",
	"no_route":   "for want of a route",
	"lost_pause": "as a fault lost the PAUSE for them", "device": "as their interface was down",
}

// RecoverySummary counts packets of loss recovery over all flows.
type RecoverySummary struct {
	Timeouts      int64 `json:"timeouts"`
	Naks          int64 `json:"naks"`
	Retransmitted int64 `json:"retransmitted_bytes"` // payload
	// Spurious counts retransmitted packets that had arrived before, as far as their senders learned; Duplicates
	// counts packets that arrived more than once.
	Spurious   int64 `json:"spurious_retransmissions"`
	Duplicates int64 `json:"duplicates"`
	// Reordered counts packets that arrived after a packet of their flow that was first sent later. Extent is the
	// maximum reordering extent, in packets of the sending order (RFC 4737). Both include retransmitted packets.
	Reordered int64 `json:"reordered"`
	Extent    int64 `json:"reordering_extent"`
	// Trimmed counts packets that switches cut to their headers.
	Trimmed int64 `json:"trimmed"`
}

// GrantSummary counts payload of flows that send what their receivers grant.
type GrantSummary struct {
	Given int64 `json:"given_bytes"` // by grants, including the initial credit
	Sent  int64 `json:"sent_bytes"`  // including retransmissions
}

// SwitchPeak holds the peak occupancy of a switch's ports.
type SwitchPeak struct {
	Node      string `json:"node"`
	QueuePeak int64  `json:"peak_egress_bytes"`
	Ingress   int64  `json:"peak_ingress_bytes"`
	Bursts    int64  `json:"bursts"` // number of times that a queue entered DCON's burst state
}

// SpeedSummary describes how fast the run was. No other part of a summary depends on the machine.
type SpeedSummary struct {
	WallSeconds   float64 `json:"wall_seconds,omitempty"` // absent, like all wall-clock times, for points of a sweep
	VirtualPerSec float64 `json:"virtual_seconds_per_wall_second,omitempty"`
	Frames        int64   `json:"frames"`
	Hops          int64   `json:"packet_hops"`
	HopsPerSecond float64 `json:"packet_hops_per_second,omitempty"`
	NSPerHop      float64 `json:"wall_ns_per_packet_hop,omitempty"`
	Passes        int64   `json:"pipeline_passes"`
	Events        int64   `json:"events"`
}

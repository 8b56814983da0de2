package measure

// Summary is summary.json: a run in numbers. Times are virtual nanoseconds unless a name says otherwise.
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
	// BySizeBin are twenty bins of equal count; absent if there are too few flows, or they are of one size.
	BySizeBin []EqualSizeBin  `json:"by_size_bin,omitempty"`
	Fairness  FairnessSummary `json:"fairness"`
	// LowestGoodput holds each tag's goodput in its worst tenth of the scenario's duration: the mean over the flows that
	// were active throughout, in bits per second. Tags without such flows are absent.
	LowestGoodput map[string]float64 `json:"lowest_goodput_bps,omitempty"`
	Victims       VictimSummary      `json:"victims"`
	Links         LinkSummary        `json:"links"`
	// Imbalance is of switches that choose among equal-cost ports, by tier; absent where none does, or nothing was sent.
	Imbalance []TierImbalance `json:"imbalance,omitempty"`

	PFC PFCSummary `json:"pfc"`
	// Credits are of credit-based flow control; nil where flow control is another.
	Credits  *CreditSummary `json:"credits,omitempty"`
	ECNMarks int64          `json:"ecn_marks"`
	UEMarks  int64          `json:"ue_marks,omitempty"` // undetermined encountered (TCD)
	CNPs     int64          `json:"cnps"`
	CNMs     int64          `json:"cnms"`
	RTT      RTTSummary     `json:"rtt"`
	// RTTSampled are one sample at a time of each flow, as package runner takes them; RTT is of every acknowledged packet.
	RTTSampled RTTSummary  `json:"rtt_sampled"`
	Drops      DropSummary `json:"drops"`
	// Recovery is nil of runs that have neither selective repeat nor trimming.
	Recovery *RecoverySummary `json:"recovery,omitempty"`
	// Grants counts what receivers granted and flows sent, under congestion controls by grants (RCCC); nil where no flow
	// has one.
	Grants *GrantSummary `json:"grants,omitempty"`
	// Faults is nil for a run in which nothing went wrong and nothing was to.
	Faults *FaultSummary `json:"faults,omitempty"`
	// Jobs are the workloads whose flows wait for each other, Collectives what of these were collective operations.
	Jobs        []JobSummary        `json:"jobs,omitempty"`
	Collectives []CollectiveSummary `json:"collectives,omitempty"`
	PeakIngress int64               `json:"peak_ingress_bytes"` // peak occupancy of the data priority at any ingress port
	Switches    []SwitchPeak        `json:"switches"`
	Speed       SpeedSummary        `json:"speed"`
	// Published are a source's figures for this run beside what it measured; those relative to another run only once
	// that one has been made too.
	Published []Claim `json:"published,omitempty"`
	// Figures are all that the scenario's published tables are about, those of other runs and of changes too.
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
	Lossless int64 `json:"lossless_frames"` // of them in a lossless class, and not by a fault
	// Lossy are those that found no room in a lossy class, by cause: LossyQueue, LossyThreshold, LossyBuffer; absent
	// without any.
	Lossy map[string]int64 `json:"lossy_frames,omitempty"`
	// Places are the ports with the most drops, by cause; absent without any.
	Places []DropPlace `json:"places,omitempty"`
}

// DropPlace counts the frames that one port dropped for one cause.
type DropPlace struct {
	Cause  string `json:"cause"` // a key of DropTexts
	Node   string `json:"node"`
	Peer   string `json:"peer"` // at the other end of the port's link
	Frames int64  `json:"frames"`
}

// Causes of drops in lossy classes.
const (
	LossyQueue     = "lossy_queue"     // beyond lossy_limit
	LossyThreshold = "lossy_threshold" // beyond what lossy_alpha gives
	LossyBuffer    = "lossy_buffer"    // the shared buffer is full
)

// Causes of drops in lossless classes without a fault.
const (
	LosslessHeadroom = "headroom"      // beyond XOFF and headroom
	LosslessBuffer   = "shared_buffer" // the shared buffer is full
)

// DropTexts describe the causes of drops, to follow the word "dropped"; those of faults are package engine's LossNames.
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

// RecoverySummary is what it took to bring what was lost, and what that cost, in packets of all flows.
type RecoverySummary struct {
	Timeouts      int64 `json:"timeouts"`
	Naks          int64 `json:"naks"`
	Retransmitted int64 `json:"retransmitted_bytes"` // payload
	// Spurious were sent again and had arrived before, as far as their senders were told; Duplicates is how many came so.
	Spurious   int64 `json:"spurious_retransmissions"`
	Duplicates int64 `json:"duplicates"`
	// Reordered came after a packet of their flow that was first sent later, and Extent is the most that one came late, in
	// packets of the sending order (RFC 4737). Both count what was lost and sent again, too.
	Reordered int64 `json:"reordered"`
	Extent    int64 `json:"reordering_extent"`
	// Trimmed were cut to their headers by switches.
	Trimmed int64 `json:"trimmed"`
}

// GrantSummary counts payload of flows that send what their receivers grant.
type GrantSummary struct {
	Given int64 `json:"given_bytes"` // by grants, and what flows may begin with
	Sent  int64 `json:"sent_bytes"`  // what is sent again counts again
}

// SwitchPeak is the fullest a switch's ports have been.
type SwitchPeak struct {
	Node      string `json:"node"`
	QueuePeak int64  `json:"peak_egress_bytes"`
	Ingress   int64  `json:"peak_ingress_bytes"`
	Bursts    int64  `json:"bursts"` // times a queue entered DCON's burst state
}

// SpeedSummary is how fast the run went. Nothing else in a summary depends on the machine.
type SpeedSummary struct {
	WallSeconds   float64 `json:"wall_seconds,omitempty"` // as all of wall-clock time absent of a sweep's points
	VirtualPerSec float64 `json:"virtual_seconds_per_wall_second,omitempty"`
	Frames        int64   `json:"frames"`
	Hops          int64   `json:"packet_hops"`
	HopsPerSecond float64 `json:"packet_hops_per_second,omitempty"`
	NSPerHop      float64 `json:"wall_ns_per_packet_hop,omitempty"`
	Passes        int64   `json:"pipeline_passes"`
	Events        int64   `json:"events"`
}

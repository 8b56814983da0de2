package report

// Summary is a run in numbers. Times are virtual nanoseconds.
type Summary struct {
	All    Flows
	ByTag  []Group
	BySize []Group
	// BySizeBin are bins of equal count by size, the smallest flows first; empty: there are none.
	BySizeBin []SizeBin

	PFCFrames int64
	// SwitchPauses are those that a switch sent to a switch.
	SwitchPauses int64
	// PFCRate is PAUSE frames per virtual second.
	PFCRate float64
	// Paused is the time for which flow control paused ports, by PAUSE or for want of credits, summed.
	Paused int64

	ECNMarks, CNPs, CNMs int64
	RTT                  RTT
	Drops                int64
	Speed                Speed

	// PeakIngress is the peak occupancy of an ingress port, PeakEgress the longest egress queue, in bytes.
	PeakIngress, PeakEgress int64
	Spread                  Spread
	Victims                 Victims
	Fairness                []Fairness
	Links                   []Link
	// Imbalance is by tier of the switches that choose among equal-cost ports.
	Imbalance []Imbalance
	// Recovery is nil where losses are repaired by go-back-N and nothing is trimmed.
	Recovery *Recovery
	// Lossy are the frames that found no room in a lossy class.
	Lossy LossyDrops
	// Drop are the ports with the most dropped frames, by cause.
	Drop []DropPlace
	// Jobs and Collectives are of workloads whose flows wait for each other.
	Jobs        []Job
	Collectives []Collective
}

// DropPlace counts the frames that a port dropped for one cause.
type DropPlace struct {
	At, Cause string
	Frames    int64
}

// LossyDrops are frames by cause: beyond a queue's limit, beyond its dynamic threshold, and as the shared buffer was
// full.
type LossyDrops struct {
	Queue, Threshold, Buffer int64
}

// Job is a workload whose flows wait. Times are in nanoseconds; JCT is 0 of one that has not ended.
type Job struct {
	Tag                                string
	JCT, Limit, Compute, Exposed, Late int64
	ExposedShare                       float64
	Straggler                          string
}

// Collective is the collectives of a job that are alike. Times are in nanoseconds.
type Collective struct {
	Name             string // with its job
	Completed        int
	Time             Quantiles
	Limit            int64
	Algorithmic, Bus float64 // bit/s
	Skew, Late       float64 // mean
}

// Imbalance is how unevenly the switches of a tier loaded equal-cost ports: 1 and 1 if evenly.
type Imbalance struct {
	Tier              int
	MaxOverMean, Jain float64
	Worst             string // the most uneven switch
}

// Recovery is what it took to bring what was lost, in packets.
type Recovery struct {
	Timeouts, Naks, Retransmitted                    int64 // Retransmitted in bytes
	Spurious, Duplicates, Reordered, Extent, Trimmed int64
}

// SizeBin is the part of the flows up to a size, in bytes, that no smaller part has.
type SizeBin struct {
	UpTo  int64
	Flows Flows
}

// Spread says how far PAUSE spread.
type Spread struct {
	Depth   int      // hops; 0: there was none
	ByDepth []int64  // holds at 1, 2, ... hops
	Chain   []string // the nodes of the first chain of that depth, the root first
	Time    int64    // of that chain, in nanoseconds
}

// Victims are flows that were slowed though they share no congested port.
type Victims struct {
	Over  float64 // the slowdown above which a flow counts
	Count int
	Worst []Victim
}

// Victim is a flow.
type Victim struct {
	Flow     int
	Tag      string
	Slowdown float64
}

// Fairness is Jain's index of the flows with a tag.
type Fairness struct {
	Tag         string
	Mean, Least float64
}

// Link is one direction of a link.
type Link struct {
	Node, Port, Peer string
	// FromSwitch and ToSwitch say what is at its ends: false for a host.
	FromSwitch, ToSwitch bool
	Utilisation          float64 // 0 to 1
	PauseRate            float64 // PAUSE frames that paused it, per virtual second
	Paused, Congested    int64   // ns
	PeakQueue            int64   // bytes
}

// Name returns the link for people.
func (l *Link) Name() string { return l.Node + " → " + l.Peer }

// Flows are the statistics of the flows that ended.
type Flows struct {
	Count int // of those that ended, which all else is about
	// Unfinished are those with a size that had not ended as the run did.
	Unfinished int
	// FCT is in nanoseconds.
	FCT Quantiles
	// Slowdown is a flow's FCT over its ideal FCT.
	Slowdown Quantiles
}

// Group is a named part of the flows: a tag or a size bin.
type Group struct {
	Name  string
	Flows Flows
}

// Quantiles describe a distribution.
type Quantiles struct {
	Mean, P50, P95, P99 float64
}

// RTT describes the round-trip times that the controllers saw, in nanoseconds.
type RTT struct {
	Samples        int64
	Mean, P99, Max float64
}

// Speed is how fast the run went. It is the only place where wall-clock time may enter a report; leave WallSeconds and
// HopsPerSecond zero for a page that is byte-identical on every machine.
type Speed struct {
	Frames         int64
	HopsPerSecond  float64
	WallSeconds    float64
	VirtualSeconds float64
}

package report

// Summary holds a run in numbers. Times are virtual nanoseconds.
type Summary struct {
	All    Flows
	ByTag  []Group
	BySize []Group
	// BySizeBin holds bins with equally many flows, the smallest flows first; empty: none.
	BySizeBin []SizeBin

	PFCFrames int64
	// SwitchPauses counts the PAUSE frames from switch to switch.
	SwitchPauses int64
	// PFCRate holds PAUSE frames per virtual second.
	PFCRate float64
	// Paused holds the time for which flow control paused ports, by PAUSE or for lack of credits, summed over ports.
	Paused int64

	ECNMarks, CNPs, CNMs int64
	RTT                  RTT
	Drops                int64
	Speed                Speed

	// PeakIngress holds the peak occupancy of an ingress port, PeakEgress the longest egress queue, in bytes.
	PeakIngress, PeakEgress int64
	Spread                  Spread
	Victims                 Victims
	Fairness                []Fairness
	Links                   []Link
	// Imbalance has an element for each tier of switches that choose among equal-cost ports.
	Imbalance []Imbalance
	// Recovery: nil if losses are repaired by go-back-N and nothing is trimmed.
	Recovery *Recovery
	// Lossy counts the frames dropped in lossy classes for lack of space.
	Lossy LossyDrops
	// Drop lists the ports with the most dropped frames, by cause.
	Drop []DropPosition
	// Jobs and Collectives hold the results of workloads with dependent flows.
	Jobs        []Job
	Collectives []Collective
}

// DropPosition counts the frames that a port dropped for one cause.
type DropPosition struct {
	At, Cause string
	Frames    int64
}

// LossyDrops counts frames by cause: beyond a queue's limit, beyond its dynamic threshold, and because the shared
// buffer was full.
type LossyDrops struct {
	Queue, Threshold, Buffer int64
}

// Job holds the results of a workload with dependent flows. Times are in nanoseconds; JCT is 0 if it has not ended.
type Job struct {
	Tag                                string
	JCT, Limit, Compute, Exposed, Late int64
	ExposedShare                       float64
	Straggler                          string
}

// Collective holds the results of equal collectives of a job. Times are in nanoseconds.
type Collective struct {
	Name             string // including the job's name
	Completed        int
	Time             Quantiles
	Limit            int64
	Algorithmic, Bus float64 // bit/s
	Skew, Late       float64 // mean values
}

// Imbalance tells how unevenly the switches of a tier loaded equal-cost ports: 1 and 1 if evenly.
type Imbalance struct {
	Tier              int
	MaxOverMean, Jain float64
	Worst             string // the most uneven switch
}

// Recovery counts the packets and events of loss recovery.
type Recovery struct {
	Timeouts, Naks, Retransmitted                    int64 // Retransmitted: in bytes
	Spurious, Duplicates, Reordered, Extent, Trimmed int64
}

// SizeBin holds the statistics of the flows up to a size, in bytes, that are in no smaller bin.
type SizeBin struct {
	UpTo  int64
	Flows Flows
}

// Spread describes how far PAUSE spread.
type Spread struct {
	Depth   int      // hops; 0: no PAUSE
	ByDepth []int64  // holds at 1, 2, ... hops
	Chain   []string // the nodes of the first chain of that depth, the root first
	Time    int64    // time of that chain, in nanoseconds
}

// Victims describes the flows that were slowed although they share no congested port.
type Victims struct {
	Over  float64 // the slowdown above which a flow counts
	Count int
	Worst []Victim
}

// Victim describes one such flow.
type Victim struct {
	Flow     int
	Tag      string
	Slowdown float64
}

// Fairness holds Jain's index of the flows with a tag.
type Fairness struct {
	Tag         string
	Mean, Least float64
}

// Link describes one direction of a link.
type Link struct {
	Node, Port, Peer string
	// FromSwitch and ToSwitch are true if a switch is at that end, false for a host.
	FromSwitch, ToSwitch bool
	Utilisation          float64 // 0 to 1
	PauseRate            float64 // PAUSE frames that paused it, per virtual second
	Paused, Congested    int64   // ns
	PeakQueue            int64   // bytes
}

// Name returns the link for people.
func (l *Link) Name() string { return l.Node + " → " + l.Peer }

// Flows holds the statistics of the flows that ended.
type Flows struct {
	Count int // number of ended flows; all other fields but Unfinished describe them
	// Unfinished counts the flows with a size that had not ended at the end of the run.
	Unfinished int
	// FCT: in nanoseconds
	FCT Quantiles
	// Slowdown divides a flow's FCT by its ideal FCT.
	Slowdown Quantiles
}

// Group holds a named part of the flows: a tag or a size bin.
type Group struct {
	Name  string
	Flows Flows
}

// Quantiles describes a distribution.
type Quantiles struct {
	Mean, P50, P95, P99 float64
}

// RTT describes the round-trip times that the controllers saw, in nanoseconds.
type RTT struct {
	Samples        int64
	Mean, P99, Max float64
}

// Speed holds the speed of the run. No other part of a report may contain wall-clock time; leave WallSeconds and
// HopsPerSecond zero for a page that is byte-identical on every machine.
type Speed struct {
	Frames         int64
	HopsPerSecond  float64
	WallSeconds    float64
	VirtualSeconds float64
}

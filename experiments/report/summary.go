package report

// Summary is a run in numbers. Times are virtual nanoseconds.
type Summary struct {
	All    Flows
	ByTag  []Group
	BySize []Group

	PFCFrames int64
	// PFCRate is PAUSE frames per virtual second.
	PFCRate float64
	// Paused is the time ports spent paused, summed over ports.
	Paused int64

	ECNMarks, CNPs, CNMs int64
	RTT                  RTT
	Drops                int64
	Speed                Speed
}

// Flows are the statistics of the flows that ended.
type Flows struct {
	Count int
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

package measure

// FlowStatistics are those of a set of flows.
type FlowStatistics struct {
	Count     int `json:"count"`
	Completed int `json:"completed"`
	// Unfinished are those with a size that had not ended as the run did; nil: all had.
	Unfinished *UnfinishedFlows `json:"unfinished,omitempty"`
	FCT        Quantiles        `json:"fct_ns"`
	Slowdown   Quantiles        `json:"slowdown"`
	// SlowdownHPCC is the FCT over the time alone as HPCC's simulator reckons it (see HPCCAlone), at least 1; SlowdownLine
	// is the FCT over the size at line rate, without headers and delays, as TCD's patent has it.
	SlowdownHPCC Quantiles `json:"slowdown_hpcc"`
	SlowdownLine Quantiles `json:"slowdown_line"`
	// Goodput is the payload delivered over the run, in bits per second, summed over the flows.
	Goodput float64 `json:"goodput_bps"`
	// MeanRate is the payload of the flows that ended over the sum of their FCTs, in bits per second (the LSTM-PID
	// thesis, equation 30): what a byte meets on average, not a throughput. It favours ending short flows first.
	MeanRate float64 `json:"mean_rate_bps"`
	// Finish is the time from the first flow's start to the last flow's end; 0 unless all of them have ended.
	Finish int64 `json:"finish_ns"`
	// CE and UE are the flows' packets that arrived marked congestion experienced, and undetermined encountered (TCD).
	CE int64 `json:"ce_packets"`
	UE int64 `json:"ue_packets,omitempty"`
}

// Quantiles describe a distribution; all 0 without values.
type Quantiles struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// SizeBin is the flows with over After and up to UpTo bytes.
type SizeBin struct {
	Label string `json:"label"`
	UpTo  int64  `json:"up_to_bytes"` // 0: unbounded
	FlowStatistics
}

// UnfinishedFlows are the flows with a size that had not ended as the run did, and why. A flow without a size ends with
// the run.
type UnfinishedFlows struct {
	Flows int `json:"flows"`
	// Expected are those of which the scenario says that they may outlast the run (expect_unfinished).
	Expected int `json:"expected"`
	// NotStarted were to start later than the run ended. Stopped can never end: their senders wait for an answer, and
	// nothing is left that would bring one. All others had more to send.
	NotStarted int `json:"not_started"`
	Stopped    int `json:"stopped"`
}

// EqualSizeBin is a 5 % bin of the flows that ended, by size.
type EqualSizeBin struct {
	// Over is the size of the largest flow of the bin before, UpTo that of the largest of this one. Flows of one size may
	// fall into two bins.
	Over int64 `json:"over_bytes"`
	UpTo int64 `json:"up_to_bytes"`
	FlowStatistics
}

// FairnessSummary is Jain's index by tag.
type FairnessSummary struct {
	WindowNS int64               `json:"window_ns"`
	ByTag    map[string]Fairness `json:"by_tag"`
}

// Fairness is Jain's index of the flows with a tag, over the windows in which two or more competed.
type Fairness struct {
	Windows int     `json:"windows"`
	Mean    float64 `json:"jain_mean"`
	Least   float64 `json:"jain_min"`
}

// Take adds a window's index.
func (t *Fairness) Take(j float64) {
	t.Windows++
	t.Mean += (j - t.Mean) / float64(t.Windows)
	if t.Windows == 1 || j < t.Least {
		t.Least = j
	}
}

// VictimSummary counts victim flows: flows that were slowed, though they share no congested port. A flow is one if its
// slowdown is above Over, PFC paused an egress port of its path while it was active, its own NIC's included, and none
// of them was congested then (see runner/congestion.go). A flow whose own receiver paused the last port of its path is
// none: it met the root of that PAUSE. The slowdown of a flow that has not ended is its time so far over the ideal time
// of what it has delivered.
type VictimSummary struct {
	Over  float64        `json:"slowdown_over"`
	Count int            `json:"count"`
	ByTag map[string]int `json:"by_tag"`
	Worst []VictimFlow   `json:"worst"` // the most slowed, at most ten
}

// VictimFlow is a victim.
type VictimFlow struct {
	Flow     int     `json:"flow"`
	Tag      string  `json:"tag"`
	Slowdown float64 `json:"slowdown"`
}

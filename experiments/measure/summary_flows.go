package measure

// FlowStatistics holds the statistics of a set of flows.
type FlowStatistics struct {
	Count     int `json:"count"`
	Completed int `json:"completed"`
	// Unfinished counts flows with a size that had not ended at the end of the run; nil: all had ended.
	Unfinished *UnfinishedFlows `json:"unfinished,omitempty"`
	FCT        Quantiles        `json:"fct_ns"`
	Slowdown   Quantiles        `json:"slowdown"`
	// SlowdownHPCC divides the FCT by HPCC's ideal FCT (see HPCCAlone); at least 1. SlowdownLine divides it by the time
	// of the size at line rate, without headers and delays, as in TCD's patent.
	SlowdownHPCC Quantiles `json:"slowdown_hpcc"`
	SlowdownLine Quantiles `json:"slowdown_line"`
	// Goodput holds the delivered payload over the run's time, in bits per second, summed over the flows.
	Goodput float64 `json:"goodput_bps"`
	// MeanRate holds the payload of the ended flows over the sum of their FCTs, in bits per second (the LSTM-PID
	// thesis, equation 30). It is the rate that a byte experiences on average, not a throughput. It is higher if short
	// flows end first.
	MeanRate float64 `json:"mean_rate_bps"`
	// Finish holds the time from the first flow's start to the last flow's end; 0 unless all have ended.
	Finish int64 `json:"finish_ns"`
	// CE and UE count the flows' packets that arrived marked congestion experienced and undetermined encountered
	// (TCD).
	CE int64 `json:"ce_packets"`
	UE int64 `json:"ue_packets,omitempty"`
}

// Quantiles describes a distribution; all fields are 0 without values.
type Quantiles struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// SizeBin holds the statistics of the flows larger than After and up to UpTo bytes.
type SizeBin struct {
	Label string `json:"label"`
	UpTo  int64  `json:"up_to_bytes"` // 0: unbounded
	FlowStatistics
}

// UnfinishedFlows counts the flows with a size that had not ended at the end of the run, by reason. A flow without a
// size ends with the run.
type UnfinishedFlows struct {
	Flows int `json:"flows"`
	// Expected counts flows that may outlast the run according to the scenario (expect_unfinished).
	Expected int `json:"expected"`
	// NotStarted counts flows with a start after the run's end. Stopped counts flows that can never end, because their
	// senders wait for an answer that nothing can deliver. All others had more to send.
	NotStarted int `json:"not_started"`
	Stopped    int `json:"stopped"`
}

// EqualSizeBin holds the statistics of a 5 % bin of the ended flows, by size.
type EqualSizeBin struct {
	// Over holds the size of the largest flow of the previous bin, UpTo that of the largest in this one. Flows of one
	// size may be in two bins.
	Over int64 `json:"over_bytes"`
	UpTo int64 `json:"up_to_bytes"`
	FlowStatistics
}

// FairnessSummary holds Jain's index by tag.
type FairnessSummary struct {
	WindowNS int64               `json:"window_ns"`
	ByTag    map[string]Fairness `json:"by_tag"`
}

// Fairness holds Jain's index of the flows with a tag, over the windows in which two or more competed.
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

// VictimSummary counts victim flows, which were slowed although they share no congested port. A victim's slowdown is
// above Over. While it was active, PFC paused an egress port of its path (or its own NIC), and no port of its path was
// congested (see runner/congestion.go). A flow whose own receiver paused the last port of its path is no victim,
// because it met the root of that PAUSE. The slowdown of an unfinished flow is its time so far over the ideal time of
// its delivered bytes.
type VictimSummary struct {
	Over  float64        `json:"slowdown_over"`
	Count int            `json:"count"`
	ByTag map[string]int `json:"by_tag"`
	Worst []VictimFlow   `json:"worst"` // the slowest, at most ten
}

// VictimFlow describes one victim flow.
type VictimFlow struct {
	Flow     int     `json:"flow"`
	Tag      string  `json:"tag"`
	Slowdown float64 `json:"slowdown"`
}

package measure

// PFCSummary counts PFC frames at their senders.
type PFCSummary struct {
	Pauses  int64 `json:"pauses"`
	Resumes int64 `json:"resumes"`
	// SwitchPauses counts PAUSE frames from switch to switch.
	SwitchPauses int64   `json:"pauses_between_switches"`
	Rate         float64 `json:"pauses_per_second"`
	PausedNS     int64   `json:"paused_ns"` // sum over the ports that sent PAUSE, from PAUSE to RESUME
	// Spread describes how far PAUSE spread from its origin.
	Spread SpreadSummary `json:"spread"`
	Links  []PFCLink     `json:"links"` // the ports that paused their peer longest; links.csv has all
}

// PFCLink describes one port that sent PAUSE.
type PFCLink struct {
	Node     string  `json:"node"`
	Port     string  `json:"port"`
	Peer     string  `json:"peer"`
	Pauses   int64   `json:"pauses"`
	Resumes  int64   `json:"resumes"`
	Rate     float64 `json:"pauses_per_second"`
	PausedNS int64   `json:"paused_ns"`
}

// SpreadSummary describes how far PAUSE spread.
type SpreadSummary struct {
	// Depth holds the maximum number of hops from a root, in egress ports paused in a chain; 0: no PAUSE was sent.
	Depth int `json:"depth"`
	// ByDepth counts how many times a port was paused at 1, 2, ... hops.
	ByDepth []int64 `json:"by_depth"`
	// Chain holds the nodes of the first chain of that length, the root first, and Time its time; absent without
	// PAUSE.
	Chain []string `json:"chain,omitempty"`
	Time  int64    `json:"time_ns,omitempty"`
}

// CreditSummary counts credit messages at their senders.
type CreditSummary struct {
	Messages int64 `json:"messages"`
	// Stalls counts how often a port went OFF for lack of credits, SwitchStalls how often a switch's port did.
	Stalls       int64 `json:"stalls"`
	SwitchStalls int64 `json:"switch_stalls"`
	// StalledNS holds the time without credits, summed over ports and priorities.
	StalledNS int64 `json:"stalled_ns"`
}

// PausedNS returns the total time for which flow control stopped ports, by PAUSE or for lack of credits.
func (s *Summary) PausedNS() int64 {
	if s.Credits != nil {
		return s.Credits.StalledNS
	}
	return s.PFC.PausedNS
}

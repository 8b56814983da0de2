package measure

// PFCSummary counts PFC frames at their senders.
type PFCSummary struct {
	Pauses  int64 `json:"pauses"`
	Resumes int64 `json:"resumes"`
	// SwitchPauses are the PAUSEs that a switch sent to a switch.
	SwitchPauses int64   `json:"pauses_between_switches"`
	Rate         float64 `json:"pauses_per_second"`
	PausedNS     int64   `json:"paused_ns"` // summed over the ports that sent PAUSE, from PAUSE to RESUME
	// Spread is how far PAUSE spread from where it began.
	Spread SpreadSummary `json:"spread"`
	Links  []PFCLink     `json:"links"` // those that sent PAUSE for longest; links.csv has all
}

// PFCLink is one port that sent PAUSE.
type PFCLink struct {
	Node     string  `json:"node"`
	Port     string  `json:"port"`
	Peer     string  `json:"peer"`
	Pauses   int64   `json:"pauses"`
	Resumes  int64   `json:"resumes"`
	Rate     float64 `json:"pauses_per_second"`
	PausedNS int64   `json:"paused_ns"`
}

// SpreadSummary says how far PAUSE spread.
type SpreadSummary struct {
	// Depth is the most hops from a root: egress ports paused in a chain. 0: no PAUSE was sent.
	Depth int `json:"depth"`
	// ByDepth are how many times a port was paused at 1, 2, ... hops.
	ByDepth []int64 `json:"by_depth"`
	// Chain are the nodes of the first chain that long, the root first, and Time when it was; absent without PAUSE.
	Chain []string `json:"chain,omitempty"`
	Time  int64    `json:"time_ns,omitempty"`
}

// CreditSummary counts credit messages at their senders.
type CreditSummary struct {
	Messages int64 `json:"messages"`
	// Stalls are the times that a port went OFF for want of credits, SwitchStalls those of switches' ports.
	Stalls       int64 `json:"stalls"`
	SwitchStalls int64 `json:"switch_stalls"`
	// StalledNS is for how long, summed over ports and priorities.
	StalledNS int64 `json:"stalled_ns"`
}

// PausedNS is for how long flow control paused ports in all: by PAUSE, or for want of credits.
func (s *Summary) PausedNS() int64 {
	if s.Credits != nil {
		return s.Credits.StalledNS
	}
	return s.PFC.PausedNS
}

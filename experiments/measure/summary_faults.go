package measure

// FaultSummary is what went wrong in a run, and what it cost.
type FaultSummary struct {
	// Events are those of events.csv, by kind.
	Events map[string]int `json:"events"`
	// Lost are the frames that faults cost, by cause; every other frame arrived or was dropped by a switch.
	Lost      map[string]Lost   `json:"lost"`
	Deadlocks []DeadlockSummary `json:"deadlocks"`
}

// Lost counts frames.
type Lost struct {
	Frames int64 `json:"frames"`
	Bytes  int64 `json:"bytes"`
}

// DeadlockSummary is a cycle of queues of which each waited for the next.
type DeadlockSummary struct {
	SinceNS int64        `json:"since_ns"` // when the last of them was paused
	SeenNS  int64        `json:"seen_ns"`
	EndedNS int64        `json:"ended_ns,omitempty"` // absent: it lasted until the run's end
	Cycle   []CycleQueue `json:"cycle"`
}

// CycleQueue is one of the queues.
type CycleQueue struct {
	Node     string `json:"node"`
	Port     string `json:"port"`
	Peer     string `json:"peer"`
	Priority uint8  `json:"priority"`
}

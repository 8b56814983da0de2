package measure

// FaultSummary counts faults of a run and their effects.
type FaultSummary struct {
	// Events counts the events in events.csv, by kind.
	Events map[string]int `json:"events"`
	// Lost counts the frames lost to faults, by cause. Every other frame arrived or was dropped by a switch.
	Lost      map[string]Lost   `json:"lost"`
	Deadlocks []DeadlockSummary `json:"deadlocks"`
}

// Lost counts frames and their bytes.
type Lost struct {
	Frames int64 `json:"frames"`
	Bytes  int64 `json:"bytes"`
}

// DeadlockSummary describes a cycle of queues each of which waited for the next.
type DeadlockSummary struct {
	SinceNS int64        `json:"since_ns"`           // time at which the last of them was paused
	SeenNS  int64        `json:"seen_ns"`            // time of detection
	EndedNS int64        `json:"ended_ns,omitempty"` // absent: the deadlock lasted to the run's end
	Cycle   []CycleQueue `json:"cycle"`
}

// CycleQueue represents one queue of the cycle.
type CycleQueue struct {
	Node     string `json:"node"`
	Port     string `json:"port"`
	Peer     string `json:"peer"`
	Priority uint8  `json:"priority"`
}

package bench

// Result holds measurements. Times are processor time unless their name has wall.
type Result struct {
	Machine Machine   `json:"machine"`
	Start   []Process `json:"start"`
	Hops    []Hop     `json:"hops"`
	Sizes   []Hop     `json:"sizes"`
	// Processors holds the same runs with several numbers of processors.
	Processors []Hop     `json:"processors"`
	Runs       []Process `json:"runs"`
	BringUp    []BringUp `json:"bring_up"`
}

// Machine describes the machine of the measurements.
type Machine struct {
	System     string  `json:"system"`
	Go         string  `json:"go"`
	Processors int     `json:"processors"`
	Load       float64 `json:"load"` // average of the last minute before the start; 0 if unknown
	Rounds     int     `json:"rounds"`
}

// Hop holds the cost of a packet-hop of a workload on the wasm plane, in nanoseconds.
type Hop struct {
	Workload        string  `json:"workload"`
	Processors      int     `json:"processors"`
	Hops            int64   `json:"hops"`
	SetUpSeconds    float64 `json:"set_up_s"`
	Nanoseconds     float64 `json:"ns"`
	WallNanoseconds float64 `json:"wall_ns"`
	Allocations     float64 `json:"allocations"`
	Kernel          *Kernel `json:"kernel,omitempty"` // absent if not measured
}

// Kernel holds the cost of a packet-hop on the kernel plane, and of a bare pass through the kernel, in nanoseconds. The
// ratios are computed per round.
type Kernel struct {
	Nanoseconds float64 `json:"ns"`
	Bare        float64 `json:"bare_ns"`
	Ratio       float64 `json:"ratio"`
	Least       float64 `json:"least_ratio"`
	Most        float64 `json:"most_ratio"`
}

// Process holds the cost of a command in a process of its own.
type Process struct {
	Name        string  `json:"name"`
	Hosts       int     `json:"hosts,omitempty"`
	Seconds     float64 `json:"s"`
	WallSeconds float64 `json:"wall_s"`
	Peak        float64 `json:"peak_bytes"` // resident; 0 if unknown
}

// BringUp holds the time that a fabric takes to come up on the kernel plane.
type BringUp struct {
	Hosts       int     `json:"hosts"`
	Switches    int     `json:"switches"`
	Ports       int     `json:"ports"`
	Seconds     float64 `json:"s"`
	WallSeconds float64 `json:"wall_s"`
	DownSeconds float64 `json:"down_wall_s"` // until the process may continue
}

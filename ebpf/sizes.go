package ebpf

// Sizes are the numbers of entries a fabric needs.
type Sizes struct {
	Ports    int
	Switches int
	Hosts    int
	NextHops int
	Fanouts  int  // ports times ports, summed over the switches
	Flows    bool // whether burst detection is on
	// Telemetry says that switches may be told to stamp it: the pipelines look further into frames then.
	Telemetry bool
}

package ebpf

// Sizes are the numbers of entries a fabric needs.
type Sizes struct {
	Ports    int
	Switches int
	Hosts    int
	NextHops int
	Fanouts  int  // ports times ports, summed over the switches
	Flows    bool // whether burst detection is on
}

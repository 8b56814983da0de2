package ebpf

import "strings"

// Features are what a fabric does beside forwarding and flow control. There is one value a fabric, worked out once from
// its settings (scenario.Features): its plane is opened for it, which sizes the tables, and its engine is made with it,
// which sets the switches' registers. State.Features is what a plane was opened for, and engine.New compares both. The
// zero value has none.
type Features struct {
	// BurstDetection has switches detect bursts (DCON), by tables of flows and fan-outs.
	BurstDetection bool
	// Telemetry has switches stamp telemetry onto data packets that have room for it (HPCC). The pipelines look further
	// into frames then.
	Telemetry bool
	// Flowlets has switches remember what port a flowlet, or the last packet to a leaf, has taken: load balancing by
	// flowlet or in turn.
	Flowlets bool
	// Reroute says that routes may change, so that there is room for those of any links.
	Reroute bool
	// Live says that programs on hosts send frames of their own.
	Live bool
}

// String names the features: "burst detection, telemetry". Without any it is "none".
func (f Features) String() string {
	var names []string
	for _, n := range []struct {
		has  bool
		name string
	}{
		{f.BurstDetection, "burst detection"},
		{f.Telemetry, "telemetry"},
		{f.Flowlets, "flowlets"},
		{f.Reroute, "rerouting"},
		{f.Live, "live programs"},
	} {
		if n.has {
			names = append(names, n.name)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

package ebpf

import "strings"

// Features lists the optional features of a fabric, besides forwarding and flow control. There is one value per
// fabric, computed from its settings (scenario.Features): its plane is opened for it, which sizes the tables, and
// its engine is created with it, which sets the switches' registers. State.Features is a plane's value; engine.New
// compares both. The zero value has no features.
type Features struct {
	// BurstDetection makes switches detect bursts (DCON), with tables of flows and fan-outs.
	BurstDetection bool
	// Telemetry makes switches write telemetry into data packets with room for it (HPCC). The pipelines then read
	// more of each frame.
	Telemetry bool
	// Flowlets makes switches remember the port of a flowlet, or of the last packet to a leaf: load balancing by
	// flowlet or in turn.
	Flowlets bool
	// Reroute means that routes may change, so tables have room for routes over any links.
	Reroute bool
	// Live means that programs on hosts send their own frames.
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

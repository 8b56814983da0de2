package cc_test

import (
	"fmt"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// A flow's controller: built for its path, told what happens, asked for a rate.
func Example() {
	env := cc.Env{LineRate: 40 * units.Gbps, BaseRTT: 40 * vtime.Microsecond, MTU: 1000, LineMTU: 1048}
	settings, err := cc.Resolve("dcqcn", map[string]string{"increase_timer": "55us"}, env)
	if err != nil {
		fmt.Println(err)
		return
	}
	spec, err := cc.Lookup("dcqcn")
	if err != nil {
		fmt.Println(err)
		return
	}
	flow, err := spec.New(env, settings)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("new flow: %v\n", units.Rate(flow.Rate()))
	flow.OnCNP(&cc.Sample{Now: 100 * vtime.Microsecond, CE: true})
	fmt.Printf("after a CNP: %v\n", units.Rate(flow.Rate()))
	for range 2 {
		now := flow.Deadline()
		flow.OnTimer(now)
		fmt.Printf("at %v: %v\n", now, units.Rate(flow.Rate()))
	}
	// Output:
	// new flow: 40Gbps
	// after a CNP: 20Gbps
	// at 155us: 30Gbps
	// at 210us: 35Gbps
}

// Constants that are wrong are all told at once, with what they may be.
func ExampleResolve_mistakes() {
	env := cc.Env{LineRate: 40 * units.Gbps, BaseRTT: 40 * vtime.Microsecond, MTU: 1000, LineMTU: 1048}
	_, err := cc.Resolve("dcqcn", map[string]string{"g": "2", "ray": "40Mbps"}, env)
	fmt.Println(err)
	// Output:
	// dcqcn.ray = "40Mbps": no such parameter; did you mean "rai"?
	// dcqcn.g = "2": is above 1
}

// ExampleLookup prints the requirements of a congestion control on switches and receivers.
func ExampleLookup() {
	for _, name := range []string{"dcon", "hpcc", "timely"} {
		spec, err := cc.Lookup(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: ECN %t, CNM %t, INT %t; a timed departure %s\n", name, spec.Needs.ECN, spec.Needs.CNM, spec.Needs.INT,
			spec.Departure)
	}
	// Output:
	// dcon: ECN true, CNM true, INT false; a timed departure stays
	// hpcc: ECN false, CNM false, INT true; a timed departure moves
	// timely: ECN false, CNM false, INT false; a timed departure stays
}

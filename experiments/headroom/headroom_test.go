package headroom

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

func parse(t interface {
	Helper()
	Fatal(...any)
}, text string,
) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("x.yaml", []byte(text+"\ncontrollers: [none]\nduration: 1ms\nflows: [{from: h0, to: h1, size: 1KB}]\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestOf: the parts add up to what is done by hand here. A full frame has 1000 B of payload and 58 B of headers in RoCEv2's longest packet of ours, and
// 24 B of line beside; a PFC frame is 64 B with its FCS and 20 B of line beside.
func TestOf(t *testing.T) {
	s := parse(t, "topology: {star: {hosts: 4, rate: 100Gbps, delay: 2us}}\nswitch: {pfc: {xoff: 100KB, headroom: 60KB}}")
	c, err := Of(s, 1500*vtime.Nanosecond)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Kinds) != 1 || len(c.Kinds[0].Ports) != 4 || len(c.Switches) != 1 {
		t.Fatalf("%+v", c)
	}
	k := &c.Kinds[0]
	const cable, response = 2 * 2000 * 100 / 8, 1500 * 100 / 8 // ns x Gb/s / 8
	if k.InFlight.Cable != cable || k.Response != response {
		t.Errorf("cable %v, response %v: want %v, %v", k.InFlight.Cable, k.Response, cable, response)
	}
	if longest := k.InFlight.PastXOFF; longest < 1058 || longest > 1200 || k.InFlight.Sending != longest+24 || k.InFlight.Peer != longest+24 || k.InFlight.PFC != 2*84 {
		t.Errorf("%+v", k.InFlight)
	}
	want := 60*units.KB - (cable + response + k.InFlight.PastXOFF + k.InFlight.Sending + k.InFlight.PFC + k.InFlight.Peer)
	if k.Margin() != want || c.Holds() != (want >= 0) {
		t.Errorf("margin %v, holds %v: want %v", k.Margin(), c.Holds(), want)
	}
	if sw := c.Switches[0]; sw.XOFF != 400*units.KB || sw.Headroom != 240*units.KB {
		t.Errorf("%+v", sw)
	}

	small := parse(t, "topology: {star: {hosts: 4, rate: 100Gbps, delay: 1us}}\nswitch: {buffer: 500KB, pfc: {xoff: 100KB}}")
	if c, err := Of(small, 0); err != nil || c.Kinds[0].Margin() != 0 || c.Switches[0].Margin() >= 0 || c.Holds() {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := Of(parse(t, "topology: {star: {hosts: 2}}\nswitch: {pfc: {priorities: []}}"), 0); !errors.Is(err, ErrNoPFC) {
		t.Errorf("lossy: %v", err)
	}
}

// TestFaults: a cable that a fault makes longer is one of its own, which headroom that is stated may not be enough for, and auto is; a quicker way is none.
func TestFaults(t *testing.T) {
	const text = "topology: {star: {hosts: 5, rate: 40Gbps, delay: 1us}}\nswitch: {pfc: {xoff: 60KB, headroom: %s}}\n" +
		"faults: [{at: 50us, link: \"s0:h1\", delay: 20us}, {at: 70us, link: \"s0:h2\", delay: 500ns}]"
	for headroom, want := range map[string]bool{"14KB": false, "203564B": true, "auto": true} {
		s := parse(t, fmt.Sprintf(text, headroom))
		c, err := Of(s, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Kinds) != 2 || c.Kinds[0].Fault != -1 || len(c.Kinds[0].Ports) != 5 || c.Kinds[0].Margin() < 0 {
			t.Fatalf("%s: %+v", headroom, c.Kinds)
		}
		k := &c.Kinds[1]
		if k.Fault != 0 || len(k.Ports) != 1 || k.InFlight.Cable != 2*20_000*40/8 || k.Needed() != 203_564 || k.Margin() >= 0 != want || c.Holds() != want {
			t.Errorf("%s: %+v, margin %v", headroom, k, k.Margin())
		}
		tried, err := Worst(s.Topology, k.Ports).Try(context.Background(), s, k.Fault)
		if err != nil {
			t.Fatal(err)
		}
		if !tried.Paused || (tried.Dropped == 0) != want {
			t.Errorf("%s: %+v", headroom, tried)
		}
		if headroom == "auto" && c.Switches[0].Headroom != 4*13_564+203_564 {
			t.Errorf("all headroom is %v", c.Switches[0].Headroom)
		}
	}
}

// TestUnpaused: no headroom is enough where hosts send ACKs of a lossless priority although it is paused.
func TestUnpaused(t *testing.T) {
	for host, want := range map[string]bool{
		"{ack_priority: data}": true, "{ack_when_paused: true}": true, "{ack_priority: data, ack_when_paused: true}": false,
		"{control_priority: 3, ack_when_paused: true}": false,
	} {
		s := parse(t, "topology: {leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 2}}\nhost: "+host)
		c, err := Of(s, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Kinds {
			k := &c.Kinds[i]
			toHost := s.Topology.PeerNode(k.Ports[0]).Kind == topologies.Host
			if k.Holds() != (want || !toHost) {
				t.Errorf("%s: %+v", host, k)
			}
		}
		if c.Holds() != want {
			t.Errorf("%s: holds %v", host, c.Holds())
		}
	}
}

// TestWorst: who sends for a port between switches, and for one to a host.
func TestWorst(t *testing.T) {
	s := parse(t, "topology: {leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 3, rate: 40Gbps, fabric_rate: 100Gbps}}")
	plan := s.Topology
	node := func(name string) int { return int(plan.NodeByName(name).ID) }
	between := plan.PortBetween(plan.NodeByName("leaf1").ID, plan.NodeByName("spine0").ID)
	i := Worst(plan, between)
	if i == nil {
		t.Fatal("nobody can fill a port from spine0")
	}
	if got := fmt.Sprint(i.Through, i.Receiver, i.Beside, i.Back); got != fmt.Sprint([]int{node("h0"), node("h1"), node("h2")}, node("h3"), []int{node("h4"), node("h5")},
		[]int{node("h4"), node("h5")}) {
		t.Errorf("%s", got)
	}
	if alone := parse(t, "topology: {star: {hosts: 2}}"); Worst(alone.Topology, alone.Topology.Nodes[alone.Topology.Switch[0]].Ports) == nil {
		t.Error("two hosts: nobody sends to the other")
	}
}

// TestTry: what the arithmetic proves drops nothing and stays within what it says, and half of it drops frames: over random cables.
func TestTry(t *testing.T) {
	dropped := 0
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.SampledFrom([]string{"10Gbps", "40Gbps", "100Gbps"}).Draw(t, "rate")
		delay := rapid.IntRange(100, 8000).Draw(t, "delay")
		topology := fmt.Sprintf("topology: {star: {hosts: 5, rate: %s, delay: %dns}}", rate, delay)
		if rapid.Bool().Draw(t, "switches") {
			topology = fmt.Sprintf("topology: {leafspine: {spines: 2, leaves: 3, hosts_per_leaf: 2, rate: %s, delay: %dns}}", rate, delay)
		}
		s := parse(t, topology+"\nswitch: {pfc: {xoff: 60KB}}")
		c, err := Of(s, 0)
		if err != nil || !c.Holds() {
			t.Fatal(c, err)
		}
		for n := range c.Kinds {
			k := &c.Kinds[n]
			incast := Worst(s.Topology, k.Ports)
			tried, err := incast.Try(context.Background(), s, -1)
			if err != nil {
				t.Fatal(err)
			}
			if !tried.Paused || tried.Dropped != 0 || tried.Most > k.XOFF+k.Needed() || tried.Most < k.XOFF {
				t.Fatalf("%+v: paused %v, %v buffered of %v, %d dropped", incast, tried.Paused, tried.Most, k.XOFF+k.Needed(), tried.Dropped)
			}
			short := *s
			short.Switch.PFC.Headroom = k.Needed() / 2
			tried, err = incast.Try(context.Background(), &short, -1)
			if err != nil {
				t.Fatal(err)
			}
			if tried.Dropped > 0 {
				dropped++
			} else if tried.Most > k.XOFF+k.Needed()/2 {
				t.Fatalf("%v buffered of %v, and nothing dropped", tried.Most, k.XOFF+k.Needed()/2)
			}
		}
	})
	if dropped == 0 {
		t.Error("half of the headroom dropped nothing, ever")
	}
}

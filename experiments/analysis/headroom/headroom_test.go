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
)

func parse(t interface {
	Helper()
	Fatal(...any)
}, text string,
) *scenario.Scenario {
	t.Helper()
	s, err := loader(text)(nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// loader reads a scenario with changes.
func loader(text string) Load {
	return func(sets []string) (*scenario.Scenario, error) {
		return scenario.Parse("x.yaml", []byte(text+"\ncontrollers: [none]\nduration: 1ms\nflows: [{from: h0, to: h1, size: 1KB}]\n"), sets)
	}
}

// TestOf checks the sum against a computation by hand. A full frame has 1000 B of payload, 58 B of headers in the
// longest RoCEv2 packet here, and 24 B of line time beside. A PFC frame has 64 B with its FCS, and 20 B of line time
// beside.
func TestOf(t *testing.T) {
	s := parse(t, "topology: {star: {hosts: 4, rate: 100Gbps, delay: 2us}}\nswitch: {pfc: {xoff: 100KB, headroom: 60KB, response: 1500ns}}")
	c, err := Of(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Kinds) != 1 || len(c.Kinds[0].Ports) != 4 || len(c.Switches) != 1 {
		t.Fatalf("%+v", c)
	}
	k := &c.Kinds[0]
	const cable, response = 2 * 2000 * 100 / 8, 1500 * 100 / 8 // ns x Gb/s / 8
	if k.InFlight.Cable != cable || k.InFlight.Response != response {
		t.Errorf("cable %v, response %v: want %v, %v", k.InFlight.Cable, k.InFlight.Response, cable, response)
	}
	if longest := k.InFlight.PastXOFF; longest < 1058 || longest > 1200 || k.InFlight.Sending != longest+24 ||
		k.InFlight.Peer != longest+24 || k.InFlight.PFC != 2*84 {
		t.Errorf("%+v", k.InFlight)
	}
	longest := k.InFlight.PastXOFF // a line has 24 B more for each of these
	line := cable + response + k.InFlight.Sending + k.InFlight.PFC + k.InFlight.Peer
	want := 60*units.KB - longest - (line*longest+longest+23)/(longest+24)
	if k.Margin() != want || c.Holds() != (want >= 0) {
		t.Errorf("margin %v, holds %v: want %v", k.Margin(), c.Holds(), want)
	}
	if sw := c.Switches[0]; sw.XOFF != 400*units.KB || sw.Headroom != 240*units.KB {
		t.Errorf("%+v", sw)
	}

	small := parse(t, "topology: {star: {hosts: 4, rate: 100Gbps, delay: 1us}}\nswitch: {buffer: 500KB, pfc: {xoff: 100KB}}")
	if c, err := Of(small); err != nil || c.Kinds[0].Margin() < 0 || c.Switches[0].Margin() >= 0 || c.Holds() {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := Of(parse(t, "topology: {star: {hosts: 2}}\nswitch: {pfc: {priorities: []}}")); !errors.Is(err, ErrNoPFC) {
		t.Errorf("lossy: %v", err)
	}
}

// TestFaults checks that a cable that a fault lengthens is a kind of its own. A headroom set by number may be too small
// for it; auto never is. A shorter path is not a kind of its own.
func TestFaults(t *testing.T) {
	const text = "topology: {star: {hosts: 5, rate: 40Gbps, delay: 1us}}\nswitch: {pfc: {xoff: 60KB, headroom: %s}}\n" +
		"faults: [{at: 50us, link: \"s0:h1\", delay: 20us}, {at: 70us, link: \"s0:h2\", delay: 500ns}]"
	for headroom, want := range map[string]bool{"14KB": false, "199302B": true, "auto": true} {
		text := fmt.Sprintf(text, headroom)
		s := parse(t, text)
		c, err := Of(s)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Kinds) != 2 || c.Kinds[0].Fault != -1 || len(c.Kinds[0].Ports) != 5 || c.Kinds[0].Margin() < 0 {
			t.Fatalf("%s: %+v", headroom, c.Kinds)
		}
		k := &c.Kinds[1]
		if k.Fault != 0 || len(k.Ports) != 1 || k.InFlight.Cable != 2*20_000*40/8 || k.Needed() != 199_302 ||
			k.Margin() >= 0 != want || c.Holds() != want {
			t.Errorf("%s: %+v, margin %v", headroom, k, k.Margin())
		}
		tried, err := Worst(s.Topology, k.Ports).Try(context.Background(), s, "none", k, loader(text))
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

// TestUnpaused checks that no headroom is enough if hosts send ACKs of a lossless priority while it is paused.
func TestUnpaused(t *testing.T) {
	for host, want := range map[string]bool{
		"{ack_priority: data}": true, "{ack_when_paused: true}": true, "{ack_priority: data, ack_when_paused: true}": false,
		"{control_priority: 3, ack_when_paused: true}": false,
	} {
		s := parse(t, "topology: {leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 2}}\nhost: "+host)
		c, err := Of(s)
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

// TestWorst checks the senders for a port between switches, and for one to a host.
func TestWorst(t *testing.T) {
	s := parse(t, "topology: {leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 3, rate: 40Gbps, fabric_rate: 100Gbps}}")
	plan := s.Topology
	node := func(name string) int { return int(plan.NodeByName(name).ID) }
	between := plan.PortsBetween(plan.NodeByName("leaf1").ID, plan.NodeByName("spine0").ID)
	i := Worst(plan, between)
	if i == nil {
		t.Fatal("nobody can fill a port from spine0")
	}
	if got := fmt.Sprint(i.Through, i.Receiver, i.Beside,
		i.Back); got != fmt.Sprint([]int{node("h0"), node("h1"), node("h2")}, node("h3"), []int{},
		[]int{node("h3"), node("h4"), node("h5")}) { // 100 Gbps back take three hosts
		t.Errorf("%s", got)
	}
	if i := Worst(plan, plan.Nodes[plan.NodeByName("leaf1").ID].Ports[:1]); len(i.Through) != 1 || len(i.Beside) != 4 ||
		len(i.Back) != 1 {
		t.Errorf("a host's port: %+v", i) // all hosts have a part
	}
	if alone := parse(t, "topology: {star: {hosts: 2}}"); Worst(alone.Topology,
		alone.Topology.Nodes[alone.Topology.Switch[0]].Ports) == nil {
		t.Error("two hosts: nobody sends to the other")
	}
}

// TestTry tries random cables. A run with the computed headroom drops nothing, stays within the sum, and comes within
// three frames of it, counted at their worst moments. With less headroom the run drops frames.
func TestTry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.SampledFrom([]string{"10Gbps", "40Gbps", "100Gbps"}).Draw(t, "rate")
		delay := rapid.IntRange(500, 8000).Draw(t, "delay")
		text := fmt.Sprintf("topology: {star: {hosts: 5, rate: %s, delay: %dns}}", rate, delay)
		if rapid.Bool().Draw(t, "switches") {
			text = fmt.Sprintf("topology: {leafspine: {spines: 2, leaves: 3, hosts_per_leaf: 2, rate: %s, delay: %dns}}", rate,
				delay)
		}
		alpha := ""
		if rapid.Bool().Draw(t, "dynamic") {
			alpha = ", alpha: 1"
		}
		text += "\nswitch: {buffer: 2MB, pfc: {xoff: 60KB, headroom: %dB" + alpha + "}}"
		c, err := Of(parse(t, fmt.Sprintf(text, 200_000)))
		if err != nil {
			t.Fatal(err)
		}
		for n := range c.Kinds {
			k := c.Kinds[n]
			for _, less := range []units.Bytes{0, 3*k.InFlight.PastXOFF + 500} {
				k.Headroom = k.Needed() - less
				text := fmt.Sprintf(text, k.Headroom)
				s := parse(t, text)
				incast := Worst(s.Topology, k.Ports)
				tried, err := incast.Try(context.Background(), s, "none", &k, loader(text))
				if err != nil {
					t.Fatal(err)
				}
				most := k.XOFF + k.Needed()
				near := tried.Most <= most && tried.Most >= most-3*k.InFlight.PastXOFF
				if !tried.Paused || (tried.Dropped == 0) != (less == 0) || less == 0 && alpha == "" && !near {
					t.Fatalf("a headroom that is less by %v: %+v: paused %v, %v buffered of %v, %d dropped", less, incast,
						tried.Paused, tried.Most, most, tried.Dropped)
				}
			}
		}
	})
}

// TestEdge checks the messages of edge: they come closer to the sum than any frame is long. What is left are parts that the
// sum counts and this traffic cannot have: three frames longer than those of a flow's middle, the second PFC frame (84 B of
// line), the share of preambles and gaps, which is less for longer frames (1/800), and at most 110 B of times that do not
// fit. A headroom of a cell more than they fill drops nothing, and with
// a cell less check headroom drops a frame.
func TestEdge(t *testing.T) {
	const cell = 80
	for _, topology := range []string{
		"rate: 40Gbps, delay: 1us, star: {hosts: 8}", "rate: 100Gbps, delay: 1us, star: {hosts: 8}",
		"rate: 10Gbps, delay: 500ns, star: {hosts: 4}", "mtu: 4096, rate: 40Gbps, delay: 2us, star: {hosts: 3}",
		"rate: 40Gbps, delay: 1us, leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 3}",
		"rate: 400Gbps, delay: 200ns, star: {hosts: 4}",
	} {
		reached, needed := units.Bytes(0), units.Bytes(0)
		for _, more := range []units.Bytes{1 << 20, cell, -cell} {
			text := fmt.Sprintf("topology: {%s}\nswitch: {buffer: 20MB, pfc: {xoff: 100KB, headroom: %dB}}", topology, reached+more)
			s := parse(t, text)
			c, err := Of(s)
			if err != nil {
				t.Fatal(err)
			}
			k := &c.Kinds[0]
			incast := Worst(s.Topology, k.Ports)
			try := incast.Try
			if reached == 0 { // Try makes no such run if the headroom is proved
				try = incast.edge
			}
			tried, err := try(t.Context(), s, "none", k, loader(text))
			if err != nil {
				t.Fatal(err)
			}
			if reached == 0 {
				reached, needed = tried.Most-k.XOFF, k.Needed()
				full := units.Bytes(s.Topology.MTU + 58) // Ethernet, IPv4, UDP, BTH, ICRC
				if gap := needed - reached; gap < 0 || gap > 3*(k.InFlight.PastXOFF-full)+84+needed/800+110 {
					t.Errorf("%s: reached %v of %v", topology, reached, needed)
				}
				t.Logf("%s: reached %v of %v", topology, reached, needed)
			} else if (tried.Dropped > 0) != (more < 0) || k.Holds() {
				t.Errorf("%s: a headroom of %v with %v needed and %v reached: %d dropped", topology, k.Headroom, needed, reached, tried.Dropped)
			}
		}
	}
}

// TestDynamicXOFF checks that an incast of 31 to 1 without congestion control overruns a headroom that is too small
// under a dynamic XOFF, and so does the worst incast, which did not with only two senders. Its settings repeat the same
// run.
func TestDynamicXOFF(t *testing.T) {
	const text = "topology: {star: {hosts: 32, rate: 100Gbps, delay: 1500ns}}\nswitch: {buffer: 32MB, pfc: {alpha: 1, xoff: 0B, headroom: %s}}"
	for headroom, want := range map[string]bool{"20KB": false, "auto": true} {
		text := fmt.Sprintf(text, headroom)
		s := parse(t, text)
		c, err := Of(s)
		if err != nil || len(c.Kinds) != 1 || c.Holds() != want {
			t.Fatalf("%s: %+v, %v", headroom, c, err)
		}
		incast := Worst(s.Topology, c.Kinds[0].Ports)
		if n := len(incast.Through) + len(incast.Beside); n != 31 {
			t.Errorf("%d hosts send", n)
		}
		tried, err := incast.Try(context.Background(), s, "none", &c.Kinds[0], loader(text))
		if err != nil || !tried.Paused || (tried.Dropped == 0) != want || (len(tried.Overrun) == 0) != want ||
			len(tried.Full) > 0 {
			t.Errorf("%s: %+v, %v", headroom, tried, err)
		}
	}
}

// TestBuiltins: each built-in scenario with PFC can be changed so that it has the worst incast.
func TestBuiltins(t *testing.T) {
	for _, name := range scenario.BuiltinNames() {
		s, err := scenario.Load(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		own, controller, _, err := s.Under(s.Controllers[0])
		if err != nil {
			t.Fatal(err)
		}
		c, err := Of(own)
		if errors.Is(err, ErrNoPFC) {
			continue
		}
		for i := range c.Kinds {
			incast := Worst(own.Topology, c.Kinds[i].Ports)
			if incast == nil {
				continue
			}
			changed, err := scenario.Load(name, incast.sets(own, controller, c.Kinds[i].Fault, 0))
			if err == nil {
				err = scenario.Check(changed, []string{controller})
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestEdges checks that a headroom that is just enough passes, that a fault without a change is ignored, and that a
// dynamic XOFF reserves no part of the buffer.
func TestEdges(t *testing.T) {
	const star = "topology: {star: {hosts: 4, rate: 40Gbps, delay: 1us}}\n"
	of := func(text string, args ...any) *Check {
		t.Helper()
		c, err := Of(parse(t, star+fmt.Sprintf(text, args...)))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	needed := of("switch: {pfc: {headroom: 60KB}}").Kinds[0].Needed()
	for less, want := range map[units.Bytes]bool{0: true, 1: false} {
		if c := of("switch: {pfc: {xoff: 100KB, headroom: %dB}}", needed-less); c.Holds() != want {
			t.Errorf("a headroom of %v, with %v needed: holds %v", c.Kinds[0].Headroom, needed, c.Holds())
		}
		if c := of("switch: {buffer: %dB, pfc: {xoff: 100KB, headroom: 60KB}}", 640_000-less); c.Holds() != want {
			t.Errorf("a buffer of %v for 4 x 160 KB: holds %v", c.Switches[0].Buffer, c.Holds())
		}
	}
	for _, delay := range []string{"1us", "999.999ns"} { // of which the line has as many bytes, rounded up
		if c := of("faults: [{at: 50us, link: \"s0:h1\", delay: %s}]", delay); len(c.Kinds) != 1 {
			t.Errorf("%+v", c.Kinds)
		}
	}
	if c := of("switch: {buffer: 1MB, pfc: {alpha: 1, xoff: 100KB, headroom: 60KB}}"); c.Switches[0].XOFF != 0 ||
		c.Switches[0].Margin() != 760_000 {
		t.Errorf("%+v", c.Switches[0])
	}
}

// Holds reports whether no frame of a lossless priority can be dropped for lack of space.
func (c *Check) Holds() bool {
	for i := range c.Kinds {
		if !c.Kinds[i].Holds() {
			return false
		}
	}
	for i := range c.Switches {
		if c.Switches[i].Margin() < 0 {
			return false
		}
	}
	return true
}

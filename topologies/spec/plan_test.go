package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

func mustParse(t testing.TB, text string) *topologies.Plan {
	t.Helper()
	p, err := Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			p, err := Load(file)
			if err == nil || p != nil {
				t.Fatal("accepted")
			}
			testenv.Golden(t, strings.TrimSuffix(file, ".yaml")+".golden", err.Error()+"\n")
		})
	}
}

// TestDCONTestbed pins the DCON testbed, on which the paper's figures depend, address by address.
func TestDCONTestbed(t *testing.T) {
	p, err := Builtin("dcon-testbed")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Hosts) != 18 || len(p.Switch) != 5 || len(p.Links) != 24 || p.Framing != topologies.FramingNS3 || p.MTU != 1000 {
		t.Errorf("%s, framing %v, MTU %d", p.Summary(), p.Framing, p.MTU)
	}
	if got, want := strings.Join(p.Names(), " "),
		"L0 L1 L2 S0 S1 H0 H1 H2 H3 H4 H5 H6 H7 H8 H9 H10 H11 H12 H13 H14 H15 R0 R1"; got != want {
		t.Errorf("nodes %s, want %s", got, want)
	}
	neighbours := map[string]string{
		"L0": "H0 S0 S1", "L1": "H1 S0 S1", "L2": "R0 R1 H2..H15 S0 S1", "S0": "L0..L2", "S1": "L0..L2", "H0": "L0",
		"R1": "L2",
	}
	for name, want := range neighbours {
		n := p.NodeByName(name)
		var names []string
		for _, id := range n.Ports {
			names = append(names, p.PeerNode(id).Name)
		}
		if got := topologies.Abbreviate(names); got != want {
			t.Errorf("%s is cabled to %s, want %s", name, got, want)
		}
	}
	for _, l := range p.Links {
		if l.Rate != 40*units.Gbps || l.Delay != 5*vtime.Microsecond {
			t.Errorf("a link of %v, %v", l.Rate, l.Delay)
		}
	}
	for name, tier := range map[string]int{"H0": 0, "L0": 1, "L2": 1, "S0": 2, "S1": 2} {
		if got := p.NodeByName(name).Tier; got != tier {
			t.Errorf("%s is in tier %d, want %d", name, got, tier)
		}
	}
	h0, r0, h15 := p.NodeByName("H0"), p.NodeByName("R0"), p.NodeByName("H15")
	if h0.Addr.String() != "10.0.0.1" || h15.Addr.String() != "10.0.0.16" || r0.Addr.String() != "10.0.0.17" {
		t.Errorf("addresses %v, %v, %v", h0.Addr, h15.Addr, r0.Addr)
	}

	// 40 us of propagation and four serialisations each way: 1048 B and 60 B at 40 Gb/s (ns-3 framing).
	want := 40*vtime.Microsecond + 4*(209_600+12_000)
	if got := p.BaseRTT(h0.ID, r0.ID, topologies.Pair{}, 1058, 62); got != want {
		t.Errorf("base RTT %v, want %v", got, want)
	}
	path := func(ids []topologies.PortID) string {
		var names []string
		for _, id := range ids {
			names = append(names, p.Ports[id].Name)
		}
		return strings.Join(names, " ")
	}
	if got, want := path(p.PathOf(h0.ID, r0.ID, topologies.Pair{})), "H0-eth1 L0-eth2 S0-eth3 L2-eth1"; got != want {
		t.Errorf("path %s, want %s", got, want)
	}
	s1, l2 := p.NodeByName("S1").ID, p.NodeByName("L2").ID
	if got, want := path(p.PathVia(h0.ID, r0.ID, []topologies.NodeID{l2, s1},
		topologies.Pair{})), "H0-eth1 L0-eth3 S1-eth3 L2-eth1"; got != want {
		t.Errorf("path through L2 and S1 %s, want %s", got, want)
	}
	for _, via := range [][]topologies.NodeID{{p.NodeByName("L1").ID}, {s1, p.NodeByName("S0").ID}, {h15.ID}} {
		if got := p.PathVia(h0.ID, r0.ID, via, topologies.Pair{}); got != nil {
			t.Errorf("a path through %v: %s", via, path(got))
		}
	}
	if got := p.PathOf(h0.ID, h0.ID, topologies.Pair{}); len(got) != 0 {
		t.Errorf("path to itself %s", path(got))
	}
	if got := path(p.PortsBetween(l2, s1)); got != "L2-eth18" {
		t.Errorf("L2's port to S1 is %s", got)
	}
	if got := p.PortsBetween(s1, h0.ID); got != nil {
		t.Errorf("S1 has ports to H0: %v", got)
	}
}

func TestBuilders(t *testing.T) {
	for _, c := range []struct{ spec, want, nodes string }{
		{"star: {hosts: 3}", "3 hosts, 1 switch, 3 links of 40Gbps, 1us", "s0 h0..h2"},
		{
			"leafspine: {spines: 8, leaves: 10, hosts_per_leaf: 24, rate: 40Gbps, delay: 5us}",
			"240 hosts, 18 switches, 320 links of 40Gbps, 5us", "leaf0..leaf9 spine0..spine7 h0..h239",
		},
		{
			"leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 1, host_rate: 10Gbps, fabric_rate: 25Gbps, names: {leaf: L%d, host: n-%d}}",
			"2 hosts, 3 switches, 4 links: 2 of 10Gbps, 1us; 2 of 25Gbps, 1us", "L0 L1 spine0 n-0 n-1",
		},
		{"fattree: {k: 4}", "16 hosts, 20 switches, 48 links of 40Gbps, 1us", "edge0..edge7 agg0..agg7 core0..core3 h0..h15"},
		{
			"fattree: {k: 10}", "250 hosts, 125 switches, 750 links of 40Gbps, 1us",
			"edge0..edge49 agg0..agg49 core0..core24 h0..h249",
		},
		{
			"fattree: {k: 4, hosts_per_edge: 1}", "8 hosts, 20 switches, 40 links of 40Gbps, 1us",
			"edge0..edge7 agg0..agg7 core0..core3 h0..h7",
		},
		{
			"fattree: {pods: 5, edges: 4, aggregations: 4, cores: 16, hosts_per_edge: 16, host_rate: 100Gbps, fabric_rate: 400Gbps}",
			"320 hosts, 56 switches, 480 links: 320 of 100Gbps, 1us; 160 of 400Gbps, 1us",
			"edge0..edge19 agg0..agg19 core0..core15 h0..h319",
		},
		{
			"star: {hosts: 2}\nnodes: [{name: x, kind: switch, buffer: 9MB}, {name: y, kind: host}]\n" +
				"links: [{from: y, to: x, rate: 1Gbps}, {from: x, to: s0, count: 2, delay: 2us}]",
			"3 hosts, 2 switches, 5 links: 1 of 1Gbps, 1us; 2 of 40Gbps, 1us; 2 of 40Gbps, 2us", "s0 h0 h1 x y",
		},
	} {
		p := mustParse(t, c.spec)
		if got := p.Summary(); got != c.want {
			t.Errorf("%s: %s, want %s", c.spec, got, c.want)
		}
		if got := topologies.Abbreviate(p.Names()); got != c.nodes {
			t.Errorf("%s: nodes %s, want %s", c.spec, got, c.nodes)
		}
	}
}

func TestBuffers(t *testing.T) {
	p := mustParse(t, "star: {hosts: 2, buffer: 12MB}\nnodes: [{name: x, kind: switch, buffer: 9MB}, "+
		"{name: y, kind: host}]\nlinks: [{from: [y, s0], to: x}]")
	for name, want := range map[string]units.Bytes{"s0": 12 * units.MB, "x": 9 * units.MB, "h0": 0, "y": 0} {
		if got := p.NodeByName(name).Buffer; got != want {
			t.Errorf("buffer of %s is %v, want %v", name, got, want)
		}
	}
}

func TestParallelLinks(t *testing.T) {
	p := mustParse(t, "nodes: [{name: s0..s1, kind: switch}, {name: h0..h1, kind: host}]\n"+
		"links: [{from: h0, to: s0}, {from: s0, to: s1, count: 3}, {from: h1, to: s1}]")
	s0, s1 := p.NodeByName("s0"), p.NodeByName("s1")
	if got := len(p.PortsBetween(s0.ID, s1.ID)); got != 3 {
		t.Errorf("%d ports, want 3", got)
	}
	if got := len(p.NextHops(s0.Index, 1)); got != 3 {
		t.Errorf("%d next hops, want 3", got)
	}
}

func TestInterfaceNameLimit(t *testing.T) {
	// "a234567890" + "-eth1" has exactly 15 characters; two ports of one digit fit too, ten do not.
	spec := "nodes: [{name: a234567890, kind: switch}, {name: h0..h%d, kind: host}]\nlinks: [{from: h0..h%d, to: a234567890}]"
	if _, err := Parse("x", fmt.Appendf(nil, spec, 8, 8)); err != nil {
		t.Errorf("nine ports: %v", err)
	}
	if _, err := Parse("x", fmt.Appendf(nil, spec, 9, 9)); err == nil ||
		!strings.Contains(err.Error(), "would have 16 characters") {
		t.Errorf("ten ports: %v", err)
	}
}

// Large fabrics resolve in well under a second; the bound is loose, for loaded machines.
func TestLargeFabric(t *testing.T) {
	p := mustParse(t, "fattree: {k: 16}")
	if len(p.Hosts) != 1024 || len(p.NextHops(0, 1023)) != 8 {
		t.Errorf("%s; %d next hops", p.Summary(), len(p.NextHops(0, 1023)))
	}
	if n := p.PathOf(p.Hosts[0], p.Hosts[1023], topologies.Pair{}); len(n) != 6 {
		t.Errorf("path of %d links, want 6", len(n))
	}
}

// TestLargestFabric checks the maximum number of hosts. The memory of routes grows with leaves, not with hosts, and one
// more host is refused.
func TestLargestFabric(t *testing.T) {
	for _, c := range []struct {
		text             string
		switches, leaves int
		hops             int // between the first host and the last
	}{
		{"leafspine: {spines: 64, leaves: 512, hosts_per_leaf: 256}", 576, 512, 4},
		{"fattree: {pods: 64, edges: 8, aggregations: 16, cores: 256, hosts_per_edge: 256}", 1792, 512, 6},
	} {
		p := mustParse(t, c.text)
		r := p.Routes()
		if len(p.Hosts) != topologies.MaxHosts || len(p.Switch) != c.switches || r.Leaves != c.leaves ||
			len(r.ToLeaf) != c.switches*c.leaves {
			t.Errorf("%s; %d leaves, %d routes to them", p.Summary(), r.Leaves, len(r.ToLeaf))
		}
		last := p.Hosts[topologies.MaxHosts-1]
		if n := p.PathOf(p.Hosts[0], last, topologies.Pair{}); len(n) != c.hops || p.PeerNode(n[c.hops-1]).ID != last {
			t.Errorf("%s: path %v, want %d links", p.Summary(), n, c.hops)
		}
		if a := p.Nodes[last].Addr.String(); a != "10.2.0.0" {
			t.Errorf("the last host has the address %s", a)
		}
		_, err := Parse("x", []byte(c.text+"\nnodes: [{name: one-more, kind: host}]\nlinks: [{from: one-more, to: "+
			p.Nodes[p.Switch[0]].Name+"}]"))
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf(
			"131073 hosts and %d switches exceed the limits of 131072 and 16384", c.switches)) {
			t.Errorf("one host more: %v", err)
		}
	}
}

// TestTooManyLinks checks that a topology with too many links is refused before they are created.
func TestTooManyLinks(t *testing.T) {
	for text, want := range map[string]string{
		"leafspine: {spines: 2000, leaves: 2000, hosts_per_leaf: 1}":                          "4002000 links",
		"fattree: {pods: 1, edges: 1500, aggregations: 1000, cores: 1000, hosts_per_edge: 1}": "1502500 links",
	} {
		if _, err := Parse("x", []byte(text)); err == nil ||
			!strings.Contains(err.Error(), want+" exceed the limit of 1048576") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func BenchmarkParseFatTree1024(b *testing.B) {
	for b.Loop() {
		mustParse(b, "fattree: {k: 16}")
	}
}

func TestBuiltins(t *testing.T) {
	for _, name := range BuiltinNames() {
		p, err := Builtin(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Name != name || p.Description == "" {
			t.Errorf("%s calls itself %q, %q", name, p.Name, p.Description)
		}
	}
	if _, err := Builtin("leafspin"); err == nil || !strings.Contains(err.Error(), `did you mean "leafspine"?`) {
		t.Errorf("leafspin: %v", err)
	}
}

func TestTexts(t *testing.T) {
	p, err := Builtin("leafspine")
	if err != nil {
		t.Fatal(err)
	}
	for ext, write := range map[string]func(io.Writer) error{
		"txt":  p.Describe,
		"json": func(w io.Writer) error { return json.NewEncoder(w).Encode(p.View()) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Errorf("%s: %v", ext, err)
		}
		testenv.Golden(t, "testdata/leafspine."+ext, b.String())
	}
}

// TestCounted checks that a packet of 1000 B of payload is a frame of 1058 B here and one of 1048 B in the simulators,
// which have no frame below 60 B.
func TestCounted(t *testing.T) {
	for _, c := range []struct{ frame, ethernet, ns3 int }{
		{1058, 1058, 1048},
		{1074, 1074, 1064},
		{70, 70, 60},
		{62, 62, 60},
		{60, 60, 60},
	} {
		if got := [2]int{topologies.FramingEthernet.Counted(c.frame), topologies.FramingNS3.Counted(c.frame)}; got != [2]int{c.ethernet, c.ns3} {
			t.Errorf("a frame of %d B counts %v, want %d and %d", c.frame, got, c.ethernet, c.ns3)
		}
	}
}

// TestChangeLinks checks that links made by a builder can get another rate or delay, at both of their ports, without
// changing other links.
func TestChangeLinks(t *testing.T) {
	const base = "leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 2, rate: 40Gbps, delay: 1us}\n"
	plan, err := Parse("x.yaml", []byte(base+"change_links: [{from: leaf0, to: spine1, rate: 10Gbps}, {from: h0..h1, to: leaf0, "+
		"delay: 0us}, {from: spine0, to: leaf1, rate: 5Gbps, delay: 3us}]"))
	if err != nil {
		t.Fatal(err)
	}
	changed := map[string]string{
		"leaf0:spine1": "10Gbps, 1us", "h0:leaf0": "40Gbps, 0s", "h1:leaf0": "40Gbps, 0s", "leaf1:spine0": "5Gbps, 3us",
	}
	seen := 0
	for i := range plan.Links {
		l := &plan.Links[i]
		a, b := plan.Nodes[plan.Ports[l.A].Node].Name, plan.Nodes[plan.Ports[l.B].Node].Name
		want := "40Gbps, 1us"
		for _, name := range []string{a + ":" + b, b + ":" + a} {
			if changed[name] != "" {
				want = changed[name]
				seen++
			}
		}
		for _, got := range []topologies.LinkClass{
			{Rate: l.Rate, Delay: l.Delay},
			{Rate: plan.Ports[l.A].Rate, Delay: plan.Ports[l.A].Delay},
			{Rate: plan.Ports[l.B].Rate, Delay: plan.Ports[l.B].Delay},
		} {
			if got.String() != want {
				t.Errorf("%s:%s: %v, want %s", a, b, got, want)
			}
		}
	}
	if seen != len(changed) {
		t.Errorf("%d links are changed, want %d", seen, len(changed))
	}
	parallel, err := Parse("x.yaml", []byte("nodes: [{name: s0..s1, kind: switch}, {name: h0..h1, kind: host}]\n"+
		"links: [{from: s0, to: s1, count: 3}, {from: h0, to: s0}, {from: h1, to: s1}]\nchange_links: [{from: s1, to: s0, rate: 1Gbps}]"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if r := parallel.Links[i].Rate; r != 1_000_000_000 {
			t.Errorf("parallel link %d: %v", i, r)
		}
	}
	for text, want := range map[string]string{
		"change_links: [{from: leaf0, to: leaf1, rate: 1Gbps}]":  "no link between leaf0 and leaf1",
		"change_links: [{from: leaf0, to: spine0}]":              "give at least one of rate, delay, interface_mtu and weight",
		"change_links: [{from: leaf0, to: spine9, rate: 1Gbps}]": `no node "spine9"`,
		"change_links: [{from: leaf0, to: spine0, rate: 1Gbps}, " +
			"{from: spine0, to: leaf0..leaf1, rate: 2Gbps}]": "the link from spine0 to leaf0 is already changed (line 2)",
		"change_links: [{from: leaf0, to: spine0, rate: 1bps}]": "rate 1bps is outside 1Mbps..10Tbps",
		"change_links: [3]": "an entry of change_links must be a mapping",
		"change_links: [{from: leaf0, to: spine0, rate: 1Gbps, count: 2}]": `unknown key "count"`,
		"l2: bridge":                          `"bridge" is not one of static, learn`,
		"links: {leaf0-leaf1: {rate: 1Gbps}}": `no link "leaf0-leaf1": a mapping under links changes existing links`,
		"links: {from: leaf0, to: spine0}":    "a change of a link must be a mapping",
		"links: {leaf0-spine0: {}}":           "this entry changes nothing",
		"links: {leaf0-spine0: {rate: 1Gbps}}\n" +
			"change_links: [{from: spine0, to: leaf0, rate: 2Gbps}]": "the link from spine0 to leaf0 is already changed (line 2)",
		"links: {leaf0-spine0: {rate: 1Gbps, count: 2}}": `unknown key "count"`,
	} {
		if _, err := Parse("x.yaml", []byte(base+text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestLinksByName: a mapping changes a builder's links by their names, whichever end is named first, also where nodes
// have a - in theirs.
func TestLinksByName(t *testing.T) {
	plan, err := Parse("x.yaml", []byte("leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 2, rate: 40Gbps, delay: 1us, "+
		"names: {leaf: \"pod-leaf%d\"}}\n"+
		"links: {pod-leaf0-spine1: {rate: 10Gbps}, \"spine0:pod-leaf1\": {delay: 3us, weight: 2}}"))
	if err != nil {
		t.Fatal(err)
	}
	var changed []string
	for _, l := range plan.Links {
		if class := (topologies.LinkClass{Rate: l.Rate, Delay: l.Delay}).String(); class != "40Gbps, 1us" {
			changed = append(changed, fmt.Sprintf("%s:%s %s, %d", plan.Nodes[plan.Ports[l.A].Node].Name,
				plan.Nodes[plan.Ports[l.B].Node].Name, class, l.Weight))
		}
	}
	if want := []string{"pod-leaf0:spine1 10Gbps, 1us, 1", "pod-leaf1:spine0 40Gbps, 3us, 2"}; !slices.Equal(changed,
		want) {
		t.Errorf("%q, want %q", changed, want)
	}
}

// TestBreakout checks that each part of a split port has its share of the rate, and that the order of links determines
// which parts belong together.
func TestBreakout(t *testing.T) {
	p, err := Parse("x.yaml", []byte("nodes: [{name: s0..s1, kind: switch}, {name: h0..h5, kind: host}]\n"+
		"links: [{from: s0, to: h0..h5, rate: 400Gbps, breakout: 4}, {from: s0, to: s1}, {from: s1, to: h0}]"))
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range p.NodeByName("s0").Ports {
		port := &p.Ports[id]
		want := topologies.Port{Rate: 100 * units.Gbps, Breakout: 4, Lane: uint8(i % 4)}
		if i == 6 {
			want = topologies.Port{Rate: 40 * units.Gbps}
		}
		if port.Rate != want.Rate || port.Breakout != want.Breakout || port.Lane != want.Lane ||
			p.Ports[port.Peer].Breakout != 0 {
			t.Errorf("port %d: %v, %d of %d, want %+v", port.Number, port.Rate, port.Lane, port.Breakout, want)
		}
	}
	var text strings.Builder
	if err := p.Describe(&text); err != nil || !strings.Contains(text.String(), "7 ports, 6 of them by breakout of 2") {
		t.Errorf("%v: %s", err, text.String())
	}
	if v := p.View(); v.Links[5].Breakout != 4 || *v.Links[5].Lane != 1 || v.Links[6].Lane != nil {
		t.Errorf("links %+v", v.Links[5:7])
	}
	if _, err := Parse("x.yaml", []byte("nodes: [{name: s0, kind: switch}, {name: h0..h5, kind: host}]\n"+
		"links: [{from: s0, to: h0..h5, rate: 400Gbps, breakout: 7}]")); err == nil ||
		!strings.Contains(err.Error(), "a port of 400Gbps cannot be split into 7 ports of equal rate: change rate or breakout") {
		t.Errorf("%v", err)
	}
}

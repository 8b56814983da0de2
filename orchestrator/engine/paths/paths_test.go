package paths_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/ebpf/wasm"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
)

// loadBare loads the pipelines alone.
func loadBare(t *testing.T, n ebpf.Sizes) *wasm.Pipelines {
	t.Helper()
	k, err := wasm.Load(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

func parsePlan(t *testing.T, text string) *topologies.Plan {
	t.Helper()
	plan, err := spec.Parse("plan.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// choose returns the port out of which the ingress pipeline of port in sends a packet of the 5-tuple.
func choose(t *testing.T, k *wasm.Pipelines, in int, source, destination [4]byte, ports paths.Ports) topologies.PortID {
	t.Helper()
	h, err := wire.NewFlowHeader(wire.FlowParams{
		DstMAC: k.State.Ports[in].Mac, Src: source, Dst: destination, SrcPort: ports.Source, ID: ports.Destination,
		TOS: wire.DataTOS(3, wire.ECT0),
	})
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, wire.MaxFrame)
	n := wire.PutData(buf, h, wire.OpWriteMiddle, 0, 1, false, true)
	x := k.State.Pass
	x.InPort, x.Trigger = uint32(in), ebpf.TriggerNone
	copy(k.Header[:], buf[:n])
	if err := k.Enter(n); err != nil {
		t.Fatal(err)
	}
	if x.Verdict != ebpf.VerdictForward {
		t.Fatalf("into port %d for %v: verdict %d, reason %d", in, destination, x.Verdict, x.Reason)
	}
	return topologies.PortID(x.Egress)
}

// Go's hash and the pipeline's agree on any source, destination, port and seed, for groups of any size.
func TestECMPHashIsThePipelines(t *testing.T) {
	const ports, hosts = 13, 4000
	k := loadBare(t, ebpf.Sizes{Ports: ports, Switches: 1, Hosts: hosts, Leaves: hosts, NextHops: ports, Fanouts: 1})
	for i := range k.State.Ports {
		p := &k.State.Ports[i]
		p.Kind, p.Mac = ebpf.KindSwitch, [6]byte{2, 0, 0, 0, 0, byte(i)}
		k.State.NextHops[i] = uint64(i)
	}
	for i := range k.State.Hosts {
		k.State.Hosts[i].Leaf = uint32(i)
	}
	rng := rand.New(rand.NewPCG(3, 5))
	seen := map[topologies.PortID]bool{}
	for range 20_000 {
		host := rng.Uint32N(hosts)
		address := 10<<24 + host + 1
		destination := [4]byte{byte(address >> 24), byte(address >> 16), byte(address >> 8), byte(address)}
		random := rng.Uint32()
		source := [4]byte{byte(random >> 24), byte(random >> 16), byte(random >> 8), byte(random)}
		seed, port := rng.Uint32(), uint16(wire.MinEntropyPort+rng.IntN(1<<14))
		group := 2 + rng.Uint32N(ports-1)
		start := rng.Uint32N(ports - group + 1)
		k.State.Switches[0].EcmpSeed = seed
		k.State.Routes[host] = ebpf.Route{PortOrFirst: start, Count: group}

		want := topologies.PortID(start + paths.ECMPHash(seed, 0, source, destination, port)%group)
		if got := choose(t, k, 0, source, destination, paths.Ports{Source: port}); got != want {
			t.Fatalf("%v to %v from port %d, seed %#x: the pipeline takes port %d of %d from %d, Go %d",
				source, destination, port, seed, got, group, start, want)
		}
		seen[want] = true
	}
	if len(seen) != ports {
		t.Errorf("%d ports of %d were ever chosen", len(seen), ports)
	}
}

// TestPathIsThePipelines: Path equals the path that the pipelines send a flow's packets, hop by hop through the tables
// of FillTables.
func TestPathIsThePipelines(t *testing.T) {
	const weighted = "leafspine: {spines: 3, leaves: 3, hosts_per_leaf: 2, ports_per_host: 2}\n" +
		"change_links: [{from: leaf0..leaf2, to: spine1, weight: 3}]"
	for _, name := range append(spec.BuiltinNames(), "weighted") {
		t.Run(name, func(t *testing.T) {
			plan, err := spec.Builtin(name)
			if name == "weighted" {
				plan, err = spec.Parse("weighted.yaml", []byte(weighted))
			}
			if err != nil {
				t.Fatal(err)
			}
			k := loadBare(t, fill.Sizes(plan, ebpf.Features{}))
			fill.Plan(plan, &k.State)
			rng := rand.New(rand.NewPCG(7, 11))
			balancing := plan.Balancing
			for n := range 1500 {
				if n%50 == 0 { // the first 50 by the defaults
					plan = plan.WithBalancing(balancing)
					for i := range k.State.Switches {
						fill.Choice(&k.State.Switches[i], plan, i)
					}
					balancing.Fields, balancing.Seed = topologies.HashFields(rng.IntN(5)), rng.IntN(1<<32)-1
				}
				a, b := rng.IntN(len(plan.Hosts)), rng.IntN(len(plan.Hosts))
				if a == b {
					continue
				}
				port := uint16(wire.MinEntropyPort + rng.IntN(1<<14))
				source, destination := &plan.Nodes[plan.Hosts[a]], &plan.Nodes[plan.Hosts[b]]
				pair := plan.PairOf(source.ID, destination.ID, rng.IntN(8))
				from, to := plan.Address(source.Ports[pair.From]).As4(), plan.Address(destination.Ports[pair.To]).As4()
				path := paths.Forward(plan, source.ID, destination.ID, paths.Ports{Pair: pair, Source: port})
				for i, left := range path[:len(path)-1] {
					in := plan.Ports[left].Peer
					if got := choose(t, k, int(in), from, to, paths.Ports{Source: port}); got != path[i+1] {
						t.Fatalf("%s to %s, port %d: at %s the pipeline takes %s, Path %s", source.Name, destination.Name, port,
							plan.Nodes[plan.Ports[in].Node].Name, plan.Ports[got].Name, plan.Ports[path[i+1]].Name)
					}
				}
				if end := plan.PeerNode(path[len(path)-1]); end != destination {
					t.Fatalf("the path from %s to %s ends at %s", source.Name, destination.Name, end.Name)
				}
			}
		})
	}
}

// TestWeights: flows choose a link of weight 3 three times as often as one of weight 1 beside it. Of 2^14 flows the
// share is a binomial's, whose standard deviation is below 0.4 % here.
func TestWeights(t *testing.T) {
	plan := parsePlan(t, "leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 1}\nchange_links: [{from: leaf0..leaf1, to: spine1, weight: 3}]")
	const flows = 1 << 14
	heavy := 0
	for i := range flows {
		path := paths.Forward(plan, plan.Hosts[0], plan.Hosts[1], paths.Ports{Source: uint16(wire.MinEntropyPort + i)})
		if plan.PeerNode(path[1]).Name == "spine1" {
			heavy++
		}
	}
	if share := float64(heavy) / flows; share < 0.73 || share > 0.77 {
		t.Errorf("%.3f of the flows go by the link of weight 3, want 0.75", share)
	}
}

// A source port can be found for a path through every spine, whatever the salt; and none through a spine of nowhere.
func TestPinPath(t *testing.T) {
	plan, err := spec.Parse("pin.yaml", []byte(
		"name: pin\nleafspine: {spines: 8, leaves: 3, hosts_per_leaf: 2, host_rate: 40Gbps, fabric_rate: 100Gbps}\ndelay: 1us\n"))
	if err != nil {
		t.Fatal(err)
	}
	host := func(i int) topologies.NodeID { return plan.Hosts[i] }
	var spines []topologies.NodeID
	for _, id := range plan.Switch {
		if plan.Nodes[id].Tier == 2 {
			spines = append(spines, id)
		}
	}
	if len(spines) != 8 {
		t.Fatalf("%d spines", len(spines))
	}
	used := map[paths.Ports]bool{}
	for _, spine := range spines {
		for salt := range uint64(20) {
			port, err := paths.Pin(plan, host(0), host(5), []topologies.NodeID{spine}, paths.FirstPorts(salt))
			if err != nil || port.Source < wire.MinEntropyPort {
				t.Fatalf("through %s: port %d, %v", plan.Nodes[spine].Name, port, err)
			}
			through := false
			for _, p := range paths.Forward(plan, host(0), host(5), port) {
				through = through || plan.Ports[p].Node == spine
			}
			if !through {
				t.Errorf("port %d does not lead through %s", port, plan.Nodes[spine].Name)
			}
			if again, _ := paths.Pin(plan, host(0), host(5), []topologies.NodeID{spine}, paths.FirstPorts(salt)); again != port {
				t.Errorf("port %d, then %d", port, again)
			}
			used[port] = true
		}
	}
	if len(used) < 100 { // of 160: the salt spreads them
		t.Errorf("%d different ports", len(used))
	}
	if _, err := paths.Pin(plan, host(0), host(5), nil, paths.FirstPorts(1)); err != nil {
		t.Error(err)
	}
	// Two spines at once, or a spine between hosts of one leaf: there is no such path.
	if port, err := paths.Pin(plan, host(0), host(5), spines[:2], paths.FirstPorts(0)); err == nil {
		t.Errorf("port %d through two spines", port)
	}
	if port, err := paths.Pin(plan, host(0), host(1), spines[:1], paths.FirstPorts(0)); err == nil {
		t.Errorf("port %d through a spine to the next host", port)
	}
}

// In a fat tree the pins may be an aggregation switch and a core.
func TestPinPathThroughTwoTiers(t *testing.T) {
	plan, err := spec.Builtin("fattree")
	if err != nil {
		t.Fatal(err)
	}
	source, destination := plan.Hosts[0], plan.Hosts[len(plan.Hosts)-1]
	all := map[string]bool{}
	for salt := range uint64(300) {
		port, err := paths.Pin(plan, source, destination, nil, paths.FirstPorts(salt))
		if err != nil {
			t.Fatal(err)
		}
		path := paths.Forward(plan, source, destination, port)
		var via []topologies.NodeID
		for _, p := range path[1:] {
			via = append(via, plan.Ports[p].Node)
		}
		pinned, err := paths.Pin(plan, source, destination, via, paths.FirstPorts(salt+1))
		if err != nil {
			t.Fatalf("a path that exists is not found: %v", err)
		}
		if got := fmt.Sprint(paths.Forward(plan, source, destination, pinned)); got != fmt.Sprint(path) {
			t.Fatalf("pinned to %v, got %s", path, got)
		}
		all[fmt.Sprint(path)] = true
	}
	// Between pods there is a path through every core.
	cores := 0
	for _, id := range plan.Switch {
		if plan.Nodes[id].Tier == 3 {
			cores++
		}
	}
	if len(all) != cores {
		t.Errorf("%d paths with %d cores", len(all), cores)
	}
}

// Switches choose independently of each other, and the same from run to run: these are constants.
func TestECMPSeed(t *testing.T) {
	seen := map[uint32]int{}
	for sw := range 4096 {
		seed := paths.OwnSeed(sw)
		if other, ok := seen[seed]; ok {
			t.Errorf("switches %d and %d have seed %#x", other, sw, seed)
		}
		seen[seed] = sw
	}
}

// TestPinOfMovingPackets: a flow without a fixed path has ports, but none that lead it through a switch.
func TestPinOfMovingPackets(t *testing.T) {
	plan := parsePlan(t, "leafspine: {spines: 4, leaves: 2, hosts_per_leaf: 2}")
	moving := plan.WithBalancing(topologies.Balancing{Mode: topologies.BalanceSpray})
	if _, err := paths.Pin(moving, plan.Hosts[0], plan.Hosts[2], []topologies.NodeID{plan.NodeByName("spine1").ID},
		paths.FirstPorts(1)); err == nil || !strings.Contains(err.Error(), "has via") {
		t.Error(err)
	}
	if _, err := paths.Pin(moving, plan.Hosts[0], plan.Hosts[2], nil, paths.FirstPorts(1)); err != nil {
		t.Error(err)
	}
}

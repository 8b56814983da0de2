package fill

import (
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// memory returns the tables of a plan without pipelines.
func memory(plan *topologies.Plan) *ebpf.State {
	n := Sizes(plan, ebpf.Features{BurstDetection: true})
	s := &ebpf.State{
		Features: n.Features,
		Pass:     new(ebpf.Pass), Ports: make([]ebpf.Port, n.Ports), Extras: make([]ebpf.PortExtra, n.Ports),
		Switches: make([]ebpf.SwitchState, n.Switches),
		Routes:   make([]ebpf.Route, n.Switches*n.Leaves), NextHops: make([]uint64, n.NextHops),
		Hosts: make([]ebpf.Host, n.Hosts), Fanouts: make([]uint64, n.Fanouts),
	}
	Plan(plan, s)
	return s
}

// Routes: for each switch and host the table leads to just the plan's ports.
func TestRouteTable(t *testing.T) {
	for _, name := range spec.BuiltinNames() {
		plan, err := spec.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		s := memory(plan)
		for sw := range plan.Switch {
			for host := range plan.Interfaces {
				want := plan.NextHops(sw, host)
				to := s.Hosts[host]
				r := s.Routes[sw*plan.Routes().Leaves+int(to.Leaf)]
				if r.Count == ebpf.AtLeaf {
					r = ebpf.Route{PortOrFirst: to.Port, Count: 1}
				}
				if int(r.Count) != len(want) {
					t.Fatalf("%s: switch %d has %d ways to host %d, want %v", name, sw, r.Count, host, want)
				}
				for i, p := range want {
					got := uint64(r.PortOrFirst)
					if len(want) > 1 {
						got = s.NextHops[int(r.PortOrFirst)+i]
					}
					if got != uint64(p) {
						t.Fatalf("%s: switch %d to host %d: port %d, want %d", name, sw, host, got, p)
					}
				}
			}
		}
	}
}

// Ports: each has its own MAC and its peer's, and a row of the fanout matrix that it shares with none.
func TestPortTable(t *testing.T) {
	for _, name := range spec.BuiltinNames() {
		plan, err := spec.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		s := memory(plan)
		taken := make([]bool, len(s.Fanouts))
		macs := map[[6]byte]bool{}
		for i := range s.Ports {
			p, want := &s.Ports[i], &plan.Ports[i]
			node := &plan.Nodes[want.Node]
			if p.Mac != want.MAC || p.PeerMac != plan.Ports[want.Peer].MAC || s.Ports[want.Peer].PeerMac != p.Mac ||
				macs[p.Mac] {
				t.Fatalf("%s: MACs %x and %x of %s", name, p.Mac, p.PeerMac, want.Name)
			}
			macs[p.Mac] = true
			if (p.Kind == ebpf.KindSwitch) != (node.Kind == topologies.Switch) || int(p.Node) != node.Index {
				t.Fatalf("%s: %s is of kind %d, node %d", name, want.Name, p.Kind, p.Node)
			}
			// As the pipelines find the interface of a port.
			if index := ebpf.FirstInner + int32(i) - int32(p.FirstPort); int(p.FirstPort) != int(node.Ports[0]) ||
				index != InnerIfindex(want) {
				t.Fatalf("%s: %s: first port %d, interface %d", name, want.Name, p.FirstPort, index)
			}
			if p.Kind != ebpf.KindSwitch {
				continue
			}
			// As the pipelines and Release index it.
			for out := range node.Ports {
				at := s.Extras[i].FanoutRow + uint32(out)
				if taken[at] {
					t.Fatalf("%s: %s shares place %d of the fanout matrix", name, want.Name, at)
				}
				taken[at] = true
			}
		}
		for at, ok := range taken {
			if !ok {
				t.Fatalf("%s: place %d of the fanout matrix is nobody's", name, at)
			}
		}
	}
}

// A port's numbers: the quantum is 512 bit times, 3dC is what passes in three link delays.
func TestPortNumbers(t *testing.T) {
	for _, c := range []struct {
		rate, delay string
		quantum     uint32
		threeDC     uint64
		mbps        uint32
	}{
		{"40Gbps", "5us", 12_800, 75_000, 40_000}, // the DCON paper's link: sections 3.1 and 4.4
		{"100Gbps", "1us", 5_120, 37_500, 100_000},
		{"25Gbps", "1us", 20_480, 9_375, 25_000},
		{"10Gbps", "333ns", 51_200, 1_248, 10_000}, // 1248.75 B
		{"400Gbps", "0us", 1_280, 0, 400_000},
		{"3Gbps", "1ms", 170_667, 1_125_000, 3_000}, // 512 bits at 3 Gbps are 170 666.7 ps: rounded up
	} {
		plan, err := spec.Parse("t.yaml", []byte("name: t\nstar: {hosts: 2}\nrate: "+c.rate+"\ndelay: "+c.delay+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		s := memory(plan)
		for i := range s.Ports {
			if p := &s.Ports[i]; p.Quantum != c.quantum || s.Extras[i].ThreeD_c != c.threeDC || p.RateMbps != c.mbps {
				t.Errorf("%s, %s: quantum %d, 3dC %d, %d Mbps; want %d, %d, %d", c.rate, c.delay,
					p.Quantum, s.Extras[i].ThreeD_c, p.RateMbps, c.quantum, c.threeDC, c.mbps)
			}
		}
	}
}

// The pipeline's idea of a pause's length, quanta times the port's quantum, and the wire format's are one, where
// rates are Ethernet's.
func TestQuantaTime(t *testing.T) {
	for _, rate := range []units.Rate{
		10 * units.Gbps, 25 * units.Gbps, 40 * units.Gbps, 100 * units.Gbps,
		400 * units.Gbps,
	} {
		for _, q := range []uint16{0, 1, 2, 1000, 0x7fff, 0xffff} {
			want := vtime.Time(int64(q) * 512 * 1000 / (int64(rate) / int64(units.Gbps)))
			if got := vtime.Time(q) * rate.TimeFor(512/8); got != want || wire.PauseTime(q, rate) != want {
				t.Errorf("%d quanta at %v: %v and %v, want %v", q, rate, got, wire.PauseTime(q, rate), want)
			}
		}
	}
}

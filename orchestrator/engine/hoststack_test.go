package engine

import (
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// programs represents a fabric with programs on its hosts, driven in virtual time, on the wasm plane.
type programs struct {
	testing.TB
	*Engine
}

func newPrograms(t testing.TB, topology string, set func(*switchagent.Settings)) *programs {
	t.Helper()
	plan := parsePlan(t, topology)
	sw, hosts := switchagent.Default(), hostagent.Default()
	if set != nil {
		set(&sw)
	}
	features := plane.Features{Live: true, Reroute: true}
	opened, err := wasmplane.Open(plan, features)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]*switchagent.Settings, len(plan.Switch))
	for i := range all {
		all[i] = &sw
	}
	e := newEngine(t, Config{Plan: plan, Plane: opened, Switches: all, Hosts: &hosts, Features: features, Seed: 3})
	e.Start()
	t.Cleanup(func() {
		for _, v := range e.Check() {
			t.Error(v)
		}
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return &programs{t, e}
}

// send has a host's program send a frame to its switch's port, and drives the fabric until nothing moves.
func (p *programs) send(host string, frame []byte) {
	p.Helper()
	p.offer(host, frame)
	p.drive()
}

func (p *programs) offer(host string, frame []byte) {
	p.Helper()
	port := &p.plan.Ports[p.plan.NodeByName(host).Ports[0]]
	wire.Ethernet(frame).SetSrc(port.MAC)
	if frame[0]&1 == 0 {
		wire.Ethernet(frame).SetDst(p.plan.Ports[port.Peer].MAC)
	}
	if !p.Offer(int(port.ID), frame, true, p.Now()) {
		p.Fatalf("%s has no port", host)
	}
}

func (p *programs) drive() {
	p.Helper()
	for end := p.Now() + vtime.Millisecond; p.Next() <= end; {
		if err := p.Step(p.Next()); err != nil {
			p.Fatal(err)
		}
	}
}

// delivered returns the frames delivered to each host's stack.
func (p *programs) delivered() (frames []int64) {
	for i := range p.plan.Interfaces {
		frames = append(frames, p.HostStack(i).Delivered.Frames)
	}
	return frames
}

// datagram returns UDP from a host of the fabric.
func (p *programs) datagram(from string, to wire.Addr, tos, ttl uint8, n int) []byte {
	f := make([]byte, n)
	wire.Ethernet(f).SetType(wire.EtherTypeIPv4)
	f[14], f[15], f[22], f[23] = 0x45, tos, ttl, wire.ProtocolUDP
	binary.BigEndian.PutUint16(f[16:], uint16(n-14))
	src := p.plan.NodeByName(from).Addr.As4()
	copy(f[26:], src[:])
	copy(f[30:], to[:])
	wire.IPv4(f[14:]).UpdateChecksum()
	return f
}

func (p *programs) multicast(from string, tos uint8, n int) []byte {
	f := p.datagram(from, wire.Addr{224, 0, 0, 251}, tos, 1, n)
	copy(f, "\x01\x00\x5e\x00\x00\xfb")
	return f
}

func (p *programs) want(what string, want ...int64) {
	p.Helper()
	got := p.delivered()
	for i := range want {
		if got[i] != want[i] {
			p.Errorf("%s: hosts got %v frames, want %v", what, got, want)
			return
		}
	}
}

const square = "leafspine: {leaves: 2, spines: 2, hosts_per_leaf: 2}"

// TestControlPlaneSendsLater offers frames of a switch's control plane at future times. The first is delivered at its
// time, and the engine's check, at the end, does not miss the second, whose time has not come.
func TestControlPlaneSendsLater(t *testing.T) {
	p := newPrograms(t, square, nil)
	p.Punt(func(int, []byte) bool { return false })
	port := &p.plan.Ports[p.plan.Ports[p.plan.NodeByName("h1").Ports[0]].Peer]
	f := p.datagram("h0", p.plan.NodeByName("h1").Addr.As4(), 0, 1, 40)
	wire.Ethernet(f).SetSrc(port.MAC)
	wire.Ethernet(f).SetDst(p.plan.Ports[port.Peer].MAC)
	for _, at := range []vtime.Time{vtime.Microsecond, 10 * vtime.Millisecond} {
		if !p.Offer(int(port.ID), f, true, at) {
			t.Fatal("the switch has no control plane")
		}
	}
	clear(f) // the engine has its own copy
	p.want("before the time", 0, 0, 0, 0)
	p.drive()
	p.want("after the time of the first", 0, 1, 0, 0)
}

// TestFloodReachesAllOnce: a broadcast reaches every other host once, on any number of paths, also as links go down and
// up.
func TestFloodReachesAllOnce(t *testing.T) {
	p := newPrograms(t, square, nil)
	p.send("h0", p.multicast("h0", 0, 300))
	p.want("multicast", 0, 1, 1, 1)
	p.send("h3", p.multicast("h3", 0, 1514))
	p.want("from the other leaf", 1, 2, 2, 1)
	sent := p.HostStack(0)
	if sent.Sent.Frames != 1 || sent.Taken != 1 || sent.Refused != 0 {
		t.Errorf("h0's program has %+v", sent)
	}
	leaf0 := p.plan.NodeByName("leaf0")
	for _, id := range leaf0.Ports {
		if p.plan.PeerNode(id).Name != "spine0" {
			continue
		}
		for _, up := range []bool{false, true} {
			if err := p.SetLink(int(id), up); err != nil {
				t.Fatal(err)
			}
			if err := p.Reroute(); err != nil {
				t.Fatal(err)
			}
			before := p.delivered()
			p.send("h1", p.multicast("h1", 0, 300))
			p.want("with another tree", before[0]+1, before[1], before[2]+1, before[3]+1)
		}
	}
}

// Hosts without a way between them do not hear of each other.
func TestFloodKeepsToItsPlane(t *testing.T) {
	p := newPrograms(t, "planes: {planes: 2, spines: 1, leaves: 2, hosts_per_leaf: 1}", nil)
	p.send("h0", p.multicast("h0", 0, 300))
	p.want("multicast", 0, 1, 0, 0) // interfaces: the first ports, then the second
}

// TestMembershipReports: switches flood membership reports only once a host has sent a query.
func TestMembershipReports(t *testing.T) {
	p := newPrograms(t, square, nil)
	igmp := func(from string, kind byte) []byte {
		f := p.multicast(from, 0xc0, 60)
		f[23], f[34] = wire.ProtocolIGMP, kind
		return f
	}
	p.send("h0", igmp("h0", 0x16))
	p.want("a report", 0, 0, 0, 0)
	p.send("h1", igmp("h1", 0x11))
	p.want("a query", 1, 0, 1, 1)
	p.send("h0", igmp("h0", 0x16))
	p.want("a report that was asked for", 1, 1, 2, 2)
}

// A queue takes no more copies than its limit, of a lossless priority neither, and nobody is paused for them: the
// invariants hold.
func TestFloodOfFloods(t *testing.T) {
	p := newPrograms(t, square, func(s *switchagent.Settings) { s.LossyLimit = 20_000 })
	for range 200 {
		for _, host := range []string{"h0", "h1", "h2"} {
			p.offer(host, p.multicast(host, 3<<5, 1514))
		}
	}
	p.drive()
	got := p.delivered()
	if got[3] < 200 || got[3] >= 600 || p.Refused == 0 {
		t.Errorf("hosts got %v, %d were refused", got, p.Refused)
	}
	for i := range p.plan.Ports {
		if n := p.State().Extras[i].PausesSent; n != 0 {
			t.Errorf("%s has sent %d PAUSEs", p.plan.Ports[i].Name, n)
		}
	}
}

// Each switch on the way answers the packet whose TTL runs out there, and its own address.
func TestSwitchesAnswer(t *testing.T) {
	p := newPrograms(t, square, nil)
	to := p.plan.NodeByName("h3").Addr.As4()
	for ttl := uint8(1); ttl <= 3; ttl++ {
		p.send("h0", p.datagram("h0", to, 0, ttl, 80))
		p.want("TTL", int64(ttl), 0, 0, 0)
	}
	p.send("h0", p.datagram("h0", to, 0, 4, 80))
	p.want("to the end", 3, 0, 0, 1)
	for i := range p.plan.Switch { // UDP: a port that is not there
		p.send("h0", p.datagram("h0", p.plan.SwitchAddress(i).As4(), 0, 9, 80))
		p.want(p.plan.Nodes[p.plan.Switch[i]].Name, int64(4+i), 0, 0, 1)
	}
	p.send("h0", p.datagram("h0", wire.Addr{10, 254, 0, 5}, 0, 9, 80))
	p.want("no such switch", 8, 0, 0, 1)
	if o := p.HostStack(0); o.Sent.Frames != 9 || o.Taken != 4 || o.Refused != 4 {
		t.Errorf("h0's program has %+v", o)
	}
}

// A packet that is longer than the MTU of the port that it would leave by is cut, or answered, and takes no place in
// the switch.
func TestTooLongForPort(t *testing.T) {
	p := newPrograms(t, square+"\ninterface_mtu: 9000\nchange_links: [{from: leaf1, to: h3, interface_mtu: 1500}]", nil)
	to := p.plan.NodeByName("h3").Addr.As4()
	long := p.datagram("h0", to, 3<<5, 9, 9014)
	p.send("h0", long)
	p.want("without DF, in fragments of 1480, 1480, ... 112 bytes", 0, 0, 0, 7)
	long[20] = 0x40
	wire.IPv4(long[14:]).UpdateChecksum()
	p.send("h0", long)
	p.want("with DF", 1, 0, 0, 7)
	other := p.plan.NodeByName("h2").Addr.As4()
	p.send("h0", p.datagram("h0", other, 0, 9, 9014))
	p.want("where it fits", 1, 0, 1, 7)
	p.send("h0", p.multicast("h0", 0, 9014))
	p.want("multicast where it fits", 1, 1, 2, 7)
	if o := p.HostStack(0); o.Refused != 1 || o.Taken != 2 {
		t.Errorf("h0's program has %+v", o)
	}
	p.send("h3", p.datagram("h3", other, 0, 9, 1515))
	if o := p.HostStack(3); o.Unknown != 1 || o.Sent.Frames != 0 {
		t.Errorf("h3's program has %+v", o)
	}
}

// A frame to an address of the fabric's switches that nobody has ends at the first.
func TestNobodysAddress(t *testing.T) {
	p := newPrograms(t, square, nil)
	for range 1000 {
		p.offer("h0", p.datagram("h0", wire.Addr{10, 254, 255, 255}, 0, 255, 60))
	}
	p.drive()
	if p.Built > 1000 || p.Hops > 4000 {
		t.Errorf("%d answers, %d hops", p.Built, p.Hops)
	}
	if p.State().Pass.Verdict == ebpf.VerdictNone {
		t.Error("no pass was made")
	}
}

// Whatever programs send, under any flow control, the invariants hold: Check at the end has them all.
func TestAnyProgramsFrames(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			topology := []string{
				square,
				square + "\ninterface_mtu: 4000\nchange_links: [{from: leaf1, to: h3, interface_mtu: 1500}]",
				"star: {hosts: 4, ports_per_host: 2}",
			}[r.IntN(3)]
			p := newPrograms(t, topology, func(s *switchagent.Settings) {
				s.LossyLimit = 30_000
				switch r.IntN(3) {
				case 0:
					s.FlowControl = switchagent.FlowCBFC
				case 1:
					s.PFC.Priorities = 0xff
				}
			})
			hosts := []string{"h0", "h1", "h2", "h3"}
			for range 400 {
				from := hosts[r.IntN(4)]
				p.offer(from, p.anyFrame(r, from, hosts[r.IntN(4)]))
				if r.IntN(8) == 0 {
					if err := p.Step(p.Next()); err != nil {
						t.Fatal(err)
					}
				}
			}
			p.drive()
		})
	}
}

// anyFrame returns a frame of some kind from one host to another, some of its bytes changed.
func (p *programs) anyFrame(r *rand.Rand, from, to string) []byte {
	n := 60 + r.IntN(1455)
	dst := wire.Addr(p.plan.NodeByName(to).Addr.As4())
	if r.IntN(4) == 0 {
		dst = p.plan.SwitchAddress(r.IntN(len(p.plan.Switch) + 1)).As4()
	}
	f := p.datagram(from, dst, byte(r.Uint32()), byte(1+r.IntN(4)), n)
	src := wire.Map(p.plan.NodeByName(from).Addr.As4())
	switch r.IntN(5) {
	case 0: // IPv6
		wire.Ethernet(f).SetType(wire.EtherTypeIPv6)
		clear(f[14:54])
		f[14], f[15], f[20], f[21] = 0x60|byte(r.IntN(16)), byte(r.Uint32()), []byte{
			17, 6, 58, 0,
			44,
		}[r.IntN(5)], byte(1+r.IntN(4))
		binary.BigEndian.PutUint16(f[18:], uint16(n-54))
		six := wire.Map(dst)
		copy(f[22:], src[:])
		copy(f[38:], six[:])
	case 1: // ARP
		wire.Ethernet(f).SetType(wire.EtherTypeARP)
		copy(f[14:], []byte{0, 1, 8, 0, 6, 4, 0, 1})
		copy(f[28:], src[12:])
		copy(f[38:], dst[:])
		f[0] |= byte(r.IntN(2))
	case 2: // for all
		copy(f, "\xff\xff\xff\xff\xff\xff")
	case 3: // ICMP
		f[23], f[34], f[35] = wire.ProtocolICMP, 8, 0
	}
	for range r.IntN(3) {
		f[14+r.IntN(46)] = byte(r.Uint32())
	}
	return f[:max(14, len(f)-r.IntN(2)*r.IntN(len(f)))]
}

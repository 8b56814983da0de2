package ebpf_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	cilium "github.com/cilium/ebpf"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/internal/vtime"
	"github.com/pausenet/pausenet/internal/wire"
)

// The rig's fabric: switch 0 has ports 0..5, switch 1 ports 6..8; port 9 is that of host 0. What is cabled to what does
// not matter here: a crossing names its ports.
const (
	rigPorts    = 10
	rigSwitch0  = 6 // ports of switch 0
	rigSwitch1  = 3
	rigHostPort = 9
	rigHosts    = 8
	rigIfindex  = 100 // of port 0
	noRoute     = 5   // a host that switch 0 has no route to

	lossless = 3 // the lossless priority
	mtu      = 1000
)

// rigGroups are switch 0's equal-cost ports towards each host.
var rigGroups = [rigHosts][]uint64{{0}, {1}, {2}, {3, 4}, {2, 3, 4}, {}, {5}, {0, 1, 2, 3, 4}}

// What a program returns. Under BPF_PROG_TEST_RUN nothing is redirected.
const (
	actOK       = 0
	actShot     = 2
	actRedirect = 7
)

// rig is the pipelines in the kernel, without interfaces: BPF_PROG_TEST_RUN runs them on one frame at a time.
type rig struct {
	*ebpf.Kernel
	t   testing.TB
	out [4096]byte
}

// result is what a crossing left behind.
type result struct {
	ebpf.Crossing
	code uint32
	data []byte
}

func newRig(t testing.TB) *rig {
	t.Helper()
	testenv.NeedRoot(t)
	k, err := ebpf.Load(ebpf.Sizes{
		Ports: rigPorts, Switches: 2, Hosts: rigHosts, NextHops: 16,
		Fanouts: rigSwitch0*rigSwitch0 + rigSwitch1*rigSwitch1, Flows: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &rig{Kernel: k, t: t}
	r.reset()
	return r
}

// reset makes the rig as new: the seeds' settings, burst detection off, the clock at 1 ms.
func (r *rig) reset() {
	s := &r.State
	*s.Crossing = ebpf.Crossing{Now: uint64(vtime.Millisecond)}
	clear(s.Ports)
	clear(s.Flows)
	clear(s.Fanouts)
	clear(s.NextHops)
	clear(s.Routes)
	for i := range s.Ports {
		p := &s.Ports[i]
		p.Ifindex = uint32(rigIfindex + i)
		p.Kind = ebpf.KindSwitch
		p.Ports = rigSwitch0
		p.FanoutRow = uint32(i * rigSwitch0)
		switch {
		case i == rigHostPort:
			p.Kind, p.Ports, p.FirstPort, p.FanoutRow = ebpf.KindHost, 1, rigHostPort, 0
		case i >= rigSwitch0:
			p.Node, p.Ports, p.FirstPort = 1, rigSwitch1, rigSwitch0
			p.FanoutRow = uint32(rigSwitch0*rigSwitch0 + (i-rigSwitch0)*rigSwitch1)
		}
		p.RateMbps = 40_000
		p.Quantum = 12_800  // ps: 512 bits at 40 Gb/s
		p.ThreeD_c = 75_000 // 3 * 5 us * 40 Gb/s
		p.Mac = portMAC(i)  // distinct
		p.PeerMac = peerMAC(i)
	}
	for i := range s.Switches {
		s.Switches[i] = ebpf.SwitchState{
			Buffer: 22_000_000, Xoff: 320_000, Xon: 318_000, XoffToXon: 2_000, Lossless: 1 << lossless, Quanta: 0xffff,
			Q_ecn: 200_000, CnmWindow: uint64(120 * vtime.Microsecond), CnmRepeat: uint64(50 * vtime.Microsecond),
			EcnPriorities: 1 << lossless, EcnKmin: 5_000, EcnKmax: 200_000, EcnPmax: 1 << 32 / 100,
			Seed: 0x1234_5678_9abc_def0 + uint64(i), EcmpSeed: 0xdecafbad + uint32(i),
		}
	}
	next := 0
	for host, group := range rigGroups {
		route := &s.Routes[host]
		route.Count, route.PortOrFirst = uint32(len(group)), uint32(next)
		if len(group) == 1 {
			route.PortOrFirst = uint32(group[0])
			continue
		}
		next += copy(s.NextHops[next:], group)
	}
	s.Routes[rigHosts+0] = ebpf.Route{PortOrFirst: 6, Count: 1}
	s.Routes[rigHosts+1] = ebpf.Route{PortOrFirst: 7, Count: 1}
}

func portMAC(i int) wire.MAC { return wire.MAC{0x02, 0, 0, 0, 0x01, byte(i)} }
func peerMAC(i int) wire.MAC { return wire.MAC{0x02, 0, 0, 0, 0x02, byte(i)} }
func hostIP(i int) wire.Addr { return wire.Addr{10, 0, 0, byte(i + 1)} }

func (r *rig) port(i int) *ebpf.Port             { return &r.State.Ports[i] }
func (r *rig) sw() *ebpf.SwitchState             { return &r.State.Switches[0] }
func (r *rig) at(now vtime.Time)                 { r.State.Crossing.Now = uint64(now) }
func (r *rig) now() vtime.Time                   { return vtime.Time(r.State.Crossing.Now) }
func (r *rig) after(d vtime.Time)                { r.State.Crossing.Now += uint64(d) }
func (r *rig) queue(out int, bytes int)          { r.port(out).QueueBytes[lossless] = uint64(bytes) }
func (r *rig) fatalf(format string, args ...any) { r.t.Helper(); r.t.Fatalf(format, args...) }

// run runs one program; it does not touch frame.
func (r *rig) run(p *cilium.Program, frame []byte) (code uint32, data []byte) {
	r.t.Helper()
	o := cilium.RunOptions{Data: frame, DataOut: r.out[:]}
	code, err := p.Run(&o)
	if err != nil {
		r.fatalf("run on %d bytes: %v", len(frame), err)
	}
	return code, slices.Clone(o.DataOut)
}

// enter runs the ingress pipeline of port in on a frame, and holds what it did against what holds for any frame.
func (r *rig) enter(in int, frame []byte) result {
	r.t.Helper()
	x := r.State.Crossing
	x.InPort, x.Tick, x.OutPort = uint32(in), ebpf.TickNone, ebpf.NoPort
	return r.ingress(frame)
}

// tick has port in build a frame. The blank is full of rubbish, all of which must be gone.
func (r *rig) tick(in int, kind, argument uint32, priority uint8) result {
	r.t.Helper()
	x := r.State.Crossing
	x.InPort, x.Tick, x.OutPort = uint32(in), kind, ebpf.NoPort
	x.Argument, x.Priority = argument, uint32(priority)
	return r.ingress(bytes.Repeat([]byte{0xee}, ebpf.FrameMin))
}

func (r *rig) ingress(frame []byte) result {
	r.t.Helper()
	x := r.State.Crossing
	done, marked := x.Done, x.Marked
	x.Verdict = ebpf.VerdictNone
	code, data := r.run(r.Ingress, frame)
	want := uint32(actShot)
	switch x.Verdict {
	case ebpf.VerdictForward, ebpf.VerdictHost:
		want = actRedirect
	case ebpf.VerdictStack:
		want = actOK
	case ebpf.VerdictNone:
		r.fatalf("the ingress pipeline gave no verdict")
	}
	if code != want {
		r.fatalf("verdict %d with action %d, want action %d", x.Verdict, code, want)
	}
	if x.Done != done+1 || x.Marked != marked {
		r.fatalf("one ingress crossing moved done by %d and marked by %d", x.Done-done, x.Marked-marked)
	}
	if len(data) != len(frame) {
		r.fatalf("%d bytes in, %d out", len(frame), len(data))
	}
	return result{Crossing: *x, code: code, data: data}
}

// leave runs the egress pipeline of port out on a frame that left behind a queue of so many bytes.
func (r *rig) leave(out int, queue, burst uint32, frame []byte) []byte {
	r.t.Helper()
	x := r.State.Crossing
	x.Tick, x.OutPort, x.QueueBytes, x.Burst = ebpf.TickNone, uint32(out), queue, burst
	done, marked := x.Done, x.Marked
	code, data := r.run(r.Egress, frame)
	if code != actOK || x.Marked != marked+1 || x.Done != done || len(data) != len(frame) {
		r.fatalf("the egress pipeline returned %d, moved marked by %d and done by %d, left %d of %d bytes",
			code, x.Marked-marked, x.Done-done, len(data), len(frame))
	}
	return data
}

// roce describes a RoCE data packet on its way into a port.
type roce struct {
	in, src, dst int // port, hosts
	sport        uint16
	priority     uint8
	ecn          wire.ECN
	payload      int // 0: mtu
}

func (p roce) header(t testing.TB) *wire.FlowHeader {
	t.Helper()
	h, err := wire.NewFlowHeader(wire.FlowParams{
		SrcMAC: peerMAC(p.in), DstMAC: portMAC(p.in), Src: hostIP(p.src), Dst: hostIP(p.dst), SrcPort: p.sport | 0xc000,
		DestQP: 7, TOS: wire.DataTOS(p.priority, p.ecn),
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (p roce) frame(t testing.TB) []byte {
	t.Helper()
	n := p.payload
	if n == 0 {
		n = mtu
	}
	buf := make([]byte, wire.MaxFrame)
	return buf[:wire.PutData(buf, p.header(t), wire.OpWriteMiddle, 1, n, false, true)]
}

// id is the packet's flow id, as the receiver of a CNM computes it.
func (p roce) id() uint16 {
	return wire.FlowID(hostIP(p.src), p.sport|0xc000, hostIP(p.dst), wire.PortRoCE, wire.ProtocolUDP)
}

// entry is the flow table entry of the packet's flow at switch 0.
func (p roce) entry() uint32 { return uint32(p.id()) }

// data sends a full packet of the lossless priority from host 0 to host dst into port in of switch 0.
func (r *rig) data(in, dst int, sport uint16) (roce, result) {
	r.t.Helper()
	p := roce{in: in, dst: dst, sport: sport, priority: lossless, ecn: wire.ECT0}
	return p, r.enter(in, p.frame(r.t))
}

// dataLen is the length of the frame that data sends.
var dataLen = wire.DataLen(wire.OpWriteMiddle, mtu)

// ipHeader is the IP header of a frame.
func ipHeader(frame []byte) wire.IPv4 { return wire.IPv4(frame[wire.EthernetLen:]) }

// plainIP is an IPv4 packet of another protocol for a host: no RoCE.
func plainIP(in, dst int, protocol, ttl, tos uint8) []byte {
	frame := make([]byte, 100)
	eth := wire.Ethernet(frame)
	eth.SetDst(portMAC(in))
	eth.SetSrc(peerMAC(in))
	eth.SetType(wire.EtherTypeIPv4)
	ip := ipHeader(frame)
	ip[0], ip[1], ip[8], ip[9] = 0x45, tos, ttl, protocol
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	src, addr := hostIP(0), hostIP(dst)
	copy(ip[12:], src[:])
	copy(ip[16:], addr[:])
	for i := range ip[20:] {
		ip[20+i] = byte(i)
	}
	ip.UpdateChecksum()
	return frame
}

// snapshot is a copy of all registers and counters but the crossing.
type snapshot struct {
	ports    []ebpf.Port
	switches []ebpf.SwitchState
	fanouts  []uint64
}

func (r *rig) snapshot() snapshot {
	return snapshot{slices.Clone(r.State.Ports), slices.Clone(r.State.Switches), slices.Clone(r.State.Fanouts)}
}

// unchanged holds the registers against a snapshot.
func (r *rig) unchanged(s snapshot) {
	r.t.Helper()
	for i := range s.ports {
		if s.ports[i] != r.State.Ports[i] {
			r.fatalf("port %d became\n%+v, was\n%+v", i, r.State.Ports[i], s.ports[i])
		}
	}
	if !slices.Equal(s.switches, r.State.Switches) || !slices.Equal(s.fanouts, r.State.Fanouts) {
		r.fatalf("switches became\n%+v, were\n%+v\nfanouts %v, were %v",
			r.State.Switches, s.switches, r.State.Fanouts, s.fanouts)
	}
}

//go:build linux

package wallclock

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// rawSocket sends frames as they are out of a node's first interface.
func rawSocket(t testing.TB, f *liveFabric, node string) (send func(frame []byte) error) {
	t.Helper()
	fd, err := kernel.SocketIn(f.fabric.Namespace(f.plan.NodeByName(node).ID), unix.AF_PACKET,
		unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, 0x70617573); err != nil { // the pipelines' own
		t.Fatal(err)
	}
	first := int(fill.InnerIfindex(&f.plan.Ports[f.plan.NodeByName(node).Ports[0]]))
	return func(frame []byte) error {
		return unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: first})
	}
}

// seedFrames returns well-formed frames of every kind, as if from one host to another.
func seedFrames(t testing.TB, plan *topologies.Plan, from, to *topologies.Node) (frames [][]byte) {
	t.Helper()
	port := &plan.Ports[from.Ports[0]]
	params := wire.FlowParams{
		SrcMAC: port.MAC, DstMAC: plan.Ports[port.Peer].MAC, Src: from.Addr.As4(), Dst: to.Addr.As4(),
		SrcPort: wire.MinEntropyPort, DestQP: 0x11, MTU: plan.MTU, TOS: wire.DataTOS(3, wire.ECT0),
	}
	h, err := wire.NewFlowHeader(params)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range []wire.Opcode{
		wire.OpWriteFirst, wire.OpWriteMiddle, wire.OpWriteLast,
		wire.OpWriteMiddle.WithINT(),
	} {
		b := make([]byte, wire.V4.DataLen(op, plan.MTU))
		wire.PutData(b, h, op, 0, plan.MTU, true, true)
		frames = append(frames, b)
	}
	cnp := make([]byte, wire.CNPLen)
	wire.PutCNP(cnp, h, wire.CNPBECN, nil)
	frames = append(frames, cnp)
	ethernet := func(ethertype uint16, n int) []byte {
		b := make([]byte, n)
		copy(b, params.DstMAC[:])
		copy(b[6:], params.SrcMAC[:])
		binary.BigEndian.PutUint16(b[12:], ethertype)
		return b
	}
	pfc := ethernet(0x8808, 60)
	copy(pfc, []byte{0x01, 0x80, 0xc2, 0, 0, 1})
	binary.BigEndian.PutUint16(pfc[14:], 0x0101)
	binary.BigEndian.PutUint16(pfc[16:], 0x00ff)
	for i := range 8 {
		binary.BigEndian.PutUint16(pfc[18+2*i:], uint16(i)) // time 0 is a RESUME
	}
	frames = append(frames, pfc, ethernet(0x88b5, 60), ethernet(0x88b6, 62), ethernet(0x0806, 42), ethernet(0x86dd, 90))
	vlan := ethernet(0x8100, 80)
	copy(vlan[14:], []byte{0x60, 5, 0x08, 0x00})
	copy(vlan[18:], cnp[14:])
	fragment := append([]byte(nil), frames[1]...)
	binary.BigEndian.PutUint16(fragment[20:], 0x2000)
	frames = append(frames, slowPathFrames(params, ethernet)...)
	return append(frames, vlan, fragment, ethernet(0x0800, 14), ethernet(0x0800, 15),
		ethernet(0x0800, plan.InterfaceMTU+14))
}

// slowPathFrames returns frames that switches' processors handle, or copy to all hosts.
func slowPathFrames(p wire.FlowParams, ethernet func(ethertype uint16, n int) []byte) (frames [][]byte) {
	ipv4 := func(dst wire.Addr, protocol, ttl uint8, n int) []byte {
		b := ethernet(wire.EtherTypeIPv4, n)
		b[14], b[22], b[23] = 0x45, ttl, protocol
		binary.BigEndian.PutUint16(b[16:], uint16(n-14))
		copy(b[26:], p.Src[:])
		copy(b[30:], dst[:])
		wire.IPv4(b[14:]).UpdateChecksum()
		return b
	}
	ipv6 := func(dst wire.Addr6, next, hops uint8, body ...byte) []byte {
		b := ethernet(wire.EtherTypeIPv6, 54+max(len(body), 20))
		src := wire.Map(p.Src)
		b[14], b[20], b[21] = 0x60, next, hops
		binary.BigEndian.PutUint16(b[18:], uint16(len(b)-54))
		copy(b[22:], src[:])
		copy(b[38:], dst[:])
		copy(b[54:], body)
		return b
	}
	to := func(b []byte, mac string) []byte { copy(b, mac); return b }
	const all, group, group6 = "\xff\xff\xff\xff\xff\xff", "\x01\x00\x5e\x00\x00\xfb", "\x33\x33\x00\x00\x00\xfb"
	arp := ethernet(wire.EtherTypeARP, 42)
	copy(arp[14:], []byte{0, 1, 8, 0, 6, 4, 0, 1})
	copy(arp[28:], p.Src[:])
	copy(arp[38:], p.Dst[:])
	echo := ipv4(wire.Addr{10, 254, 0, 4}, wire.ProtocolICMP, 64, 98)
	echo[34] = 8
	igmp := ipv4(wire.Addr{224, 0, 0, 22}, wire.ProtocolIGMP, 1, 60)
	igmp[34] = 0x16
	query := ipv4(wire.Addr{224, 0, 0, 1}, wire.ProtocolIGMP, 1, 60)
	query[34] = 0x11
	peer := wire.Map(p.Dst)
	return append(frames, to(arp, all), echo, to(igmp, group), to(query, group), ipv4(p.Dst, wire.ProtocolUDP, 1, 80),
		ipv4(p.Dst, wire.ProtocolUDP, 2, 1514),
		ipv4(wire.Addr{10, 254, 0, 2}, wire.ProtocolUDP, 1, 80), ipv4(wire.Addr{8, 8, 8, 8}, 6, 64, 80),
		to(ipv4(wire.Addr{224, 0, 0, 251}, wire.ProtocolUDP, 255, 300), group),
		to(ipv4(wire.Addr{255, 255, 255, 255}, wire.ProtocolUDP, 64, 1514), all),
		ipv6(peer, wire.ProtocolUDP, 64), ipv6(peer, wire.ProtocolUDP, 1), ipv6(peer, 44, 2),
		ipv6(wire.Map(wire.Addr{10, 254, 0, 3}), wire.ProtocolICMPv6, 64, 128),
		ipv6(wire.Map(wire.Addr{10, 9, 9, 9}), wire.ProtocolUDP, 64),
		to(ipv6(wire.Addr6{0: 0xff, 1: 2, 15: 0xfb}, wire.ProtocolUDP, 255), group6),
		to(ipv6(wire.Addr6{0: 0xff, 1: 2, 15: 0x16}, 0, 1, 58, 0, 5, 2, 0, 0, 1, 0, 143), group6),
		to(ipv6(wire.Addr6{0: 0xff, 1: 2, 15: 1}, wire.ProtocolICMPv6, 255,
			append([]byte{135, 0, 0, 0, 0, 0, 0, 0}, peer[:]...)...), group6))
}

// mutate changes some of a frame.
func mutate(r *rand.Rand, frame []byte, longest int) []byte {
	b := append([]byte(nil), frame...)
	for range r.IntN(4) {
		switch r.IntN(4) {
		case 0: // any byte of the headers
			b[r.IntN(min(len(b), 100))] = byte(r.Uint32())
		case 1: // a bit
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		case 2: // shorter
			b = b[:max(14, r.IntN(len(b)+1))]
		case 3: // longer
			b = append(b, make([]byte, r.IntN(longest))...)
		}
	}
	return b[:min(len(b), longest)]
}

// TestLiveFrames has a program send every kind of frame, whole, broken and cut, with the mark of the pipelines' own
// output, while RDMA flows and pings go on. The fabric lives, its invariants hold (as it ends), and what honest hosts
// do works.
func TestLiveFrames(t *testing.T) { onPlanes(t, testLiveFrames) }

func testLiveFrames(t *testing.T, planeName string) {
	count := 3000
	if s := os.Getenv("PAUSENET_LIVE_FRAMES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		count = n
	}
	f := newLiveFabricOn(t, planeName, livePlan(t, "small"), 200)
	ended := 0
	err := f.Do(func() error {
		for _, pair := range [][2]string{{"h1", "h5"}, {"h4", "h2"}} {
			f.Engine().AddFlow(engine.FlowConfig{
				Source: f.plan.NodeByName(pair[0]).ID, Destination: f.plan.NodeByName(pair[1]).ID, Size: 1 << 20,
				Start:         f.Engine().Now(),
				Ports:         paths.Ports{Source: wire.MinEntropyPort},
				NewController: func(int) (cc.Controller, error) { return cc.Constant(5e9), nil },
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	send := rawSocket(t, f, "h0")
	seeds := seedFrames(t, f.plan, f.plan.NodeByName("h0"), f.plan.NodeByName("h5"))
	r := rand.New(rand.NewPCG(1, 2))
	sent := 0
	for i := range count {
		frame := seeds[i%len(seeds)]
		if i >= len(seeds) {
			frame = mutate(r, frame, f.plan.InterfaceMTU+14)
		}
		if send(frame) == nil { // the kernel refuses some
			sent++
		}
	}
	if sent < count/2 {
		t.Errorf("%d of %d frames were sent", sent, count)
	}
	out := f.run(t, "h1", "ping", "-c", "1", "-W", "180", "h5")
	t.Log(out)
	for deadline := time.Now().Add(testenv.Hung); ended < 2 &&
		time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if err := f.Do(func() error { ended = 2 - f.Engine().OpenFlows(); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if ended != 2 {
		t.Errorf("%d of 2 flows ended beside the frames", ended)
	}
	_ = f.Do(func() error { t.Logf("%+v", f.Engine().HostStack(0)); return nil })
}

// TestLiveFlood has a host send as fast as it can. Its own frames are dropped in its host, and another host's pings get
// through. All hosts share the kernel's ring: while the engine falls behind (under the race detector, say) a ping may
// be among the frames that it has no room for, which Status counts, but not ten pings.
func TestLiveFlood(t *testing.T) { onPlanes(t, testLiveFlood) }

func testLiveFlood(t *testing.T, planeName string) {
	// so slow that even a starved process sends faster than the link
	f := newLiveFabricOn(t, planeName, livePlan(t, "small"), 50_000)
	send := rawSocket(t, f, "h0")
	frame := seedFrames(t, f.plan, f.plan.NodeByName("h0"), f.plan.NodeByName("h5"))[1]
	frame[15] = 0 // priority 0
	frame[23] = 1 // no RoCE
	stop := make(chan struct{})
	flooded := make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				flooded <- n
				return
			default:
				_ = send(frame)
				n++
			}
		}
	}()
	out := f.run(t, "h1", "ping", "-c", "10", "-i", "0.2", "-W", "60", "h4")
	close(stop)
	n := <-flooded
	t.Log(out)
	var o engine.HostStackCounts
	var lost int64
	if err := f.Do(func() error { o = f.Engine().HostStack(0); lost = f.Status().Lost; return nil }); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d frames: %+v, %d lost before the NIC", n, o, lost)
	if o.HostDrops+lost == 0 {
		t.Error("nothing was dropped in the host")
	}
}

// TestLiveHostMisbehaves takes a host's interface down, up, its program away, and the interface too, while others send
// to it.
func TestLiveHostMisbehaves(t *testing.T) { onPlanes(t, testLiveHostMisbehaves) }

func testLiveHostMisbehaves(t *testing.T, planeName string) {
	f := newLiveFabricOn(t, planeName, livePlan(t, "small"), 200)
	unanswered := func(what string) {
		t.Helper()
		f.run(t, "h1", "sh", "-c", "! ping -c 3 -i 0.01 -W 1 "+f.plan.NodeByName("h5").Addr.String())
		before := vtime.Time(0)
		if err := f.Do(func() error { before = f.Engine().Now(); return nil }); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if before == 0 {
			t.Errorf("%s: no time has passed", what)
		}
	}
	f.run(t, "h5", "ip", "link", "set", "h5-eth1", "down")
	unanswered("down")
	f.run(t, "h5", "ip", "link", "set", "h5-eth1", "up")
	peer := f.plan.Ports[f.plan.Ports[f.plan.NodeByName("h5").Ports[0]].Peer].MAC
	f.run(t, "h5", "sh", "-c", "ip route replace 10.0.0.0/8 via 10.255.255.254 dev h5-eth1 onlink; "+
		"ip neigh replace 10.255.255.254 dev h5-eth1 nud permanent lladdr "+macText(peer))
	f.run(t, "h1", "ping", "-c", "1", "-i", "0.2", "-w", "180", "h5")
	if planeName == plane.Kernel { // there its program is
		f.run(t, "h5", "tc", "filter", "del", "dev", "h5-eth1", "ingress")
		f.run(t, "h1", "sh", "-c", "ping -c 2 -i 0.01 -W 1 h5 || true")
	}
	f.run(t, "h5", "ip", "link", "del", "h5-eth1")
	unanswered("deleted")
	f.run(t, "h1", "ping", "-c", "1", "-W", "180", "h2")
	_ = f.Do(func() error {
		if f.Engine().Lost()[engine.LossDevice].Frames == 0 {
			t.Error("no frame was counted as lost at the device")
		}
		return nil
	})
}

func macText(mac [6]byte) string {
	text := ""
	for i, b := range mac {
		if i > 0 {
			text += ":"
		}
		text += strconv.FormatUint(uint64(b)>>4, 16) + strconv.FormatUint(uint64(b)&15, 16)
	}
	return text
}

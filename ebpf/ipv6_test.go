//go:build linux

package ebpf_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/wire"
)

// ipv6 describes a UDP datagram over IPv6 on its way into a port.
type ipv6 struct {
	in, src, dst int // port, hosts
	class        uint8
	hops         uint8 // 0: 64
	sport        uint16
	next         uint8 // 0: UDP
}

func (p ipv6) frame() []byte {
	frame := make([]byte, 120)
	eth := wire.Ethernet(frame)
	eth.SetDst(portMAC(p.in))
	eth.SetSrc(peerMAC(p.in))
	eth.SetType(wire.EtherTypeIPv6)
	binary.BigEndian.PutUint32(frame[14:], 6<<28|uint32(p.class)<<20|0x54321)
	binary.BigEndian.PutUint16(frame[18:], uint16(len(frame)-54))
	frame[20], frame[21] = wire.ProtocolUDP, 64
	if p.hops != 0 {
		frame[21] = p.hops
	}
	if p.next != 0 {
		frame[20] = p.next
	}
	src, dst := wire.Map(hostIP(p.src)), wire.Map(hostIP(p.dst))
	copy(frame[22:], src[:])
	copy(frame[38:], dst[:])
	binary.BigEndian.PutUint16(frame[54:], p.sport)
	binary.BigEndian.PutUint16(frame[56:], 5201)
	return frame
}

// toAll returns a frame for all stations.
func toAll(frame []byte) []byte {
	f := slices.Clone(frame)
	copy(f, "\xff\xff\xff\xff\xff\xff")
	return f
}

// routed6 returns an IPv6 packet as forwarded by a switch (RFC 8200, section 3): with new MACs and hop limit one less,
// and no other changes.
func routed6(frame []byte, egress int) []byte {
	f := slices.Clone(frame)
	wire.Ethernet(f).SetDst(peerMAC(egress))
	wire.Ethernet(f).SetSrc(portMAC(egress))
	f[21]--
	return f
}

// IPv6 goes the way of IPv4, in the priority of its traffic class.
func TestForwardIPv6(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		packet   ipv6
		egress   int
		priority uint32
	}{
		{ipv6{in: 4, dst: 1, class: 0x60}, 1, 3},
		{ipv6{in: 4, dst: 2, class: 0xff, hops: 2}, 2, 7},
		{ipv6{in: 4, dst: 6, next: 44}, 5, 0},
		{ipv6{in: 8, dst: 1, class: 0x1c}, 7, 0},
	} {
		frame := c.packet.frame()
		got := r.enter(c.packet.in, frame)
		if got.Verdict != ebpf.VerdictForward || got.Egress != uint32(c.egress) || got.OutPriority != c.priority {
			t.Errorf("%+v: verdict %d, port %d, priority %d", c.packet, got.Verdict, got.Egress, got.OutPriority)
		} else if want := routed6(frame, c.egress); !bytes.Equal(got.data, want) {
			t.Errorf("%+v: forwarded\n%x, want\n%x", c.packet, got.data, want)
		}
		if n := r.port(c.packet.in).Class[c.priority].Buffered; int(n) != len(frame) {
			t.Errorf("%+v: %d bytes on its account", c.packet, n)
		}
		r.reset()
	}
}

// Flows over IPv6 are spread over equal-cost ports, each by one.
func TestIPv6IsSpread(t *testing.T) {
	r := newRig(t)
	used := map[uint32]int{}
	for sport := range uint16(64) {
		first := r.enter(0, ipv6{in: 0, dst: 4, sport: sport}.frame())
		second := r.enter(0, ipv6{in: 0, dst: 4, sport: sport, class: 0x20}.frame())
		if first.Egress != second.Egress {
			t.Fatalf("source port %d by ports %d and %d", sport, first.Egress, second.Egress)
		}
		used[first.Egress]++
	}
	if len(used) != 3 || used[2]+used[3]+used[4] != 64 {
		t.Errorf("64 flows by ports %v, want 2, 3 and 4", used)
	}
}

// TestForProcessor: frames of programs on hosts that no pipeline forwards.
func TestForProcessor(t *testing.T) {
	r := newRig(t)
	edit := func(frame []byte, f func(frame []byte)) []byte { f(frame); return frame }
	arp := func(f []byte) { wire.Ethernet(f).SetType(wire.EtherTypeARP) }
	toSwitch := plainIP(0, 1, 1, 64, 0)
	copy(toSwitch[30:], []byte{10, 254, 0, 2})
	toSwitch6 := ipv6{in: 0, dst: 1}.frame()
	copy(toSwitch6[50:], []byte{10, 254, 0, 2})
	for _, c := range []struct {
		name    string
		frame   []byte
		verdict uint32
		reason  uint32
	}{
		{"ARP request", edit(toAll(plainIP(0, 1, 1, 64, 0)), arp), ebpf.VerdictProcessor, 0},
		{"ARP to the port", edit(plainIP(0, 1, 1, 64, 0), arp), ebpf.VerdictProcessor, 0},
		{"to a switch", toSwitch, ebpf.VerdictProcessor, 0},
		{"to a switch, IPv6", toSwitch6, ebpf.VerdictProcessor, 0},
		{
			"link-local", edit(ipv6{in: 0, dst: 1}.frame(), func(f []byte) { f[38], f[39] = 0xfe, 0x80 }), ebpf.VerdictProcessor,
			0,
		},
		{"broadcast", toAll(plainIP(0, 1, 17, 1, 0x60)), ebpf.VerdictFlood, 0},
		{"multicast with options", edit(plainIP(0, 1, 2, 1, 0x60),
			func(f []byte) { copy(f, "\x01\x00\x5e\x00\x00\x16"); f[14] = 0x46 }), ebpf.VerdictFlood, 0},
		{"multicast, IPv6", edit(ipv6{in: 0, dst: 1, class: 0x60, hops: 1}.frame(),
			func(f []byte) { copy(f, "\x33\x33\x00\x00\x00\xfb") }), ebpf.VerdictFlood, 0},
		{"hop limit 1", ipv6{in: 0, dst: 1, hops: 1}.frame(), ebpf.VerdictDrop, ebpf.ReasonTTL},
		{
			"no such host", edit(ipv6{in: 0, dst: 1}.frame(), func(f []byte) { f[52] = 9 }), ebpf.VerdictDrop,
			ebpf.ReasonNoRoute,
		},
		{
			"not of the fabric", edit(ipv6{in: 0, dst: 1}.frame(), func(f []byte) { f[38] = 0x20 }), ebpf.VerdictDrop,
			ebpf.ReasonNoRoute,
		},
		{
			"version 4", edit(ipv6{in: 0, dst: 1}.frame(), func(f []byte) { f[14] = 0x45 }), ebpf.VerdictDrop,
			ebpf.ReasonMalformed,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			r.reset()
			got := r.enter(0, c.frame)
			if got.Verdict != c.verdict || c.verdict == ebpf.VerdictDrop && got.Reason != c.reason || got.Want != 0 {
				t.Fatalf("verdict %d, reason %d, want %d; want %d, %d", got.Verdict, got.Reason, got.Want, c.verdict, c.reason)
			}
			if c.verdict == ebpf.VerdictFlood && got.OutPriority != 3 {
				t.Errorf("priority %d", got.OutPriority)
			}
			if !bytes.Equal(got.data, c.frame) || r.sw().Used != 0 {
				t.Errorf("it became\n%x, was\n%x; %d bytes are on an account", got.data, c.frame, r.sw().Used)
			}
		})
	}
}

// A queue marks a packet of IPv6 as one of IPv4, under any detector, as it comes or as it leaves.
func TestIPv6IsMarkedAsIPv4(t *testing.T) {
	r := newRig(t)
	rapid.Check(t, func(rt *rapid.T) {
		mode := rapid.Uint32Range(ebpf.ECNOff, ebpf.ECNTCD).Draw(rt, "mode")
		class := rapid.Byte().Draw(rt, "class")
		queue := rapid.Uint32Range(0, 400_000).Draw(rt, "queue")
		enqueue := rapid.Uint32Range(0, 1).Draw(rt, "at enqueue")
		onSince := rapid.Uint64Range(0, 1e9).Draw(rt, "on since")
		var fields [2]byte
		var ports [2]registersCopy
		for i := range fields {
			r.reset()
			sw := r.sw()
			sw.EcnMode, sw.EcnPriorities, sw.EcnAtEnqueue, sw.EcnPmax = mode, 0xff, enqueue, 1<<31
			r.State.Pass.OnSince, r.State.Pass.Departed, r.State.Pass.QueuePackets = onSince, uint64(r.now()), queue/1000
			r.port(1).Class[class>>5].QueueBytes = queue
			frame := make([]byte, 120)
			copy(frame, plainIP(4, 1, 6, 64, class))
			if i == 1 {
				frame = ipv6{in: 4, dst: 1, class: class}.frame()
			}
			frame = r.enter(4, frame).data
			frame = r.leave(1, queue, 0, frame)
			fields[i] = frame[15] & 3
			if i == 1 {
				fields[i] = frame[15] >> 4 & 3
			}
			ports[i] = r.port(1).copy()
		}
		if fields[0] != fields[1] || ports[0] != ports[1] {
			rt.Fatalf("IPv4's field became %d, IPv6's %d; ports\n%+v\n%+v", fields[0], fields[1], ports[0], ports[1])
		}
	})
}

// RoCE goes over IPv6 as it does over IPv4: a flow has the same path and, under DCON, the same entry in the flow table,
// of its data alone.
func TestForwardRoCEOverIPv6(t *testing.T) {
	r := newBurstRig(t, 250_000)
	ports := map[uint32]bool{}
	for sport := range uint16(64) {
		var out [2]result
		for i, ip := range []wire.Version{wire.V4, wire.V6} {
			r.reset()
			r.sw().Cnm, r.sw().EcnMode, r.sw().EcnAtEnqueue, r.sw().Profiles[0].EcnKmax = 1, ebpf.ECNStep, 1, 0
			p := roce{in: 0, dst: 4, sport: sport, priority: lossless, ecn: wire.ECT0, ip: ip}
			out[i] = r.enter(0, p.frame(t))
			if out[i].Flow != p.entry()+1 || out[i].OutPriority != lossless {
				t.Fatalf("over %v: flow table entry %d, priority %d", ip, out[i].Flow, out[i].OutPriority)
			}
			var parsed wire.Packet
			if err := wire.Parse(out[i].data, &parsed); err != nil || !parsed.ICRCValid() || parsed.ECN() != wire.CE {
				t.Fatalf("over %v: %v, ICRC valid: %v, %v", ip, err, parsed.ICRCValid(), parsed.ECN())
			}
			r.reset()
			r.sw().Cnm = 1
			ack := make([]byte, wire.AckLen+ip.Extra())
			wire.PutAck(ack, p.header(t), wire.SyndromeAck, 1, 1)
			if got := r.enter(0, ack); got.Verdict != ebpf.VerdictForward || got.Flow != 0 || got.Egress != out[i].Egress {
				t.Fatalf("over %v an ACK: verdict %d, flow %d, port %d", ip, got.Verdict, got.Flow, got.Egress)
			}
		}
		if out[0].Egress != out[1].Egress {
			t.Fatalf("source port %d: port %d over IPv4, %d over IPv6", sport, out[0].Egress, out[1].Egress)
		}
		if hops := out[1].data[21]; hops != 63 {
			t.Fatalf("hop limit %d", hops)
		}
		ports[out[1].Egress] = true
	}
	if len(ports) != 3 {
		t.Errorf("64 flows by %d ports", len(ports))
	}
}

// Of a frame that ends before the opcode nothing is taken for one, whatever was in the buffer before.
func TestShortRoCEOverIPv6(t *testing.T) {
	r := newBurstRig(t, 250_000)
	whole := roce{in: 0, dst: 1, priority: lossless, ip: wire.V6}.frame(t)
	for _, n := range []int{ebpf.FrameMin, 62, 63} {
		r.enter(0, whole)
		if got := r.enter(0, whole[:n:n]); got.Verdict != ebpf.VerdictForward || (got.Flow != 0) != (n == 63) {
			t.Errorf("%d bytes: verdict %d, flow table entry %d", n, got.Verdict, got.Flow)
		}
	}
}

// A host's NIC gets RoCE over IPv6, its programs what else there is.
func TestHostPortOverIPv6(t *testing.T) {
	r := newRig(t)
	data := roce{in: rigHostPort, dst: 0, priority: lossless, ip: wire.V6}.frame(t)
	edit := func(at int, b byte) []byte { f := slices.Clone(data); f[at] = b; return f }
	for _, c := range []struct {
		name    string
		frame   []byte
		verdict uint32
	}{
		{"data", data, ebpf.VerdictHost},
		{"hop limit does not matter", edit(21, 1), ebpf.VerdictHost},
		{"another UDP port", edit(57, 0), ebpf.VerdictStack},
		{"TCP", edit(20, 6), ebpf.VerdictStack},
		{"behind an extension header", edit(20, 0), ebpf.VerdictStack},
		{"version", edit(14, 0x45), ebpf.VerdictStack},
	} {
		if got := r.enter(rigHostPort, c.frame); got.Verdict != c.verdict || !bytes.Equal(got.data, c.frame) {
			t.Errorf("%s: verdict %d, want %d", c.name, got.Verdict, c.verdict)
		}
	}
}

// TestTelemetryOverIPv6: telemetry follows the BTH over IPv6 too, with the same content.
func TestTelemetryOverIPv6(t *testing.T) {
	r := newRig(t)
	for hops := range 6 {
		for _, opcode := range []byte{0xc7, 0xca, 0xe7, 0xd1, 0x81, 0x07} {
			var slots [2][]byte
			for i, ip := range []wire.Version{wire.V4, wire.V6} {
				r.reset()
				r.sw().IntOn = 1
				r.State.Pass.Departed = 1_234_000
				payload := mtu - ip.Extra() // so that the port counts the same bytes
				frame := withTelemetry(roce{in: 0, dst: 1, priority: lossless, payload: payload, ip: ip}.frame(t), opcode, hops,
					0x0f0)
				got := r.leave(1, 8000, ebpf.BurstNone, frame)
				at := intAt + ip.Extra()
				slots[i] = got[at : at+intLen]
				if !bytes.Equal(got[:at], frame[:at]) || !bytes.Equal(got[at+intLen:], frame[at+intLen:]) {
					t.Fatalf("over %v, opcode %#x: left as\n%x, was\n%x", ip, opcode, got, frame)
				}
				if cut := frame[:at+intLen-1]; !bytes.Equal(r.leave(1, 8000, ebpf.BurstNone, cut), cut) {
					t.Fatalf("over %v a frame too short for it was stamped", ip)
				}
			}
			if !bytes.Equal(slots[0], slots[1]) {
				t.Errorf("opcode %#x, %d hops: over IPv4\n%x, over IPv6\n%x", opcode, hops, slots[0], slots[1])
			}
		}
	}
}

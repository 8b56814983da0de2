//go:build linux

package ebpf_test

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/wire"
)

// routed returns a packet as forwarded by a switch: with new MACs, TTL one less, and a recomputed checksum, and no
// other changes.
func routed(frame []byte, egress int) []byte {
	f := slices.Clone(frame)
	eth := wire.Ethernet(f)
	eth.SetDst(peerMAC(egress))
	eth.SetSrc(portMAC(egress))
	ip := ipHeader(f)
	ip[8]--
	ip.UpdateChecksum()
	return f
}

func TestForwardAlongTheRoute(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		name             string
		in, host, egress int
		frame            []byte
		priority         uint32
	}{
		{"data", 4, 1, 1, roce{in: 4, dst: 1, priority: 3, ecn: wire.ECT0}.frame(t), 3},
		{"back out of the port it came in by", 1, 1, 1, roce{in: 1, dst: 1, priority: 3, ecn: wire.ECT0}.frame(t), 3},
		{"another priority", 4, 2, 2, roce{in: 4, dst: 2, priority: 5}.frame(t), 5},
		{"least frame", 4, 6, 5, roce{in: 4, dst: 6, payload: 1}.frame(t), 0},
		{"greatest frame", 4, 6, 5, roce{in: 4, dst: 6, payload: 3000}.frame(t), 0},
		{"TCP", 0, 1, 1, plainIP(0, 1, 6, 64, 0xff), 7},
		{"ICMP", 0, 1, 1, plainIP(0, 1, 1, 2, 0x40), 2},
		{"the second switch has routes of its own", 8, 1, 7, roce{in: 8, dst: 1, priority: 3}.frame(t), 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			got := r.enter(c.in, c.frame)
			if got.Verdict != ebpf.VerdictForward || got.Egress != uint32(c.egress) || got.OutPriority != c.priority {
				t.Fatalf("verdict %d, port %d, priority %d; want forward, %d, %d",
					got.Verdict, got.Egress, got.OutPriority, c.egress, c.priority)
			}
			if want := routed(c.frame, c.egress); !bytes.Equal(got.data, want) {
				t.Errorf("forwarded\n%x, want\n%x", got.data, want)
			}
			if got.Want != 0 || got.Flow != 0 || got.Changed != 0 {
				t.Errorf("want %d, flow %d, changed %d of a plain packet", got.Want, got.Flow, got.Changed)
			}
		})
	}
}

func TestForwardDrops(t *testing.T) {
	r := newRig(t)
	edit := func(f func(frame []byte)) []byte {
		frame := roce{in: 0, dst: 1, priority: lossless}.frame(t)
		f(frame)
		ipHeader(frame)[10], ipHeader(frame)[11] = 0, 0
		return frame
	}
	for _, c := range []struct {
		name   string
		frame  []byte
		reason uint32
	}{
		{"TTL 1", edit(func(f []byte) { ipHeader(f)[8] = 1 }), ebpf.ReasonTTL},
		{"TTL 0", edit(func(f []byte) { ipHeader(f)[8] = 0 }), ebpf.ReasonTTL},
		{"host without a route", edit(func(f []byte) { f[33] = noRoute + 1 }), ebpf.ReasonNoRoute},
		{"first address past the hosts", edit(func(f []byte) { f[33] = rigHosts + 1 }), ebpf.ReasonNoRoute},
		{"10.0.0.0 is nobody", edit(func(f []byte) { f[33] = 0 }), ebpf.ReasonNoRoute},
		{"10.1.0.1 is host 65536", edit(func(f []byte) { f[31] = 1 }), ebpf.ReasonNoRoute},
		{"not ours", edit(func(f []byte) { f[30] = 11 }), ebpf.ReasonNoRoute},
		{"wrong destination MAC", edit(func(f []byte) { f[5] ^= 0x80 }), ebpf.ReasonMalformed},
		{"no bridge forwards it", edit(func(f []byte) { copy(f, "\x01\x80\xc2\x00\x00\x0e") }), ebpf.ReasonMalformed},
		{"a CNM for all", edit(func(f []byte) {
			copy(f, "\xff\xff\xff\xff\xff\xff")
			wire.Ethernet(f).SetType(wire.EtherTypeCNM)
		}), ebpf.ReasonMalformed},
		{"IPv6 that is not", edit(func(f []byte) { wire.Ethernet(f).SetType(wire.EtherTypeIPv6) }), ebpf.ReasonMalformed},
		{"ARP for another", edit(func(f []byte) {
			f[5] ^= 0x80
			wire.Ethernet(f).SetType(wire.EtherTypeARP)
		}), ebpf.ReasonMalformed},
		{"VLAN", edit(func(f []byte) { wire.Ethernet(f).SetType(0x8100) }), ebpf.ReasonMalformed},
		{"IP options", edit(func(f []byte) { f[14] = 0x46 }), ebpf.ReasonMalformed},
		{"IP version 6", edit(func(f []byte) { f[14] = 0x65 }), ebpf.ReasonMalformed},
		{"header too short", edit(func(f []byte) { f[14] = 0x44 }), ebpf.ReasonMalformed},
		{"pause of the whole link", edit(func(f []byte) {
			wire.Ethernet(f).SetType(wire.EtherTypeMACControl)
			f[14], f[15] = 0, 1
		}), ebpf.ReasonMalformed},
		{"PFC for another address", pfcTo(wire.MAC{0x01, 0x80, 0xc2, 0x00, 0x00, 0x00}), ebpf.ReasonMalformed},
		{"PFC for this port alone", pfcTo(portMAC(0)), ebpf.ReasonMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			before := r.port(0).copy()
			got := r.enter(0, c.frame)
			if got.Verdict != ebpf.VerdictDrop || got.Reason != c.reason || got.Want != 0 {
				t.Fatalf("verdict %d, reason %d, want %d; want a drop for %d", got.Verdict, got.Reason, got.Want, c.reason)
			}
			if !bytes.Equal(got.data, c.frame) {
				t.Errorf("a dropped frame was changed:\n%x\n%x", got.data, c.frame)
			}
			before.Dropped[c.reason]++
			before.RxFrames++
			before.RxBytes += uint64(len(c.frame))
			if after := r.port(0).copy(); after != before {
				t.Errorf("port\n%+v, want\n%+v", after, before)
			}
			if r.sw().Used != 0 {
				t.Errorf("%d bytes of a dropped frame on the account", r.sw().Used)
			}
		})
	}
}

// murmur returns the choice among equal-cost ports, written down from the finaliser of MurmurHash3.
func murmur(seed uint32, src, dst wire.Addr, sport, dport uint16, protocol uint8) uint32 {
	round := func(h uint32, shift int, factor uint32) uint32 { return (h ^ h>>shift) * factor }
	h := round(seed^binary.BigEndian.Uint32(src[:]), 16, 0x85ebca6b)
	h = round(h^binary.BigEndian.Uint32(dst[:]), 13, 0xc2b2ae35)
	h = round(h^(uint32(sport)<<16+uint32(dport)), 16, 0x85ebca6b)
	h = round(h^uint32(protocol), 13, 0xc2b2ae35)
	return h ^ h>>16
}

func TestECMP(t *testing.T) {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for host, group := range rigGroups {
		if len(group) < 2 {
			continue
		}
		used := map[uint32]int{}
		const flows = 600
		for range flows {
			r.sw().EcmpSeed = rng.Uint32()
			p := roce{in: 5, src: rng.IntN(rigHosts), dst: host, sport: uint16(rng.Uint32())}
			got := r.enter(5, p.frame(t))
			h := murmur(r.sw().EcmpSeed, hostIP(p.src), hostIP(host), p.sport|0xc000, 4791, 17)
			want := uint32(group[h%uint32(len(group))])
			if got.Verdict != ebpf.VerdictForward || got.Egress != want {
				t.Fatalf("%+v: verdict %d, port %d; want port %d of %v", p, got.Verdict, got.Egress, want, group)
			}
			if !bytes.Equal(got.data[:6], r.port(int(want)).PeerMac[:]) {
				t.Fatalf("for %x, want the peer of port %d", got.data[:6], want)
			}
			used[want]++
		}
		// Each of n ports gets flows/n of them; 5 standard deviations are less than 5*sqrt(flows/n).
		for _, p := range group {
			mean := float64(flows) / float64(len(group))
			if d := float64(used[uint32(p)]) - mean; d*d > 25*mean {
				t.Errorf("port %d of %v got %d of %d flows", p, group, used[uint32(p)], flows)
			}
		}
	}
}

// murmur3 returns MurmurHash3 (x86, 32 bits) of words.
func murmur3(seed uint32, words ...uint32) uint32 {
	h := seed
	for _, k := range words {
		h = bits.RotateLeft32(h^bits.RotateLeft32(k*0xcc9e2d51, 15)*0x1b873593, 13)*5 + 0xe6546b64
	}
	h ^= uint32(4 * len(words))
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// HPCC's simulator hashes the addresses that it knows hosts by, and the ports that a flow has there: those of a RoCE
// packet are its source port and its identification, any other's its own.
func TestHPCCHash(t *testing.T) {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(8, 9))
	for i := range 2000 {
		r.sw().Choice, r.sw().EcmpSeed = ebpf.ChoiceHPCC, rng.Uint32()
		for host := range r.State.Hosts {
			r.State.Hosts[host].Address = rng.Uint32()
		}
		frame := roce{in: 5, src: 1, dst: 4, sport: 1, priority: lossless}.frame(t)
		ip := ipHeader(frame)
		sport, dport, id := uint16(rng.Uint32()), uint16(rng.Uint32()), uint16(rng.Uint32())
		source := r.State.Hosts[1].Address
		if i%5 == 0 { // a program's, from nobody's address
			source = rng.Uint32()&0xffff | 10<<24 | 0xff<<16
			binary.BigEndian.PutUint32(ip[12:], source)
		}
		if i%2 == 0 {
			dport = wire.PortRoCE
		}
		binary.BigEndian.PutUint16(ip[4:], id)
		binary.BigEndian.PutUint16(ip[20:], sport)
		binary.BigEndian.PutUint16(ip[22:], dport)
		there := dport
		switch {
		case i%3 == 0:
			ip[9] = 6 // TCP
		case dport == wire.PortRoCE:
			there = id
		}
		ip.UpdateChecksum()
		h := murmur3(r.sw().EcmpSeed, source, r.State.Hosts[4].Address, uint32(sport)|uint32(there)<<16)
		if got, want := r.enter(5, frame), uint32(rigGroups[4][h%3]); got.Verdict != ebpf.VerdictForward ||
			got.Egress != want {
			t.Fatalf("protocol %d, ports %d and %d, identification %d: verdict %d, port %d; want port %d", ip[9], sport, dport,
				id, got.Verdict, got.Egress, want)
		}
	}
}

// A fragment has no ports that can be trusted: all fragments of a packet must take one path.
func TestFragmentsShareAPath(t *testing.T) {
	r := newRig(t)
	for _, flags := range []uint16{0x2000, 0x2001, 0x0001, 0x1fff} {
		for sport := range uint16(40) {
			frame := roce{in: 0, dst: 4, sport: sport, priority: lossless}.frame(t)
			ip := ipHeader(frame)
			binary.BigEndian.PutUint16(ip[6:], flags)
			ip.UpdateChecksum()
			h := murmur(r.sw().EcmpSeed, hostIP(0), hostIP(4), 0, 0, 17)
			got := r.enter(0, frame)
			if want := uint32(rigGroups[4][h%3]); got.Verdict != ebpf.VerdictForward || got.Egress != want {
				t.Fatalf("fragment %#x: verdict %d, port %d; want port %d", flags, got.Verdict, got.Egress, want)
			}
		}
	}
	// DF and the reserved bit make no fragment, and neither TCP nor another protocol is left out.
	for i := range 4 * 20 {
		protocol := []uint8{6, 17, 1, 47}[i%4]
		frame := plainIP(0, 4, protocol, 64, 0)
		ip := ipHeader(frame)
		ip[6], ip[20] = 0xc0, byte(i)
		ip.UpdateChecksum()
		sport, dport := uint16(i)<<8|1, uint16(0x0203)
		if protocol != 6 && protocol != 17 {
			sport, dport = 0, 0
		}
		h := murmur(r.sw().EcmpSeed, hostIP(0), hostIP(4), sport, dport, protocol)
		if got := r.enter(0, frame); got.Egress != uint32(rigGroups[4][h%3]) {
			t.Errorf("protocol %d: port %d, want %d", protocol, got.Egress, rigGroups[4][h%3])
		}
	}
}

// Any IP header: the checksum is valid after the TTL and, at enqueue, the ECN field were rewritten.
func TestChecksumStaysValid(t *testing.T) {
	r := newRig(t)
	rapid.Check(t, func(t *rapid.T) {
		r.reset()
		frame := roce{in: 0, dst: 1, priority: lossless}.frame(r.t)
		ip := ipHeader(frame)
		copy(ip[1:10], rapid.SliceOfN(rapid.Byte(), 9, 9).Draw(t, "tos to protocol"))
		copy(ip[12:16], rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "source"))
		ip[8] = max(ip[8], 2)
		ip.UpdateChecksum()
		step := rapid.Bool().Draw(t, "mark")
		if step {
			r.sw().EcnMode, r.sw().EcnAtEnqueue, r.sw().Profiles[0].EcnKmax, r.sw().EcnPriorities = ebpf.ECNStep, 1, 0, 0xff
		}
		want := routed(frame, 1)
		if step && ip.ECN() != wire.NotECT {
			ipHeader(want)[1] |= 3
			ipHeader(want).UpdateChecksum()
		}
		got := r.enter(0, frame)
		if !ipHeader(got.data).ChecksumValid() || !bytes.Equal(got.data, want) {
			t.Fatalf("forwarded\n%x, want\n%x", got.data[:64], want[:64])
		}
	})
}

// Every checksum that a header can have, those with two carries to fold among them: the identification runs through all
// its values.
func TestChecksumOfEveryValue(t *testing.T) {
	r := newRig(t)
	r.sw().EcnMode, r.sw().EcnAtEnqueue, r.sw().Profiles[0].EcnKmax = ebpf.ECNStep, 1, 0
	for _, ecn := range []wire.ECN{wire.ECT1, wire.ECT0} {
		frame := roce{in: 0, dst: 1, priority: lossless, ecn: ecn, payload: 1}.frame(t)
		ip := ipHeader(frame)
		for id := range 1 << 16 {
			binary.BigEndian.PutUint16(ip[4:], uint16(id))
			ip.UpdateChecksum()
			if got := ipHeader(r.enter(0, frame).data); !got.ChecksumValid() || got.ECN() != wire.CE ||
				got.Checksum() == 0xffff {
				t.Fatalf("%v, checksum %#04x became %#04x: %x", ecn, ip.Checksum(), got.Checksum(), got[:20])
			}
		}
	}
}

// The rewrites leave the ICRC alone: it masks what switches rewrite.
func TestICRCSurvives(t *testing.T) {
	r := newRig(t)
	r.sw().EcnMode, r.sw().EcnAtEnqueue, r.sw().Profiles[0].EcnKmax = ebpf.ECNStep, 1, 0
	_, got := r.data(0, 1, 1)
	var p wire.Packet
	if err := wire.Parse(got.data, &p); err != nil || !p.ICRCValid() || p.IPv4().ECN() != wire.CE || p.IPv4().TTL() != 63 {
		t.Errorf("%v; ICRC valid %v, %v, TTL %d", err, p.ICRCValid(), p.IPv4().ECN(), p.IPv4().TTL())
	}
}

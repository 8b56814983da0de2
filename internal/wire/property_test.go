package wire

import (
	"bytes"
	"hash/crc32"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var dataOps = []Opcode{
	OpSendFirst, OpSendMiddle, OpSendLast, OpSendOnly, OpWriteFirst, OpWriteMiddle, OpWriteLast, OpWriteOnly,
	OpSendFirst.WithINT(), OpSendOnly.WithINT(), OpWriteFirst.WithINT(), OpWriteMiddle.WithINT(), OpWriteOnly.WithINT(),
	OpSendLast.WithTimestamp(), OpWriteFirst.WithTimestamp(), OpWriteMiddle.WithTimestamp(), OpWriteOnly.WithTimestamp(),
	OpWriteFirst.WithDemand(), OpWriteMiddle.WithDemand(), OpWriteLast.WithDemand(), OpWriteOnly.WithDemand(),
}

var (
	anyAddr  = rapid.Custom(func(t *rapid.T) Addr { return Addr(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "addr")) })
	anyMAC   = rapid.Custom(func(t *rapid.T) MAC { return MAC(rapid.SliceOfN(rapid.Byte(), 6, 6).Draw(t, "mac")) })
	any24    = rapid.Uint32Range(0, PSNMask)
	anyMTU   = rapid.SampledFrom([]int{0, 256, 999, 1000, 1001, 1002, 1024, MaxPayload})
	anyParam = rapid.Custom(func(t *rapid.T) FlowParams {
		return FlowParams{
			SrcMAC: anyMAC.Draw(t, "src"), DstMAC: anyMAC.Draw(t, "dst"), Version: Version(rapid.Uint8Range(0, 1).Draw(t, "IP")),
			Src: anyAddr.Draw(t, "src"), Dst: anyAddr.Draw(t, "dst"),
			SrcPort: rapid.Uint16Min(MinEntropyPort).Draw(t, "port"),
			DestQP:  any24.Draw(t, "qp"), TOS: rapid.Byte().Draw(t, "tos"),
			RKey: rapid.Uint32().Draw(t, "rkey"), MTU: anyMTU.Draw(t, "mtu"),
		}
	})
)

// parsed parses a frame that must be sound: right checksums, and the flow's addresses.
func parsed(t *rapid.T, frame []byte, kind Kind, fp FlowParams) *Packet {
	p := new(Packet)
	if err := Parse(frame, p); err != nil {
		t.Fatalf("%x: %v", frame, err)
	}
	if p.Kind != kind {
		t.Fatalf("kind %v, want %v", p.Kind, kind)
	}
	if !p.ICRCValid() {
		t.Fatal("wrong ICRC")
	}
	if p.Src != fp.Src || p.Dst != fp.Dst || p.SrcPort != fp.SrcPort || p.DestQP != fp.DestQP || p.TOS != fp.TOS ||
		p.Ethernet().Src() != fp.SrcMAC || p.Ethernet().Dst() != fp.DstMAC {
		t.Fatalf("%+v does not come from %+v", p, fp)
	}
	if u := p.UDP(); u.Length() != len(u) || u.Checksum() != 0 || u.DstPort() != PortRoCE {
		t.Fatalf("UDP %x", u[:UDPLen])
	}
	if fp.Version == V6 {
		if ip := IPv6(frame[EthernetLen:]); p.IPv4() != nil || ip.Version() != 6 || ip.HopLimit() != DefaultTTL ||
			ip.Src() != Map(fp.Src) || ip.Dst() != Map(fp.Dst) {
			t.Fatalf("IPv6 %x", ip[:IPv6Len])
		}
		return p
	}
	if !p.IPv4().ChecksumValid() || p.IPv4().TTL() != DefaultTTL || p.IPv4().ID() != 0 || p.IPv4().Fragmented() {
		t.Fatalf("IP %x", p.IPv4()[:IPv4Len])
	}
	return p
}

func TestDataRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fp := anyParam.Draw(t, "flow")
		h, err := NewFlowHeader(fp)
		if err != nil {
			t.Fatal(err)
		}
		buf := dirty()
		// Several packets from one header into one buffer: nothing of one may show in the next.
		for range rapid.IntRange(1, 4).Draw(t, "packets") {
			if rapid.Bool().Draw(t, "remark") {
				fp.TOS = rapid.Byte().Draw(t, "new tos")
				h.SetTOS(fp.TOS)
			}
			va, dma := rapid.Uint64().Draw(t, "va"), rapid.Uint32().Draw(t, "dma")
			h.SetMessage(va, dma)
			timestamp := rapid.Uint64().Draw(t, "timestamp")
			h.SetTimestamp(timestamp)
			demand := rapid.Uint64().Draw(t, "demand")
			h.SetDemand(demand)
			op, psn := rapid.SampledFrom(dataOps).Draw(t, "op"), any24.Draw(t, "psn")
			payload := rapid.OneOf(rapid.IntRange(0, MaxPayload), rapid.Just(fp.MTU)).Draw(t, "payload")
			ack := rapid.Bool().Draw(t, "ack")

			n := PutData(buf, h, op, psn, payload, ack, true)
			if n != fp.Version.DataLen(op, payload) {
				t.Fatalf("length %d, want %d", n, fp.Version.DataLen(op, payload))
			}
			p := parsed(t, buf[:n], KindData, fp)
			if p.Opcode != op || p.PSN != psn || p.AckReq != ack || p.Payload != payload || p.FECN || p.BECN {
				t.Fatalf("%+v", p)
			}
			if !bytes.Equal(p.Data(), pattern[:payload]) {
				t.Fatalf("payload %x", p.Data())
			}
			if r := p.RETH(); (r != nil) != op.HasRETH() {
				t.Fatalf("%v: RETH %x", op, r)
			} else if r != nil && (r.VA() != va || r.RKey() != fp.RKey || r.DMALen() != dma) {
				t.Fatalf("RETH %x", r)
			}
			if (p.INT() != nil) != op.HasINT() || bytes.ContainsFunc(p.INT(), func(r rune) bool { return r != 0 }) {
				t.Fatalf("%v: telemetry %x", op, p.INT())
			}
			if at, ok := p.Timestamp(); ok != op.HasTimestamp() || ok && at != timestamp {
				t.Fatalf("%v: timestamp %d, %t, want %d", op, at, ok, timestamp)
			}
			if sum, ok := p.Demand(); ok != op.HasDemand() || ok && sum != demand {
				t.Fatalf("%v: demand %d, %t, want %d", op, sum, ok, demand)
			}
			// The same packet again without filling gives the same bytes.
			first := bytes.Clone(buf[:n])
			if n = PutData(buf, h, op, psn, payload, ack, false); !bytes.Equal(buf[:n], first) {
				t.Fatal("fill and no fill differ")
			}
		}
	})
}

func TestControlRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fp := anyParam.Draw(t, "flow")
		h, err := NewFlowHeader(fp)
		if err != nil {
			t.Fatal(err)
		}
		buf := dirty()
		psn, msn := any24.Draw(t, "psn"), any24.Draw(t, "msn")
		for kind, syndromes := range map[Kind][]uint8{
			KindAck: {SyndromeAck, 0}, KindNak: {SyndromeNakSequence, 0x61, SyndromeRNR | 5},
		} {
			syndrome := rapid.SampledFrom(syndromes).Draw(t, "syndrome")
			p := parsed(t, buf[:PutAck(buf, h, syndrome, psn, msn)], kind, fp)
			if p.Syndrome != syndrome || p.PSN != psn || p.MSN != msn || p.AETH().MSN() != msn || p.INT() != nil {
				t.Fatalf("%+v", p)
			}
			telemetry := rapid.SliceOfN(rapid.Byte(), INTLen, INTLen).Draw(t, "telemetry")
			p = parsed(t, buf[:PutAckINT(buf, h, syndrome, psn, msn, telemetry)], kind, fp)
			if p.Syndrome != syndrome || p.PSN != psn || p.MSN != msn || p.AETH().MSN() != msn ||
				!bytes.Equal(p.INT(), telemetry) {
				t.Fatalf("%+v", p)
			}
		}
		timestamp := rapid.Uint64().Draw(t, "timestamp")
		stamped := parsed(t, buf[:PutAckTimestamp(buf, h, SyndromeAck, psn, msn, timestamp)], KindAck, fp)
		if at, ok := stamped.Timestamp(); !ok || at != timestamp || stamped.PSN != psn || stamped.MSN != msn ||
			stamped.INT() != nil {
			t.Fatalf("%d, %t: %+v", at, ok, stamped)
		}
		report := PCNReport{rapid.Uint32().Draw(t, "rate"), rapid.Bool().Draw(t, "congested"), rapid.Uint16().Draw(t, "n")}
		reserved := report.Bytes()
		flags := rapid.SampledFrom([]CNPFlags{0, CNPFECN, CNPBECN, CNPFECN | CNPBECN}).Draw(t, "flags")
		p := parsed(t, buf[:PutCNP(buf, h, flags, &reserved)], KindCNP, fp)
		if p.FECN != (flags&CNPFECN != 0) || p.BECN != (flags&CNPBECN != 0) || ParsePCNReport(p.Reserved()) != report {
			t.Fatalf("%+v", p)
		}
	})
}

// TestRewriteInFlight marks and routes a frame like switches: the ICRC must stay valid, and the IP checksum must equal
// a full computation.
func TestRewriteInFlight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fp := anyParam.Draw(t, "flow")
		h, err := NewFlowHeader(fp)
		if err != nil {
			t.Fatal(err)
		}
		buf := dirty()
		op := rapid.SampledFrom([]Opcode{OpWriteOnly, OpWriteOnly.WithINT()}).Draw(t, "op")
		frame := buf[:PutData(buf, h, op, any24.Draw(t, "psn"), rapid.IntRange(0, 100).Draw(t, "n"), true, true)]
		ip, ip6 := IPv4(frame[EthernetLen:]), IPv6(frame[EthernetLen:])
		var p Packet
		if err := Parse(frame, &p); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 6).Draw(t, "hops") {
			ecn := ECN(rapid.Uint8Range(0, 3).Draw(t, "ecn"))
			ttl := rapid.Byte().Draw(t, "ttl")
			Ethernet(frame).SetDst(anyMAC.Draw(t, "dst"))
			Ethernet(frame).SetSrc(anyMAC.Draw(t, "src"))
			if op.HasINT() {
				p.INT().Stamp(rapid.Uint16().Draw(t, "switch"), ParseINTSlot(rapid.Uint64().Draw(t, "slot")))
			}
			if fp.Version == V6 {
				ip6.SetECN(ecn)
				ip6.SetHopLimit(ttl)
				if ip6.ECN() != ecn || ECNOf(frame) != ecn || ip6.TrafficClass()>>2 != fp.TOS>>2 || ip6.Version() != 6 ||
					!VerifyICRC(frame) {
					t.Fatalf("a rewrite gives %x", frame)
				}
				continue
			}
			ip.SetECN(ecn)
			ip.SetTTL(ttl)
			if ip.ECN() != ecn || ip.TTL() != ttl || ip.DSCP() != fp.TOS>>2 {
				t.Fatalf("TOS %02x TTL %d", ip.TOS(), ip.TTL())
			}
			if !VerifyICRC(frame) {
				t.Fatal("a rewrite broke the ICRC")
			}
			got := ip.Checksum()
			if ip.UpdateChecksum(); got != ip.Checksum() {
				t.Fatalf("checksum %04x, computed in full %04x", got, ip.Checksum())
			}
		}
	})
}

func TestPFCRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src, enable := anyMAC.Draw(t, "src"), rapid.Byte().Draw(t, "enable")
		times := [8]uint16(rapid.SliceOfN(rapid.Uint16(), 8, 8).Draw(t, "times"))
		buf := dirty()
		frame := buf[:PutPFC(buf, src, enable, &times)]
		var p Packet
		if err := Parse(frame, &p); err != nil || p.Kind != KindPFC {
			t.Fatalf("%v %v", p.Kind, err)
		}
		if p.PFC().ClassEnable() != enable || p.Ethernet().Src() != src {
			t.Fatalf("%x", frame)
		}
		for class, want := range times {
			if enable>>class&1 == 0 {
				want = 0
			}
			if got := p.PFC().Time(uint8(class)); got != want {
				t.Fatalf("class %d: %d, want %d", class, got, want)
			}
		}
	})
}

func TestCNMRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id, n, rate := rapid.Uint16().Draw(t, "id"), rapid.IntRange(0, 100_000).Draw(t, "n"), rapid.Uint32().Draw(t, "rate")
		buf := dirty()
		var p Packet
		if err := Parse(buf[:PutCNM(buf, hostMAC, switchMAC, id, n, rate)], &p); err != nil || p.Kind != KindCNM {
			t.Fatalf("%v %v", p.Kind, err)
		}
		c := p.CNM()
		if c.FlowID() != id || c.FlowIDLow() != byte(id) || c.Flows() != min(n, 65535) ||
			c.FlowsShort() != byte(min(n, 255)) ||
			c.RateMbps() != rate {
			t.Fatalf("%x", c)
		}
	})
}

// TestCRC compares our CRC-32 and its concatenation with the library's.
func TestCRC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOf(rapid.Byte()).Draw(t, "a"), rapid.SliceOf(rapid.Byte()).Draw(t, "b")
		whole := crc32.ChecksumIEEE(slices.Concat(a, b))
		if got := crcShort(crcShort(0, a), b); got != whole {
			t.Fatalf("crcShort %08x, want %08x", got, whole)
		}
		if got := newCRCShift(len(b)).combine(crc32.ChecksumIEEE(a), crc32.ChecksumIEEE(b)); got != whole {
			t.Fatalf("combine %08x, want %08x", got, whole)
		}
	})
}

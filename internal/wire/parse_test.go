package wire

import (
	"errors"
	"testing"
)

// put returns a buffer's frame, of its own.
func put(f func(b []byte) int) []byte {
	b := dirty()
	return b[:f(b):f(b)]
}

func sampleFrames(t testing.TB) map[string][]byte {
	data, back := newHeader(t, exampleData), newHeader(t, exampleBack)
	data6, back6 := newHeader(t, over6(exampleData)), newHeader(t, over6(exampleBack))
	return map[string][]byte{
		"data6": put(func(b []byte) int { return PutData(b, data6, OpWriteFirst, 7, 1000, false, true) }),
		"int6":  put(func(b []byte) int { return PutData(b, data6, OpWriteFirst.WithINT(), 7, 1000, false, true) }),
		"aint6": put(func(b []byte) int { return PutAckINT(b, back6, SyndromeAck, 7, 1, make(INT, INTLen)) }),
		"ack6":  put(func(b []byte) int { return PutAck(b, back6, SyndromeAck, 7, 1) }),
		"cnp6":  put(func(b []byte) int { return PutCNP(b, back6, CNPBECN, nil) }),
		"data":  put(func(b []byte) int { return PutData(b, data, OpWriteFirst, 7, 1000, false, true) }),
		"last":  put(func(b []byte) int { return PutData(b, data, OpWriteLast, 8, 33, true, true) }),
		"ack":   put(func(b []byte) int { return PutAck(b, back, SyndromeAck, 7, 1) }),
		"nak":   put(func(b []byte) int { return PutAck(b, back, SyndromeNakSequence, 7, 1) }),
		"int":   put(func(b []byte) int { return PutData(b, data, OpWriteFirst.WithINT(), 7, 1000, false, true) }),
		"aint":  put(func(b []byte) int { return PutAckINT(b, back, SyndromeAck, 7, 1, make(INT, INTLen)) }),
		"cnp":   put(func(b []byte) int { return PutCNP(b, back, CNPBECN, nil) }),
		"cnm":   put(func(b []byte) int { return PutCNM(b, hostMAC, switchMAC, 1, 2, 3) }),
		"pfc":   put(func(b []byte) int { return PutPause(b, switchMAC, 3, PauseMax) }),
	}
}

// TestParseTruncated cuts each frame at every length: all cuts that lose something of the content are errors.
func TestParseTruncated(t *testing.T) {
	content := map[string]int{"cnm": cnmEnd, "pfc": pfcEnd}
	for name, frame := range sampleFrames(t) {
		need, ok := content[name]
		if !ok {
			need = len(frame)
		}
		for n := range len(frame) + 1 {
			var p Packet
			err := Parse(frame[:n:n], &p)
			if n < need && !errors.Is(err, ErrTruncated) || n >= need && err != nil {
				t.Errorf("%s cut to %d of %d: %v", name, n, len(frame), err)
			}
		}
	}
}

// TestParseEdges parses frames that are almost pausenet's.
func TestParseEdges(t *testing.T) {
	const ip, udp, bth = EthernetLen, EthernetLen + IPv4Len, EthernetLen + IPv4Len + UDPLen
	set := func(off int, b ...byte) func([]byte) []byte {
		return func(f []byte) []byte { copy(f[off:], b); return f }
	}
	for _, c := range []struct {
		name, frame string
		change      func([]byte) []byte
		kind        Kind
		err         error
	}{
		{"ARP", "ack", set(12, 0x08, 0x06), KindOther, nil},
		{"VLAN tag", "ack", set(12, 0x81, 0x00), KindOther, nil},
		{"TCP", "ack", set(ip+ipProtocol, 6), KindOther, nil},
		{"another port", "ack", set(udp+udpDstPort, 0, 53), KindOther, nil},
		{"fragment", "ack", set(ip+ipFragment, 0x20, 0), KindOther, nil},
		{"IP options", "ack", set(ip, 0x46), KindOther, nil},
		{"IP version", "ack", set(ip, 0x65), KindOther, ErrIPHeader},
		{"IHL too small", "ack", set(ip, 0x44), KindOther, ErrIPHeader},
		{"total length below IHL", "ack", set(ip+ipTotalLen, 0, 19), KindOther, ErrIPHeader},
		{"total length without UDP", "ack", set(ip+ipTotalLen, 0, 27), KindOther, ErrTruncated},
		{"UDP length", "ack", set(udp+udpLength, 0, 27), KindOther, ErrLength},
		{"TVer", "ack", set(bth+bthFlags, 0x41), KindOther, ErrBTHVersion},
		{"unused opcode", "ack", set(bth, 0x16), KindOther, nil},
		{"reserved syndrome", "ack", set(bth+BTHLen, 0x42), KindOther, nil},
		{"RNR", "ack", set(bth+BTHLen, 0x21), KindNak, nil},
		{"ACK as long as a CNP", "cnp", set(bth, byte(OpAck)), KindOther, ErrLength},
		{"CNP as short as an ACK", "ack", set(bth, byte(OpCNP)), KindOther, ErrLength},
		{"ACK too short for telemetry", "ack", set(bth, byte(OpAck.WithINT())), KindOther, ErrLength},
		{"ACK with telemetry that its opcode denies", "aint", set(bth, byte(OpAck)), KindOther, ErrLength},
		{"data too short for telemetry", "last", set(bth, byte(OpWriteOnly.WithINT()), 0x70), KindOther, ErrLength},
		{"unused opcode with telemetry", "int", set(bth, 0xcc), KindOther, nil},
		{"unused opcode with a timestamp", "int", set(bth, 0xec), KindOther, nil},
		{"ACK too short for a timestamp", "ack", set(bth, byte(OpAck.WithTimestamp())), KindOther, ErrLength},
		{
			"ACK with telemetry, and an opcode with a timestamp", "aint", set(bth, byte(OpAck.WithTimestamp())), KindOther,
			ErrLength,
		},
		{"data too short for a timestamp", "ack", set(bth, byte(OpWriteOnly.WithTimestamp())), KindOther, ErrLength},
		{"pad more than payload", "ack", set(bth, byte(OpWriteOnly), 0x70), KindOther, ErrLength},
		{"payload of 3 B", "ack", set(bth, byte(OpWriteMiddle), 0x50), KindData, nil},
		{"lengths not in words", "last", func(f []byte) []byte {
			f[ip+ipTotalLen+1]--
			f[udp+udpLength+1]--
			return f
		}, KindOther, ErrLength},
		{"trailing FCS", "data", func(f []byte) []byte { return append(f, 1, 2, 3, 4) }, KindData, nil},
		{"IPv6 flow label", "ack6", set(ip+1, 0x0f, 1, 2), KindAck, nil},
		{"IPv6 version", "ack6", set(ip, 0x45), KindOther, ErrIPHeader},
		{"IPv6 extension header", "ack6", set(ip+ip6NextHeader, 0), KindOther, nil},
		{"TCP over IPv6", "ack6", set(ip+ip6NextHeader, 6), KindOther, nil},
		{"from another network", "ack6", set(ip+ip6Src+1, 1), KindOther, nil},
		{"to another network", "ack6", set(ip+ip6Dst, 0x20), KindOther, nil},
		{"another port over IPv6", "ack6", set(ip+IPv6Len+udpDstPort, 0, 53), KindOther, nil},
		{"IPv6 without UDP", "ack6", set(ip+ip6PayloadLen, 0, 7), KindOther, ErrTruncated},
		{"UDP length over IPv6", "ack6", set(ip+IPv6Len+udpLength, 0, 27), KindOther, ErrLength},
		{"link pause", "pfc", set(14, 0, 1), KindOther, nil},
		{"PFC to a station", "pfc", set(0, 2), KindOther, nil},
	} {
		var p Packet
		err := Parse(c.change(sampleFrames(t)[c.frame]), &p)
		if p.Kind != c.kind || !errors.Is(err, c.err) {
			t.Errorf("%s: %v %v, want %v %v", c.name, p.Kind, err, c.kind, c.err)
		}
	}
}

func TestFlowParams(t *testing.T) {
	for name, change := range map[string]func(p *FlowParams){
		"QP":  func(p *FlowParams) { p.DestQP = 1 << 24 },
		"MTU": func(p *FlowParams) { p.MTU = MaxPayload + 1 },
	} {
		p := exampleData
		change(&p)
		if _, err := NewFlowHeader(p); err == nil {
			t.Errorf("a wrong %s was accepted", name)
		}
	}
	back := exampleData.Reverse(0x34, 0)
	if back.Src != ip2 || back.Dst != ip1 || back.SrcMAC != switchMAC || back.DstMAC != hostMAC || back.SrcPort != 49153 ||
		back.DestQP != 0x34 {
		t.Errorf("%+v", back)
	}
	defer func() {
		if recover() == nil {
			t.Error("PutData built an ACK")
		}
	}()
	PutData(dirty(), newHeader(t, exampleData), OpAck, 0, 0, false, true)
}

// FuzzParse: no bytes make Parse or an accessor panic, and what parses as RoCE lies inside the frame.
func FuzzParse(f *testing.F) {
	for _, frame := range sampleFrames(f) {
		f.Add(frame)
	}
	for _, frame := range pcapFrames(f) {
		f.Add(frame)
	}
	f.Add(unhex(f, connectX))
	f.Fuzz(func(t *testing.T, frame []byte) {
		frame = frame[:len(frame):len(frame)] // so that reading past the end panics
		var p Packet
		if Parse(frame, &p) != nil {
			return
		}
		e := p.Ethernet()
		_, _, _, _, _ = e.Dst(), e.Src(), e.Type(), p.ECN(), p.Priority()
		if ip := p.IPv4(); ip != nil {
			_, _, _, _ = ip.ChecksumValid(), ip.Checksum(), ip.DSCP(), ip.ECN()
			_, _, _, _ = ip.TTL(), ip.ID(), ip.Src(), ip.Dst()
			if ip.TotalLen() > len(ip) {
				t.Fatal("total length leads past the frame")
			}
		}
		if telemetry := p.INT(); telemetry != nil {
			_ = telemetry.PathID()
			for i := range telemetry.Hops() {
				_ = telemetry.Hop(i)
			}
		}
		if b := p.BTH(); b != nil {
			_, _, _, _ = p.UDP().SrcPort(), p.UDP().DstPort(), p.UDP().Checksum(), p.ICRCValid()
			if b.Opcode() != p.Opcode || b.PSN() != p.PSN || b.DestQP() != p.DestQP || b.PKey() == 0 && b.AckReq() != p.AckReq {
				t.Fatal("packet and BTH differ")
			}
		}
		if r := p.RETH(); r != nil {
			_, _, _ = r.VA(), r.RKey(), r.DMALen()
		}
		if a := p.AETH(); a != nil && (a.Syndrome() != p.Syndrome || a.MSN() != p.MSN) {
			t.Fatal("packet and AETH differ")
		}
		if r := p.Reserved(); r != nil {
			_ = ParsePCNReport(r)
		}
		if c := p.CNM(); c != nil {
			_, _, _, _, _ = c.FlowID(), c.Flows(), c.RateMbps(), c.FlowIDLow(), c.FlowsShort()
		}
		if c := p.PFC(); c != nil {
			for class := range uint8(8) {
				_ = c.Time(class)
			}
		}
		if len(p.Data()) != p.Payload {
			t.Fatal("payload length")
		}
	})
}

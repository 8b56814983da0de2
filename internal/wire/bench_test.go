package wire

import (
	"encoding/binary"
	"testing"
)

// TestNoAllocation: nothing on a packet's way allocates.
func TestNoAllocation(t *testing.T) {
	data, back := newHeader(t, exampleData), newHeader(t, exampleBack)
	buf := make([]byte, MaxFrame)
	n := PutData(buf, data, OpWriteOnly, 1, 1000, true, true)
	frame := append([]byte(nil), buf[:n]...)
	var p Packet
	if err := Parse(frame, &p); err != nil {
		t.Fatal(err)
	}
	telemetry := make(INT, INTLen)
	var reserved [CNPReservedLen]byte
	for name, f := range map[string]func(){
		"PutData":       func() { PutData(buf, data, OpWriteMiddle, 1, 1000, true, true) },
		"PutData short": func() { PutData(buf, data, OpWriteLast, 1, 77, true, true) },
		"PutAck":        func() { PutAck(buf, back, SyndromeAck, 1, 1) },
		"PutData INT":   func() { PutData(buf, data, OpWriteMiddle.WithINT(), 1, 1000, true, true) },
		"PutAckINT":     func() { PutAckINT(buf, back, SyndromeAck, 1, 1, telemetry) },
		"Stamp, Hop":    func() { clear(telemetry); telemetry.Stamp(1, INTHop{}); telemetry.Hop(0) },
		"PutCNP":        func() { reserved = PCNReport{RateMbps: 1}.Bytes(); PutCNP(buf, back, CNPBECN, &reserved) },
		"PutPause":      func() { PutPause(buf, switchMAC, 3, PauseMax) },
		"PutCNM":        func() { PutCNM(buf, hostMAC, switchMAC, 1, 2, 3) },
		"Parse":         func() { _ = Parse(frame, &p) },
		"ICRCValid":     func() { p.ICRCValid() },
		"VerifyICRC":    func() { VerifyICRC(frame) },
		"FlowID":        func() { FlowID(ip1, 49153, ip2, PortRoCE, ProtocolUDP) },
		"SetECN":        func() { p.IPv4().SetECN(CE) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func BenchmarkPutData(b *testing.B) {
	for _, mtu := range []int{1000, 4096} {
		for _, c := range []struct {
			name        string
			op          Opcode
			table, fill bool
		}{
			{"middle/table/fill", OpWriteMiddle, true, true},
			{"middle/table/nofill", OpWriteMiddle, true, false},
			{"middle/direct/fill", OpWriteMiddle, false, true},
			{"middle/direct/nofill", OpWriteMiddle, false, false},
			{"only/table/fill", OpWriteOnly, true, true},
			{"only/direct/fill", OpWriteOnly, false, true},
		} {
			b.Run(c.name+"/"+map[int]string{1000: "1000B", 4096: "4096B"}[mtu], func(b *testing.B) {
				p := exampleData
				p.MTU = 0
				if c.table {
					p.MTU = mtu
				}
				h := newHeader(b, p)
				buf := make([]byte, MaxFrame)
				PutData(buf, h, c.op, 0, mtu, true, true)
				psn := uint32(0)
				for b.Loop() {
					psn++
					PutData(buf, h, c.op, psn, mtu, true, c.fill)
				}
			})
		}
	}
}

func BenchmarkPutAck(b *testing.B) {
	h, buf, psn := newHeader(b, exampleBack), make([]byte, MaxFrame), uint32(0)
	for b.Loop() {
		psn++
		PutAck(buf, h, SyndromeAck, psn, psn)
	}
}

func BenchmarkPutCNP(b *testing.B) {
	h, buf := newHeader(b, exampleBack), make([]byte, MaxFrame)
	for b.Loop() {
		PutCNP(buf, h, CNPBECN, nil)
	}
}

func BenchmarkParse(b *testing.B) {
	for _, name := range []string{"data", "ack", "cnp", "pfc"} {
		frame := sampleFrames(b)[name]
		b.Run(name, func(b *testing.B) {
			var p Packet
			for b.Loop() {
				_ = Parse(frame, &p)
			}
		})
	}
}

func BenchmarkVerifyICRC(b *testing.B) {
	frame := sampleFrames(b)["data"]
	for b.Loop() {
		VerifyICRC(frame)
	}
}

func BenchmarkFlowID(b *testing.B) {
	src := ip1
	for b.Loop() {
		binary.BigEndian.PutUint16(src[2:], FlowID(src, 49153, ip2, PortRoCE, ProtocolUDP))
	}
}

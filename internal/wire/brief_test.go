package wire

import (
	"bytes"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestBriefIsTheFrame: a brief packet makes the headers that PutData and PutAck write, before and after switches have
// changed them, and is parsed as they are.
func TestBriefIsTheFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var addresses [8]byte
		copy(addresses[:], rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "addresses"))
		priority := rapid.Uint8Range(0, 7).Draw(t, "priority")
		mark := ECN(rapid.Uint8Range(0, 3).Draw(t, "mark"))
		params := FlowParams{
			SrcMAC: MAC{2, 0, 0, 0, 1, 1}, DstMAC: MAC{2, 0, 0, 0, 2, 2}, Src: Addr(addresses[:4]), Dst: Addr(addresses[4:]),
			SrcPort: rapid.Uint16().Draw(t, "port"), ID: rapid.Uint16().Draw(t, "id"),
			DestQP: uint32(rapid.IntRange(0, PSNMask).Draw(t, "qp")),
			TOS:    DataTOS(priority, mark), MTU: 4096, HeadersOnly: true,
		}
		h, err := NewFlowHeader(params)
		if err != nil {
			t.Fatal(err)
		}
		form, psn := h.Form(), rapid.Uint32().Draw(t, "psn")
		buf := make([]byte, MaxFrame)
		retransmitted := rapid.Bool().Draw(t, "retransmitted")
		h.SetRetransmitted(retransmitted)
		var b Brief
		var n int
		if rapid.Bool().Draw(t, "data") {
			op := rapid.SampledFrom([]Opcode{OpWriteFirst, OpWriteMiddle, OpWriteLast, OpWriteOnly}).Draw(t, "op")
			payload, ack := rapid.IntRange(1, 4096).Draw(t, "payload"), rapid.Bool().Draw(t, "ack")
			n = PutData(buf, h, op, psn&PSNMask, payload, ack, true)
			b = form.BriefData(op, psn, payload, ack)
		} else {
			msn, nak := rapid.Uint32().Draw(t, "msn"), rapid.Bool().Draw(t, "nak")
			syndrome := SyndromeAck
			if nak {
				syndrome = SyndromeNakSequence
			}
			if rapid.Bool().Draw(t, "of selective repeat") {
				syndrome |= syndromeOwn
			}
			n = PutAck(buf, h, syndrome, psn&PSNMask, msn&PSNMask)
			echo := ECN(rapid.Uint8Range(0, 3).Draw(t, "echo"))
			EchoMark(buf, echo)
			b = form.BriefAck(syndrome, psn, msn, echo)
		}
		if retransmitted {
			b = b.Retransmission()
		}
		compare := func() {
			var got [BriefLen]byte
			form.Put(&got, b, n, &params.SrcMAC, &params.DstMAC)
			if !bytes.Equal(got[:], buf[:BriefLen]) {
				t.Fatalf("headers\n%x of the brief packet,\n%x of the frame", got, buf[:BriefLen])
			}
			var want, p Packet
			if err := ParseHeaders(buf[:HeaderBytes], n, &want); err != nil {
				t.Fatal(err)
			}
			form.Parse(b, n, &p)
			if p.INT() != nil || p.IPv4() != nil || p.BTH() != nil {
				t.Fatal("a brief packet has no bytes")
			}
			if !samePacket(&p, &want) || b.IsAnswer() != IsAnswer(buf) {
				t.Fatalf("brief %+v\nframe %+v", p, want)
			}
		}
		compare()
		ip := IPv4(buf[EthernetLen:])
		ip.SetECN(ECN(rapid.Uint8Range(0, 3).Draw(t, "on the way")))
		ip.SetTTL(rapid.Uint8Range(1, DefaultTTL).Draw(t, "ttl"))
		b = b.Changed((*[BriefLen]byte)(buf))
		compare()
		if left, ok := Trimmable(buf[:BriefLen]); ok != !b.IsAnswer() || ok && left != V4.TrimmedLen(b.Opcode()) {
			t.Fatalf("of %v %d bytes can be left: %v", b.Opcode(), left, ok)
		} else if ok { // a switch has no room for it
			priority := rapid.Uint8Range(0, 7).Draw(t, "of trimmed packets")
			Trim(buf[:HeaderBytes], priority, false)
			b, n = b.Trim(priority), left
			compare()
			b = b.Changed((*[BriefLen]byte)(buf))
			compare()
		}
	})
}

func samePacket(a, b *Packet) bool {
	x, y := *a, *b // but where they are
	x.frame, y.frame, x.ip, y.ip, x.headers, y.headers = nil, nil, false, false, 0, 0
	return reflect.DeepEqual(x, y)
}

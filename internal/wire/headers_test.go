package wire

import (
	"testing"

	"pgregory.net/rapid"
)

// ParseHeaders says of the first 60 bytes what Parse says of the whole frame.
func TestParseHeadersAgreesWithParse(t *testing.T) {
	h, err := NewFlowHeader(FlowParams{Src: Addr{10, 0, 0, 1}, Dst: Addr{10, 0, 0, 2}, SrcPort: 0xc001, DestQP: 77, TOS: DataTOS(3, CE), MTU: 1000})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		buf := make([]byte, MaxFrame)
		psn := uint32(rapid.IntRange(0, PSNMask).Draw(t, "psn"))
		var n int
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			op := rapid.SampledFrom([]Opcode{OpWriteFirst, OpWriteMiddle, OpWriteLast, OpWriteOnly}).Draw(t, "op")
			n = PutData(buf, h, op, psn, rapid.IntRange(0, 1000).Draw(t, "payload"), rapid.Bool().Draw(t, "ack"), true)
		case 1:
			n = PutAck(buf, h, rapid.SampledFrom([]uint8{SyndromeAck, SyndromeNakSequence}).Draw(t, "syndrome"), psn, psn/2)
			if rapid.Bool().Draw(t, "echo") {
				EchoCE(buf)
			}
		case 2:
			n = PutCNP(buf, h, CNPBECN, nil)
		case 3:
			n = PutCNM(buf, MAC{1}, MAC{2}, uint16(psn), 17, 40000)
		}
		var whole, headers Packet
		if err := Parse(buf[:n], &whole); err != nil {
			t.Fatal(err)
		}
		if whole.bth && !whole.ICRCValid() {
			t.Fatal("wrong ICRC")
		}
		if err := ParseHeaders(buf[:MinFrame:MinFrame], n, &headers); err != nil {
			t.Fatal(err)
		}
		whole.frame, whole.bth, whole.body, whole.icrc = headers.frame, false, 0, 0
		if whole.Kind != headers.Kind || whole.Payload != headers.Payload || whole.PSN != headers.PSN ||
			whole.DestQP != headers.DestQP || whole.TOS != headers.TOS || whole.AckReq != headers.AckReq ||
			whole.MSN != headers.MSN || whole.Syndrome != headers.Syndrome || whole.BECN != headers.BECN || whole.FECN != headers.FECN || whole.Src != headers.Src {
			t.Fatalf("whole %+v\nheaders %+v", whole, headers)
		}
	})
}

package wire

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestParseHeadersAgreesWithParse: ParseHeaders of the bytes that a pool of headers keeps gives the result of Parse of
// the whole frame.
func TestParseHeadersAgreesWithParse(t *testing.T) {
	params := FlowParams{
		Src: Addr{10, 0, 0, 1}, Dst: Addr{10, 0, 0, 2}, SrcPort: 0xc001, DestQP: 77, TOS: DataTOS(3, CE),
		MTU: 1000,
	}
	over := map[Version]*FlowHeader{V4: newHeader(t, params), V6: newHeader(t, over6(params))}
	rapid.Check(t, func(t *rapid.T) {
		h := over[rapid.SampledFrom([]Version{V4, V6}).Draw(t, "IP")]
		buf := make([]byte, MaxFrame)
		psn := uint32(rapid.IntRange(0, PSNMask).Draw(t, "psn"))
		var n int
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			op := rapid.SampledFrom(dataOps).Draw(t, "op")
			h.SetTimestamp(rapid.Uint64().Draw(t, "timestamp"))
			n = PutData(buf, h, op, psn, rapid.IntRange(0, 1000).Draw(t, "payload"), rapid.Bool().Draw(t, "ack"), true)
		case 1:
			syndrome := rapid.SampledFrom([]uint8{SyndromeAck, SyndromeNakSequence}).Draw(t, "syndrome")
			switch rapid.IntRange(0, 2).Draw(t, "carries") {
			case 0:
				n = PutAck(buf, h, syndrome, psn, psn/2)
			case 1:
				n = PutAckINT(buf, h, syndrome, psn, psn/2, rapid.SliceOfN(rapid.Byte(), INTLen, INTLen).Draw(t, "INT"))
			case 2:
				n = PutAckTimestamp(buf, h, syndrome, psn, psn/2, rapid.Uint64().Draw(t, "timestamp"))
			}
			EchoMark(buf, rapid.SampledFrom([]ECN{NotECT, ECT1, UE, CE}).Draw(t, "echo"))
		case 2:
			reserved := PCNReport{RateMbps: psn, Congested: true}.Bytes()
			n = PutCNP(buf, h, CNPBECN, &reserved)
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
		kept := min(n, LongHeaderBytes)
		if headers := (&Packet{}); ParseHeaders(buf[:kept:kept], n, headers) == nil && headers.INT() == nil &&
			h.Version() == V4 {
			kept = min(n, HeaderBytes)
		}
		if err := ParseHeaders(buf[:kept:kept], n, &headers); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(whole.INT(), headers.INT()) || !bytes.Equal(whole.AETH(), headers.AETH()) ||
			!bytes.Equal(whole.Reserved(), headers.Reserved()) {
			t.Fatalf("whole %+v\nheaders %+v", whole, headers)
		}
		a, stamped := whole.Timestamp()
		if b, ok := headers.Timestamp(); a != b || ok != stamped || stamped != whole.Opcode.HasTimestamp() {
			t.Fatalf("timestamps %d, %t and %d, %t", a, stamped, b, ok)
		}
		whole.frame, whole.bth, whole.body, whole.icrc = headers.frame, false, 0, 0
		if whole.Kind != headers.Kind || whole.Opcode != headers.Opcode || whole.Payload != headers.Payload ||
			whole.PSN != headers.PSN ||
			whole.DestQP != headers.DestQP || whole.TOS != headers.TOS || whole.AckReq != headers.AckReq ||
			whole.MSN != headers.MSN || whole.Syndrome != headers.Syndrome || whole.BECN != headers.BECN ||
			whole.FECN != headers.FECN || whole.Src != headers.Src {
			t.Fatalf("whole %+v\nheaders %+v", whole, headers)
		}
	})
}

// TestHeadersFit: a pool of headers keeps all headers of a data packet but the RETH, with telemetry if it keeps that,
// and those of what the receiver sends.
func TestHeadersFit(t *testing.T) {
	for _, c := range []struct{ most, want, kept int }{
		{V4.DataLen(OpWriteMiddle, 0) - ICRCLen, 14 + 20 + 8 + 12 + 2, HeaderBytes}, // MinFrame
		{V4.DataLen(OpWriteMiddle.WithINT(), 0) - ICRCLen, 14 + 20 + 8 + 12 + 42, LongHeaderBytes},
		{V4.DataLen(OpWriteMiddle.WithTimestamp(), 0) - ICRCLen, 14 + 20 + 8 + 12 + 8, HeaderBytes},
		{AckTimestampLen - ICRCLen, 14 + 20 + 8 + 12 + 4 + 8, HeaderBytes},
		{max(AckLen, CNPLen, CNMLen, PFCLen) - ICRCLen, 14 + 20 + 8 + 12 + 16, HeaderBytes},
		{AckINTLen - ICRCLen, 14 + 20 + 8 + 12 + 42 + 4, LongHeaderBytes},
		{AckINTLen + V6.Extra() - ICRCLen, 14 + 40 + 8 + 12 + 42 + 4, LongHeaderBytes},
	} {
		if c.most != c.want || c.most > c.kept {
			t.Errorf("%d bytes of headers, want %d, of which %d are kept", c.most, c.want, c.kept)
		}
	}
}

// FuzzParseHeaders: for no input does ParseHeaders, or an accessor that may be used after it, read past the available
// bytes.
func FuzzParseHeaders(f *testing.F) {
	for _, b := range sampleFrames(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		kept := min(len(b), HeaderBytes)
		if len(b)%2 == 0 {
			kept = min(len(b), LongHeaderBytes)
		}
		var p Packet
		if ParseHeaders(b[:kept:kept], len(b), &p) != nil {
			return
		}
		if p.Payload < 0 || p.Payload > len(b) {
			t.Fatalf("%d B of payload in %d B", p.Payload, len(b))
		}
		if telemetry := p.INT(); telemetry != nil {
			_ = telemetry.PathID()
			for i := range telemetry.Hops() {
				_ = telemetry.Hop(i)
			}
		}
		_, _ = p.Timestamp()
		if a := p.AETH(); a != nil && (a.Syndrome() != p.Syndrome || a.MSN() != p.MSN) {
			t.Fatal("packet and AETH differ")
		}
		if r := p.Reserved(); r != nil {
			_ = ParsePCNReport(r)
		}
		if c := p.CNM(); c != nil {
			_, _, _ = c.FlowID(), c.Flows(), c.RateMbps()
		}
	})
}

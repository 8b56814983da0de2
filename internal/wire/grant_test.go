package wire

import (
	"bytes"
	"testing"
)

// TestGrantExamples builds and reads the packet with a demand, the grant and the request that testdata/int.py prints.
func TestGrantExamples(t *testing.T) {
	const (
		sum  = 0x123456789abc
		sent = "020000000101 020000000001 0800 4502004c000040004011269d0a0000010a000002 c00112b700380000 fa40ffff00000012800000ff " +
			"0000123456789abc 0000000000001000 0000abcd 00000008 0001020304050607 05115198"
		granted = "020000000101 020000000001 0800 45000030000040004011 26bb0a0000020a000001 c00112b7001c0000 1140ffff0000003400123456 " +
			"40789abc 67fe5e16"
		asked = "020000000101 020000000001 0800 45000030000040004011 26bb0a0000020a000001 c00112b7001c0000 1140ffff0000003400123456 " +
			"41789abc 0299e2ae"
	)
	data, back := newHeader(t, exampleData), newHeader(t, exampleBack)
	data.SetMessage(0x1000, 8)
	data.SetDemand(sum)
	frame := put(func(b []byte) int { return PutData(b, data, OpWriteOnly.WithDemand(), 0xff, 8, true, true) })
	if want := unhex(t, sent); !bytes.Equal(frame, want) {
		t.Fatalf("sent:\ngot  %x\nwant %x", frame, want)
	}
	var p Packet
	if err := Parse(frame, &p); err != nil {
		t.Fatal(err)
	}
	at, ok := p.Demand()
	if !ok || at != sum || p.RETH().DMALen() != 8 || p.Payload != 8 || p.Opcode.String() != "WRITE_ONLY DEMAND" {
		t.Errorf("%#x, %t: %+v", at, ok, p)
	}
	for _, c := range []struct {
		syndrome uint8
		kind     Kind
		want     string
	}{{SyndromeGrant, KindGrant, granted}, {SyndromeRequest, KindRequest, asked}} {
		frame := put(func(b []byte) int { return PutSum(b, back, c.syndrome, sum) })
		if want := unhex(t, c.want); !bytes.Equal(frame, want) {
			t.Fatalf("%v:\ngot  %x\nwant %x", c.kind, frame, want)
		}
		for name, parse := range map[string]func() error{
			"whole":   func() error { return Parse(frame, &p) },
			"headers": func() error { return ParseHeaders(frame, len(frame), &p) },
		} {
			if err := parse(); err != nil || p.Kind != c.kind || p.Sum() != sum || p.DestQP != 0x34 {
				t.Errorf("%s: %v: %v: %+v", name, c.kind, err, p)
			}
		}
	}
}

// A trimmed packet keeps its demand: it tells what is to be granted for it to be sent again.
func TestTrimKeepsDemand(t *testing.T) {
	for _, v := range []Version{V4, V6} {
		params := exampleData
		params.Version = v
		data := newHeader(t, params)
		data.SetDemand(77)
		for _, op := range []Opcode{OpWriteOnly, OpWriteMiddle} {
			frame := put(func(b []byte) int { return PutData(b, data, op.WithDemand(), 5, 1000, true, true) })
			n, ok := Trimmable(frame)
			if !ok || n != v.TrimmedLen(op.WithDemand()) {
				t.Fatalf("%v over %v: %d bytes left, %t", op, v, n, ok)
			}
			Trim(frame, 6, true)
			var p Packet
			if err := Parse(frame[:n], &p); err != nil || !p.Trimmed() || !p.ICRCValid() || p.Priority() != 6 {
				t.Fatalf("%v over %v: %v: %+v", op, v, err, p)
			}
			if sum, ok := p.Demand(); !ok || sum != 77 {
				t.Errorf("%v over %v: %d, %t", op, v, sum, ok)
			}
			if _, trimmable := Trimmable(frame[:n]); trimmable {
				t.Errorf("%v over %v is trimmed twice", op, v)
			}
		}
	}
}

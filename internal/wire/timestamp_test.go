package wire

import (
	"bytes"
	"testing"
)

// TestTimestampExamples builds, reads and answers the packet with a timestamp that testdata/int.py prints.
func TestTimestampExamples(t *testing.T) {
	const (
		timestamp = 0x0123456789abcdef
		sent      = "020000000101 020000000001 0800 4502004c000040004011269d0a0000010a000002 c00112b700380000 ea40ffff00000012800000ff " +
			"0123456789abcdef 0000000000001000 0000abcd 00000008 0001020304050607 6935d02e"
		answered = "020000000101 020000000001 0800 4500003800004000401126b30a0000020a000001 c00112b700240000 f140ffff00000034000000ff " +
			"1f000001 0123456789abcdef b94d74a4"
	)
	data, back := newHeader(t, exampleData), newHeader(t, exampleBack)
	data.SetMessage(0x1000, 8)
	data.SetTimestamp(timestamp)
	frame := put(func(b []byte) int { return PutData(b, data, OpWriteOnly.WithTimestamp(), 0xff, 8, true, true) })
	if want := unhex(t, sent); !bytes.Equal(frame, want) {
		t.Fatalf("sent:\ngot  %x\nwant %x", frame, want)
	}
	var p Packet
	if err := Parse(frame, &p); err != nil {
		t.Fatal(err)
	}
	at, ok := p.Timestamp()
	if !ok || at != timestamp || p.RETH().DMALen() != 8 || p.Payload != 8 || p.Opcode.String() != "WRITE_ONLY TS" {
		t.Errorf("%#x, %t: %+v", at, ok, p)
	}
	ack := put(func(b []byte) int { return PutAckTimestamp(b, back, SyndromeAck, 0xff, 1, at) })
	if want := unhex(t, answered); !bytes.Equal(ack, want) {
		t.Fatalf("ACK:\ngot  %x\nwant %x", ack, want)
	}
	if err := Parse(ack, &p); err != nil || p.Kind != KindAck || p.MSN != 1 {
		t.Fatalf("%v: %+v", err, p)
	}
	if at, ok := p.Timestamp(); !ok || at != timestamp {
		t.Errorf("the ACK says %#x, %t", at, ok)
	}
}

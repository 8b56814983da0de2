package wire

import (
	"bytes"
	"testing"
)

// Packets after SetSourcePort are those of a flow with that port: ICRC and length of other packets before it do not
// matter.
func TestSetSourcePort(t *testing.T) {
	for _, v := range []Version{V4, V6} {
		t.Run(v.String(), func(t *testing.T) { setSourcePort(t, v) })
	}
}

func setSourcePort(t *testing.T, v Version) {
	params := FlowParams{
		Version: v, Src: Addr{10, 0, 0, 1}, Dst: Addr{10, 0, 0, 2}, SrcPort: 50_000, DestQP: 17,
		TOS: DataTOS(3, ECT0), MTU: 1000,
	}
	h, err := NewFlowHeader(params)
	if err != nil {
		t.Fatal(err)
	}
	got, want := make([]byte, MaxFrame), make([]byte, MaxFrame)
	for i, port := range []uint16{50_000, 60_000, 60_000, 49_152, 65_535, 50_000} {
		h.SetSourcePort(port)
		params.SrcPort = port
		other, err := NewFlowHeader(params)
		if err != nil {
			t.Fatal(err)
		}
		payload := 1000 - i%2*300
		n := PutData(got, h, OpWriteMiddle, uint32(i), payload, true, true)
		m := PutData(want, other, OpWriteMiddle, uint32(i), payload, true, true)
		if !bytes.Equal(got[:n], want[:m]) {
			t.Fatalf("port %d:\n%x, want\n%x", port, got[:64], want[:64])
		}
		var p Packet
		if err := Parse(got[:n], &p); err != nil || !p.ICRCValid() || p.SrcPort != port {
			t.Fatalf("%v, port %d", err, p.SrcPort)
		}
		n, m = PutAck(got, h, SyndromeAck, 1, 1), PutAck(want, other, SyndromeAck, 1, 1)
		if !bytes.Equal(got[:n], want[:m]) {
			t.Fatalf("ACK of port %d differs", port)
		}
	}
}

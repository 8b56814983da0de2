package wire

import (
	"testing"

	"pgregory.net/rapid"
)

// An address of the fabric stands for one of IPv4's, and no other does.
func TestMappedAddresses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Addr(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address"))
		if back, ok := Map(a).Unmap(); !ok || back != a {
			t.Fatalf("%v is mapped to %x, and that back to %v, %v", a, Map(a), back, ok)
		}
		other := Map(a)
		other[rapid.IntRange(0, 11).Draw(t, "byte")] ^= rapid.ByteRange(1, 255).Draw(t, "bits")
		if _, ok := other.Unmap(); ok {
			t.Fatalf("%x is taken for an address of the fabric", other)
		}
	})
}

// A frame's priority is that of the bytes that it has once it is padded.
func TestPriorityOfShortFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frame := rapid.SliceOfN(rapid.Byte(), 14, 20).Draw(t, "frame")
		Ethernet(frame).SetType(rapid.SampledFrom([]uint16{EtherTypeIPv4, EtherTypeIPv6, EtherTypeARP}).Draw(t, "EtherType"))
		padded := append(append([]byte(nil), frame...), make([]byte, 60-len(frame))...)
		want := uint8(0)
		switch Ethernet(frame).Type() {
		case EtherTypeIPv4:
			want = IPv4(padded[14:]).TOS() >> 5
		case EtherTypeIPv6:
			want = IPv6(padded[14:]).TrafficClass() >> 5
		}
		if got := PriorityOf(frame); got != want {
			t.Fatalf("%x has priority %d, want %d", frame, got, want)
		}
	})
}

package switchagent_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
)

// TestFragments: the fragments of a packet fit the MTU, and put together by their offsets are the packet; what must be
// copied of its options is in each (RFC 791, sections 3.1 and 3.2).
func TestFragments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kept := []byte{0x83, 7, 4, 10, 0, 0, 1} // loose source route, which is copied
		var options, copied []byte
		if rapid.Bool().Draw(t, "record") {
			options = append(options, 7, 7, 4, 0, 0, 0, 0) // record route, which is not
		}
		if rapid.Bool().Draw(t, "route") {
			options, copied = append(append(options, 1), kept...), kept
		}
		for len(options)%4 != 0 {
			options = append(options, 0)
		}
		data := rapid.SliceOfN(rapid.Byte(), 1300, 9000).Draw(t, "data")
		first := rapid.IntRange(0, 100).Draw(t, "offset")
		last := rapid.Bool().Draw(t, "last")
		frame := ipv4(askingHost, otherHost, 17, append(bytes.Clone(options), data...)...)
		packet := wire.IPv4(frame[wire.EthernetLen:])
		packet[0] = 0x45 + byte(len(options)/4)
		word := uint16(first)
		if !last {
			word |= 0x2000
		}
		binary.BigEndian.PutUint16(packet[6:], word)
		packet.UpdateChecksum()
		if !switchagent.MayFragment(frame) {
			t.Fatal("it may not be cut")
		}
		mtu := rapid.IntRange(1280, 1500).Draw(t, "mtu")
		var reassembled []byte
		for at, more := 0, true; more; {
			buf := make([]byte, wire.EthernetLen+mtu)
			n, next := switchagent.Fragment(buf, frame, at, mtu)
			part := wire.IPv4(buf[wire.EthernetLen:n])
			header := part.HeaderLen()
			if !part.ChecksumValid() || part.TotalLen() != len(part) || part.Src() != packet.Src() || part.Protocol() != 17 ||
				part.TTL() != packet.TTL() {
				t.Fatalf("at %d: %x", at, part[:header])
			}
			if at > 0 && !bytes.HasPrefix(part[wire.IPv4Len:], copied) || at > 0 && header != wire.IPv4Len+(len(copied)+3)/4*4 {
				t.Fatalf("at %d: options %x", at, part[wire.IPv4Len:header])
			}
			word := binary.BigEndian.Uint16(part[6:])
			if int(word&0x1fff) != first+len(reassembled)/8 || len(reassembled)%8 != 0 || (word&0x2000 != 0) != (next > 0 || !last) {
				t.Fatalf("at %d, of %d bytes before: %#x", at, len(reassembled), word)
			}
			reassembled = append(reassembled, part[header:]...)
			if next > 0 && next != len(reassembled) {
				t.Fatalf("the next is at %d, and %d bytes are done", next, len(reassembled))
			}
			at, more = next, next > 0
		}
		if !bytes.Equal(reassembled, data) {
			t.Fatalf("%d bytes of %d", len(reassembled), len(data))
		}
	})
}

// TestMayNotFragment: what must not be cut.
func TestMayNotFragment(t *testing.T) {
	late := ipv4(askingHost, otherHost, 17, make([]byte, 1500)...)
	binary.BigEndian.PutUint16(late[20:], 0x1fff)
	group := ipv4(askingHost, otherHost, 17, make([]byte, 1500)...)
	group[0] |= 1
	for name, frame := range map[string][]byte{
		"DF":                   ipv4Whole(ipv4(askingHost, otherHost, 17, make([]byte, 1500)...)),
		"IPv6":                 ipv6(wire.Map(askingHost), wire.Map(otherHost), 17, make([]byte, 1500)...),
		"beyond the last byte": late,
		"for a group":          group,
		"malformed":            ethernet(wire.EtherTypeIPv4, []byte{0x4f, 0, 0, 30}),
		"neither":              ethernet(0x88b5, nil),
	} {
		if switchagent.MayFragment(frame) {
			t.Errorf("%s may be cut", name)
		}
	}
}

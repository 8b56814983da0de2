package switchagent

import (
	"encoding/binary"

	"github.com/pausenet/pausenet/internal/wire"
)

// Bits of the third word of an IPv4 header (RFC 791, section 3.1).
const (
	dontFragment   = 0x4000
	moreFragments  = 0x2000
	fragmentOffset = 0x1fff // mask of the offset, in units of 8 bytes
)

// mostData limits the data of a reassembled IPv4 packet, in bytes.
const mostData = 0xffff

// MayFragment reports whether a frame is a packet of IPv4 that may be cut into fragments: IPv6's routers never do
// (RFC 8200, section 5).
func MayFragment(frame []byte) bool {
	if wire.Ethernet(frame).Type() != wire.EtherTypeIPv4 || frame[0]&1 != 0 {
		return false
	}
	packet, ok := ipv4Of(frame)
	if !ok {
		return false
	}
	word := binary.BigEndian.Uint16(packet[6:])
	end := int(word&fragmentOffset)*8 + len(packet) - wire.IPv4(packet).HeaderLen()
	return word&dontFragment == 0 && end <= mostData
}

// Fragment writes one fragment of a frame that MayFragment into buf (RFC 791, section 3.2): the one whose data
// starts at byte at of the packet's. mtu is the packet's limit in bytes; buf has as many, plus an Ethernet header. n
// is the fragment's length, and next where the next one starts, or 0 after the last.
func Fragment(buf, frame []byte, at, mtu int) (n, next int) {
	packet, _ := ipv4Of(frame)
	header := wire.IPv4(packet).HeaderLen()
	data := packet[header+at:]
	copy(buf, frame[:wire.EthernetLen+header])
	own := wire.IPv4(buf[wire.EthernetLen:])
	if at > 0 {
		header = copyOptions(own, packet[:header])
	}
	word := binary.BigEndian.Uint16(packet[6:]) + uint16(at/8)
	if header+len(data) > mtu {
		room := (mtu - header) &^ 7
		data, next = data[:room], at+room
		word |= moreFragments
	}
	n = header + copy(own[header:], data)
	own[0] = own[0]&0xf0 | byte(header/4)
	binary.BigEndian.PutUint16(own[2:], uint16(n))
	binary.BigEndian.PutUint16(own[6:], word)
	own.UpdateChecksum()
	return wire.EthernetLen + n, next
}

// copyOptions keeps the options that all fragments carry in a header, and returns its length.
func copyOptions(to, header []byte) int {
	const endOfOptions, noOperation, copied = 0, 1, 0x80
	n := wire.IPv4Len
	for options := header[wire.IPv4Len:]; len(options) > 0 && options[0] != endOfOptions; {
		length := 1
		if options[0] != noOperation {
			if len(options) < 2 || options[1] < 2 || int(options[1]) > len(options) {
				break
			}
			length = int(options[1])
			if options[0]&copied != 0 {
				n += copy(to[n:], options[:length])
			}
		}
		options = options[length:]
	}
	for ; n%4 != 0; n++ {
		to[n] = endOfOptions
	}
	return n
}

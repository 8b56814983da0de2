package wire

import "encoding/binary"

// Protocol numbers of ICMP.
const (
	ProtocolICMP   = 1
	ProtocolIGMP   = 2
	ProtocolICMPv6 = 58
)

// Types and codes of ICMP (RFC 792) and of ICMPv6 (RFC 4443).
const (
	ICMPEchoReply         = 0
	ICMPUnreachable       = 3
	ICMPEcho              = 8
	ICMPTimeExceeded      = 11
	ICMPCodeNet           = 0
	ICMPCodeProtocol      = 2
	ICMPCodePort          = 3
	ICMPCodeFragmentation = 4 // fragmentation needed, but not allowed

	ICMP6Unreachable  = 1
	ICMP6TooBig       = 2
	ICMP6TimeExceeded = 3
	ICMP6Parameter    = 4
	ICMP6Echo         = 128
	ICMP6EchoReply    = 129
	ICMP6CodeRoute    = 0
	ICMP6CodePort     = 4
	ICMP6CodeHeader   = 1 // for ICMP6Parameter: unknown next header

	ICMP6RouterSolicitation    = 133 // RFC 4861, with the others up to the redirect
	ICMP6NeighbourSolicitation = 135
	ICMP6NeighbourAdvert       = 136
	ICMP6Redirect              = 137
)

// ICMPLen is the length of the header of any ICMP message built here.
const ICMPLen = 8

// Between describes the two ends of a cable: from sends the frame.
type Between struct{ From, To MAC }

func (b Between) put(frame []byte, ethertype uint16) {
	e := Ethernet(frame)
	e.SetDst(b.To)
	e.SetSrc(b.From)
	e.SetType(ethertype)
}

// PutICMP writes an ICMP message with the body after its header. rest holds the last 32 bits of the header.
func PutICMP(buf []byte, on Between, src, dst Addr, tos, kind, code uint8, rest uint32, body []byte) int {
	n := EthernetLen + IPv4Len + ICMPLen + len(body)
	on.put(buf, EtherTypeIPv4)
	ip := IPv4(buf[EthernetLen:n])
	clear(ip[:IPv4Len+ICMPLen])
	ip[ipVersionIHL], ip[ipTOS], ip[ipTTL], ip[ipProtocol] = ipVersion4NoOptions, tos, DefaultTTL, ProtocolICMP
	binary.BigEndian.PutUint16(ip[ipTotalLen:], uint16(len(ip)))
	binary.BigEndian.PutUint16(ip[ipFragment:], ipDontFragment)
	copy(ip[ipSrc:], src[:])
	copy(ip[ipDst:], dst[:])
	ip.UpdateChecksum()
	putMessage(ip[IPv4Len:], kind, code, rest, body, 0)
	return pad(buf, n)
}

// PutICMP6 writes an ICMPv6 message.
func PutICMP6(buf []byte, on Between, src, dst Addr6, class, hopLimit, kind, code uint8, rest uint32, body []byte) int {
	n := EthernetLen + IPv6Len + ICMPLen + len(body)
	on.put(buf, EtherTypeIPv6)
	ip := IPv6(buf[EthernetLen:n])
	ip.setTrafficClass(class)
	binary.BigEndian.PutUint16(ip[ip6PayloadLen:], uint16(ICMPLen+len(body)))
	ip[ip6NextHeader], ip[ip6HopLimit] = ProtocolICMPv6, hopLimit
	copy(ip[ip6Src:], src[:])
	copy(ip[ip6Dst:], dst[:])
	putMessage(ip[IPv6Len:], kind, code, rest, body, sum16(ip[ip6Src:IPv6Len])+uint32(ICMPLen+len(body))+ProtocolICMPv6)
	return pad(buf, n)
}

// putMessage writes an ICMP message. Its checksum starts with a sum.
func putMessage(m []byte, kind, code uint8, rest uint32, body []byte, sum uint32) {
	copy(m[ICMPLen:], body)
	m[0], m[1], m[2], m[3] = kind, code, 0, 0
	binary.BigEndian.PutUint32(m[4:], rest)
	if len(m)&1 != 0 {
		sum += uint32(m[len(m)-1]) << 8
	}
	binary.BigEndian.PutUint16(m[2:], ^fold(sum+sum16(m)))
}

// ARP holds a request or reply for IPv4 over Ethernet (RFC 826).
type ARP []byte

// ARPLen is the length of the message in bytes.
const ARPLen = 28

// ARPRequest is the operation of a request.
const ARPRequest, arpReply = 1, 2

// Valid reports whether it is one for IPv4 over Ethernet; it must have ARPLen bytes.
func (a ARP) Valid() bool {
	return binary.BigEndian.Uint32(a) == 1<<16|EtherTypeIPv4 && a[4] == 6 && a[5] == 4
}

// Operation returns the operation: ARPRequest for a request.
func (a ARP) Operation() uint16 { return binary.BigEndian.Uint16(a[6:]) }

// Sender returns the sender's address.
func (a ARP) Sender() Addr { return Addr(a[14:]) }

// Target returns the requested address.
func (a ARP) Target() Addr { return Addr(a[24:]) }

// PutARPReply answers a request: the target has the MAC address of the frame's sender.
func PutARPReply(buf []byte, on Between, request ARP) int {
	on.put(buf, EtherTypeARP)
	r := buf[EthernetLen : EthernetLen+ARPLen]
	copy(r, request[:6])
	binary.BigEndian.PutUint16(r[6:], arpReply)
	copy(r[8:], on.From[:])
	copy(r[14:18], request[24:28])
	copy(r[18:28], request[8:18])
	return pad(buf, EthernetLen+ARPLen)
}

package switchagent

import (
	"encoding/binary"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// Processor represents a switch's own processor on a live fabric. It answers programs that send to the switch itself,
// use ARP or neighbour discovery on their link, or send packets that cannot be forwarded. It keeps no state about
// programs.
type Processor struct {
	// Address holds the switch's own address.
	Address wire.Addr
	// Known reports whether an address exists in the fabric.
	Known func(wire.Addr) bool

	tokens int // answers available at filled
	filled vtime.Time
}

// Rate limit of answers: a burst, then one per answerPeriod. Routers must limit what others can make them send (RFC
// 1812, section 4.3.2.8; RFC 4443, section 2.4).
const (
	answerBurst  = 100
	answerPeriod = vtime.Microsecond
)

// Link describes the port that received a frame, from the view of its switch's processor.
type Link struct {
	wire.Between           // addresses of the cable; from is the switch's
	Host         wire.Addr // address of the host at the other end; zero for a switch
}

// Cause identifies the reason why a processor receives a frame.
type Cause uint8

// Causes.
const (
	CauseOwn   Cause = iota // it is addressed to the switch, according to the pipelines
	CauseRoute              // no route to its destination
	CauseTTL                // its TTL, or hop limit, has expired
	CauseSize               // it exceeds the MTU of its egress port
)

// Maximum bytes of a packet that an error quotes, so that the message has at most 576 bytes (RFC 1812, section
// 4.3.2.3), or IPv6's minimum MTU (RFC 4443, section 2.4).
const (
	mostQuoted  = 576 - wire.IPv4Len - wire.ICMPLen
	mostQuoted6 = 1280 - wire.IPv6Len - wire.ICMPLen
)

// MostAnswer returns the maximum length of an answer to a frame of the given length.
func MostAnswer(n int) int { return n + wire.EthernetLen + wire.IPv6Len + 2*wire.ICMPLen + 16 }

// errorClass holds the TOS byte of an error: DSCP CS6 (RFC 1812, section 4.3.2.5).
const errorClass = 6 << 5

// Answer writes the processor's answer to a frame into buf, which has MostAnswer bytes, and returns its length, or 0
// for no answer. mtu is for CauseSize, in bytes of the packet.
func (p *Processor) Answer(now vtime.Time, buf, frame []byte, on *Link, why Cause, mtu int) (n int) {
	if p.tokens < answerBurst {
		more := int((now - p.filled) / answerPeriod)
		p.tokens = min(answerBurst, p.tokens+more)
		p.filled += vtime.Time(more) * answerPeriod
	}
	if p.tokens == answerBurst {
		p.filled = now
	}
	if p.tokens == 0 {
		return 0
	}
	switch wire.Ethernet(frame).Type() {
	case wire.EtherTypeARP:
		n = p.answerARP(buf, frame[wire.EthernetLen:], on)
	case wire.EtherTypeIPv4:
		n = p.answerIPv4(buf, frame, on, why, mtu)
	case wire.EtherTypeIPv6:
		n = p.answerIPv6(buf, frame, on, why, mtu)
	}
	if n > 0 {
		p.tokens--
	}
	return n
}

// router holds the address of every switch for its hosts (fe80::1).
var router = wire.Addr6{0: 0xfe, 1: 0x80, 15: 1}

// answersFor reports whether the processor answers a host's query for an address. From a host, all other addresses of
// the fabric are behind the switch. A query for a host's own address detects duplicates and needs no answer.
func (p *Processor) answersFor(target wire.Addr, on *Link) bool {
	return on.Host != wire.Addr{} && target != on.Host && p.Known(target)
}

func (p *Processor) answerARP(buf, packet []byte, on *Link) int {
	if len(packet) < wire.ARPLen {
		return 0
	}
	request := wire.ARP(packet)
	if !request.Valid() || request.Operation() != wire.ARPRequest || request.Sender() == request.Target() ||
		!p.answersFor(request.Target(), on) {
		return 0
	}
	return wire.PutARPReply(buf, on.Between, request)
}

func (p *Processor) answerIPv4(buf, frame []byte, on *Link, why Cause, mtu int) int {
	packet, ok := ipv4Of(frame)
	if !ok {
		return 0
	}
	ip := wire.IPv4(packet)
	body := packet[ip.HeaderLen():]
	protocol := ip.Protocol()
	later := binary.BigEndian.Uint16(ip[6:])&0x1fff != 0 // a fragment but the first
	if why != CauseSize && ip.Dst() == p.Address {
		why = CauseOwn
	}
	reply := func(tos, kind, code uint8, rest uint32, body []byte) int {
		return wire.PutICMP(buf, on.Between, p.Address, ip.Src(), tos, kind, code, rest, body)
	}
	if why == CauseOwn && protocol == wire.ProtocolICMP && len(body) >= wire.ICMPLen && body[0] == wire.ICMPEcho &&
		body[1] == 0 {
		if ip.Fragmented() || !p.Known(ip.Src()) || frame[0]&1 != 0 {
			return 0
		}
		return reply(ip.TOS(), wire.ICMPEchoReply, 0, binary.BigEndian.Uint32(body[4:]), body[wire.ICMPLen:])
	}
	if frame[0]&1 != 0 || later || !p.Known(ip.Src()) || protocol == wire.ProtocolIGMP ||
		// an error, or an answer, is never answered by one (RFC 1122, section 3.2.2)
		protocol == wire.ProtocolICMP && (len(body) == 0 || body[0] != wire.ICMPEcho) {
		return 0
	}
	quoted := packet[:min(len(packet), mostQuoted)]
	switch {
	case why == CauseTTL:
		return reply(errorClass, wire.ICMPTimeExceeded, 0, 0, quoted)
	case why == CauseSize && ip[6]&0x40 != 0:
		return reply(errorClass, wire.ICMPUnreachable, wire.ICMPCodeFragmentation, uint32(mtu), quoted)
	case why == CauseSize: // it has been cut into fragments, or is none that can be
		return 0
	case why == CauseRoute:
		return reply(errorClass, wire.ICMPUnreachable, wire.ICMPCodeNet, 0, quoted)
	case protocol == wire.ProtocolUDP || protocol == protocolTCP:
		return reply(errorClass, wire.ICMPUnreachable, wire.ICMPCodePort, 0, quoted)
	case protocol != wire.ProtocolICMP:
		return reply(errorClass, wire.ICMPUnreachable, wire.ICMPCodeProtocol, 0, quoted)
	}
	return 0
}

const protocolTCP = 6

// Extension headers of IPv6 (RFC 8200, section 4).
const (
	hopByHop       = 0
	fragmentHeader = 44
)

func (p *Processor) answerIPv6(buf, frame []byte, on *Link, why Cause, mtu int) int {
	packet, ok := ipv6Of(frame)
	if !ok {
		return 0
	}
	ip := wire.IPv6(packet)
	body := packet[wire.IPv6Len:]
	protocol := ip.NextHeader()
	own := wire.Map(p.Address)
	if protocol == wire.ProtocolICMPv6 && len(body) >= 24 && body[0] == wire.ICMP6NeighbourSolicitation {
		return p.answerSolicitation(buf, ip, body, on)
	}
	if why != CauseSize && ip.Dst() == own {
		why = CauseOwn
	}
	source, ok := ip.Src().Unmap()
	if !ok || !p.Known(source) || frame[0]&1 != 0 {
		return 0
	}
	reply := func(class, kind, code uint8, rest uint32, body []byte) int {
		return wire.PutICMP6(buf, on.Between, own, ip.Src(), class, wire.DefaultTTL, kind, code, rest, body)
	}
	if why == CauseOwn && protocol == wire.ProtocolICMPv6 && len(body) >= wire.ICMPLen && body[0] == wire.ICMP6Echo &&
		ip.Dst() == own {
		return reply(ip.TrafficClass(), wire.ICMP6EchoReply, 0, binary.BigEndian.Uint32(body[4:]), body[wire.ICMPLen:])
	}
	later := protocol == fragmentHeader && (len(body) < 8 || binary.BigEndian.Uint16(body[2:])&0xfff8 != 0)
	if later || protocol == wire.ProtocolICMPv6 && (len(body) == 0 || body[0] != wire.ICMP6Echo) {
		return 0
	}
	quoted := packet[:min(len(packet), mostQuoted6)]
	switch {
	case why == CauseTTL:
		return reply(errorClass, wire.ICMP6TimeExceeded, 0, 0, quoted)
	case why == CauseSize:
		return reply(errorClass, wire.ICMP6TooBig, 0, uint32(mtu), quoted)
	case why == CauseRoute:
		return reply(errorClass, wire.ICMP6Unreachable, wire.ICMP6CodeRoute, 0, quoted)
	case ip.Dst() != own: // of the link alone
		return 0
	case protocol == wire.ProtocolUDP || protocol == protocolTCP:
		return reply(errorClass, wire.ICMP6Unreachable, wire.ICMP6CodePort, 0, quoted)
	case protocol != wire.ProtocolICMPv6:
		const nextHeaderAt = 6
		return reply(errorClass, wire.ICMP6Parameter, wire.ICMP6CodeHeader, nextHeaderAt, quoted)
	}
	return 0
}

// answerSolicitation answers a neighbour solicitation (RFC 4861, sections 4.3, 4.4 and 7.2): the target's link-layer
// address is the port's.
func (p *Processor) answerSolicitation(buf []byte, ip wire.IPv6, body []byte, on *Link) int {
	target := wire.Addr6(body[8:24])
	v4, ok := target.Unmap()
	if ip.HopLimit() != 255 || !(target == router || ok && p.answersFor(v4, on)) {
		return 0
	}
	const isRouter, solicited, override = 1 << 31, 1 << 30, 1 << 29
	to, flags := ip.Src(), uint32(isRouter|solicited|override)
	if to == (wire.Addr6{}) {
		to, flags = wire.Addr6{0: 0xff, 1: 2, 15: 1}, isRouter|override
	}
	var advert [24]byte // target, then the option with the address
	copy(advert[:], target[:])
	advert[16], advert[17] = 2, 1
	copy(advert[18:], on.From[:])
	return wire.PutICMP6(buf, on.Between, target, to, 0, 255, wire.ICMP6NeighbourAdvert, 0, flags, advert[:])
}

// ipv4Of returns the IPv4 packet of a frame, without padding; ok is false if a router would not accept its header.
func ipv4Of(frame []byte) (packet []byte, ok bool) {
	packet = frame[wire.EthernetLen:]
	ip := wire.IPv4(packet)
	if len(packet) < wire.IPv4Len || ip.Version() != 4 || ip.HeaderLen() < wire.IPv4Len ||
		ip.TotalLen() < ip.HeaderLen() || ip.TotalLen() > len(packet) {
		return nil, false
	}
	return packet[:ip.TotalLen()], true
}

// ipv6Of returns the IPv6 packet of a frame.
func ipv6Of(frame []byte) (packet []byte, ok bool) {
	packet = frame[wire.EthernetLen:]
	if len(packet) < wire.IPv6Len || wire.IPv6(packet).Version() != 6 ||
		wire.IPv6Len+wire.IPv6(packet).PayloadLen() > len(packet) {
		return nil, false
	}
	return packet[:wire.IPv6Len+wire.IPv6(packet).PayloadLen()], true
}

// Ends returns the addresses of a frame of IP or ARP, as IPv4 addresses. An IPv6 address outside of the fabric is
// zero.
func Ends(frame []byte) (source, destination wire.Addr) {
	packet := frame[wire.EthernetLen:]
	switch wire.Ethernet(frame).Type() {
	case wire.EtherTypeIPv4:
		if len(packet) >= wire.IPv4Len {
			return wire.IPv4(packet).Src(), wire.IPv4(packet).Dst()
		}
	case wire.EtherTypeIPv6:
		if len(packet) >= wire.IPv6Len {
			if a, ok := wire.IPv6(packet).Src().Unmap(); ok {
				source = a
			}
			if a, ok := wire.IPv6(packet).Dst().Unmap(); ok {
				destination = a
			}
		}
	case wire.EtherTypeARP:
		if len(packet) >= wire.ARPLen {
			return wire.ARP(packet).Sender(), wire.ARP(packet).Target()
		}
	}
	return source, destination
}

// Membership identifies the kind of a multicast membership message.
type Membership uint8

// Kinds of membership messages.
const (
	MembershipNone   Membership = iota
	MembershipQuery             // a host asks who is in a group
	MembershipReport            // a host joins or leaves a group
	MembershipLink              // neighbour discovery, only for the link
)

// MembershipOf classifies a multicast frame (IGMP, RFC 3376; MLD, RFC 3810).
func MembershipOf(frame []byte) Membership {
	switch wire.Ethernet(frame).Type() {
	case wire.EtherTypeIPv4:
		packet, ok := ipv4Of(frame)
		if !ok || wire.IPv4(packet).Protocol() != wire.ProtocolIGMP || len(packet) <= wire.IPv4(packet).HeaderLen() {
			return MembershipNone
		}
		switch packet[wire.IPv4(packet).HeaderLen()] {
		case 0x11:
			return MembershipQuery
		case 0x12, 0x16, 0x17, 0x22:
			return MembershipReport
		}
	case wire.EtherTypeIPv6:
		packet, ok := ipv6Of(frame)
		if !ok {
			return MembershipNone
		}
		next, body := wire.IPv6(packet).NextHeader(), packet[wire.IPv6Len:]
		if next == hopByHop && len(body) >= 8 && len(body) > 8+8*int(body[1]) {
			next, body = body[0], body[8+8*int(body[1]):]
		}
		if next != wire.ProtocolICMPv6 || len(body) == 0 {
			return MembershipNone
		}
		switch kind := body[0]; {
		case kind == 130:
			return MembershipQuery
		case kind == 131 || kind == 132 || kind == 143:
			return MembershipReport
		case kind >= wire.ICMP6RouterSolicitation && kind <= wire.ICMP6Redirect:
			return MembershipLink
		}
	}
	return MembershipNone
}

// Hop decrements the TTL, or hop limit, of an IP frame that a processor forwards. It returns false if it has
// expired.
func Hop(frame []byte) bool {
	if wire.Ethernet(frame).Type() == wire.EtherTypeIPv6 {
		ip := wire.IPv6(frame[wire.EthernetLen:])
		if ip.HopLimit() <= 1 {
			return false
		}
		ip.SetHopLimit(ip.HopLimit() - 1)
		return true
	}
	ip := wire.IPv4(frame[wire.EthernetLen:])
	if ip.TTL() <= 1 {
		return false
	}
	ip[8]--
	ip.UpdateChecksum()
	return true
}

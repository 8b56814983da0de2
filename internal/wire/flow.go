package wire

import (
	"encoding/binary"
	"fmt"
)

// FlowParams describes the addresses of one direction of a flow.
type FlowParams struct {
	SrcMAC, DstMAC MAC
	Version        Version // IP version: over IPv6 the addresses are those that stand for Src and Dst (Map)
	Src, Dst       Addr
	SrcPort        uint16 // MinEntropyPort..0xffff for RNICs: spreads flows over equal paths
	ID             uint16 // IPv4 identification; 0 unless switches hash it (RFC 6864 leaves it free)
	DestQP         uint32 // the receiver's queue pair, 24 bits
	TOS            uint8  // DataTOS or ControlTOS of the priority
	RKey           uint32 // RKey in the RETH of data
	// MTU sets the payload length for which PutData is fast: that of a full packet, at most MaxPayload. 0 for a header
	// that carries no data.
	MTU int
	// HeadersOnly leaves payload and ICRC of the frames unwritten, if nothing reads them.
	HeadersOnly bool
}

// Reverse returns the opposite direction: that of the receiver's ACKs and CNPs, or of the sender's data. The source
// port stays, as with RNICs: it is the flow's entropy, not an address.
func (p FlowParams) Reverse(destQP uint32, tos uint8) FlowParams {
	p.SrcMAC, p.DstMAC = p.DstMAC, p.SrcMAC
	p.Src, p.Dst = p.Dst, p.Src
	p.DestQP, p.TOS = destQP, tos
	p.RKey, p.MTU = 0, 0
	return p
}

// Lengths of all headers of a packet without RETH or AETH, over IPv4 and over IPv6.
const (
	roceHeaderLen  = EthernetLen + rocePrefixLen
	roceHeaderLen6 = roceHeaderLen + IPv6Len - IPv4Len
)

// FlowHeader holds the prebuilt headers of one direction of a flow: for each packet only lengths, checksum, BTH and
// ICRC remain to be written. It keeps some state between packets, so one goroutine at a time may use it.
type FlowHeader struct {
	form   Form                  // headers over IPv4
	six    *[roceHeaderLen6]byte // headers over IPv6: lengths, opcode, flags and PSN are zero; nil: over IPv4
	length int                   // length of these headers, up to the BTH's end
	tos    uint8
	icrc   *icrcState // nil: headers only

	rkey          uint32
	dmaLen        uint32
	va            uint64
	timestamp     uint64
	demand        uint64
	retransmitted uint32 // bthRetransmitted, if the next packets are marked
}

// icrcState holds a FlowHeader's partial results for its packets' ICRC.
type icrcState struct {
	masked [IPv6Len + UDPLen]byte // IP and UDP headers of a frame of prefixLen, masked for the ICRC

	prefixLen int    // length of the frame for which prefix is valid; 0: none
	prefix    uint32 // CRC of the LRH's stand-in and masked

	mtu  int
	full *payloadCRC // CRC of a full packet's payload; nil if mtu is 0
}

// NewFlowHeader prebuilds the frames of p.
func NewFlowHeader(p FlowParams) (*FlowHeader, error) {
	switch {
	case p.DestQP > PSNMask:
		return nil, fmt.Errorf("destination QP %#x does not fit in 24 bits", p.DestQP)
	case p.MTU < 0 || p.MTU > MaxPayload:
		return nil, fmt.Errorf("MTU %d is not in 0..%d", p.MTU, MaxPayload)
	}
	h := &FlowHeader{tos: p.TOS, rkey: p.RKey, length: roceHeaderLen + p.Version.Extra()}
	var buf [roceHeaderLen6]byte // lengths, checksum, opcode, flags and PSN are zero
	header := buf[:h.length]
	eth := Ethernet(header)
	eth.SetDst(p.DstMAC)
	eth.SetSrc(p.SrcMAC)

	ip := header[EthernetLen:]
	if p.Version == V6 {
		eth.SetType(EtherTypeIPv6)
		IPv6(ip).setTrafficClass(p.TOS)
		ip[ip6NextHeader] = ProtocolUDP
		ip[ip6HopLimit] = DefaultTTL
		src, dst := Map(p.Src), Map(p.Dst)
		copy(ip[ip6Src:], src[:])
		copy(ip[ip6Dst:], dst[:])
	} else {
		eth.SetType(EtherTypeIPv4)
		ip[ipVersionIHL] = ipVersion4NoOptions
		ip[ipTOS] = p.TOS
		binary.BigEndian.PutUint16(ip[ipID:], p.ID)
		binary.BigEndian.PutUint16(ip[ipFragment:], ipDontFragment)
		ip[ipTTL] = DefaultTTL
		ip[ipProtocol] = ProtocolUDP
		copy(ip[ipSrc:], p.Src[:])
		copy(ip[ipDst:], p.Dst[:])
	}

	udp := header[h.udp():]
	binary.BigEndian.PutUint16(udp[udpSrcPort:], p.SrcPort)
	binary.BigEndian.PutUint16(udp[udpDstPort:], PortRoCE)

	bth := udp[UDPLen:]
	binary.BigEndian.PutUint16(bth[bthPKey:], bthDefaultPKey)
	putUint24(bth[bthDestQP:], p.DestQP)

	if p.Version == V6 {
		h.six = new([roceHeaderLen6]byte)
		copy(h.six[:], header)
	} else {
		h.form = newForm((*[roceHeaderLen]byte)(header))
	}
	if p.HeadersOnly {
		return h, nil
	}
	h.icrc = &icrcState{mtu: p.MTU}
	if p.MTU > 0 {
		h.icrc.full = payloadCRCFor(p.MTU)
	}
	return h, nil
}

// Version returns the IP version of this direction's packets.
func (h *FlowHeader) Version() Version {
	if h.six != nil {
		return V6
	}
	return V4
}

// udp returns the offset of the UDP header in a frame.
func (h *FlowHeader) udp() int { return h.length - BTHLen - UDPLen }

// Form returns the common headers of all packets of this direction; nil over IPv6.
func (h *FlowHeader) Form() *Form { return &h.form }

// SetMessage sets the RETH of the following WRITE first or only packets: the remote address and the length of the
// whole message.
func (h *FlowHeader) SetMessage(va uint64, length uint32) { h.va, h.dmaLen = va, length }

// SetTOS changes the TOS byte of the following packets, except brief ones. The ICRC does not cover it.
func (h *FlowHeader) SetTOS(tos uint8) { h.tos = tos }

// SetSourcePort changes the UDP source port of the following packets. No brief packets may exist, because they refer to
// the Form.
func (h *FlowHeader) SetSourcePort(port uint16) {
	header := h.form.header[:]
	if h.six != nil {
		header = h.six[:]
	}
	udp := header[h.udp():]
	if binary.BigEndian.Uint16(udp[udpSrcPort:]) == port {
		return
	}
	binary.BigEndian.PutUint16(udp[udpSrcPort:], port)
	if h.icrc != nil {
		h.icrc.prefixLen = 0
	}
}

// SetRetransmitted sets whether the following packets are marked as retransmissions, or as answers to retransmissions
// (BTH.Retransmitted).
func (h *FlowHeader) SetRetransmitted(retransmitted bool) {
	h.retransmitted = 0
	if retransmitted {
		h.retransmitted = bthRetransmitted << 24
	}
}

// put writes the headers up to the BTH of a frame of n bytes without padding to the minimum. flags and ecn are the
// BTH's bytes 1 and 4, ackPSN its last four. It returns the CRC up to the BTH's end.
func (h *FlowHeader) put(buf []byte, n int, op Opcode, flags, ecn byte, ackPSN uint32) (crc uint32) {
	var bth *[BTHLen]byte
	if h.six != nil {
		bth = h.put6(buf, n)
	} else {
		f := (*[roceHeaderLen]byte)(buf)
		*f = h.form.header
		ip := f[EthernetLen:]
		ip[ipTOS] = h.tos
		ip[ipTTL] = DefaultTTL
		binary.BigEndian.PutUint16(ip[ipTotalLen:], uint16(n-EthernetLen))
		binary.BigEndian.PutUint16(ip[ipChecksum:], h.form.checksum(n-EthernetLen, h.tos, DefaultTTL))
		binary.BigEndian.PutUint16(ip[IPv4Len+udpLength:], uint16(n-EthernetLen-IPv4Len))
		bth = (*[BTHLen]byte)(ip[IPv4Len+UDPLen:])
	}
	bth[bthOpcode] = byte(op)
	bth[bthFlags] = flags
	binary.BigEndian.PutUint32(bth[bthAck:], ackPSN|h.retransmitted)

	if h.icrc == nil {
		bth[bthECN] = ecn
		return 0
	}
	// The packets of a flow mostly have the same length, so the CRC over IP and UDP mostly stands.
	c := h.icrc
	if n != c.prefixLen {
		c.prefixLen = n
		copy(c.masked[:], buf[EthernetLen:h.length-BTHLen])
		maskIPUDP(c.masked[:])
		c.prefix = crcShort(crcLRH, c.masked[:h.length-EthernetLen-BTHLen])
	}
	bth[bthECN] = 0xff
	crc = crcShort(c.prefix, bth[:BTHLen])
	bth[bthECN] = ecn
	return crc
}

// put6 writes the headers before the BTH over IPv6, and returns the BTH.
func (h *FlowHeader) put6(buf []byte, n int) *[BTHLen]byte {
	f := (*[roceHeaderLen6]byte)(buf)
	*f = *h.six
	ip := f[EthernetLen:]
	IPv6(ip).setTrafficClass(h.tos)
	binary.BigEndian.PutUint16(ip[ip6PayloadLen:], uint16(n-EthernetLen-IPv6Len))
	binary.BigEndian.PutUint16(ip[IPv6Len+udpLength:], uint16(n-EthernetLen-IPv6Len))
	return (*[BTHLen]byte)(ip[IPv6Len+UDPLen:])
}

package wire

// Parse parses a frame into p, and overwrites p's previous content. Frames of other protocols are not an error: they
// have the kind KindOther. An error means that the frame contradicts itself; do not use p then.
//
// Parse checks lengths, so that every accessor of p is safe, but neither the ICRC nor the IP checksum: see ICRCValid
// and IPv4().ChecksumValid. It ignores bytes after the IP packet (Ethernet padding, an FCS).
func Parse(frame []byte, p *Packet) error {
	*p = Packet{frame: frame}
	if len(frame) < EthernetLen {
		return ErrTruncated
	}
	eth := Ethernet(frame)
	switch eth.Type() {
	case EtherTypeIPv4:
		return p.parseIPv4(frame[EthernetLen:])
	case EtherTypeIPv6:
		return p.parseIPv6(frame[EthernetLen:])
	case EtherTypeCNM:
		if len(frame) < cnmEnd {
			return ErrTruncated
		}
		p.Kind = KindCNM
	case EtherTypeMACControl:
		if len(frame) < pfcOpcode+2 {
			return ErrTruncated
		}
		// A pause of the whole link (opcode 1), or to another address: no frame of pausenet.
		if PFC(frame).Opcode() != OpcodePFC || eth.Dst() != PFCMAC {
			return nil
		}
		if len(frame) < pfcEnd {
			return ErrTruncated
		}
		p.Kind = KindPFC
	}
	return nil
}

func (p *Packet) parseIPv4(b []byte) error {
	ip := IPv4(b)
	if len(ip) < IPv4Len {
		return ErrTruncated
	}
	if ip.Version() != 4 || ip.HeaderLen() < IPv4Len || ip.TotalLen() < ip.HeaderLen() {
		return ErrIPHeader
	}
	if ip.TotalLen() > len(ip) {
		return ErrTruncated
	}
	p.ip = true
	p.TOS, p.Protocol = ip.TOS(), ip.Protocol()
	p.Src, p.Dst = ip.Src(), ip.Dst()

	// RoCEv2 has no IP options and is never fragmented; whatever does is left to the kernel.
	if ip.Protocol() != ProtocolUDP || ip.HeaderLen() != IPv4Len || ip.Fragmented() {
		return nil
	}
	if ip.TotalLen() < IPv4Len+UDPLen {
		return ErrTruncated
	}
	return p.parseUDP(UDP(ip[IPv4Len:ip.TotalLen()]), roceHeaderLen)
}

// parseIPv6 parses RoCEv2 between addresses of the fabric, without extension headers. It leaves all other packets to
// the kernel.
func (p *Packet) parseIPv6(b []byte) error {
	ip := IPv6(b)
	if len(ip) < IPv6Len {
		return ErrTruncated
	}
	if ip.Version() != 6 {
		return ErrIPHeader
	}
	if IPv6Len+ip.PayloadLen() > len(ip) {
		return ErrTruncated
	}
	src, ours := ip.Src().Unmap()
	dst, too := ip.Dst().Unmap()
	if ip.NextHeader() != ProtocolUDP || !ours || !too {
		return nil
	}
	if ip.PayloadLen() < UDPLen {
		return ErrTruncated
	}
	udp := UDP(ip[IPv6Len:][:ip.PayloadLen()])
	if udp.DstPort() == PortRoCE {
		p.TOS, p.Protocol, p.Src, p.Dst = ip.TrafficClass(), ProtocolUDP, src, dst
	}
	return p.parseUDP(udp, roceHeaderLen6)
}

// parseUDP parses a UDP datagram. If it is RoCEv2, its BTH ends at the given offset.
func (p *Packet) parseUDP(udp UDP, headers int) error {
	if udp.DstPort() != PortRoCE {
		return nil
	}
	if udp.Length() != len(udp) {
		return ErrLength
	}
	p.SrcPort, p.DstPort, p.headers = udp.SrcPort(), udp.DstPort(), headers
	return p.parseBTH(BTH(udp[UDPLen:]))
}

// parseBTH parses b, which starts with the BTH and ends with the ICRC.
func (p *Packet) parseBTH(b BTH) error {
	if len(b) < BTHLen+ICRCLen {
		return ErrTruncated
	}
	if b.TVer() != 0 {
		return ErrBTHVersion
	}
	p.bth = true
	p.Opcode = b.Opcode()
	p.DestQP, p.PSN = b.DestQP(), b.PSN()
	p.AckReq, p.Retransmitted, p.FECN, p.BECN = b.AckReq(), b.Retransmitted(), b.FECN(), b.BECN()
	p.body = p.headers
	p.icrc = p.headers - BTHLen + len(b) - ICRCLen

	rest := b[BTHLen : len(b)-ICRCLen]
	switch op := p.Opcode; {
	case op.IsData():
		p.body += op.extensions()
		p.Payload = p.icrc - p.body - b.PadCount()
		if p.Payload < 0 || (p.Payload+b.PadCount())&3 != 0 {
			return ErrLength
		}
		p.Kind = KindData
	case op.Operation() == OpAck:
		if len(rest) != op.answerLen() {
			return ErrLength
		}
		p.body += len(rest)
		aeth := AETH(rest)
		p.Syndrome, p.MSN = aeth.Syndrome(), aeth.MSN()
		p.Kind = kindOfAnswer(p.Syndrome)
	case op == OpCNP:
		if len(rest) != CNPReservedLen {
			return ErrLength
		}
		p.Kind = KindCNP
	default:
		return p.parseMessage(b, rest)
	}
	return nil
}

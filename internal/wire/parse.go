package wire

// Parse says what frame is and fills in p, whose previous content is lost. Frames that are not ours are no error, just
// KindOther; an error means that the frame contradicts itself, and p is then not to be used.
//
// Parse checks lengths, so that every accessor of p is safe, but neither the ICRC nor the IP checksum: ask ICRCValid and
// IPv4().ChecksumValid. Bytes after the IP packet (Ethernet padding, an FCS) are ignored.
func Parse(frame []byte, p *Packet) error {
	*p = Packet{frame: frame}
	if len(frame) < EthernetLen {
		return ErrTruncated
	}
	eth := Ethernet(frame)
	switch eth.Type() {
	case EtherTypeIPv4:
		return p.parseIPv4(frame[EthernetLen:])
	case EtherTypeCNM:
		if len(frame) < cnmEnd {
			return ErrTruncated
		}
		p.Kind = KindCNM
	case EtherTypeMACControl:
		if len(frame) < pfcOpcode+2 {
			return ErrTruncated
		}
		// A pause of the whole link (opcode 1), or to another address: not ours.
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
	udp := UDP(ip[IPv4Len:ip.TotalLen()])
	if udp.DstPort() != PortRoCE {
		return nil
	}
	if udp.Length() != len(udp) {
		return ErrLength
	}
	p.SrcPort, p.DstPort = udp.SrcPort(), udp.DstPort()
	return p.parseBTH(BTH(udp[UDPLen:]))
}

// parseBTH reads b, which starts with the BTH and ends with the ICRC.
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
	p.AckReq, p.FECN, p.BECN = b.AckReq(), b.FECN(), b.BECN()
	p.body = roceHeaderLen
	p.icrc = EthernetLen + IPv4Len + UDPLen + len(b) - ICRCLen

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

package wire

// HeaderBytes counts the bytes of a frame over IPv4 that hold every header read by ParseHeaders, without telemetry.
// LongHeaderBytes counts them with telemetry or over IPv6.
const (
	HeaderBytes     = 72
	LongHeaderBytes = 136
)

// ParseHeaders works like Parse for a frame of the given length, of which h holds the first bytes, all headers
// included. Of the accessors after the BTH only AETH, INT, Timestamp, Reserved and CNM may be used.
func ParseHeaders(h []byte, length int, p *Packet) error {
	*p = Packet{frame: h}
	if len(h) < MinFrame {
		return ErrTruncated
	}
	switch Ethernet(h).Type() {
	case EtherTypeCNM:
		p.Kind = KindCNM
		return nil
	case EtherTypeIPv4:
		ip := IPv4(h[EthernetLen:])
		if ip[ipVersionIHL] != ipVersion4NoOptions {
			return ErrIPHeader
		}
		if EthernetLen+ip.TotalLen() > length {
			return ErrTruncated
		}
		p.ip = true
		p.TOS, p.Protocol = ip.TOS(), ip.Protocol()
		p.Src, p.Dst = ip.Src(), ip.Dst()
		if ip.Protocol() != ProtocolUDP {
			return nil
		}
		return p.parseRoCEHeaders(h, roceHeaderLen, EthernetLen+ip.TotalLen())
	case EtherTypeIPv6:
		return p.parseIPv6Headers(h, length)
	}
	return nil
}

func (p *Packet) parseIPv6Headers(h []byte, length int) error {
	ip := IPv6(h[EthernetLen:])
	if ip.Version() != 6 {
		return ErrIPHeader
	}
	end := EthernetLen + IPv6Len + ip.PayloadLen()
	if end > length {
		return ErrTruncated
	}
	var srcOK, dstOK bool
	p.Src, srcOK = ip.Src().Unmap()
	p.Dst, dstOK = ip.Dst().Unmap()
	if ip.NextHeader() != ProtocolUDP || !srcOK || !dstOK {
		return nil
	}
	if len(h) < roceHeaderLen6+AETHLen { // every RoCE packet has an AETH or an ICRC there
		return ErrTruncated
	}
	p.TOS, p.Protocol = ip.TrafficClass(), ProtocolUDP
	return p.parseRoCEHeaders(h, roceHeaderLen6, end)
}

// parseRoCEHeaders parses a UDP frame. If it is RoCEv2, its BTH ends at offset headers. Its IP packet ends at offset
// end.
func (p *Packet) parseRoCEHeaders(h []byte, headers, end int) error {
	read := (*[UDPLen + BTHLen]byte)(h[headers-BTHLen-UDPLen:])
	udp, b := UDP(read[:UDPLen]), BTH(read[UDPLen:])
	if udp.DstPort() != PortRoCE {
		return nil
	}
	p.SrcPort, p.DstPort, p.headers = udp.SrcPort(), udp.DstPort(), headers
	p.Opcode = b.Opcode()
	p.DestQP, p.PSN = b.DestQP(), b.PSN()
	p.AckReq, p.Retransmitted, p.FECN, p.BECN = b.AckReq(), b.Retransmitted(), b.FECN(), b.BECN()
	if kept := len(h) - headers; p.Opcode.HasINT() && kept < INTLen+ICRCLen || p.Opcode.HasTimestamp() &&
		kept < mostTimestampEnd ||
		p.Opcode.HasDemand() && kept < DemandLen {
		return ErrTruncated
	}
	rest := end - headers - ICRCLen
	switch op := p.Opcode; {
	case op.IsData():
		p.Payload = rest - op.extensions() - b.PadCount()
		if p.Payload < 0 {
			return ErrLength
		}
		p.Kind = KindData
	case op.Operation() == OpAck:
		if rest != op.answerLen() {
			return ErrLength
		}
		aeth := AETH(h[headers:])
		p.Syndrome, p.MSN = aeth.Syndrome(), aeth.MSN()
		p.Kind = kindOfAnswer(p.Syndrome)
	case op == OpCNP:
		if rest != CNPReservedLen {
			return ErrLength
		}
		if len(h) < headers+CNPReservedLen {
			return ErrTruncated
		}
		p.Kind = KindCNP
	}
	return nil
}

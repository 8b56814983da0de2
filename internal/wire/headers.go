package wire

// minINTFrame is as long as any packet with telemetry is: one without payload.
const minINTFrame = roceHeaderLen + INTLen + ICRCLen

// HeaderBytes is how much of a frame holds every header that ParseHeaders reads, without telemetry; TelemetryHeaderBytes, with it.
const (
	HeaderBytes          = 72
	TelemetryHeaderBytes = 136
)

// ParseHeaders is Parse for a frame of which only the first bytes are there: h, at least as long as the headers, of a
// frame of the given length. Of what follows the BTH the accessors AETH, INT, Timestamp, Reserved and CNM may
// be used.
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
	default:
		return nil
	}
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
	udp := UDP(ip[IPv4Len:])
	if ip.Protocol() != ProtocolUDP || udp.DstPort() != PortRoCE {
		return nil
	}
	p.SrcPort, p.DstPort = udp.SrcPort(), udp.DstPort()
	b := BTH(udp[UDPLen:])
	p.Opcode = b.Opcode()
	p.DestQP, p.PSN = b.DestQP(), b.PSN()
	p.AckReq, p.FECN, p.BECN = b.AckReq(), b.FECN(), b.BECN()
	if p.Opcode.HasINT() && len(h) < minINTFrame || p.Opcode.HasTimestamp() && len(h) < minTimestampFrame || p.Opcode.HasDemand() && len(h) < minDemandFrame {
		return ErrTruncated
	}
	rest := ip.TotalLen() - IPv4Len - UDPLen - BTHLen - ICRCLen
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
		aeth := AETH(b[BTHLen:])
		p.Syndrome, p.MSN = aeth.Syndrome(), aeth.MSN()
		p.Kind = kindOfAnswer(p.Syndrome)
	case op == OpCNP:
		if rest != CNPReservedLen {
			return ErrLength
		}
		if len(h) < roceHeaderLen+CNPReservedLen {
			return ErrTruncated
		}
		p.Kind = KindCNP
	}
	return nil
}

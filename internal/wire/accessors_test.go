package wire

import "encoding/binary"

// Ethernet returns the frame.
func (p *Packet) Ethernet() Ethernet { return p.frame }

// UDP returns a RoCEv2 frame's UDP datagram; nil for other frames.
func (p *Packet) UDP() UDP { return UDP(p.roce(BTHLen + UDPLen)) }

// BTH returns the base transport header, nil if the frame is not RoCEv2.
func (p *Packet) BTH() BTH { return BTH(p.roce(BTHLen)) }

// AETH returns the header of an ACK or NAK; nil otherwise.
func (p *Packet) AETH() AETH {
	if p.Kind != KindAck && p.Kind != KindNak {
		return nil
	}
	return p.frame[p.headers : p.headers+AETHLen]
}

// PKey returns the partition key.
func (b BTH) PKey() uint16 { return binary.BigEndian.Uint16(b[bthPKey:]) }

// FlowIDLow returns the low byte of the id, which is all that the figure includes.
func (c CNM) FlowIDLow() uint8 { return c[cnmFlowLow] }

// FlowsShort returns N saturated at 255, as in the figure.
func (c CNM) FlowsShort() uint8 { return c[cnmFlowsSat] }

// ID returns the identification field; pausenet sends 0, which RFC 6864 permits under DF.
func (p IPv4) ID() uint16 { return binary.BigEndian.Uint16(p[ipID:]) }

// SetTTL rewrites the time to live and adjusts the checksum.
func (p IPv4) SetTTL(ttl uint8) { p.setWord(ipTTL, ttl, p[ipProtocol]) }

// SetECN rewrites the congestion codepoint.
func (p IPv6) SetECN(e ECN) { p[1] = p[1]&^0x30 | uint8(e&3)<<4 }

// Checksum returns the checksum. RoCEv2 sends 0, which means none, because the ICRC is stronger.
func (u UDP) Checksum() uint16 { return binary.BigEndian.Uint16(u[udpChecksum:]) }

package wire

import "encoding/binary"

// UDP is a UDP header (RFC 768) and what follows it.
type UDP []byte

// UDPLen is the header's length.
const UDPLen = 8

const (
	udpSrcPort  = 0
	udpDstPort  = 2
	udpLength   = 4
	udpChecksum = 6
)

const (
	// PortRoCE is RoCEv2's destination port (IBTA annex A17).
	PortRoCE = 4791
	// MinEntropyPort is the first of the source ports that a QP may use to spread its flows over equal paths; the
	// last is 0xffff: the dynamic ports (RFC 6335 section 6), which the UDP source port of RoCEv2 is taken from.
	MinEntropyPort = 0xc000
)

// SrcPort returns the source port: in RoCEv2 the QP's entropy for ECMP.
func (u UDP) SrcPort() uint16 { return binary.BigEndian.Uint16(u[udpSrcPort:]) }

// DstPort returns the destination port.
func (u UDP) DstPort() uint16 { return binary.BigEndian.Uint16(u[udpDstPort:]) }

// Length returns the datagram's length, header included.
func (u UDP) Length() int { return int(binary.BigEndian.Uint16(u[udpLength:])) }

// Checksum returns the checksum; RoCEv2 sends 0, for none, since the ICRC is stronger.
func (u UDP) Checksum() uint16 { return binary.BigEndian.Uint16(u[udpChecksum:]) }

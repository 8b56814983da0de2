package wire

import "encoding/binary"

// UDP holds a UDP header (RFC 768) and the bytes after it.
type UDP []byte

// UDPLen is the length of the header in bytes.
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
	// MinEntropyPort is the first source port with which a QP may spread its flows over equal paths. The last is
	// 0xffff. These are the dynamic ports (RFC 6335 section 6), the range of RoCEv2's UDP source ports.
	MinEntropyPort = 0xc000
)

// SrcPort returns the source port: in RoCEv2 the QP's entropy for ECMP.
func (u UDP) SrcPort() uint16 { return binary.BigEndian.Uint16(u[udpSrcPort:]) }

// DstPort returns the destination port.
func (u UDP) DstPort() uint16 { return binary.BigEndian.Uint16(u[udpDstPort:]) }

// Length returns the datagram's length, header included.
func (u UDP) Length() int { return int(binary.BigEndian.Uint16(u[udpLength:])) }

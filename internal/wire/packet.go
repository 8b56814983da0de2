package wire

import (
	"encoding/binary"
	"errors"
)

// Kind identifies the role of a frame in the fabric.
type Kind uint8

// Kinds.
const (
	KindOther Kind = iota // host-stack traffic, or a RoCE opcode that pausenet does not use
	KindData
	KindAck
	KindNak // sequence error, RNR or another refusal: see Packet.Syndrome
	KindCNP
	KindCNM
	KindPFC
	KindGrant   // grant from a receiver to its sender: see Packet.Sum
	KindRequest // request for a grant
	// Only for queue pairs of messages.
	KindReadRequest
	KindReadResponse
	KindAtomic
	KindAtomicAck
	KindDatagram
)

// kindNames holds the names of all kinds except KindOther.
var kindNames = [256]string{
	KindData: "data", KindAck: "ack", KindNak: "nak", KindCNP: "cnp", KindCNM: "cnm", KindPFC: "pfc",
	KindReadRequest: "read", KindReadResponse: "read response", KindAtomic: "atomic",
	KindAtomicAck: "atomic ack", KindDatagram: "datagram", KindGrant: "grant", KindRequest: "request",
}

// String returns the kind's name.
func (k Kind) String() string {
	if name := kindNames[k]; name != "" {
		return name
	}
	return "other"
}

// Errors of Parse.
var (
	ErrTruncated  = errors.New("frame is shorter than its headers say")
	ErrIPHeader   = errors.New("malformed IP header")
	ErrLength     = errors.New("RoCEv2 lengths contradict each other")
	ErrBTHVersion = errors.New("unknown BTH transport version")
)

// Packet holds a parsed frame. It refers to the frame's bytes and is valid as long as they are.
type Packet struct {
	Kind Kind

	// For every IPv4 frame, and for RoCEv2 over IPv6. There TOS is the traffic class, and the addresses are the IPv4
	// addresses that the packet's addresses stand for.
	TOS      uint8
	Protocol uint8
	Src, Dst Addr

	// For RoCEv2 frames (Opcode is undefined when BTH() is nil).
	Opcode        Opcode // as on the wire: not one of the standard's if it has telemetry
	Syndrome      uint8  // ACK and NAK
	AckReq        bool
	Retransmitted bool // BTH.Retransmitted
	FECN, BECN    bool
	SrcPort       uint16
	DstPort       uint16
	DestQP        uint32
	PSN           uint32
	MSN           uint32 // ACK and NAK; grants and requests: see Sum
	Payload       int    // data, READ responses and datagrams: payload bytes, without padding

	frame   []byte
	ip, bth bool
	headers int // offset of the bytes after the BTH; 0: unknown, because the frame is brief
	body    int // offset of the bytes after the headers
	icrc    int // offset of the ICRC
}

// ECN returns the congestion codepoint of a frame with a TOS.
func (p *Packet) ECN() ECN { return ECN(p.TOS & 3) }

// Priority returns the priority of the frame's DSCP.
func (p *Packet) Priority() uint8 { return PriorityOfDSCP(p.TOS >> 2) }

// Version returns the IP version of a RoCEv2 frame.
func (p *Packet) Version() Version {
	if p.headers == roceHeaderLen6 {
		return V6
	}
	return V4
}

// IPv4 returns the IPv4 packet; nil if the frame has none.
func (p *Packet) IPv4() IPv4 {
	if !p.ip {
		return nil
	}
	return p.frame[EthernetLen:]
}

// roce returns the frame from this many bytes before the BTH's end on.
func (p *Packet) roce(before int) []byte {
	if !p.bth {
		return nil
	}
	return p.frame[p.headers-before : p.icrc+ICRCLen]
}

// RETH returns the header of a WRITE first or only, or of a READ request; nil otherwise.
func (p *Packet) RETH() RETH {
	if (p.Kind != KindData || !p.Opcode.HasRETH()) && p.Kind != KindReadRequest {
		return nil
	}
	at := p.headers + p.Opcode.added()
	return p.frame[at : at+RETHLen]
}

// INT returns the telemetry of a data packet, ACK or NAK, nil if it carries none.
func (p *Packet) INT() INT {
	at := intOffset(p.Opcode)
	if at < 0 || p.Kind == KindOther {
		return nil
	}
	return p.frame[p.headers+at : p.headers+at+INTLen]
}

// Data returns a data packet's or a datagram's payload; nil for other packets.
func (p *Packet) Data() []byte {
	if p.Kind != KindData && p.Kind != KindDatagram {
		return nil
	}
	return p.frame[p.body : p.body+p.Payload]
}

// Reserved returns the 16 reserved bytes of a CNP; nil otherwise.
func (p *Packet) Reserved() []byte {
	if p.Kind != KindCNP {
		return nil
	}
	return p.frame[p.headers : p.headers+CNPReservedLen]
}

// PFC returns the frame if it is a PFC frame; nil otherwise.
func (p *Packet) PFC() PFC {
	if p.Kind != KindPFC {
		return nil
	}
	return p.frame
}

// CNM returns the frame if it is a CNM; nil otherwise.
func (p *Packet) CNM() CNM {
	if p.Kind != KindCNM {
		return nil
	}
	return p.frame
}

// ICRCValid reports whether the frame is RoCEv2 and has the correct ICRC.
func (p *Packet) ICRCValid() bool {
	return p.bth && ICRC(p.frame[EthernetLen:p.icrc]) == binary.LittleEndian.Uint32(p.frame[p.icrc:])
}

// VerifyICRC reports whether frame is a well-formed RoCEv2 frame with the correct ICRC.
func VerifyICRC(frame []byte) bool {
	var p Packet
	return Parse(frame, &p) == nil && p.ICRCValid()
}

package wire

import "encoding/binary"

// CNM holds a whole DCON congestion notification message, Ethernet header included: figure 5 of the DCON paper with its
// padding filled (docs/schemes/dcon.md). Each switch on the way to the flow's source rewrites its addresses.
type CNM []byte

// CNMLen is the length of the frames that pausenet sends: padded to the minimum.
const CNMLen = MinFrame

const (
	cnmFlowLow  = 14 // low byte of the flow id
	cnmFlowsSat = 15 // min(N, 255)
	cnmFlowID   = 16
	cnmFlows    = 18 // min(N, 65535)
	cnmRate     = 20 // Mb/s
	cnmEnd      = 24
)

// FlowID returns the congested flow's id.
func (c CNM) FlowID() uint16 { return binary.BigEndian.Uint16(c[cnmFlowID:]) }

// Flows returns N, the number of flows through the congested egress port. It saturates at 65535.
func (c CNM) Flows() int { return int(binary.BigEndian.Uint16(c[cnmFlows:])) }

// RateMbps returns the congested egress port's rate.
func (c CNM) RateMbps() uint32 { return binary.BigEndian.Uint32(c[cnmRate:]) }

// PutCNM writes a message and returns its length. len(buf) must be at least CNMLen; flows must not be negative.
func PutCNM(buf []byte, dst, src MAC, flowID uint16, flows int, rateMbps uint32) int {
	f := buf[:CNMLen]
	Ethernet(f).SetDst(dst)
	Ethernet(f).SetSrc(src)
	Ethernet(f).SetType(EtherTypeCNM)
	f[cnmFlowLow] = byte(flowID)
	f[cnmFlowsSat] = byte(min(flows, 0xff))
	binary.BigEndian.PutUint16(f[cnmFlowID:], flowID)
	binary.BigEndian.PutUint16(f[cnmFlows:], uint16(min(flows, 0xffff)))
	binary.BigEndian.PutUint32(f[cnmRate:], rateMbps)
	clear(f[cnmEnd:])
	return CNMLen
}

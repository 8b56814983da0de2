//go:build linux

package ebpf_test

import (
	"encoding/binary"
	"testing"

	"github.com/pausenet/pausenet/internal/wire"
)

// roce describes a RoCE data packet on its way into a port.
type roce struct {
	in, src, dst int // port, hosts
	sport        uint16
	priority     uint8
	ecn          wire.ECN
	payload      int // 0: mtu
	ip           wire.Version
}

func (p roce) header(t testing.TB) *wire.FlowHeader {
	t.Helper()
	h, err := wire.NewFlowHeader(wire.FlowParams{
		SrcMAC: peerMAC(p.in), DstMAC: portMAC(p.in), Src: hostIP(p.src), Dst: hostIP(p.dst), SrcPort: p.sport | 0xc000,
		DestQP: 7, TOS: wire.DataTOS(p.priority, p.ecn), Version: p.ip,
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (p roce) frame(t testing.TB) []byte {
	t.Helper()
	n := p.payload
	if n == 0 {
		n = mtu
	}
	buf := make([]byte, wire.MaxFrame)
	return buf[:wire.PutData(buf, p.header(t), wire.OpWriteMiddle, 1, n, false, true)]
}

// id returns the packet's flow id, as the receiver of a CNM computes it.
func (p roce) id() uint16 {
	return wire.FlowID(hostIP(p.src), p.sport|0xc000, hostIP(p.dst), wire.PortRoCE, wire.ProtocolUDP)
}

// entry returns the flow table entry of the packet's flow at switch 0.
func (p roce) entry() uint32 { return uint32(p.id()) }

// data sends a full packet of the lossless priority from host 0 to host dst into port in of switch 0.
func (r *rig) data(in, dst int, sport uint16) (roce, result) {
	r.t.Helper()
	p := roce{in: in, dst: dst, sport: sport, priority: lossless, ecn: wire.ECT0}
	return p, r.enter(in, p.frame(r.t))
}

// dataLen holds the length of the frame that data sends.
var dataLen = wire.V4.DataLen(wire.OpWriteMiddle, mtu)

// ipHeader returns the IP header of a frame.
func ipHeader(frame []byte) wire.IPv4 { return wire.IPv4(frame[wire.EthernetLen:]) }

// plainIP returns an IPv4 packet of another protocol than RoCE for a host.
func plainIP(in, dst int, protocol, ttl, tos uint8) []byte {
	frame := make([]byte, 100)
	eth := wire.Ethernet(frame)
	eth.SetDst(portMAC(in))
	eth.SetSrc(peerMAC(in))
	eth.SetType(wire.EtherTypeIPv4)
	ip := ipHeader(frame)
	ip[0], ip[1], ip[8], ip[9] = 0x45, tos, ttl, protocol
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	src, addr := hostIP(0), hostIP(dst)
	copy(ip[12:], src[:])
	copy(ip[16:], addr[:])
	for i := range ip[20:] {
		ip[20+i] = byte(i)
	}
	ip.UpdateChecksum()
	return frame
}

package engine

import (
	"encoding/binary"

	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// links holds the ports of a fabric and the wires between them.
type links struct {
	plan  *topologies.Plan
	ports []port // by topologies.PortID
	seed  uint64 // seed for the random draws of faults
}

// faultOf returns a port's fault record, which it creates on first use.
func (l *links) faultOf(p *port) *portFault {
	if p.fault == nil {
		p.fault = &portFault{seed: splitmix.At(l.seed^0x6c6f7373, 0) ^ splitmix.At(uint64(p.id), 0)}
		p.faulty = true
	}
	return p.fault
}

// LinkUp reports whether the link of a port is up.
func (l *links) LinkUp(port int) bool {
	return l.ports[port].fault == nil || !l.ports[port].fault.down
}

// Wire describes the present state of the wire from a port.
type Wire struct {
	Rate       units.Rate
	Delay      vtime.Time
	Up         bool
	Loss       float64
	Corruption Corruption
}

// Corruption describes how a wire damages frames. The receiver's MAC drops damaged frames, as their FCS is wrong.
type Corruption struct {
	Frame float64 // probability that a frame is damaged
	Bit   float64 // bit error rate, FCS included
}

// Wire returns the present state of the wire from a port.
func (l *links) Wire(port int) Wire {
	p := &l.ports[port]
	w := Wire{Rate: p.rate, Delay: p.delay, Up: l.LinkUp(port)}
	if f := p.fault; f != nil {
		w.Loss, w.Corruption = f.loss, Corruption{f.corrupt, f.ber}
	}
	return w
}

// LostAt returns the losses by faults, by cause, of frames that left port p or were queued there; with LossReceiver, of
// frames that arrived there.
func (l *links) LostAt(p int) [Losses]Amount {
	if f := l.ports[p].fault; f != nil {
		return f.lost
	}
	return [Losses]Amount{}
}

// TxBytes returns the bytes of a priority's frames that port p has started to send.
func (l *links) TxBytes(p int, priority uint8) int64 { return l.ports[p].txBytes[priority] }

// TxFrames returns the number of frames that port p has started to send.
func (l *links) TxFrames(p int) int64 { return l.ports[p].txFrames }

// hostPort returns a host's port by its interface index.
func (l *links) hostPort(nic int) *port { return &l.ports[l.plan.Interfaces[nic]] }

func (l *links) mtuOf(p int32) int { return l.plan.Ports[p].MTU }

// interfaceOf returns the index of the host's interface with an address; -1 without one.
func (l *links) interfaceOf(a wire.Addr) int {
	address := binary.BigEndian.Uint32(a[:])
	if nic := int(address&0xffffff) - 1; address>>24 == 10 && nic >= 0 && nic < len(l.plan.Interfaces) {
		return nic
	}
	return -1
}

// switchPorts returns the ports of the switch with this index.
func (l *links) switchPorts(index int) []topologies.PortID {
	return l.plan.Nodes[l.plan.Switch[index]].Ports
}

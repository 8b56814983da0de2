//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/topologies"
)

// ProcessPlane implements the plane of a live fabric whose switches' pipelines run in this process, like the wasm
// plane's. Nodes, their interfaces and the programs there are those of Plane. A frame of a program comes out of its
// host's interface, passes the switches without the kernel, and enters the destination host's interface. So it crosses
// the kernel twice, instead of once per link. Switches' interfaces carry no frames.
type ProcessPlane struct {
	// Injected counts the frames sent into hosts' interfaces.
	Injected uint64
	*wasmplane.Plane
	*programFrames
	into    *injector
	ports   []ebpf.Port
	running []*unix.Ifreq // requests by port: whether the outer end has a carrier
	asked   []time.Time   // times of the last requests by port
}

// carrierAge sets how long such an answer is valid: asking takes a fifth of the time of sending a frame, and the kernel
// itself may update it later.
const carrierAge = time.Millisecond

func openProcess(plan *topologies.Plan, o FabricOptions) (*ProcessPlane, error) {
	inside, err := wasmplane.Open(plan, o.Features)
	if err != nil {
		return nil, err
	}
	o.inProcess = true
	f, err := NewFabric(plan, o)
	if err != nil {
		return nil, errors.Join(err, inside.Close())
	}
	p := &ProcessPlane{
		Plane: inside.(*wasmplane.Plane), ports: inside.State().Ports,
		running: make([]*unix.Ifreq, len(plan.Ports)), asked: make([]time.Time, len(plan.Ports)),
	}
	err = f.inHub(func() (err error) {
		if p.into, err = newInjector(); err != nil {
			return err
		}
		if p.programFrames, err = newPrograms(f, plane.FrameSize(plan)); err != nil {
			return errors.Join(err, p.into.Close())
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, f.Close(), inside.Close())
	}
	for i := range plan.Ports {
		if p.running[i], err = unix.NewIfreq(plan.Ports[i].Name); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", plan.Ports[i].Name, err), p.Close())
		}
	}
	return p, nil
}

// Live returns true.
func (p *ProcessPlane) Live() bool { return true }

// Fabric returns the fabric that the plane drives.
func (p *ProcessPlane) Fabric() *Fabric { return p.fabric }

// CarriesPayload returns true: programs read the payload of others.
func (p *ProcessPlane) CarriesPayload() bool { return true }

// Unasked returns nil: the pipelines do nothing unless the engine requests it.
func (p *ProcessPlane) Unasked() error { return nil }

// ManageCarriers makes the carriers of switches' interfaces the fabric's own: changes of them, by Fabric.SetCarrier, do
// not count as disturbances.
func (p *ProcessPlane) ManageCarriers() { p.managed = true }

// Process runs the pipelines, and sends frames for a host's programs into its interface.
func (p *ProcessPlane) Process(in int, f *frame.Frame) error {
	if err := p.Plane.Process(in, f); err != nil {
		return err
	}
	if p.State().Pass.Verdict != ebpf.VerdictStack {
		return nil
	}
	return p.deliver(in, f)
}

// deliver sends a frame into a host's interface. If the host cannot accept it, the frame is reported lost.
func (p *ProcessPlane) deliver(in int, f *frame.Frame) error {
	err := p.connected(in)
	if err == nil {
		err = p.Inject(in, f.Data())
	}
	if err == nil {
		return nil
	}
	if !isAny(err, lostAtHost...) {
		return machineError("send into %s: %w", p.fabric.plan.Ports[in].Name, err)
	}
	p.ports[in].RxFrames-- // it is counted as lost
	return plane.ErrUnfinished
}

// connected returns an error if a port's interface is down: a veth pair silently drops frames sent into it.
func (p *ProcessPlane) connected(port int) error {
	now := time.Now()
	if now.Sub(p.asked[port]) < carrierAge {
		return nil
	}
	if err := unix.IoctlIfreq(p.into.socket, unix.SIOCGIFFLAGS, p.running[port]); err != nil {
		return err
	}
	if p.running[port].Uint16()&unix.IFF_RUNNING == 0 {
		return unix.ENETDOWN
	}
	p.asked[port] = now
	return nil
}

// Inject sends a frame into the outer end of a port. It retries while the kernel has no room, up to the timeout of a
// live fabric for hosts.
func (p *ProcessPlane) Inject(port int, data []byte) error {
	to := fill.OuterIfindex(0) + int32(port)
	p.Injected++
	err := p.into.send(to, data)
	if err == nil || !noRoom(err) {
		return err
	}
	return retry(func() error { return p.into.send(to, data) }, liveTimeout, func() bool { return false })
}

// Close removes the sockets, the pipelines and the fabric.
func (p *ProcessPlane) Close() error {
	return errors.Join(p.programFrames.end(), p.into.Close(), p.Plane.Close(), p.fabric.Close())
}

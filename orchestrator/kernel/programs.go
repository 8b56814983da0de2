//go:build linux

package kernel

import (
	"errors"

	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

// LivePlane represents the plane of a live fabric: Plane, whose switches run in the kernel, or ProcessPlane, whose
// switches run in this process.
type LivePlane interface {
	plane.Plane
	// Live reports whether the plane was opened for a live fabric. The methods below are only for live fabrics.
	Live() bool
	// Fabric returns the fabric that the plane drives.
	Fabric() *Fabric
	// Untap ends the tap of port in.
	Untap(in int) error
	// Receive returns the first waiting frame of a program; ok is false if there is none. The frame is valid until
	// Release.
	Receive() (f ProgramFrame, ok bool)
	// Release frees the frame that Receive returned.
	Release()
	// Waiting reports whether a program's frame waits.
	Waiting() bool
	// Overrun returns the number of programs' frames dropped for lack of room since the last call.
	Overrun() (frames uint32, err error)
	// Descriptor returns a file descriptor to poll for programs' frames.
	Descriptor() int
	// Unasked handles the pipelines' activity since the last pass. An error ends the fabric.
	Unasked() error
	// Disturbed returns the interfaces that someone has deleted, moved or taken down since bring-up, in the order of
	// ports.
	Disturbed() []Disturbance
}

// programFrames handles the programs on a live fabric's hosts: their frames, and their changes of interfaces.
type programFrames struct {
	fabric  *Fabric
	outside *ring
	downs   map[int32]uint32 // number of times that each interface had lost its carrier before any program ran
	ups     *UpWatch         // restores hosts' routes
	managed bool             // the fabric itself changes the carriers of switches' interfaces
}

// ProgramSlots sets the number of programs' frames that may wait in the ring.
const ProgramSlots = 4096

// newPrograms opens the ring of programs' frames in the calling thread's namespace, the hub.
func newPrograms(f *Fabric, frameSize int) (p *programFrames, err error) {
	p = &programFrames{fabric: f}
	entry := int32(0)
	if f.entry != nil {
		entry = f.entry.index
	}
	if p.outside, err = newRing(frameSize, ProgramSlots, ofPrograms(entry)); err != nil {
		return nil, err
	}
	if err := p.outside.stampEarly(); err != nil {
		return nil, errors.Join(err, p.outside.Close())
	}
	if p.downs, err = carrierDowns(); err != nil {
		return nil, errors.Join(err, p.outside.Close())
	}
	if p.ups, err = WatchUps(f.restoreRoutes); err != nil {
		return nil, errors.Join(err, p.outside.Close())
	}
	return p, nil
}

func (p *programFrames) end() error { return errors.Join(p.ups.Close(), p.outside.Close()) }

// ProgramFrame holds a frame that a program sent out of a port.
type ProgramFrame struct {
	Data  []byte // valid until Release
	Port  int    // may be no port of the fabric
	Whole bool   // Data is complete: not truncated, and without a removed VLAN tag
	Stamp int64  // time at which it left the port, in ns of CLOCK_REALTIME since 1970
}

// Receive returns the first waiting frame of a program; ok is false if there is none. The frame is valid until Release.
func (p *programFrames) Receive() (f ProgramFrame, ok bool) {
	r := p.outside
	data, ifindex, ok := r.receive()
	if !ok {
		return f, false
	}
	return ProgramFrame{data, int(ifindex - fill.OuterIfindex(0)), r.whole(), r.stamp()}, true
}

// Release frees the frame that Receive returned.
func (p *programFrames) Release() { p.outside.release() }

// Descriptor returns a file descriptor to poll for programs' frames.
func (p *programFrames) Descriptor() int { return p.outside.rx }

// Waiting reports whether a program's frame waits.
func (p *programFrames) Waiting() bool {
	_, _, ok := p.outside.receive()
	return ok
}

// Overrun returns the number of programs' frames dropped for lack of room since the last call.
func (p *programFrames) Overrun() (frames uint32, err error) {
	return p.outside.drops()
}

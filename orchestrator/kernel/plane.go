//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/ebpf/kernel"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

// Plane carries frames through the kernel: into the entry, through the programs, and out of a port's outer end into the
// outbox.
type Plane struct {
	fabric   *Fabric
	state    *ebpf.State
	pass     *ebpf.Pass
	into     *injector
	out      *kernel.Outbox
	done     uint64 // passes started: the expected value of pass.Done
	expected uint64 // frames expected from the outbox

	taps           map[int]*tap
	live           *livePlane // nil in virtual time
	*programFrames            // nil in virtual time

	before egressBefore // registers before the pass
	// Waits counts passes that were unfinished when the system call returned. Resent counts frames sent more than once
	// because the kernel had no room for them.
	Waits  uint64
	Resent atomic.Uint64
}

// passTimeout limits a pass. It normally takes microseconds; on an overloaded machine the kernel may leave the work
// to a thread that waits for a processor.
const passTimeout = 20 * time.Second

// NewPlane returns a plane that drives a fabric. frameSize is the maximum size of a frame, in bytes.
func NewPlane(f *Fabric, frameSize int) (*Plane, error) {
	p := &Plane{fabric: f, state: f.State(), pass: f.State().Pass, out: &f.pipelines.Outbox, taps: map[int]*tap{}}
	err := f.inHub(func() (err error) {
		if p.into, err = newInjector(); err != nil || !f.live {
			return err
		}
		p.live = &livePlane{dead: make([]bool, len(f.plan.Ports)), owed: make([]uint64, len(f.plan.Ports))}
		if p.programFrames, err = newPrograms(f, frameSize); err != nil {
			return errors.Join(err, p.into.Close())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Name returns "kernel".
func (p *Plane) Name() string { return plane.Kernel }

// CarriesPayload returns true: frames are complete, because they are real.
func (p *Plane) CarriesPayload() bool { return true }

// State returns the pipelines' tables and registers.
func (p *Plane) State() *ebpf.State { return p.state }

// Process sends the frame into port in and waits until the programs have processed it.
func (p *Plane) Process(in int, f *frame.Frame) error {
	if p.live != nil {
		return p.processLive(in, f)
	}
	x := p.pass
	x.Verdict = ebpf.VerdictNone
	p.done++
	if err := p.send(in, f, passTimeout); err != nil {
		return p.notSent(in, err)
	}
	if atomic.LoadUint64(&x.Done) != p.done {
		if !p.wait(func() bool { return atomic.LoadUint64(&x.Done) == p.done }) {
			return p.unseen(in)
		}
	}
	if len(p.taps) > 0 {
		if err := p.drainTap(in); err != nil {
			return err
		}
	}
	if x.Verdict != ebpf.VerdictForward && x.Verdict != ebpf.VerdictHost {
		return nil
	}
	p.expected++
	data, ifindex, ok := p.out.Receive()
	if !ok {
		if !p.wait(func() bool { data, ifindex, ok = p.out.Receive(); return ok }) {
			return p.notOut(in)
		}
	}
	if want := fill.OuterIfindex(0) + int32(x.Egress); ifindex != want {
		return fmt.Errorf("frame into %s left interface %d of the hub namespace instead of %d (%s)",
			p.fabric.plan.Ports[in].Name, ifindex, want, p.fabric.plan.Ports[x.Egress].Name)
	}
	if len(data) != len(f.Data()) {
		return fmt.Errorf("frame into %s entered with %d bytes and left with %d",
			p.fabric.plan.Ports[in].Name, len(f.Data()), len(data))
	}
	copy(f.Data(), data)
	p.out.Release()
	return nil
}

// Header returns the frame.
func (p *Plane) Header(f *frame.Frame) []byte { return f.Data() }

// notOut returns the error of a frame that the pipelines sent to a port but that did not leave it.
func (p *Plane) notOut(in int) error {
	out := int(p.pass.Egress)
	return machineError("frame into %s: it did not leave %s within %v: %s",
		p.fabric.plan.Ports[in].Name, p.fabric.plan.Ports[out].Name, passTimeout, p.obstacle(out))
}

// wait spins until ready: first without pause, then yielding the processor to the thread that may do the kernel's
// work.
func (p *Plane) wait(ready func() bool) bool {
	p.Waits++
	deadline := time.Now().Add(passTimeout)
	for i := 0; ; i++ {
		if ready() {
			return true
		}
		switch {
		case i < 100:
		case i < 1000:
			unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0) //nolint:errcheck // it cannot fail
			runtime.Gosched()
		default:
			time.Sleep(50 * time.Microsecond)
			if time.Now().After(deadline) {
				return ready()
			}
		}
	}
}

// Check compares the kernel's counters with the frames sent and received.
func (p *Plane) Check() []string {
	var problems []string
	if p.pass.Done != p.done {
		problems = append(problems, fmt.Sprintf("%d passes started, but %d ended", p.done, p.pass.Done))
	}
	unfinished := uint64(0)
	if p.live != nil {
		unfinished = p.live.Unfinished
	}
	if p.pass.Marked < p.done || p.pass.Marked > p.done+unfinished {
		problems = append(problems, fmt.Sprintf("%d passes started, but the egress pipelines saw %d", p.done, p.pass.Marked))
	}
	if came := p.out.Begun(); came != p.expected || p.out.Taken != p.expected {
		problems = append(problems, fmt.Sprintf("%d frames expected, but the kernel counted %d and the outbox returned %d",
			p.expected, came, p.out.Taken))
	}
	return problems
}

// Close removes the sockets and the fabric.
func (p *Plane) Close() error {
	var errs []error
	for _, t := range p.taps {
		errs = append(errs, t.Close())
	}
	p.taps = nil
	if p.programFrames != nil {
		errs = append(errs, p.programFrames.end())
	}
	return errors.Join(append(errs, p.into.Close(), p.fabric.Close())...)
}

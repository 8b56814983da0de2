//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

// injector sends frames into the interfaces of the hub namespace.
type injector struct {
	socket  int
	address unix.RawSockaddrLinklayer // address of the interface to send into
}

// newInjector opens an injector in the calling thread's namespace, the hub.
func newInjector() (*injector, error) {
	// Protocol 0: it receives nothing.
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the sending packet socket: %w", err)
	}
	return &injector{socket, unix.RawSockaddrLinklayer{Family: unix.AF_PACKET}}, nil
}

// send sends a frame into an interface: one system call, no allocation.
func (i *injector) send(ifindex int32, frame []byte) error {
	i.address.Ifindex = ifindex
	_, _, e := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(i.socket), uintptr(unsafe.Pointer(unsafe.SliceData(frame))),
		uintptr(len(frame)), 0, uintptr(unsafe.Pointer(&i.address)), unsafe.Sizeof(i.address))
	if e != 0 {
		return e
	}
	return nil
}

// Close closes the socket.
func (i *injector) Close() error { return unix.Close(i.socket) }

func machineError(format string, args ...any) error {
	return &plane.MachineError{Err: fmt.Errorf(format, args...)}
}

// egressBefore holds the registers that the egress pipeline writes, and its frame counter, as they were before a pass.
// A retry restores them, because the kernel may drop a frame between the egress and the ingress pipeline.
type egressBefore struct {
	marked  uint64
	port    *ebpf.Port // nil if the pipeline writes none
	extra   *ebpf.PortExtra
	class   int
	own     ebpf.Detector
	ecn, ue uint64
	draws   uint64
	line    uint64
	entered [3]uint64
}

// note saves the registers.
func (b *egressBefore) note(state *ebpf.State, f *frame.Frame) {
	x := state.Pass
	b.marked, b.port = x.Marked, nil
	if x.Trigger != ebpf.TriggerNone && x.Trigger != ebpf.TriggerLost || x.OutPort >= uint32(len(state.Ports)) ||
		state.Ports[x.OutPort].Kind != ebpf.KindSwitch {
		return
	}
	p, e := &state.Ports[x.OutPort], &state.Extras[x.OutPort]
	b.port, b.extra, b.class = p, e, int(wire.PriorityOf(f.Data()))
	b.own = e.Detector[b.class]
	b.ecn, b.ue, b.draws, b.line, b.entered = p.EcnMarked, e.UeMarked, p.Draws, e.TxLineBytes, e.Entered
}

// restore restores the registers.
func (b *egressBefore) restore(state *ebpf.State) {
	state.Pass.Marked = b.marked
	if p := b.port; p != nil {
		e := b.extra
		e.Detector[b.class] = b.own
		p.EcnMarked, e.UeMarked, p.Draws, e.TxLineBytes, e.Entered = b.ecn, b.ue, b.draws, b.line, b.entered
	}
}

// noRoom reports whether an error of a packet socket means that the kernel dropped the frame for a temporary lack of
// memory, or because a processor's queue is full (net.core.netdev_max_backlog).
func noRoom(err error) bool { return isAny(err, unix.ENOBUFS, unix.ENOMEM, unix.EAGAIN) }

// firstSendRest and longestSendRest set the first and longest pause before a retry of a frame for which the kernel had
// no room. Yielding would not help: a real-time thread yields to no kernel thread.
const firstSendRest, longestSendRest = 20 * time.Microsecond, 5 * time.Millisecond

// rest makes the thread sleep until d has passed or it is woken. Go's time.Sleep would need another thread, and a
// processor for it, to wake the goroutine.
func rest(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}

// send puts a frame into the pipelines, into port in. While the kernel has no room it retries, up to a timeout; the
// pipelines see the frame once.
func (p *Plane) send(in int, f *frame.Frame, timeout time.Duration) error {
	if p.enters(in, f) {
		p.before.marked = p.pass.Marked
		err := p.fabric.entry.put(f.Data())
		if err == nil || !noRoom(err) {
			return err
		}
		return retry(func() error { return p.fabric.entry.put(f.Data()) }, timeout,
			func() bool { p.Resent.Add(1); return false })
	}
	p.before.note(p.state, f)
	out := fill.OuterIfindex(0) + int32(in)
	err := p.into.send(out, f.Data())
	if err == nil || !noRoom(err) {
		return err
	}
	done := atomic.LoadUint64(&p.pass.Done)
	return retry(func() error { return p.into.send(out, f.Data()) }, timeout, func() (sent bool) {
		if atomic.LoadUint64(&p.pass.Done) != done { // it did come through
			return true
		}
		p.before.restore(p.state)
		p.Resent.Add(1)
		return false
	})
}

// enters reports whether a frame gets to port in through the fabric's entry. A frame for a host's programs gets there
// from the port's outer end instead, because programs may have changed the interface: its MTU, or an XDP program.
func (p *Plane) enters(in int, f *frame.Frame) bool {
	return p.fabric.entry != nil && (p.live == nil || !f.HostStack() || p.state.Ports[in].Kind != ebpf.KindHost)
}

// retry sends a frame again for which the kernel had no room, up to a timeout. After each pause it checks whether the
// frame was sent after all.
func retry(send func() error, timeout time.Duration, sent func() bool) error {
	for start, pause := time.Now(), firstSendRest; ; pause = min(2*pause, longestSendRest) {
		rest(pause)
		if sent() {
			return nil
		}
		if err := send(); err == nil || !noRoom(err) || time.Since(start) >= timeout {
			return err
		}
	}
}

// notSent returns the error of a frame that could not be sent into a port.
func (p *Plane) notSent(in int, err error) error {
	name := p.fabric.plan.Ports[in].Name
	switch {
	case noRoom(err):
		return machineError("the kernel has refused a frame into %s for %v (%w): the machine is out of memory, or a flood "+
			"fills its network queues, net.core.netdev_max_backlog (free memory or end the flood, and try again)",
			name, passTimeout, err)
	case isAny(err, unix.EIO):
		return machineError("send into %s: %w: somebody took the interface %q of the hub namespace down", name, err,
			entryName)
	case isAny(err, unix.ENETDOWN, unix.ENXIO, unix.ENODEV):
		return machineError("send into %s: %w: %s", name, err, p.obstacle(in))
	}
	return machineError("send into %s: %w", name, err)
}

// unseen returns the error of a frame that was sent into a port and did not come out of the pipelines.
func (p *Plane) unseen(in int) error {
	return machineError("frame into %s: the pipelines did not finish within %v: %s", p.fabric.plan.Ports[in].Name,
		passTimeout, p.obstacle(in))
}

// obstacle explains why frames do not pass a port.
func (p *Plane) obstacle(in int) string {
	name := p.fabric.plan.Ports[in].Name // of both ends
	request, err := unix.NewIfreq(name)
	if err == nil {
		err = unix.IoctlIfreq(p.into.socket, unix.SIOCGIFFLAGS, request)
	}
	connected := true
	if err == nil {
		connected, err = carrier(p.into.socket, name)
	}
	switch {
	case errors.Is(err, unix.ENODEV):
		return "somebody deleted the interface"
	case err != nil:
		return "its interface cannot be read: " + err.Error()
	case request.Uint16()&unix.IFF_UP == 0:
		return "somebody took the interface down"
	case !connected:
		return "somebody took the interface's other end down"
	case p.pass.Marked == p.before.marked:
		return "its egress program did not see it: somebody detached the program"
	}
	return "the machine is too busy to run them, or somebody detached the ingress program"
}

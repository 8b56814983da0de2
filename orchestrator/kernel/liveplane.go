//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

// livePlane holds the kernel plane's state for fabrics that programs use. Their frames come out of the same outer ends
// as the pipelines' output. Two rings keep them apart by the mark that the ingress program sets on its output: a host
// that floods fills only the ring of hosts' frames. Frames that a program sends in a device's namespace have no mark. A
// BPF program or a tc filter can forge the mark. The plane detects that: more frames come out of the pipelines than
// went in.
type livePlane struct {
	dead []bool   // hosts' ports whose last pass did not finish
	owed []uint64 // unfinished passes by port; each may still deliver a frame
	last int      // port of the last unfinished pass
	// Unfinished counts unfinished passes, and late those that finished afterwards.
	Unfinished, late uint64
}

// ErrForged means that a program on a node set the mark that only the pipelines may set.
var ErrForged = errors.New("a BPF program or tc filter on a node sends frames with the pipelines' mark, or passes " +
	"frames to the pipelines")

// Timeouts of a pass into a host: from the outer end, through the entry, and after an unfinished pass. Through the
// entry, passes finish within the system call unless the kernel steers frames to another processor. A live fabric
// continues without the frame. A pass into a switch has the same timeout as in virtual time, because the fabric cannot
// continue without its switches.
const (
	liveTimeout  = 100 * time.Millisecond
	entryTimeout = time.Millisecond
	deadTimeout  = 20 * time.Microsecond
	spinsPerPoll = 64
	spinsAtMost  = 100 * time.Microsecond
)

// Live reports whether the plane was opened for a live fabric.
func (p *Plane) Live() bool { return p.live != nil }

// processLive implements Process for a live fabric: users may take interfaces down or remove programs, and the machine
// may be slow.
func (p *Plane) processLive(in int, f *frame.Frame) error {
	x, l := p.pass, p.live
	if err := p.Unasked(); err != nil {
		return err
	}
	x.Verdict = ebpf.VerdictNone
	if err := p.send(in, f, p.timeout(in, f)); err != nil {
		if p.state.Ports[in].Kind == ebpf.KindSwitch || !isAny(err, lostAtHost...) {
			return p.notSent(in, err)
		}
		return p.unfinished(in)
	}
	done := p.done + 1
	if !l.await(p.timeout(in, f), func() bool { return atomic.LoadUint64(&x.Done) >= done }) {
		if p.state.Ports[in].Kind == ebpf.KindSwitch {
			return p.unseen(in)
		}
		return p.unfinished(in)
	}
	p.done = done
	l.dead[in] = false
	if len(p.taps) > 0 {
		if err := p.drainTap(in); err != nil {
			return err
		}
	}
	if x.Verdict != ebpf.VerdictForward && x.Verdict != ebpf.VerdictHost {
		return nil
	}
	var data []byte
	var ifindex int32
	want := fill.OuterIfindex(0) + int32(x.Egress)
	for {
		ok := l.await(passTimeout, func() (ok bool) { data, ifindex, ok = p.out.Receive(); return ok })
		if !ok {
			return p.notOut(in)
		}
		if ifindex == want && len(data) == len(f.Data()) {
			p.expected++
			break
		}
		if err := p.disown(ifindex); err != nil {
			return err
		}
	}
	copy(f.Data(), data)
	p.out.Release()
	return nil
}

func (p *Plane) timeout(in int, f *frame.Frame) time.Duration {
	switch {
	case p.live.dead[in]:
		return deadTimeout
	case p.state.Ports[in].Kind != ebpf.KindHost:
		return passTimeout
	case p.enters(in, f):
		return entryTimeout
	}
	return liveTimeout
}

// lostAtHost lists errors of sending into a host that lose only the frame: the user took the interface down or
// reduced its MTU, or the machine had no room for the frame for liveTimeout.
var lostAtHost = []unix.Errno{
	unix.ENETDOWN, unix.ENXIO, unix.ENODEV, unix.EMSGSIZE, unix.ENOBUFS, unix.EAGAIN,
	unix.ENOMEM,
}

// unfinished gives up a pass into a host.
func (p *Plane) unfinished(in int) error {
	p.live.Unfinished++
	p.live.owed[in]++
	p.live.dead[in] = true
	p.live.last = in
	return plane.ErrUnfinished
}

// Unasked discards the frames of passes that finished after they were given up. It returns an error for any other
// activity of the pipelines since the last pass.
func (p *Plane) Unasked() error {
	if done := atomic.LoadUint64(&p.pass.Done); done != p.done {
		n := done - p.done
		if p.live.late += n; p.live.late > p.live.Unfinished {
			return fmt.Errorf("the pipelines received a frame that no port sent: %w", ErrForged)
		}
		p.state.Ports[p.live.last].RxFrames -= n // they have been counted as lost
		p.done = done
	}
	for {
		_, ifindex, ok := p.out.Receive()
		if !ok {
			return nil
		}
		if err := p.disown(ifindex); err != nil {
			return err
		}
	}
}

// disown discards an unexpected frame from an interface of the hub namespace. It returns an error unless the frame
// belongs to a pass that was given up.
func (p *Plane) disown(ifindex int32) error {
	port := int(ifindex - fill.OuterIfindex(0))
	if port < 0 || port >= len(p.live.owed) || p.live.owed[port] == 0 {
		from := "the hub namespace"
		if port >= 0 && port < len(p.live.owed) {
			from = p.fabric.plan.Ports[port].Name
		}
		return fmt.Errorf("%s sent a frame that the pipelines did not: %w", from, ErrForged)
	}
	p.live.owed[port]--
	p.expected++
	p.out.Release()
	return nil
}

// await waits until ready or a timeout. After a moment it sleeps, because the kernel may have left the work to a
// thread that the engine's real-time thread keeps from its processor.
func (l *livePlane) await(timeout time.Duration, ready func() bool) bool {
	if ready() {
		return true
	}
	for start := time.Now(); ; {
		for range spinsPerPoll {
			if ready() {
				return true
			}
		}
		switch waited := time.Since(start); {
		case waited > timeout:
			return ready()
		case waited > spinsAtMost:
			rest(firstSendRest)
		}
	}
}

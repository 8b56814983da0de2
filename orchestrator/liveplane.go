//go:build linux

package orchestrator

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
)

// livePlane is what the kernel plane has more where programs use the fabric. Their frames come out of the same outer ends as the
// pipelines' output. Two rings keep them apart by the mark that the ingress program gives its output, which no program in a
// device's namespace can give to what it sends: so a host that floods fills the ring of hosts' frames and no other.
type livePlane struct {
	outside *ring
	dead    []bool // hosts' ports whose last crossing did not finish
	last    int    // the port of the last such crossing
	// Unfinished counts such crossings.
	Unfinished uint64
}

// outsideSlots is the frames that may wait in the ring of hosts' frames.
const outsideSlots = 4096

// How long a crossing into a host may take, the first time and after one that did not finish. A live fabric goes on without the
// frame. Into a switch it may take as long as in virtual time: without its switches it cannot go on.
const (
	livePatience  = 100 * time.Millisecond
	deadPatience  = 20 * time.Microsecond
	spinsPerLook  = 64
	drainAttempts = 2 * ringSlots
)

// newLiveRings are the rings of the pipelines' output and of all else, in the calling thread's namespace.
func newLiveRings(frameSize, ports int) (inside *ring, l *livePlane, err error) {
	if inside, err = newRing(frameSize, ringSlots, marked(true)); err != nil {
		return nil, nil, err
	}
	l = &livePlane{dead: make([]bool, ports)}
	if l.outside, err = newRing(frameSize, outsideSlots, marked(false)); err != nil {
		return nil, nil, errors.Join(err, inside.Close())
	}
	return inside, l, nil
}

// crossLive is Cross where users may take interfaces down, programs away, and the machine may be slow.
func (p *KernelPlane) crossLive(in int, f *frame.Frame) error {
	x, l := p.crossing, p.live
	if atomic.LoadUint64(&x.Done) != p.done {
		p.catchUp()
	}
	x.Verdict = ebpf.VerdictNone
	switch err := p.ring.send(outerIfindex(0)+int32(in), f.Data()); err {
	case nil:
	case unix.ENETDOWN, unix.ENXIO, unix.ENODEV, unix.ENOBUFS, unix.EAGAIN, unix.ENOMEM, unix.EMSGSIZE:
		return p.unfinished(in)
	default:
		return fmt.Errorf("send into %s: %w", p.fabric.plan.Ports[in].Name, err)
	}
	done := p.done + 1
	if !l.await(p.patience(in), func() bool { return atomic.LoadUint64(&x.Done) == done }) {
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
	want := outerIfindex(0) + int32(x.Egress)
	for {
		ok := l.await(crossingPatience, func() (ok bool) { data, ifindex, ok = p.ring.receive(); return ok })
		if !ok {
			return fmt.Errorf("frame into %s did not come out of %s: the interface is gone, or a program of its own was attached to it",
				p.fabric.plan.Ports[in].Name, p.fabric.plan.Ports[x.Egress].Name)
		}
		p.expected++
		if ifindex == want && len(data) == len(f.Data()) {
			break
		}
		p.ring.release() // of a crossing that had been given up
	}
	copy(f.Data(), data)
	p.ring.release()
	return nil
}

func (p *KernelPlane) patience(in int) time.Duration {
	switch {
	case p.live.dead[in]:
		return deadPatience
	case p.state.Ports[in].Kind == ebpf.KindHost:
		return livePatience
	}
	return crossingPatience
}

// unfinished gives a crossing up.
func (p *KernelPlane) unfinished(in int) error {
	if p.state.Ports[in].Kind == ebpf.KindSwitch {
		return fmt.Errorf("frame into %s: the pipelines did not finish: somebody took the interface down, or its program away",
			p.fabric.plan.Ports[in].Name)
	}
	p.live.Unfinished++
	p.live.dead[in] = true
	p.live.last = in
	return errUnfinished
}

// catchUp takes note of crossings that finished after they had been given up, and throws their frames away.
func (p *KernelPlane) catchUp() {
	done := atomic.LoadUint64(&p.crossing.Done)
	p.state.Ports[p.live.last].RxFrames -= done - p.done // they have been counted as lost
	p.done = done
	for range drainAttempts {
		if _, _, ok := p.ring.receive(); !ok {
			return
		}
		p.expected++
		p.ring.release()
	}
}

// await waits until ready, for a time.
func (l *livePlane) await(patience time.Duration, ready func() bool) bool {
	if ready() {
		return true
	}
	for start := time.Now(); ; {
		for range spinsPerLook {
			if ready() {
				return true
			}
		}
		if time.Since(start) > patience {
			return ready()
		}
		unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0) //nolint:errcheck // it cannot fail
	}
}

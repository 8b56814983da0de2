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

// livePlane is what the kernel plane has more where programs use the fabric. Their frames come out of the same outer
// ends as the pipelines' output. Two rings keep them apart by the mark that the ingress program gives its output: so a
// host that floods fills the ring of hosts' frames and no other. What a program in a device's namespace sends has no
// mark. A BPF program or a tc filter that has frames get one there is found out by that: more comes out of the
// pipelines than goes in.
type livePlane struct {
	dead []bool   // hosts' ports whose last pass did not finish
	owed []uint64 // by port: such passes, of each of which a frame may come yet
	last int      // the port of the last such pass
	// Unfinished counts such passes; late are those that have finished since.
	Unfinished, late uint64
}

// ErrForged says that something on a node does what the pipelines alone may do.
var ErrForged = errors.New("a BPF program or tc filter on a node sends frames with the pipelines' mark, or passes frames to the pipelines")

// How long a pass into a host may take, the first time and after one that did not finish. A live fabric goes on without
// the frame. Into a switch it may take as long as in virtual time: without its switches it cannot go on.
const (
	liveTimeout  = 100 * time.Millisecond
	deadTimeout  = 20 * time.Microsecond
	spinsPerPoll = 64
	spinsAtMost  = 100 * time.Microsecond
)

// Live reports whether the plane was opened for a live fabric.
func (p *Plane) Live() bool { return p.live != nil }

// processLive returns Process where users may take interfaces down, programs away, and the machine may be slow.
func (p *Plane) processLive(in int, f *frame.Frame) error {
	x, l := p.pass, p.live
	if err := p.Unasked(); err != nil {
		return err
	}
	x.Verdict = ebpf.VerdictNone
	if err := p.send(in, f, p.timeout(in)); err != nil {
		if p.state.Ports[in].Kind == ebpf.KindSwitch || !isAny(err, lostAtHost...) {
			return p.notSent(in, err)
		}
		return p.unfinished(in)
	}
	done := p.done + 1
	if !l.await(p.timeout(in), func() bool { return atomic.LoadUint64(&x.Done) >= done }) {
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

func (p *Plane) timeout(in int) time.Duration {
	switch {
	case p.live.dead[in]:
		return deadTimeout
	case p.state.Ports[in].Kind == ebpf.KindHost:
		return liveTimeout
	}
	return passTimeout
}

// lostAtHost are errors of sending into a host which lose the frame and nothing else: its user took the interface down
// or made it smaller, or the machine had no room for it for liveTimeout.
var lostAtHost = []unix.Errno{
	unix.ENETDOWN, unix.ENXIO, unix.ENODEV, unix.EMSGSIZE, unix.ENOBUFS, unix.EAGAIN,
	unix.ENOMEM,
}

// unfinished gives a pass into a host up.
func (p *Plane) unfinished(in int) error {
	p.live.Unfinished++
	p.live.owed[in]++
	p.live.dead[in] = true
	p.live.last = in
	return plane.ErrUnfinished
}

// Unasked deals with what the pipelines have done since the last pass: passes that finished after they had been given
// up, whose frames it throws away. Anything else is an error.
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

// disown throws away the frame that the ring gave, which has come out of an interface of the hub namespace and is not
// what was waited for. It is of a pass into that port that had been given up, or else an error.
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

// await waits until ready, for a time: after a moment asleep, as the kernel may have left the work to a thread that the
// engine's, which has a real-time policy, keeps from its processor.
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

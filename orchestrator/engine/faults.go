package engine

import (
	"fmt"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/switchagent"
)

// The methods of linkfault.go and hostfault.go inject faults. Call them between two events: in a function given to Call
// or At, or while Run does not run. Faults take effect at once, on both planes alike. Their losses are counted by cause
// and never break an invariant; all other counts must still add up.

func (w *worker) note(port int, kind, format string, args ...any) {
	w.monitor.faultEvents = append(w.monitor.faultEvents, FaultEvent{w.now, port, kind, fmt.Sprintf(format, args...)})
}

// Lost returns the number of frames lost to faults so far, by cause.
func (e *Engine) Lost() [Losses]Amount { return e.lost }

// countLoss ends a frame lost to a fault.
func (w *worker) countLoss(p *port, why Loss, f *frame.Frame) {
	n := int(f.Length)
	w.endFrame(n)
	w.Dropped++
	w.lost[why].add(n)
	if f.HostStack() {
		w.Missed++
	}
	w.monitor.lost(p, why, f)
	w.faultOf(p).lost[why].add(n)
	w.pool.Put(f)
}

// arriveFaulty handles an arrival from a port that has or had a fault. It reports whether it has handled the arrival
// completely.
//
//go:noinline
func (w *worker) arriveFaulty(p *port) (done bool, err error) {
	if p.wire.next() != w.now { // a stale event: its frame was lost when the link went down
		return true, nil
	}
	why := p.fault.fate(int(p.wire.first().Length))
	if why == Losses {
		return false, nil
	}
	return true, w.lose(p, w.takeOff(p), why)
}

// lose ends a frame on the wire from port p. Its pass runs only the egress pipeline of p: the frame has left p, but
// reaches no ingress pipeline.
func (w *worker) lose(p *port, f *frame.Frame, why Loss) error {
	in := &w.ports[p.peer]
	w.depart(p, f)
	w.pass.Trigger = ebpf.TriggerLost
	if err := unlessUnfinished(w.process(in, f)); err != nil {
		return err
	}
	w.lostOnWire(p, f, why)
	return nil
}

// lostOnWire counts a frame that left port p and did not arrive.
func (w *worker) lostOnWire(p *port, f *frame.Frame, why Loss) {
	w.faultOf(p)
	if f.Control {
		w.flowControl.lost(w, p, f)
	}
	w.countLoss(p, why, f)
}

// refused counts a frame that the traffic manager discards at port p: the link is down, or a watchdog has stopped the
// queue.
func (w *worker) refused(p *port, f *frame.Frame) {
	fault := w.faultOf(p)
	why := LossWatchdog
	if fault.down {
		why = LossPort
	}
	if f.Control {
		w.flowControl.refused(w, p, f)
	}
	w.countLoss(p, why, f)
}

// drop ends a frame that the traffic manager did not admit at port p.
//
//go:noinline
func (w *worker) drop(p *port, f *frame.Frame, why switchagent.Drop) {
	w.monitor.dropped(p, why, f)
	switch {
	case why == switchagent.DropDiscard:
		w.refused(p, f)
		return
	case !why.Lossy() && w.pauseWasLost(f):
		w.countLoss(&w.ports[f.InPort], LossPause, f)
		return
	case !why.Lossy() && (f.InPort >= 0 || !f.HostStack()): // processors' frames may be lost
		w.LosslessDropped++
		w.failLossless(p, f, why)
	}
	w.endFrame(int(f.Length))
	if f.HostStack() {
		w.refuseHostStack(f)
	} else {
		w.Dropped++
	}
	w.pool.Put(f)
}

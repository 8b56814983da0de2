package engine

import (
	"fmt"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// Faults are made by Set methods of the engine, between two events: within a function given to Call or At, or while Run
// does not run. They take effect at once, on both planes alike. What a fault costs is counted by cause and never breaks
// an invariant; everything else must still add up.

// Loss is why a fault cost a frame.
type Loss uint8

// Causes of losses.
const (
	LossLink     Loss = iota // it was on the wire, or being sent, as its link went down
	LossPort                 // it was queued at a port whose link went down, or sent there afterwards
	LossWire                 // the wire lost it
	LossFCS                  // the wire damaged it: the receiver's MAC found its FCS wrong
	LossReceiver             // it found a slow receiver's buffer full
	LossWatchdog             // it was in a queue in a PFC storm, or sent there
	LossRoute                // after routes changed there was no way, or it had gone round and round
	LossPause                // there was no room for it, as a fault had lost the PAUSE that would have kept it back
	// the interface that it came to was down, or its program gone: somebody's doing in a live fabric
	LossDevice
	Losses
)

// LossNames name the causes in files.
var LossNames = [Losses]string{
	"link_down", "port_down", "wire", "fcs", "receive_buffer", "watchdog", "no_route",
	"lost_pause", "device",
}

// portFault is what is wrong, or has been, with a port and the wire from it.
type portFault struct {
	down    bool
	loss    float64 // probability that the wire loses a frame
	corrupt float64 // that it damages one
	ber     float64 // that it damages a bit
	seed    uint64
	draws   uint64
	wireEnd vtime.Time // before it nothing arrives: a delay was shorter than what it took the place of

	lost        [Losses]Amount
	lostPFC     [2]int64 // RESUMEs, PAUSEs that left and did not arrive
	refusedPFC  [2]int64 // and those that could not leave
	lostCredits int64    // credit messages, likewise both ways
	lostPauses  []lostPause
	pausedAt    [switchagent.Priorities]vtime.Time // when the port last began to pause its peer

	// Of a host's port.
	receiver *receiver
	storm    *injectedStorm
}

// FaultEvent is something that happened to the fabric, and not to a frame.
type FaultEvent struct {
	At     vtime.Time
	Port   int // -1: the whole fabric
	Kind   string
	Detail string
}

// Kinds of FaultEvent.
const (
	EventLinkDown    = "link_down"
	EventLinkUp      = "link_up"
	EventLoss        = "loss"
	EventCorruption  = "corruption"
	EventDelay       = "delay"
	EventRate        = "rate"
	EventReceiver    = "receiver"
	EventPFCStorm    = "injected_storm"
	EventReroute     = "reroute"
	EventStorm       = "storm"
	EventStormEnd    = "storm_end"
	EventDeadlock    = "deadlock"
	EventDeadlockEnd = "deadlock_end"
)

// EventKinds are all kinds of FaultEvent.
var EventKinds = []string{
	EventLinkDown, EventLinkUp, EventLoss, EventCorruption, EventDelay, EventRate, EventReceiver, EventPFCStorm,
	EventReroute, EventStorm,
	EventStormEnd, EventDeadlock, EventDeadlockEnd,
}

// EventObserver is an Observer that is told of faults, storms and deadlocks too, in the order of time.
type EventObserver interface{ FaultEvent(FaultEvent) }

func (w *worker) note(port int, kind, format string, args ...any) {
	w.monitor.faultEvents = append(w.monitor.faultEvents, FaultEvent{w.now, port, kind, fmt.Sprintf(format, args...)})
}

// At is Call for what may fail, as faults on a plane that fails do; the run ends then. A draining run does not end for
// want of movement before it.
func (e *Engine) At(at vtime.Time, f func(now vtime.Time) error) {
	e.pendingCalls++
	e.Call(at, func(now vtime.Time) {
		e.pendingCalls--
		if err := f(now); err != nil && e.failed == nil {
			e.failed = err
		}
	})
}

// faultOf is a port's fault, which it has from now on.
func (w *worker) faultOf(p *port) *portFault {
	if p.fault == nil {
		p.fault = &portFault{seed: splitmix.At(w.seed^0x6c6f7373, 0) ^ splitmix.At(uint64(p.id), 0)}
		p.faulty = true
	}
	return p.fault
}

// Lost is what faults have cost so far, by cause.
func (e *Engine) Lost() [Losses]Amount { return e.lost }

// LostAt is that of the frames that left port p, or were to; LossReceiver's that came in there.
func (e *Engine) LostAt(p int) [Losses]Amount {
	if f := e.ports[p].fault; f != nil {
		return f.lost
	}
	return [Losses]Amount{}
}

// countLoss ends a frame that a fault cost.
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

// arriveFaulty deals with an arrival from a port that has or had a fault. It says whether that was all there is to do.
//
//go:noinline
func (w *worker) arriveFaulty(p *port) (done bool, err error) {
	if p.wire.next() != w.now { // the frame that the event was for went down with its link
		return true, nil
	}
	why := p.fault.fate(int(p.wire.first().Length))
	if why == Losses {
		return false, nil
	}
	return true, w.lose(p, w.takeOff(p), why)
}

// lose ends a frame on the wire from port p. Its pass runs the egress pipeline of p, which it has left, and no other.
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

// refused deals with a frame that the traffic manager does not take at port p, as its link is down or its queue in a
// storm.
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

// drop deals with a frame that the traffic manager did not take at port p.
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
	case !why.Lossy() && (f.InPort >= 0 || !f.HostStack()): // what a processor sends takes its chance
		w.LossLost++
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

package engine

import (
	"math"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// port holds the engine's side of a port: the transmitter and the wire. The fields that every frame touches come first,
// in two cache lines.
type port struct {
	id        int32
	peer      int32
	index     int32 // index of its switch, or of a host's interface
	partition int32
	isSwitch  bool
	// freeArmed means that an event is scheduled for busyUntil, when the last frame has been serialised.
	freeArmed bool
	faulty    bool  // set if fault is not nil
	expected  bool  // an event is scheduled for the first frame on the wire
	pauses    uint8 // bit n: a PAUSE arrived for priority n, and no RESUME since
	busyUntil vtime.Time
	wakeAt    vtime.Time
	perByte   vtime.Time // serialisation time of a byte; 0: not a whole number of picoseconds
	delay     vtime.Time
	arrived   int64
	txFrames  int64
	wire      flight       // frames on the wire to the peer
	deferred  event        // see pushOwn; At is vtime.Never without one
	control   *frame.Queue // of a host's port: PFC frames or credit messages that wait; nil: never any
	txBytes   [switchagent.Priorities]int64
	busy      vtime.Time // time spent serialising, for all frames started

	rate      units.Rate
	pausing   *pausing   // nil: no PAUSE was received or sent
	pfcSent   [2]int64   // RESUMEs and PAUSEs that left
	fault     *portFault // nil: never any
	hostStack *hostStack // of a host's port in a live fabric
}

func (p *port) setRate(rate units.Rate) {
	p.rate, p.perByte = rate, 0
	if 8_000_000_000_000%int64(rate) == 0 {
		p.perByte = vtime.Time(8_000_000_000_000 / int64(rate))
	}
}

func (p *port) serialise(lineBytes int64) vtime.Time {
	if p.perByte != 0 {
		return p.perByte * vtime.Time(lineBytes)
	}
	return p.rate.TimeFor(lineBytes)
}

// queueControl queues a control frame at a host's port, ahead of all other frames. Switches' ports have a traffic
// manager.
func (p *port) queueControl(f *frame.Frame) {
	if p.control == nil {
		p.control = &frame.Queue{}
	}
	p.control.Push(f)
}

// pausing holds the state of the PAUSEs of each priority of a port. Most ports never receive or send one.
type pausing struct {
	stopped   [switchagent.Priorities]vtime.Time // time until which it is paused by received frames
	refreshAt [switchagent.Priorities]vtime.Time // time at which to refresh a PAUSE; older refresh events are stale
}

// pausings returns the port's pausing record, which it creates on first use.
func (p *port) pausings() *pausing {
	if p.pausing == nil {
		p.pausing = &pausing{}
	}
	return p.pausing
}

// portFault holds the present faults of a port and its outgoing wire, and counts their losses.
type portFault struct {
	down    bool
	loss    float64 // probability that the wire loses a frame
	corrupt float64 // probability that it damages a frame
	ber     float64 // probability that it damages a bit
	seed    uint64
	draws   uint64
	// earliest arrival of the next frame: later frames do not overtake those sent before the delay was shortened
	wireEnd vtime.Time

	lost        [Losses]Amount
	lostPFC     [2]int64 // RESUMEs and PAUSEs that left and did not arrive
	refusedPFC  [2]int64 // RESUMEs and PAUSEs that could not leave
	lostCredits int64    // credit messages that did not arrive or could not leave
	lostPauses  []lostPause
	pausedAt    [switchagent.Priorities]vtime.Time // time at which the port last started to pause its peer

	// Only for a host's port.
	receiver *receiver
	storm    *injectedStorm
}

// draw returns the port's next random number in [0, 1). It depends only on a count, so the order of other events cannot
// change it.
func (f *portFault) draw() float64 {
	f.draws++
	return splitmix.Float(splitmix.At(f.seed, f.draws-1))
}

// fate returns why the wire loses the next frame of n bytes; Losses if the frame arrives.
func (f *portFault) fate(n int) Loss {
	if f.loss > 0 && f.draw() < f.loss {
		return LossWire
	}
	damaged := f.corrupt > 0 && f.draw() < f.corrupt
	if f.ber > 0 {
		const fcs = 4
		damaged = f.draw() < -math.Expm1(float64(8*(n+fcs))*math.Log1p(-f.ber)) || damaged
	}
	if damaged {
		return LossFCS
	}
	return Losses
}

// receiver holds the state of a slow receiver.
type receiver struct {
	hostagent.SlowReceiver
	queue    frame.Queue
	buffered int64      // their sizes, as switches count them
	drained  vtime.Time // time at which the first frame of queue is removed; vtime.Never if queue is empty
	pausing  bool
	pauseAt  vtime.Time // time at which to refresh PAUSE
}

// injectedStorm describes a PFC storm of a malfunctioning NIC: its port sends PAUSE regardless of its buffer.
type injectedStorm struct {
	priorities uint8
	interval   vtime.Time
	next       vtime.Time
}

func (p *port) receiver() *receiver {
	if p.fault == nil {
		return nil
	}
	return p.fault.receiver
}

// Loss identifies the fault that caused a frame's loss.
type Loss uint8

// Causes of losses. The frame was ...
const (
	LossLink     Loss = iota // on the wire, or being sent, when its link went down
	LossPort                 // queued at a port whose link went down, or sent to that port afterwards
	LossWire                 // lost by the wire
	LossFCS                  // damaged by the wire: the receiver's MAC found its FCS wrong
	LossReceiver             // arrived at a slow receiver whose buffer was full
	LossWatchdog             // in a queue in a PFC storm, or sent to that queue
	LossRoute                // without a route after routes changed, or expired in a loop
	LossPause                // without room because a fault had lost the PAUSE that would have stopped it
	// LossDevice stands for an interface that was down, or whose pipeline had been removed, in a live fabric.
	LossDevice
	Losses
)

// LossNames lists the causes' names in files.
var LossNames = [Losses]string{
	"link_down", "port_down", "wire", "fcs", "receive_buffer", "watchdog", "no_route",
	"lost_pause", "device",
}

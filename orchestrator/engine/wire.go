package engine

import (
	"fmt"
	"math"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// flight is the frames on the wire from a port, in order. The arrival times stand beside each other: scheduling the
// next arrival touches no frame, which has long left the processor's cache. They are in a row of stretches, which wires
// give each other: of tens of thousands of wires few have many frames at a time.
type flight struct {
	head, tail *wireChunk // where the first frame is, and the last; nil: there is none
	from, to   uint8      // the first in head, and behind the last in tail
	count      uint32
	bytes      int64
}

type wireChunk struct {
	frames [7]frameInFlight // with next two cache lines
	next   *wireChunk
}

type frameInFlight struct {
	frame   *frame.Frame
	arrival vtime.Time
}

// chunkPool are those that no wire has.
type chunkPool []*wireChunk

func (s *chunkPool) get() *wireChunk {
	n := len(*s) - 1
	if n < 0 {
		return &wireChunk{}
	}
	x := (*s)[n]
	*s = (*s)[:n]
	return x
}

// balance takes half of what another has more than this, if that is much.
func (s *chunkPool) balance(o *chunkPool) {
	const much = 1024
	if more := len(*o) - len(*s); more > much {
		rest := len(*o) - more/2
		*s = append(*s, (*o)[rest:]...)
		clear((*o)[rest:])
		*o = (*o)[:rest]
	}
}

func (w *flight) push(f *frame.Frame, arrival vtime.Time, free *chunkPool) {
	switch {
	case w.tail == nil:
		w.tail = free.get()
		w.head, w.to = w.tail, 0
	case int(w.to) == len(w.tail.frames):
		w.tail.next = free.get()
		w.tail, w.to = w.tail.next, 0
	}
	w.tail.frames[w.to] = frameInFlight{f, arrival}
	w.to++
	w.count++
	w.bytes += int64(f.Length)
}

// pop takes the first frame. There must be one.
func (w *flight) pop(free *chunkPool) *frame.Frame {
	s := w.head
	f := s.frames[w.from].frame
	s.frames[w.from].frame = nil
	w.from++
	w.count--
	w.bytes -= int64(f.Length)
	if w.count == 0 {
		w.head, w.tail, w.from = nil, nil, 0
		*free = append(*free, s)
		return f
	}
	if int(w.from) == len(s.frames) {
		w.head, w.from = s.next, 0
		s.next = nil
		*free = append(*free, s)
	}
	frame.Prefetch(w.head.frames[w.from].frame)
	return f
}

// first is the frame that pop would take; nil if the wire is empty.
func (w *flight) first() *frame.Frame {
	if w.count == 0 {
		return nil
	}
	return w.head.frames[w.from].frame
}

// next is when the first frame arrives; vtime.Never if the wire is empty.
func (w *flight) next() vtime.Time {
	if w.count == 0 {
		return vtime.Never
	}
	return w.head.frames[w.from].arrival
}

// end is when the last frame arrives. There must be one.
func (w *flight) end() vtime.Time { return w.tail.frames[w.to-1].arrival }

func (w *flight) each(f func(*frame.Frame)) {
	s, i := w.head, int(w.from)
	for range w.count {
		if i == len(s.frames) {
			s, i = s.next, 0
		}
		f(s.frames[i].frame)
		i++
	}
}

// SetLoss has the wire from a port lose frames, each with the probability.
func (e *Engine) SetLoss(port int, probability float64) error {
	if !(probability >= 0 && probability <= 1) {
		return fmt.Errorf("loss %v is not a probability", probability)
	}
	e.faultOf(&e.ports[port]).loss = probability
	e.note(port, EventLoss, "%v", probability)
	return nil
}

// Corruption is how a wire damages frames; the receiver's MAC drops those, as their FCS is wrong.
type Corruption struct {
	Frame float64 // probability that a frame is damaged
	Bit   float64 // bit error rate, FCS included
}

// SetCorruption has the wire from a port damage frames.
func (e *Engine) SetCorruption(port int, c Corruption) error {
	if !(c.Frame >= 0 && c.Frame <= 1 && c.Bit >= 0 && c.Bit <= 1) {
		return fmt.Errorf("corruption %+v: not probabilities", c)
	}
	f := e.faultOf(&e.ports[port])
	f.corrupt, f.ber = c.Frame, c.Bit
	e.note(port, EventCorruption, "frame %v, bit %v", c.Frame, c.Bit)
	return nil
}

// Wire is the state of the wire from a port.
type Wire struct {
	Rate       units.Rate
	Delay      vtime.Time
	Up         bool
	Loss       float64
	Corruption Corruption
}

// Wire is the present state of the wire from a port.
func (e *Engine) Wire(port int) Wire {
	p := &e.ports[port]
	w := Wire{Rate: p.rate, Delay: p.delay, Up: e.LinkUp(port)}
	if f := p.fault; f != nil {
		w.Loss, w.Corruption = f.loss, Corruption{f.corrupt, f.ber}
	}
	return w
}

// RepairWire has the wire from a port be as the topology has it, whatever faults it has. What it has not is left alone,
// and nothing is told of it. Whether its link is up is another matter.
func (e *Engine) RepairWire(port int) error {
	w, link := e.Wire(port), &e.plan.Ports[port]
	if w.Loss != 0 {
		if err := e.SetLoss(port, 0); err != nil {
			return err
		}
	}
	if w.Corruption != (Corruption{}) {
		if err := e.SetCorruption(port, Corruption{}); err != nil {
			return err
		}
	}
	if w.Delay != link.Delay {
		if err := e.SetDelay(port, link.Delay); err != nil {
			return err
		}
	}
	if w.Rate != link.Rate {
		return e.SetRate(port, link.Rate)
	}
	return nil
}

// draw is the next random number of a port's, from 0 up to 1: by count, so that no order of events can change it.
func (f *portFault) draw() float64 {
	f.draws++
	return splitmix.Float(splitmix.At(f.seed, f.draws-1))
}

// fate is what becomes of a frame on the wire; Losses: it arrives.
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

// SetDelay changes the propagation delay of the wire from a port. What is on the wire arrives as it would have, and
// nothing overtakes it.
func (e *Engine) SetDelay(port int, delay vtime.Time) error {
	if delay < vtime.Nanosecond || delay > vtime.Second {
		return fmt.Errorf("delay %v is outside 1ns..1s", delay)
	}
	p := &e.ports[port]
	fault := e.faultOf(p)
	if p.wire.count > 0 {
		fault.wireEnd = p.wire.end()
	}
	p.delay = delay
	e.quiescence = max(e.quiescence, 4*delay)
	if e.divided {
		e.lookahead = vtime.Never
		for i := range e.ports {
			if q := &e.ports[i]; q.partition != e.ports[q.peer].partition {
				e.lookahead = min(e.lookahead, q.delay)
			}
		}
		e.window = min(e.window, e.now+e.lookahead)
	}
	e.describeCable(p)
	e.note(port, EventDelay, "%v", delay)
	return nil
}

// SetRate changes the rate of a port. A frame that is being sent ends at the old one. PAUSEs in force are sent again,
// as their quanta are of the link's rate.
func (e *Engine) SetRate(port int, rate units.Rate) error {
	if rate < units.Mbps || rate > 10*units.Tbps {
		return fmt.Errorf("rate %v is outside 1Mbps..10Tbps", rate)
	}
	p := &e.ports[port]
	p.setRate(rate)
	if far := &e.ports[p.peer]; !far.isSwitch {
		e.nics[far.index].Rate = rate
	}
	e.faultOf(p)
	e.describeCable(p)
	e.note(port, EventRate, "%v", rate)
	return e.flowControl.renew(&e.worker, &e.ports[p.peer])
}

func (p *port) setRate(rate units.Rate) {
	p.rate, p.perByte = rate, 0
	if 8_000_000_000_000%int64(rate) == 0 {
		p.perByte = vtime.Time(8_000_000_000_000 / int64(rate))
	}
}

// describeCable tells the pipelines what they know of a port's cable, and has the switches at its ends make the
// headroom that it needs, if that is theirs to choose.
func (e *Engine) describeCable(p *port) {
	fill.Cable(&e.state.Ports[p.id], p.rate, p.delay)
	if p.isSwitch {
		e.describeDetector(p)
	}
	e.fitHeadroom(p)
	e.fitHeadroom(&e.ports[p.peer])
}

// describeDetector tells the pipelines how long port p is undetermined.
func (e *Engine) describeDetector(p *port) {
	r := &e.state.Ports[p.id]
	planned, _ := e.cableOf(p)
	credits := planned.Credits(&e.settings[p.index].CBFC)
	fill.Undetermined(r, &e.state.Switches[p.index].Profiles[r.Profile], e.settings[p.index], credits.Period, p.rate,
		p.delay, e.plan.MTU)
}

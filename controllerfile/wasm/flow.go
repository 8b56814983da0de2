package wasm

import (
	"context"
	"encoding/binary"
	"math"
	"sync"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/vtime"
)

// bound holds a module with the constants of an Env, and its instances: the maximum number called at the same time so
// far.
type bound struct {
	*program
	constants [blockRate]float64

	mutex     sync.Mutex
	instances []*instance
}

// instance returns a new instance, with the constants in its block. It is busy, for the caller.
func (b *bound) instance() (*instance, error) {
	m, err := b.instantiate()
	if err != nil {
		return nil, err
	}
	m.block = m.memory[b.block:][:b.shared:b.shared]
	m.flow = m.memory[b.program.flow:][:b.flowSize:b.flowSize]
	for i, v := range b.constants {
		m.put(i, v)
	}
	m.busy.Store(true)
	return m, nil
}

// take returns an instance that was not busy, or a new one.
func (b *bound) take() (*instance, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, m := range b.instances {
		if m.busy.CompareAndSwap(false, true) {
			return m, nil
		}
	}
	m, err := b.instance()
	if err == nil {
		b.instances = append(b.instances, m)
	}
	return m, err
}

func (m *instance) put(at int, v float64) {
	binary.LittleEndian.PutUint64(m.block[8*at:], math.Float64bits(v))
}

func (m *instance) get(at int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(m.block[8*at:]))
}

// flow holds the state of one flow.
type flow struct {
	*bound
	// instance of the last call; call tries it first, so that processors that call flows use different ones
	at     *instance
	answer controllerfile.Answer
	state  []byte   // the state after the last call
	room   [64]byte // memory for a small state, which saves an access to other memory
	// telemetry of earlier ACKs; nil before the first
	telemetry *controllerfile.Telemetry
}

// Flow returns a new flow.
func (b *bound) Flow(cc.Env) (controllerfile.Flow, error) {
	f := &flow{bound: b}
	if int(b.flowSize) <= len(f.room) {
		f.state = f.room[:b.flowSize]
	} else {
		f.state = make([]byte, b.flowSize)
	}
	f.answer.Timer = vtime.Never
	m, err := f.begin()
	if err != nil {
		return nil, err
	}
	if err := f.call(m, controllerfile.Init); err != nil {
		return nil, err
	}
	if f.answer.Rate == 0 {
		return nil, &controllerfile.Error{
			File: b.name, Function: "init",
			Message: "it does not set the rate, so no packet can leave: pn.rate = pn.line_rate",
		}
	}
	return f, nil
}

// Answer returns the flow's rate, window and timer.
func (f *flow) Answer() *controllerfile.Answer { return &f.answer }

// begin returns an instance with the flow's state in it.
func (f *flow) begin() (*instance, error) {
	m := f.at
	if m == nil || !m.busy.CompareAndSwap(false, true) {
		var err error
		if m, err = f.take(); err != nil {
			return nil, err
		}
		f.at = m
		m.owner = nil
	}
	if m.owner != f {
		copy(m.flow, f.state)
		m.owner = f
	}
	m.put(blockRate, f.answer.Rate)
	m.put(blockWindow, float64(f.answer.Window))
	m.put(blockTimer, timerNumber(f.answer.Timer))
	m.put(blockMoves, truth(f.answer.Moves))
	return m, nil
}

// call calls a handler, and reads the flow's decisions.
func (f *flow) call(m *instance, handler controllerfile.Handler) error {
	if err := m.functions[handler].CallWithStack(context.Background(), nil); err != nil {
		return f.failed(err, handler.String(), m) // the instance stays busy: its stack may be anywhere
	}
	if f.answer.Metered {
		f.answer.Steps = mostSteps - m.steps.Get()
	}
	copy(f.state, m.flow)
	if n := m.calls[handler] + 1; n&(n-1) == 0 || n%outsideEvery == 0 {
		if err := m.outside(handler); err != nil {
			return err
		}
	}
	m.calls[handler]++
	err := f.wants(m.get(blockRate), m.get(blockWindow), m.get(blockTimer), m.get(blockMoves))
	m.busy.Store(false)
	if err != nil {
		return &controllerfile.Error{File: f.name, Function: handler.String(), Message: err.Error()}
	}
	return nil
}

// wants reads the flow's decisions.
func (f *flow) wants(rate, window, timer, moves float64) error {
	f.answer.Moves = moves != 0
	if rate != f.answer.Rate {
		if err := f.answer.SetRate(rate); err != nil {
			return err
		}
	}
	if window != float64(f.answer.Window) {
		if err := f.answer.SetWindow(window); err != nil {
			return err
		}
	}
	if timer == timerNumber(f.answer.Timer) {
		return nil
	}
	return f.answer.SetTimer(timer)
}

// timerNumber returns a timer in the block: infinity for none.
func timerNumber(at vtime.Time) float64 {
	if at == vtime.Never {
		return math.Inf(1)
	}
	return float64(at)
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// notify calls a handler with a sample.
func (f *flow) notify(handler controllerfile.Handler, s *cc.Sample) error {
	m, err := f.begin()
	if err != nil {
		return err
	}
	m.put(blockNow, float64(s.Now))
	m.put(blockAckSequence, float64(s.AckSequence))
	m.put(blockNextSend, float64(s.NextSend))
	m.put(blockCE, truth(s.CE))
	m.put(blockUE, truth(s.UE))
	switch handler {
	case controllerfile.OnAck:
		m.put(blockRTT, float64(s.RTT))
		m.put(blockAckedBytes, float64(s.AckedBytes))
		m.put(blockPathID, float64(s.PathID))
		if len(m.block) > 8*blockInFlight {
			m.put(blockInFlight, float64(s.InFlight))
		}
		f.putHops(m, s)
	case controllerfile.OnCNP:
		m.put(blockReceived, float64(s.Received))
		m.put(blockReceivingRate, float64(s.ReceivingRate))
	case controllerfile.OnCNM:
		m.put(blockFlows, float64(s.CNMFlows))
		m.put(blockCNMRate, float64(s.CNMRate))
	}
	return f.call(m, handler)
}

// putHops writes an ACK's telemetry into the block.
func (f *flow) putHops(m *instance, s *cc.Sample) {
	if len(s.Hops) == 0 {
		m.put(blockHops, 0)
		return
	}
	if f.telemetry == nil {
		f.telemetry = new(controllerfile.Telemetry)
	}
	hops := f.telemetry.Read(s)
	m.put(blockHops, float64(len(hops)))
	for i := range hops {
		for k, v := range hops[i].Numbers() {
			if k < blockHopSize {
				m.put(blockHop+blockHopSize*i+k, v)
			} else if len(m.block) > 8*blockDelta {
				m.put(blockDelta+blockDeltaSize*i+k-blockHopSize, v)
			}
		}
	}
}

// when calls a handler with a time, and one more number.
func (f *flow) when(handler controllerfile.Handler, now vtime.Time, at int, v float64) error {
	m, err := f.begin()
	if err != nil {
		return err
	}
	m.put(blockNow, float64(now))
	m.put(at, v)
	return f.call(m, handler)
}

func (f *flow) Ack(s *cc.Sample) error { return f.notify(controllerfile.OnAck, s) }
func (f *flow) CNP(s *cc.Sample) error { return f.notify(controllerfile.OnCNP, s) }
func (f *flow) CNM(s *cc.Sample) error { return f.notify(controllerfile.OnCNM, s) }
func (f *flow) Nak(now vtime.Time) error {
	return f.when(controllerfile.OnNak, now, blockNow, float64(now))
}

func (f *flow) Timeout(now vtime.Time) error {
	return f.when(controllerfile.OnTimeout, now, blockNow, float64(now))
}

func (f *flow) Timer(now vtime.Time) error {
	return f.when(controllerfile.OnTimer, now, blockNow, float64(now))
}

func (f *flow) Sent(now vtime.Time, payload int) error {
	return f.when(controllerfile.OnSent, now, blockPayload, float64(payload))
}

func (f *flow) Preset(now vtime.Time, rate float64) error {
	return f.when(controllerfile.Preset, now, blockStartRate, rate)
}

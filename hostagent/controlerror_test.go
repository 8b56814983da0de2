package hostagent

import (
	"math"
	"testing"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// silent fails unless the NIC has nothing to send and waits for no time.
func (p *pair) silent(what string) {
	p.Helper()
	if f, wake := p.from.Dequeue(p.now, 0); f != nil || wake != vtime.Never || p.from.Pacing(p.now) {
		p.Errorf("%s: a frame: %t, or one at %v; it paces: %t", what, f != nil, wake, p.from.Pacing(p.now))
	}
}

// TestNoRate: at a rate that is no number above 0 nothing is sent except a packet that was scheduled before. With a
// valid rate the flow continues from its last packet. All invalid rates except 0 are recorded, once, with the time.
func TestNoRate(t *testing.T) {
	for _, rate := range []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), -1, 1e-12} {
		for _, moves := range []bool{false, true} {
			p := newPair(t, nil)
			c := newRecording()
			c.rate, c.moves = line/4, moves
			s, _ := p.start(100_000, c)
			p.next()
			tell := func(at vtime.Time, rate float64) {
				p.now, c.rate = at, rate
				s.onCNP(at, &wire.Packet{BECN: true})
			}
			tell(us/10, rate)
			if !moves { // the second packet was timed
				if p.next(); p.now != 4*first {
					t.Errorf("%g: a packet at %v", rate, p.now)
				}
			}
			p.now = vtime.Second
			p.silent("without a rate")
			noted := s.ControlError(p.now, 0)
			switch {
			case rate == 0 || rate == 1e-12:
				if noted == nil || !noted.Stayed || s.controlError != nil {
					t.Errorf("%g: %+v", rate, noted)
				}
			case noted == nil || noted.At != us/10 || noted.Stayed || math.Float64bits(noted.Rate) != math.Float64bits(rate):
				t.Errorf("%g: %+v", rate, noted)
			}
			tell(p.now, math.NaN()) // only the first is noted
			tell(p.now, line/2)
			if p.next(); p.now != vtime.Second { // it was due long ago
				t.Errorf("%g: with a rate again, a packet at %v", rate, p.now)
			}
			if s.Rate() != line/2 {
				t.Errorf("%g: a rate of %g", rate, s.Rate())
			}
			if noted := s.ControlError(p.now, 0); noted == nil || rate != 0 && rate != 1e-12 && noted.At != us/10 {
				t.Errorf("%g, and NaN later: %+v", rate, noted)
			}
		}
	}
}

// TestNoRateYet: a flow that begins without a rate sends its first packet as it gets one.
func TestNoRateYet(t *testing.T) {
	p := newPair(t, nil)
	c := newRecording()
	c.rate = 0
	s, _ := p.start(100_000, c)
	p.silent("without a rate")
	p.now = 5 * us
	if b := s.ControlError(p.now, 0); b == nil || b.At != 0 {
		t.Errorf("%+v", b)
	}
	c.alarm = 20 * us
	s.OnTimer(4 * us)
	if b := s.ControlError(9*us, -1000*us); b != nil {
		t.Errorf("with a timer, after little of its time: %+v", b)
	}
	c.rate = line
	s.onCNP(p.now, &wire.Packet{BECN: true})
	if p.next(); p.now != 5*us || s.ControlError(p.now, 0) != nil {
		t.Errorf("a packet at %v, %+v", p.now, s.ControlError(p.now, 0))
	}
}

// TestNegativeWindow: with a window less than nothing a flow sends nothing, and that is noted; with another it goes
// on.
func TestNegativeWindow(t *testing.T) {
	p := newPair(t, nil)
	c := newRecording()
	s, _ := p.start(100_000, c)
	p.next()
	c.window, p.now = -3, 10*us
	s.onCNP(p.now, &wire.Packet{BECN: true})
	p.silent("with a negative window")
	if b := s.ControlError(p.now, 0); b == nil || b.At != 10*us || b.String() != "a window of -3 B" {
		t.Errorf("%+v", b)
	}
	c.window, p.now = 0, 20*us
	s.onCNP(p.now, &wire.Packet{BECN: true})
	if p.next(); p.now != 20*us {
		t.Errorf("a packet at %v", p.now)
	}
}

// TestEndlessTimer: a timer that asks for the same time again and again does not hold time up, and is noted.
func TestEndlessTimer(t *testing.T) {
	p := newPair(t, nil)
	c := &impatient{recording: *newRecording()}
	s, _ := p.start(100_000, c)
	calls := 0
	for p.now = 5 * us; s.Armed() <= p.now; calls++ {
		if calls > 2*maxTimerRepeats {
			t.Fatal("time does not go on")
		}
		s.OnTimer(p.now)
	}
	if b := s.ControlError(p.now, 0); b == nil || !b.Timer || b.At != 5*us || calls != maxTimerRepeats ||
		s.Armed() != vtime.Never {
		t.Errorf("after %d calls: %+v, armed at %v", calls, b, s.Armed())
	}
	p.next() // it goes on sending
}

// impatient wants its timer to be called at 3 us, whatever the time is.
type impatient struct{ recording }

func (*impatient) Deadline() vtime.Time { return 3 * us }
func (*impatient) OnTimer(vtime.Time)   {}

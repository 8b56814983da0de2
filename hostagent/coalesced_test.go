package hostagent

import (
	"slices"
	"testing"

	"github.com/pausenet/pausenet/vtime"
)

// carry runs a flow over wires of 5 us that lose nothing, until it has ended or the time has come.
func (p *pair) carry(s *Sender, end vtime.Time) {
	p.Helper()
	const delay = 5 * us
	type onWire struct {
		at   vtime.Time
		data []byte
	}
	var there, back []onWire
	for free := p.now; len(p.done) == 0 && p.now < end; p.now += 100 * vtime.Nanosecond {
		if free <= p.now {
			if data := p.pull(p.from); data != nil {
				free = p.now + vtime.Time(lineBytes(len(data)))*bytePS
				there = append(there, onWire{free + delay, data})
			}
		}
		for ; len(there) > 0 && there[0].at <= p.now; there = there[1:] {
			p.to.Receive(p.now, whole(there[0].data))
			for data := p.pull(p.to); data != nil; data = p.pull(p.to) {
				back = append(back, onWire{p.now + delay, data})
			}
		}
		for ; len(back) > 0 && back[0].at <= p.now; back = back[1:] {
			p.from.Receive(p.now, whole(back[0].data))
		}
		if s.Armed() <= p.now {
			s.OnTimer(p.now)
		}
	}
}

// TestNothingLostNoTimeout: where nothing is lost no timeout fires, however slow the flow is and however many packets
// one ACK answers.
func TestNothingLostNoTimeout(t *testing.T) {
	for _, every := range []int{1, 256} {
		for _, rate := range []float64{4e6, 30e6, 100e6, 2e9, 40e9} {
			p := newPair(t, func(s *Settings) { s.RetransmitTimeout, s.AckEvery = vtime.Millisecond, every })
			c := newRecording()
			c.rate = rate
			packets := int64(min(300, rate/200e3))
			s, _ := p.start(packets*mtu, c)
			p.carry(s, 100*vtime.Millisecond)
			if !slices.Equal(p.done, []int{0}) || p.from.Timeouts != 0 || s.Retransmitted != 0 || p.to.Duplicates != 0 {
				t.Errorf("an ACK every %d, %g bps: done %v, %d timeouts, %d bytes again, %d duplicates", every, rate, p.done,
					p.from.Timeouts, s.Retransmitted, p.to.Duplicates)
			}
			if every > 1 && rate > 1e9 && p.to.AcksSent > packets/20 {
				t.Errorf("an ACK every %d, %g bps: %d ACKs of %d packets", every, rate, p.to.AcksSent, packets)
			}
		}
	}
}

// TestWindowClosesBehindCoalescedACKs: a window that shrinks below the bytes in flight, none of which requested an ACK,
// opens again: the next packet requests one, and no other is sent before its ACK.
func TestWindowClosesBehindCoalescedACKs(t *testing.T) {
	p := newPair(t, func(s *Settings) { s.AckEvery = 64 })
	c := newRecording()
	c.window = 200 * mtu
	s, r := p.start(500*mtu, c)
	for range 100 {
		p.to.Receive(p.now, whole(p.next()))
		p.now += 300 * vtime.Nanosecond
	}
	c.window = 20 * mtu
	p.answers() // of the 64th
	data := p.next()
	if w := p.parse(data); w.PSN != 100 || !w.AckReq {
		t.Errorf("packet %d, asks for an ACK: %t", w.PSN, w.AckReq)
	}
	p.now += us
	if p.pull(p.from) != nil {
		t.Error("another packet was sent before the ACK")
	}
	p.to.Receive(p.now, whole(data))
	p.answers()
	p.carry(s, 10*vtime.Millisecond)
	if r.Delivered != 500*mtu || !slices.Equal(p.done, []int{0}) {
		t.Errorf("%d delivered, %d acknowledged, done %v", r.Delivered, s.Acked(), p.done)
	}
}

package hostagent

import (
	"slices"
	"testing"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// TestTimestamps: data leaves with the time at which it does, 8 B longer, and its ACK brings that back, 8 B longer
// too: RTTs are from there.
func TestTimestamps(t *testing.T) {
	for _, headersOnly := range []bool{false, true} {
		p := newPair(t, func(s *Settings) { s.Timestamps = true })
		if headersOnly {
			p.headersOnly()
		}
		c := newRecording()
		_, r := p.start(3*mtu, c)
		var left []vtime.Time
		for i := range 3 {
			f, _ := p.from.Dequeue(p.now, 0)
			if want := dataFrame(mtu, i == 0) + 8; f == nil || int(f.Length) != want {
				t.Fatalf("packet %d: %+v, want %d bytes", i, f, want)
			}
			var w wire.Packet
			if err := p.to.parse(f, &w); err != nil || w.Payload != mtu {
				t.Fatalf("packet %d: %v, %+v", i, err, w)
			}
			if at, ok := w.Timestamp(); !ok || vtime.Time(at) != p.now {
				t.Errorf("packet %d left at %v and says %v, %t", i, p.now, vtime.Time(at), ok)
			}
			left = append(left, p.now)
			p.to.Receive(p.now, f)
			p.pool.Put(f)
			p.now += us
		}
		p.now += 10 * us
		for f, _ := p.to.Dequeue(p.now, 0); f != nil; f, _ = p.to.Dequeue(p.now, 0) {
			if f.Length != 70 {
				t.Errorf("an ACK of %d bytes", f.Length)
			}
			p.from.Receive(p.now, f)
			p.pool.Put(f)
		}
		if !slices.Equal(p.done, []int{0}) || r.Delivered != 3*mtu || p.pool.Out() != 0 || len(c.acks) != 2 {
			t.Fatalf("done %v, %d delivered, %d frames out, %d ACKs", p.done, r.Delivered, p.pool.Out(), len(c.acks))
		}
		for i, a := range c.acks {
			if a.RTT != p.now-left[i] {
				t.Errorf("packet %d: an RTT of %v, want %v", i, a.RTT, p.now-left[i])
			}
		}
	}
}

// TestTimestampOfTheFirstOfTwo: the RTT of a retransmitted packet is that of the copy that the ACK answers; without a
// timestamp the RTT is unknown.
func TestTimestampOfTheFirstOfTwo(t *testing.T) {
	for _, stamped := range []bool{true, false} {
		p := newPair(t, func(s *Settings) { s.Timestamps, s.RetransmitTimeout = stamped, 50*us })
		c := newRecording()
		s, _ := p.start(3*mtu, c)
		data := p.next()
		p.now = 60 * us
		s.OnTimer(p.now) // the ACK is late
		p.next()
		p.now = 70 * us
		p.to.Receive(p.now, whole(data))
		p.answers()
		want := 70 * us
		if !stamped {
			want = 0
		}
		if len(c.late) != 1 || len(c.acks) != 1 || c.acks[0].RTT != want {
			t.Errorf("with timestamps: %t: %d timeouts, ACKs %+v, want an RTT of %v", stamped, len(c.late), c.acks, want)
		}
	}
}

// TestTimestampOfTheFuture: an ACK that says of its packet that it left after the last one is not believed.
func TestTimestampOfTheFuture(t *testing.T) {
	p := newPair(t, func(s *Settings) { s.Timestamps = true })
	c := newRecording()
	_, r := p.start(3*mtu, c)
	p.next()
	p.now = 10 * us
	var b [wire.MaxFrame]byte
	n := wire.PutAckTimestamp(b[:], r.back, wire.SyndromeAck, 0, 0, 1<<63)
	p.from.Receive(p.now, whole(b[:n]))
	if len(c.acks) != 1 || c.acks[0].RTT != 10*us {
		t.Errorf("%+v", c.acks)
	}
}

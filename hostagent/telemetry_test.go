package hostagent

import (
	"slices"
	"testing"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// TestTelemetry: data leaves with empty telemetry, and what switches write into it comes back with its own ACK.
func TestTelemetry(t *testing.T) {
	for _, headersOnly := range []bool{false, true} {
		p := newPair(t, func(s *Settings) { s.INT = true })
		if headersOnly {
			p.headersOnly()
		}
		c := newRecording()
		_, r := p.start(3*mtu, c)
		hop := wire.INTHop{Rate: 100 * units.Gbps, Departed: 5 * vtime.Microsecond, TxBytes: 1280, QueueBytes: 800}
		for i := range 3 {
			f, _ := p.from.Dequeue(p.now, 0)
			if want := dataFrame(mtu, i == 0) + 42; f == nil || int(f.Length) != want || !headersOnly && len(f.Data()) != want {
				t.Fatalf("packet %d: %+v, want %d bytes", i, f, want)
			}
			var w wire.Packet
			if err := p.to.parse(f, &w); err != nil || w.INT() == nil || w.INT().Hops() != 0 || w.Payload != mtu {
				t.Fatalf("packet %d: %v, %+v", i, err, w)
			}
			for k := range i { // a switch more each time
				h := hop
				h.TxBytes += int64(1280 * k)
				w.INT().Stamp(uint16(0x10<<k), h)
			}
			p.to.Receive(p.now, f)
			p.pool.Put(f)
			p.now += us
		}
		for f, _ := p.to.Dequeue(p.now, 0); f != nil; f, _ = p.to.Dequeue(p.now, 0) {
			if f.Length != 104 {
				t.Errorf("an ACK of %d bytes", f.Length)
			}
			var w wire.Packet
			if err := p.from.parse(f, &w); err != nil || int(w.MSN) != int(w.PSN)/2 { // the third packet ends the message
				t.Errorf("%v: %+v", err, w)
			}
			p.from.Receive(p.now, f)
			p.pool.Put(f)
		}
		if !slices.Equal(p.done, []int{0}) || r.Delivered != 3*mtu || p.pool.Out() != 0 || len(c.acks) != 2 {
			t.Fatalf("done %v, %d delivered, %d frames out, %d ACKs", p.done, r.Delivered, p.pool.Out(), len(c.acks))
		}
		if a := c.acks[0]; a.PathID != 0 || len(a.Hops) != 0 {
			t.Errorf("through no switch: %+v", a)
		}
		if a := c.acks[1]; a.PathID != 0x10 || !slices.Equal(a.Hops, []wire.INTHop{hop}) {
			t.Errorf("through one switch: %+v", a)
		}
	}
}

// TestNoTelemetry: without the setting packets and samples have no telemetry, but an answer returns that of its packet.
func TestNoTelemetry(t *testing.T) {
	p := newPair(t, nil)
	c := newRecording()
	p.start(2*mtu, c)
	p.to.Receive(p.now, whole(p.next()))
	if list := p.answers(); len(list) != 1 || list[0].INT() != nil || c.acks[0].Hops != nil {
		t.Errorf("%+v, %+v", list, c.acks)
	}
	p = newPair(t, nil)
	s, _ := p.start(3*mtu, newRecording())
	var b [wire.MaxFrame]byte
	n := wire.PutData(b[:], s.header, wire.OpWriteMiddle.WithINT(), 2, mtu, true, true) // after a gap
	p.to.Receive(p.now, whole(b[:n]))
	if list := p.answers(); len(list) != 1 || list[0].Kind != wire.KindNak || list[0].INT() == nil {
		t.Errorf("%+v", list)
	}
}

// TestTelemetryAllocatesNothing: a packet's round with telemetry takes no memory.
func TestTelemetryAllocatesNothing(t *testing.T) {
	p := newPair(t, func(s *Settings) { s.INT = true })
	s, _ := p.start(1<<40, cc.Constant(line))
	hop := wire.INTHop{Rate: 40 * units.Gbps, Departed: us, TxBytes: 128, QueueBytes: 80}
	round := func() {
		p.now = max(p.now+us, s.eligible)
		f, _ := p.from.Dequeue(p.now, 0)
		var w wire.Packet
		if p.to.parse(f, &w) != nil {
			t.Fatal("no packet")
		}
		w.INT().Stamp(1, hop)
		p.to.Receive(p.now, f)
		p.pool.Put(f)
		a, _ := p.to.Dequeue(p.now, 0)
		p.from.Receive(p.now, a)
		p.pool.Put(a)
	}
	for range 100 {
		round()
	}
	if n := testing.AllocsPerRun(200, round); n != 0 {
		t.Errorf("%g allocations a packet", n)
	}
	if s.Acked() < 300*mtu || p.from.hops[0] != hop {
		t.Errorf("%d acknowledged", s.Acked())
	}
}

package hostagent

import (
	"slices"
	"testing"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
	"pgregory.net/rapid"
)

// TestAckEvery: each n-th packet asks for an ACK, and the last always does.
func TestAckEvery(t *testing.T) {
	for n, want := range map[int][]uint32{1: {0, 1, 2, 3, 4}, 2: {1, 3, 4}, 3: {2, 4}, 100: {4}} {
		p := newPair(t, func(s *Settings) { s.AckEvery = n })
		p.start(4*mtu+1, newRecording())
		var acks []uint32
		for range 5 {
			p.to.Receive(p.now, whole(p.next()))
			for _, w := range p.answers() {
				acks = append(acks, w.PSN)
				if w.Kind != wire.KindAck || w.Syndrome != 0x1f || w.Priority() != 6 {
					t.Errorf("%+v", w)
				}
			}
		}
		if !slices.Equal(acks, want) || !slices.Equal(p.done, []int{0}) {
			t.Errorf("an ACK every %d: %v, want %v; done %v", n, acks, want, p.done)
		}
	}
}

// TestCNPs: one at the first mark, then none for 50 us, for each flow by itself. What is not marked draws none.
func TestCNPs(t *testing.T) {
	p := newPair(t, nil)
	first, second := newRecording(), newRecording()
	p.start(1000*mtu, first)
	p.start(1000*mtu, second)
	for i := range 400 {
		p.now = vtime.Time(i) * us
		data := p.next()
		if i >= 100 {
			mark(data)
		}
		p.to.Receive(p.now, whole(data))
		p.answers()
	}
	for i, c := range []*recording{first, second} {
		var at []vtime.Time
		for _, s := range c.cnps {
			at = append(at, s.Now)
		}
		from := vtime.Time(100+i) * us // the flows take turns
		want := []vtime.Time{from, from + 50*us, from + 100*us, from + 150*us, from + 200*us, from + 250*us}
		if !slices.Equal(at, want) {
			t.Errorf("flow %d: CNPs at %v, want %v", i, at, want)
		}
	}
	if p.to.CNPsSent != 12 || p.from.CNPsReceived != 12 || p.to.Marked != 300 {
		t.Errorf("%+v", p.to.Counters)
	}
}

// TestGoBack: a gap draws one NAK of the packet that is missing, and the sender sends on from there.
func TestGoBack(t *testing.T) {
	p := newPair(t, nil)
	c := newRecording()
	s, r := p.start(6*mtu, c)
	var frames [][]byte
	for range 5 {
		frames = append(frames, p.next())
	}
	for i, lost := range []bool{false, false, true, false, false} {
		if !lost {
			p.to.Receive(p.now, whole(frames[i]))
		}
	}
	list := p.answers()
	if len(list) != 3 || list[2].Kind != wire.KindNak || list[2].PSN != 2 || list[2].Syndrome != 0x60 {
		t.Fatalf("%+v", list)
	}
	if p.to.OutOfOrder != 2 || len(c.naks) != 1 || s.Acked() != 2*mtu || s.Sent() != 2*mtu {
		t.Errorf("%+v, NAKs at %v, %d acknowledged, next %d", p.to.Counters, c.naks, s.Acked(), s.Sent())
	}
	for psn := uint32(2); psn < 6; psn++ {
		data := p.next()
		if w := p.parse(data); w.PSN != psn || psn == 5 != (w.Opcode == wire.OpWriteLast) {
			t.Errorf("want packet %d, got %+v", psn, w)
		}
		p.to.Receive(p.now, whole(data))
	}
	p.answers()
	if r.Delivered != 6*mtu || s.Retransmitted != 3*mtu || !slices.Equal(p.done, []int{0}) {
		t.Errorf("%d delivered, %d again, done %v", r.Delivered, s.Retransmitted, p.done)
	}
}

// TestNakRepeated: a NAK for the same packet is repeated when its interval has passed, no sooner.
func TestNakRepeated(t *testing.T) {
	p := newPair(t, func(s *Settings) { s.NakInterval = 500 * us })
	p.start(20*mtu, newRecording())
	var frames [][]byte
	for range 10 {
		frames = append(frames, p.next())
	}
	var naks []vtime.Time
	for i, f := range frames[1:] {
		now := vtime.Time(i) * 125 * us
		p.to.Receive(now, whole(f))
		if p.pull(p.to) != nil {
			naks = append(naks, now)
		}
	}
	if want := []vtime.Time{0, 500 * us, 1000 * us}; !slices.Equal(naks, want) {
		t.Errorf("NAKs at %v, want %v", naks, want)
	}
}

// TestOneRewindForAGap: NAKs that packets of one gap draw, where they come faster than an RTT, have the flow go back
// once. It goes back again as the retransmission is lost too.
func TestOneRewindForAGap(t *testing.T) {
	p := newPair(t, func(s *Settings) { s.NakInterval = us })
	c := newRecording()
	s, r := p.start(40*mtu, c)
	var naks [][]byte
	pass := func(lost uint32, packets int) {
		t.Helper()
		for range packets {
			data := p.next()
			if p.parse(data).PSN != lost {
				p.to.Receive(p.now, whole(data))
			}
			p.now += us
			for f := p.pull(p.to); f != nil; f = p.pull(p.to) {
				if p.parse(f).Kind == wire.KindNak {
					naks = append(naks, f)
				}
			}
		}
	}
	pass(2, 20)
	if len(naks) < 15 || p.parse(naks[0]).PSN != 2 {
		t.Fatalf("%d NAKs", len(naks))
	}
	for rewinds := 1; rewinds <= 2; rewinds++ {
		came := naks
		naks = nil
		for _, f := range came { // an RTT after their packets left
			p.from.Receive(p.now, whole(f))
			p.now += us
		}
		if len(c.naks) != rewinds || s.Sent() != 2*mtu {
			t.Fatalf("%d rewinds, want %d; next is %d", len(c.naks), rewinds, s.Sent())
		}
		pass(map[int]uint32{1: 2, 2: 1 << 20}[rewinds], 18)
	}
	if len(naks) > 0 || r.Delivered != 20*mtu || s.Retransmitted != 2*18*mtu {
		t.Errorf("%d NAKs, %d delivered, %d again", len(naks), r.Delivered, s.Retransmitted)
	}
}

// TestTimeout: without progress for the timeout the sender goes back; an ACK puts it off.
func TestTimeout(t *testing.T) {
	const timeout = 300 * us
	p := newPair(t, func(s *Settings) { s.RetransmitTimeout = timeout })
	c := newRecording()
	s, r := p.start(3*mtu, c)
	first := p.next()
	p.next()
	p.next() // these two are lost
	p.now = 10 * us
	p.to.Receive(p.now, whole(first))
	p.answers()
	if s.Armed() != 10*us+timeout {
		t.Fatalf("armed at %v", s.Armed())
	}
	p.now = s.Armed()
	s.OnTimer(p.now)
	if !slices.Equal(c.late, []vtime.Time{10*us + timeout}) {
		t.Errorf("timeouts at %v", c.late)
	}
	for psn := uint32(1); psn < 3; psn++ {
		data := p.next()
		if got := p.parse(data).PSN; got != psn {
			t.Errorf("packet %d, want %d", got, psn)
		}
		p.to.Receive(p.now, whole(data))
	}
	p.answers()
	if r.Delivered != 3*mtu || s.Retransmitted != 2*mtu || s.Armed() != vtime.Never {
		t.Errorf("%d delivered, %d again, armed at %v", r.Delivered, s.Retransmitted, s.Armed())
	}
}

// TestEveryLossIsRepaired: whatever the wires lose, both ways, each byte arrives once and in order, and the flow
// ends.
func TestEveryLossIsRepaired(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newPair(t, func(s *Settings) {
			s.RetransmitTimeout = 50 * us
			s.NakInterval = 5 * us
			s.AckEvery = rapid.IntRange(1, 7).Draw(rt, "ack every")
		})
		size := rapid.Int64Range(1, 80*mtu).Draw(rt, "size")
		s, r := p.start(size, newRecording())
		lossy := rapid.SliceOfN(rapid.Bool(), 300, 300).Draw(rt, "lost")
		lose := func() bool {
			if len(lossy) == 0 {
				return false
			}
			l := lossy[0]
			lossy = lossy[1:]
			return l
		}
		for steps := 0; len(p.done) == 0; steps++ {
			if steps > 10_000 {
				rt.Fatalf("%d of %d bytes after %v", r.Delivered, size, p.now)
			}
			data := p.pull(p.from)
			if data != nil && !lose() {
				before := r.Delivered
				w := p.parse(data)
				p.to.Receive(p.now, whole(data))
				if r.Delivered != before && (r.Delivered-before != int64(w.Payload) || int64(w.PSN)*mtu != before) {
					rt.Fatalf("packet %d was taken after %d bytes", w.PSN, before)
				}
			}
			for a := p.pull(p.to); a != nil; a = p.pull(p.to) {
				if !lose() {
					p.from.Receive(p.now, whole(a))
				}
			}
			p.now += 250 * vtime.Nanosecond
			if s.Armed() <= p.now {
				s.OnTimer(p.now)
			}
		}
		if r.Delivered != size || s.Acked() != size {
			rt.Fatalf("%d delivered, %d acknowledged of %d", r.Delivered, s.Acked(), size)
		}
	})
}

// TestNakOfAnotherGap: the interval is one packet's; the next gap draws its NAK at once.
func TestNakOfAnotherGap(t *testing.T) {
	p := newPair(t, func(s *Settings) { s.NakInterval = 500 * us })
	p.start(20*mtu, newRecording())
	var frames [][]byte
	for range 8 {
		frames = append(frames, p.next())
	}
	var naks []uint32
	for _, i := range []int{0, 2, 1, 2, 4, 5} { // 1 is late, 3 is lost
		p.to.Receive(p.now, whole(frames[i]))
		for data := p.pull(p.to); data != nil; data = p.pull(p.to) {
			if w := p.parse(data); w.Kind == wire.KindNak {
				naks = append(naks, w.PSN)
			}
		}
		p.now += us
	}
	if want := []uint32{1, 3}; !slices.Equal(naks, want) {
		t.Errorf("NAKs of %v, want %v", naks, want)
	}
}

// TestAckOvertakesGoBack: packets acknowledged after the sender has gone back are not retransmitted.
func TestAckOvertakesGoBack(t *testing.T) {
	p := newPair(t, func(s *Settings) { s.RetransmitTimeout = 100 * us })
	s, _ := p.start(5*mtu, newRecording())
	var late [][]byte
	for range 3 {
		p.to.Receive(p.now, whole(p.next()))
		late = append(late, p.pull(p.to))
	}
	p.now = s.Armed()
	s.OnTimer(p.now)
	p.from.Receive(p.now, whole(late[1]))
	if got := p.parse(p.next()).PSN; got != 2 || s.Retransmitted != mtu {
		t.Errorf("packet %d is sent next, %d bytes again; the receiver has acknowledged 1", got, s.Retransmitted)
	}
}

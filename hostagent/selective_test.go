package hostagent

import (
	"slices"
	"testing"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// newSelectivePair returns a pair whose flows use selective repeat, without a cap.
func newSelectivePair(t testing.TB, c func(*Settings)) *pair {
	return newPair(t, func(s *Settings) {
		s.Recovery, s.Selective.Cap, s.RetransmitTimeout = SelectiveRepeat, 0, 300*us
		if c != nil {
			c(s)
		}
	})
}

// TestSelectiveRepeat: of a row of packets of which two are lost those alone are sent again, each once; NAKs have
// what has come in order and which packet drew them (IRN, section 3.1), and each packet has an RETH of its own.
func TestSelectiveRepeat(t *testing.T) {
	p := newSelectivePair(t, nil)
	c := newRecording()
	s, r := p.start(10*mtu-1, c)
	var frames [][]byte
	for i := range 10 {
		frames = append(frames, p.next())
		w := p.parse(frames[i])
		if w.Opcode != wire.OpWriteOnly || w.RETH().VA() != uint64(i*mtu) || int(w.RETH().DMALen()) != w.Payload ||
			w.PSN != uint32(i) {
			t.Errorf("packet %d: %v of %d bytes at %d, PSN %d", i, w.Opcode, w.RETH().DMALen(), w.RETH().VA(), w.PSN)
		}
	}
	lost := []int{2, 5}
	for i, f := range frames {
		if !slices.Contains(lost, i) {
			p.to.Receive(p.now, whole(f))
		}
	}
	if r.Delivered != 8*mtu-1 { // the last has a byte less
		t.Errorf("%d bytes placed", r.Delivered)
	}
	list := p.answers()
	type answer struct {
		kind     wire.Kind
		psn, msn uint32
	}
	var got []answer
	for i := range list {
		got = append(got, answer{list[i].Kind, list[i].PSN, list[i].MSN})
	}
	want := []answer{
		{wire.KindAck, 0, 0},
		{wire.KindAck, 1, 1},
		{wire.KindNak, 2, 3},
		{wire.KindNak, 2, 4},
		{wire.KindNak, 2, 6},
		{wire.KindNak, 2, 7},
		{wire.KindNak, 2, 8},
		{wire.KindNak, 2, 9},
	}
	if !slices.Equal(got, want) {
		t.Errorf("answers %v", got)
	}
	if s.Acked() != 2*mtu || len(c.naks) != 1 {
		t.Errorf("%d acknowledged, told of losses at %v", s.Acked(), c.naks)
	}
	for _, psn := range []uint32{2, 5} {
		data := p.next()
		if w := p.parse(data); w.PSN != psn || !w.AckReq {
			t.Errorf("want packet %d again, got %+v", psn, w)
		}
		p.to.Receive(p.now, whole(data))
	}
	if f := p.pull(p.from); f != nil {
		t.Errorf("one more: %+v", p.parse(f))
	}
	p.answers()
	var acked int64
	for i := range c.acks {
		acked += c.acks[i].AckedBytes
	}
	// of the packet whose ACK ends the flow no controller hears
	if !slices.Equal(p.done, []int{0}) || r.Delivered != 10*mtu-1 || s.Retransmitted != 2*mtu || acked != 9*mtu-1 {
		t.Errorf("done %v, %d placed, %d again, the controller was told of %d", p.done, r.Delivered, s.Retransmitted, acked)
	}
	if x := r.Placed(); x.Duplicates != 0 || x.Reordered != 2 || x.Extent != 7 || s.Spurious() != 0 ||
		p.from.Timeouts != 0 {
		t.Errorf("%+v, %d spurious, %d timeouts", x, s.Spurious(), p.from.Timeouts)
	}
}

// TestSelectiveCap: no more than the cap is in flight, and what is lost goes again all the same.
func TestSelectiveCap(t *testing.T) {
	p := newSelectivePair(t, func(s *Settings) { s.Selective.Cap = 4 * mtu })
	p.start(10*mtu, newRecording())
	var frames [][]byte
	for range 4 {
		frames = append(frames, p.next())
	}
	if f, wake := p.from.Dequeue(p.now+us, 0); f != nil || wake != vtime.Never {
		t.Fatalf("a packet beyond the cap, or at %v", wake)
	}
	for _, f := range frames[1:] {
		p.to.Receive(p.now, whole(f))
	}
	p.answers()
	p.now += us
	if w := p.parse(p.next()); w.PSN != 0 {
		t.Errorf("packet %d instead of the lost one", w.PSN)
	}
	if f := p.pull(p.from); f != nil {
		t.Errorf("packet %d beyond the cap", p.parse(f).PSN)
	}
}

// TestSelectiveWindow: packets that have arrived out of order, or are known to be lost, leave the window, and
// retransmissions obey it.
func TestSelectiveWindow(t *testing.T) {
	p := newSelectivePair(t, nil)
	c := newRecording()
	c.window = 4 * mtu
	s, _ := p.start(20*mtu, c)
	var frames [][]byte
	for range 4 {
		frames = append(frames, p.next())
	}
	if p.pull(p.from) != nil {
		t.Fatal("a packet beyond the window")
	}
	p.to.Receive(p.now, whole(frames[1])) // 0 is lost: one arrived, one lost
	p.answers()
	if got := c.acks[0].InFlight; got != 3*mtu || s.inFlight() != 2*mtu {
		t.Errorf("%d in flight as the ACK came, and %d now", got, s.inFlight())
	}
	for _, want := range []uint32{0, 4} {
		if got := p.parse(p.next()).PSN; got != want {
			t.Errorf("packet %d, want %d", got, want)
		}
	}
	if p.pull(p.from) != nil {
		t.Error("a packet beyond the window")
	}
	c.window = 2 * mtu
	for _, f := range frames[2:3] {
		p.to.Receive(p.now, whole(trim(f)))
	}
	p.answers()
	if p.pull(p.from) != nil || s.inFlight() != 3*mtu {
		t.Errorf("a retransmission beyond the window; %d in flight", s.inFlight())
	}
}

// TestSelectiveSamples: the answer to a packet that was sent again tells the RTT of its last copy if the copies
// before came trimmed, or if there was one before and the answer is to the second; else it tells none.
func TestSelectiveSamples(t *testing.T) {
	for name, c := range map[string]struct {
		before    string // what became of the copies before the last: trimmed, or late
		first     bool   // the first copy is answered, else the last
		wantsTime bool
	}{
		"the copy before trimmed":    {before: "t", wantsTime: true},
		"both copies before trimmed": {before: "tt", wantsTime: true},
		"the second of two":          {before: "l", wantsTime: true},
		"the first of two":           {before: "l", first: true},
		"one of three":               {before: "ll"},
		"one trimmed, one late":      {before: "tl"},
		"one late, one trimmed":      {before: "lt"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSelectivePair(t, nil)
			recorded := newRecording()
			s, _ := p.start(20*mtu, recorded)
			copies := [][]byte{p.next()}
			for _, fate := range c.before {
				if fate == 't' {
					p.now += us
					p.to.Receive(p.now, whole(trim(copies[len(copies)-1])))
					p.answers()
				} else {
					p.now = s.Armed()
					s.OnTimer(p.now)
				}
				copies = append(copies, p.next())
				if got := p.parse(copies[len(copies)-1]); got.PSN != 0 || !got.Retransmitted {
					t.Fatalf("copy %d: packet %d, sent again: %t", len(copies), got.PSN, got.Retransmitted)
				}
			}
			left := *s.sentAt(0)
			p.now += 3 * us
			answered := copies[len(copies)-1]
			if c.first {
				answered = copies[0]
			}
			p.to.Receive(p.now, whole(answered))
			p.answers()
			want := p.now - left
			if !c.wantsTime {
				want = 0
			}
			if got := recorded.acks[len(recorded.acks)-1].RTT; got != want {
				t.Errorf("an RTT of %v, want %v", got, want)
			}
		})
	}
}

// TestSelectiveTrimmedOnce: a packet that came trimmed is sent again once, though others that left after it arrive
// before its second copy.
func TestSelectiveTrimmedOnce(t *testing.T) {
	p := newSelectivePair(t, func(s *Settings) { s.Selective.Reorder = 1 })
	s, _ := p.start(4*mtu, newRecording())
	var frames [][]byte
	for range 4 {
		frames = append(frames, p.next())
	}
	p.to.Receive(p.now, whole(trim(frames[0])))
	p.answers()
	retransmission := p.next()
	if psn := p.parse(retransmission).PSN; psn != 0 {
		t.Fatalf("packet %d", psn)
	}
	for _, f := range frames[1:] {
		p.to.Receive(p.now, whole(f))
	}
	p.answers()
	p.now += us
	if f := p.pull(p.from); f != nil {
		t.Errorf("packet %d once more", p.parse(f).PSN)
	}
	p.to.Receive(p.now, whole(retransmission))
	if p.answers(); s.state != senderDone || s.Retransmitted != mtu || s.Spurious() != 0 {
		t.Errorf("state %d, %d bytes again, %d spurious", s.state, s.Retransmitted, s.Spurious())
	}
}

// TestSelectiveDuplicateTellsNoRTT: the answer to a copy of a packet that had arrived counts as spurious, and tells
// no RTT.
func TestSelectiveDuplicateTellsNoRTT(t *testing.T) {
	p := newSelectivePair(t, func(s *Settings) { s.Timestamps = true })
	s, _ := p.start(4*mtu, newRecording())
	p.next() // is lost
	frame := p.next()
	p.now = 10 * us
	p.to.Receive(p.now, whole(frame))
	p.answers()
	before := s.LastRTT
	if left := *s.sentAt(1); before != 10*us-left {
		t.Fatalf("an RTT of %v of what left at %v", before, left)
	}
	p.now = 50 * us
	p.to.Receive(p.now, whole(frame))
	p.answers()
	if s.Spurious() != 1 || s.LastRTT != before {
		t.Errorf("%d spurious, an RTT of %v", s.Spurious(), s.LastRTT)
	}
}

// lossCounter implements a congestion control that counts losses.
type lossCounter struct {
	*recording
	lost, expired []int64
}

func (c *lossCounter) OnLoss(_ vtime.Time, payload int64, timeout bool) {
	if timeout {
		c.expired = append(c.expired, payload)
		return
	}
	c.lost = append(c.lost, payload)
}

// TestSelectiveLosses: a congestion control that counts losses hears of each packet once, another of each row of
// them: it hears again as what left after it had been told is lost.
func TestSelectiveLosses(t *testing.T) {
	for _, counts := range []bool{true, false} {
		p := newSelectivePair(t, nil)
		recorded := newRecording()
		c := &lossCounter{recording: recorded}
		s, _ := p.start(8*mtu-1, map[bool]cc.Controller{true: c, false: recorded}[counts])
		var frames [][]byte
		for range 8 {
			frames = append(frames, p.next())
		}
		p.now += 10 * us
		for _, i := range []int{1, 3, 7} {
			p.to.Receive(p.now, whole(trim(frames[i])))
		}
		p.to.Receive(p.now, whole(frames[4])) // 0 and 2 are missing
		p.answers()
		first := p.now
		retransmission := p.next()
		p.to.Receive(p.now, whole(trim(retransmission)))
		p.now += us
		second := p.now
		p.answers()
		p.now = s.Armed()
		s.OnTimer(p.now)
		if counts {
			if want := []int64{mtu, mtu, mtu - 1, mtu, mtu, mtu}; !slices.Equal(c.lost, want) ||
				!slices.Equal(c.expired, []int64{mtu}) || len(c.naks)+len(c.late) > 0 {
				t.Errorf("told of losses of %v and timeouts of %v", c.lost, c.expired)
			}
		} else if want := []vtime.Time{first, second}; !slices.Equal(c.naks, want) || len(c.late) != 1 {
			t.Errorf("told of losses at %v, want %v; of timeouts at %v", c.naks, want, c.late)
		}
	}
}

// TestSelectiveReorder: with a threshold a packet is lost only once a packet sent that much later has arrived.
func TestSelectiveReorder(t *testing.T) {
	p := newSelectivePair(t, func(s *Settings) { s.Selective.Reorder = 3 })
	s, _ := p.start(8*mtu, newRecording())
	var frames [][]byte
	for range 8 {
		frames = append(frames, p.next())
	}
	for _, i := range []int{1, 2} {
		p.to.Receive(p.now, whole(frames[i]))
	}
	p.answers()
	p.now += us // the line is free again
	if f := p.pull(p.from); f != nil {
		t.Errorf("packet %d is sent again for 2 that came before it", p.parse(f).PSN)
	}
	p.to.Receive(p.now, whole(frames[3]))
	p.answers()
	if w := p.parse(p.next()); w.PSN != 0 {
		t.Errorf("packet %d", w.PSN)
	}
	// The first one comes after all.
	for _, i := range []int{0, 4, 5, 6, 7} {
		p.to.Receive(p.now, whole(frames[i]))
	}
	p.answers()
	if s.state != senderDone || s.Spurious() != 0 {
		t.Errorf("%d acknowledged, %d spurious", s.Acked(), s.Spurious())
	}
}

// TestSelectiveTimeouts: the timeout is RTO_low while few packets are in flight, and else retransmit_timeout. Each
// packet has its own: after it that packet alone goes again, and what had come is known to have. The congestion
// control is told of one timeout, as all left before it.
func TestSelectiveTimeouts(t *testing.T) {
	for _, flight := range []int64{3, 4} {
		p := newSelectivePair(t, nil)
		c := newRecording()
		s, r := p.start(flight*mtu, c)
		var frames [][]byte
		for range flight {
			frames = append(frames, p.next())
		}
		want := 300 * us
		if flight <= 3 {
			want = 100 * us
		}
		if at := s.Armed(); at < want || at > want+us {
			t.Fatalf("%d in flight: armed at %v, want %v", flight, at, want)
		}
		p.to.Receive(p.now, whole(frames[0])) // its answer is lost
		p.pull(p.to)
		for psn := range uint32(flight) {
			if left := *s.sentAt(int64(psn)); s.Armed() != left+want {
				t.Errorf("packet %d left at %v; its timer expires at %v", psn, left, s.Armed())
			}
			p.now = s.Armed()
			s.OnTimer(p.now)
			data := p.next()
			if got := p.parse(data).PSN; got != psn {
				t.Errorf("packet %d, want %d", got, psn)
			}
			p.to.Receive(p.now, whole(data))
		}
		if len(c.late) != 1 || p.from.Timeouts != flight {
			t.Errorf("timeouts at %v, %d of packets", c.late, p.from.Timeouts)
		}
		if list := p.answers(); list[0].Syndrome != wire.SyndromeAckDuplicate {
			t.Errorf("%+v", list[0])
		}
		if r.Delivered != flight*mtu || s.Spurious() != 1 || r.Placed().Duplicates != 1 || s.state != senderDone {
			t.Errorf("%d placed, %d spurious, %+v", r.Delivered, s.Spurious(), r.Placed())
		}
	}
}

// TestTrimmedPacket: a packet without its payload triggers a NAK that names it, and it is retransmitted at once, even
// if no later packet has arrived.
func TestTrimmedPacket(t *testing.T) {
	p := newSelectivePair(t, nil)
	s, r := p.start(3*mtu, newRecording())
	var frames [][]byte
	for range 3 {
		frames = append(frames, p.next())
	}
	cut := trim(frames[1])
	if w := p.parse(cut); !w.Trimmed() || w.Payload != 0 || !w.ICRCValid() || !w.IPv4().ChecksumValid() ||
		int(w.RETH().DMALen()) != mtu || w.PSN != 1 {
		t.Errorf("%+v", w)
	}
	p.to.Receive(p.now, whole(frames[0]))
	p.to.Receive(p.now, whole(cut))
	list := p.answers()
	if len(list) != 2 || list[1].Kind != wire.KindNak || list[1].Syndrome != wire.SyndromeNakTrimmed || list[1].PSN != 1 ||
		list[1].MSN != 1 {
		t.Fatalf("%+v", list)
	}
	retransmission := p.next()
	if w := p.parse(retransmission); w.PSN != 1 {
		t.Errorf("packet %d", w.PSN)
	}
	p.to.Receive(p.now, whole(retransmission))
	p.to.Receive(p.now, whole(frames[2]))
	p.answers()
	if r.Delivered != 3*mtu || s.Retransmitted != mtu || s.state != senderDone || r.Placed().Trimmed != 1 ||
		p.to.Corrupted != 0 {
		t.Errorf("%d placed, %d again, %+v", r.Delivered, s.Retransmitted, r.Placed())
	}
}

func trim(data []byte) []byte {
	n, _ := wire.Trimmable(data)
	cut := slices.Clone(data)
	wire.Trim(cut, 6, true)
	return cut[:n]
}

// TestTrimmedGoBackN: a receiver that takes packets in order alone refuses it likewise.
func TestTrimmedGoBackN(t *testing.T) {
	p := newPair(t, nil)
	_, r := p.start(3*mtu, newRecording())
	p.to.Receive(p.now, whole(trim(p.next())))
	if list := p.answers(); len(list) != 1 || list[0].Syndrome != wire.SyndromeNakSequence || list[0].PSN != 0 ||
		r.Delivered != 0 {
		t.Errorf("%+v, %d delivered", list, r.Delivered)
	}
}

// FuzzRecovery drives a pair of NICs by a wire that loses, delays, repeats and trims frames as the input says, both
// ways: each byte is placed exactly once, and the flow ends.
func FuzzRecovery(f *testing.F) {
	f.Add([]byte{1, 20, 0, 1, 4, 1, 1, 1, 1, 1, 1, 1})
	f.Add([]byte{0, 40, 0, 2, 0, 0, 9, 9, 1, 1, 2, 3, 4, 5, 6, 7, 8, 200, 100})
	f.Add([]byte{1, 63, 9, 7, 3, 4, 4, 4, 4, 1, 0, 1, 0, 3, 3, 2, 2, 250, 130, 60})
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 4000 {
			t.Skip("a longer way shows no more")
		}
		newDriven(t, in).drive()
	})
}

// TestEveryRecoveryPlacesOnce does the same with a generator of its own inputs, so that each run of the tests covers
// thousands.
func TestEveryRecoveryPlacesOnce(t *testing.T) {
	x := uint64(1)
	for range 400 {
		in := make([]byte, 300)
		for i := range in {
			x = x*6364136223846793005 + 1442695040888963407
			in[i] = byte(x >> 56)
		}
		newDriven(t, in).drive()
	}
}

// TestShorten: a flow that is shortened at any time ends with the data sent and its next packet, and all of that is
// placed once.
func TestShorten(t *testing.T) {
	x := uint64(7)
	var shorter int
	for step := range 400 {
		in := make([]byte, 300)
		for i := range in {
			x = x*6364136223846793005 + 1442695040888963407
			in[i] = byte(x >> 56)
		}
		d := newDriven(t, in)
		d.shortenAt = 1 + step
		before := d.size
		d.drive()
		if d.size < before {
			shorter++
		}
	}
	if shorter < 100 {
		t.Errorf("%d flows of 400 were shortened", shorter)
	}
}

// driven represents a pair with wires.
type driven struct {
	*pair
	in       []byte
	sender   *Sender
	receiver *Receiver
	size     int64
	wires    []onWire
	placed   []bool // by byte
	order    int

	shortenAt int   // a step; 0: it is not shortened
	most      int64 // bytes that may be in flight
}

// inFlight returns the payload in flight, and whether an ACK is due.
func (d *driven) inFlight() (payload int64, due bool) {
	if d.sender.state == senderDone || d.sender.selective() == nil {
		return 0, false
	}
	return d.sender.inFlight(), d.sender.due()
}

// limit notes what may be in flight: no more than before, or if a packet has left, what the window let go. A packet
// goes where the window has room for a part of it, or no ACK is due.
func (d *driven) limit(before int64, due, left bool) {
	s := d.sender
	if left && (s.window == 0 || before < s.window || !due) {
		before += mtu
	}
	d.most = before
}

type onWire struct {
	at    vtime.Time
	order int
	data  []byte
	to    *NIC
}

func (d *driven) byte() int {
	if len(d.in) == 0 {
		return 255
	}
	b := d.in[0]
	d.in = d.in[1:]
	return int(b)
}

func newDriven(t testing.TB, in []byte) *driven {
	d := &driven{in: in}
	d.pair = newPair(t, func(s *Settings) {
		if d.byte()&1 == 1 {
			s.Recovery = SelectiveRepeat
		}
		d.size = int64(1+d.byte()%64)*mtu - int64(d.byte()%mtu)
		s.AckEvery = 1 + d.byte()%8
		s.Selective.Reorder = 1 + d.byte()%5
		s.Selective.Cap = units.Bytes(d.byte() % 20 * mtu)
		s.Selective.LowPackets = d.byte() % 6
		s.RetransmitTimeout = vtime.Time(20+d.byte()) * us
		s.Selective.LowTimeout = vtime.Time(10+d.byte()) * us
		s.NakInterval = vtime.Time(d.byte()) * us
		s.Timestamps = d.byte()&7 == 0
	})
	c := newRecording()
	c.window = int64(d.byte()%12) * mtu
	d.sender, d.receiver = d.start(d.size, c)
	d.placed = make([]bool, d.size)
	return d
}

// carry puts a frame on the wire: the input says what becomes of it.
func (d *driven) carry(f []byte, to *NIC) {
	put := func(delay vtime.Time, data []byte) {
		d.order++
		d.wires = append(d.wires, onWire{d.now + 5*us + delay, d.order, data, to})
	}
	switch fate := d.byte(); {
	case fate < 40: // lost
	case fate < 60:
		put(0, f)
		put(vtime.Time(d.byte())*us/4, f)
	case fate < 110:
		put(vtime.Time(fate)*us/8, f)
	case fate < 130 && to == d.to && d.parse(f).Payload > 0:
		put(0, trim(f))
	default:
		put(0, f)
	}
}

// drive goes on until the flow ends.
func (d *driven) drive() {
	for step := 0; d.sender.state != senderDone; step++ {
		if step > 100_000 {
			d.Fatalf("the flow has not ended: %d of %d acknowledged, %d placed", d.sender.Acked(), d.size, d.receiver.Delivered)
		}
		if d.shortenAt > 0 && step == d.shortenAt {
			sent := d.sender.MostSent()
			if size := d.sender.Shorten(); size != min(d.size, sent+mtu) {
				d.Fatalf("of %d bytes, %d of them sent, %d are left", d.size, sent, size)
			}
			d.size = min(d.size, sent+mtu)
			d.placed = d.placed[:d.size]
		}
		before, due := d.inFlight()
		f, wake := d.from.Dequeue(d.now, 0)
		d.limit(before, due, f != nil)
		if f != nil {
			d.carry(slices.Clone(f.Data()), d.to)
			d.pool.Put(f)
			d.consistent()
			continue
		}
		if answer := d.pull(d.to); answer != nil {
			d.carry(answer, d.from)
			continue
		}
		next := min(wake, d.sender.Armed())
		first := -1
		for i := range d.wires {
			if w := &d.wires[i]; w.at <= next && (first < 0 || w.at < d.wires[first].at || w.at == d.wires[first].at &&
				w.order < d.wires[first].order) {
				first = i
			}
		}
		switch {
		case first >= 0:
			w := d.wires[first]
			d.wires = slices.Delete(d.wires, first, first+1)
			d.now = max(d.now, w.at)
			d.deliver(w)
		case next == vtime.Never:
			d.Fatal("nothing will happen any more")
		default:
			if d.now = max(d.now, next); d.sender.Armed() <= d.now {
				d.sender.OnTimer(d.now)
			}
		}
		d.consistent()
	}
	if n := slices.Index(d.placed, false); n >= 0 || d.receiver.Delivered != d.size || d.sender.Acked() != d.size ||
		d.to.BytesDelivered != d.size {
		d.Errorf("byte %d was not placed; %d of %d delivered", n, d.receiver.Delivered, d.size)
	}
	for _, w := range d.wires { // what is still under way changes nothing
		d.deliver(w)
	}
}

// deliver passes a frame to its NIC. It checks that the bytes newly delivered by the receiver equal the frame's
// payload, at a position that was empty before.
func (d *driven) deliver(w onWire) {
	before := d.receiver.Delivered
	p := d.parse(w.data)
	w.to.Receive(d.now, whole(w.data))
	got := d.receiver.Delivered - before
	if got == 0 {
		return
	}
	at := int64(p.PSN) * mtu
	if r := p.RETH(); r != nil && int64(r.VA()) != at {
		d.Fatalf("PSN %d is for %d", p.PSN, r.VA())
	}
	if int64(p.Payload) != got || w.to != d.to {
		d.Fatalf("%d bytes delivered of a packet of %d", got, p.Payload)
	}
	for i := at; i < at+got; i++ {
		if d.placed[i] {
			d.Fatalf("byte %d was placed twice", i)
		}
		d.placed[i] = true
	}
}

// consistent reports whether the sender's counts of its packets equal the counts in its flags, and no packet is
// acknowledged before it arrived.
func (d *driven) consistent() {
	s := d.sender
	if s.Acked() > d.receiver.Delivered || s.state != senderDone && slices.Contains(d.placed[:s.Acked()], false) {
		d.Fatalf("%d acknowledged of %d delivered", s.Acked(), d.receiver.Delivered)
	}
	r := s.selective()
	if r == nil {
		return
	}
	var lost int
	var arrived, inFlight int64
	oldest := vtime.Never
	for i := s.acked / mtu; i < s.sentPackets(); i++ {
		switch f := *r.at(i); {
		case f&packetArrived != 0:
			arrived++
			if !d.placed[i*mtu] || f&packetLost != 0 {
				d.Fatalf("packet %d: flags %b", i, f)
			}
		case f&packetLost != 0:
			lost++
		default:
			inFlight += min(mtu, d.size-i*mtu)
			oldest = min(oldest, *s.sentAt(i))
		}
	}
	if lost != r.lost || arrived != r.arrived || s.state != senderDone && inFlight != r.inFlight {
		d.Fatalf("%d lost, %d arrived and %d bytes in flight, counted as %d, %d and %d", lost, arrived, inFlight, r.lost,
			r.arrived, r.inFlight)
	}
	if first, ok := s.oldest(); ok != (oldest < vtime.Never) || ok && first.at != oldest {
		d.Fatalf("the oldest packet in flight left at %v, and %v", first.at, oldest)
	}
	if r.inFlight > d.most {
		d.Fatalf("%d bytes in flight where the window lets %d", r.inFlight, d.most)
	}
	if c := int64(s.nic.settings.Selective.Cap); c > 0 && s.next-s.acked > c+mtu {
		d.Fatalf("%d bytes in flight under a cap of %d", s.next-s.acked, c)
	}
	if s.state == senderDrained && s.more() {
		d.Fatal("a flow with more to send is done with sending")
	}
}

// TestSelectiveAckEvery: packets that arrive in order are acknowledged if they request it, and one that fills a gap
// always is.
func TestSelectiveAckEvery(t *testing.T) {
	p := newSelectivePair(t, func(s *Settings) { s.AckEvery = 4 })
	p.start(8*mtu, newRecording())
	var acked []uint32
	lost := false
	for range 9 { // 0 to 3, 4 that is lost, 5, 4 again, 6 and 7
		f := p.next()
		if p.parse(f).PSN == 4 && !lost {
			lost = true
			continue
		}
		p.to.Receive(p.now, whole(f))
		for _, w := range p.answers() {
			if w.Kind == wire.KindAck {
				acked = append(acked, w.PSN)
			}
		}
	}
	if !slices.Equal(acked, []uint32{3, 5, 7}) {
		t.Errorf("ACKs up to %v, want 3, 5 and 7", acked)
	}
}

// TestSelectiveGapFilled: a packet that was overtaken is acknowledged with the packets before it, although it requests
// no ACK.
func TestSelectiveGapFilled(t *testing.T) {
	p := newSelectivePair(t, func(s *Settings) { s.AckEvery, s.Selective.Reorder = 4, 3 })
	p.start(8*mtu, newRecording())
	frames := [][]byte{p.next(), p.next(), p.next()}
	var acked []uint32
	for _, i := range []int{1, 0, 2} {
		p.to.Receive(p.now, whole(frames[i]))
		for _, w := range p.answers() {
			if w.Kind == wire.KindAck {
				acked = append(acked, w.PSN)
			}
		}
	}
	if !slices.Equal(acked, []uint32{1}) {
		t.Errorf("ACKs up to %v, want 1", acked)
	}
}

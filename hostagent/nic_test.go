package hostagent

import (
	"slices"
	"testing"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// dataFrame returns the length of a data packet's frame, by hand: Ethernet 14, IPv4 20, UDP 8, BTH 12, payload, pad, ICRC
// 4, and RETH 16 in the first of a WRITE.
func dataFrame(payload int, first bool) int {
	n := 14 + 20 + 8 + 12 + (payload+3)/4*4 + 4
	if first {
		n += 16
	}
	return n
}

// TestPackets: a flow becomes one WRITE of full packets and a shorter last one, numbered from 0.
func TestPackets(t *testing.T) {
	for _, c := range []struct {
		size    int64
		opcodes []wire.Opcode
		last    int
	}{
		{1, []wire.Opcode{wire.OpWriteOnly}, 1},
		{1000, []wire.Opcode{wire.OpWriteOnly}, 1000},
		{1001, []wire.Opcode{wire.OpWriteFirst, wire.OpWriteLast}, 1},
		{3500, []wire.Opcode{wire.OpWriteFirst, wire.OpWriteMiddle, wire.OpWriteMiddle, wire.OpWriteLast}, 500},
	} {
		p := newPair(t, nil)
		s, r := p.start(c.size, newRecording())
		for i, op := range c.opcodes {
			data := p.next()
			w := p.parse(data)
			payload, last := mtu, i == len(c.opcodes)-1
			if last {
				payload = c.last
			}
			if w.Kind != wire.KindData || w.Opcode != op || w.PSN != uint32(i) || w.Payload != payload || !w.AckReq ||
				!w.ICRCValid() || len(data) != max(60, dataFrame(payload, i == 0)) || w.DestQP != 1 || w.Priority() != 3 ||
				w.ECN() != wire.ECT0 {
				t.Errorf("%d bytes, packet %d: %d bytes of frame, %+v", c.size, i, len(data), w)
			}
			if i == 0 && w.RETH() == nil {
				t.Errorf("%d bytes: no RETH", c.size)
			}
			p.to.Receive(p.now, whole(data))
		}
		if p.pull(p.from) != nil {
			t.Errorf("%d bytes: a packet too many", c.size)
		}
		p.answers()
		if !slices.Equal(p.done, []int{0}) || r.Delivered != c.size || s.Acked() != c.size || p.pool.Out() != 0 {
			t.Errorf("%d bytes: done %v, %d delivered, %d acknowledged, %d frames out", c.size, p.done, r.Delivered, s.Acked(),
				p.pool.Out())
		}
		if p.from.BytesSent != c.size || p.to.BytesDelivered != c.size || p.from.DataSent != int64(len(c.opcodes)) {
			t.Errorf("%d bytes: %+v", c.size, p.from.Counters)
		}
	}
}

// Line times of packets at line rate; the first has a RETH.
var (
	full  = vtime.Time(bytePS * lineBytes(dataFrame(mtu, false)))
	first = vtime.Time(bytePS * lineBytes(dataFrame(mtu, true)))
)

// TestPacing: a packet may leave when its predecessor's line time at the flow's rate has passed since that one left.
// A change of the rate meanwhile moves that time, counted from there too, or counts from the packet after it, as the
// controller says.
func TestPacing(t *testing.T) {
	for _, moves := range []bool{false, true} {
		p := newPair(t, nil)
		c := newRecording()
		c.rate, c.moves = line/4, moves
		s, _ := p.start(100_000, c)
		at := func(packet string, want vtime.Time) {
			t.Helper()
			p.next()
			if p.now != want {
				t.Errorf("a change moves a departure: %t: the %s packet left at %v, want %v", moves, packet, p.now, want)
			}
		}
		p.now = 7 * us
		at("first", 7*us)
		left := 7*us + 4*first
		at("second", left)
		for i, rate := range []float64{line / 2, line / 8} { // faster, then slower, before it leaves
			p.now = left + vtime.Time(i+1)*us/20
			c.rate = rate
			s.onCNP(p.now, &wire.Packet{BECN: true})
		}
		if left += 4 * full; moves {
			left += 4 * full
		}
		at("third", left)
		at("fourth", left+8*full)
		if p.from.RateChanges != 2 || len(c.cnps) != 2 || !c.cnps[0].CE || c.sent != 4*mtu {
			t.Errorf("%d rate changes, CNPs %+v, %d bytes sent", p.from.RateChanges, c.cnps, c.sent)
		}
	}
}

// TestWindowChanges: a controller reacts by its window too, whatever its rate does.
func TestWindowChanges(t *testing.T) {
	p := newPair(t, nil)
	c := newRecording()
	c.rate, c.window = line, 8*mtu
	s, _ := p.start(100_000, c)
	for i, window := range []int64{8 * mtu, 4 * mtu, 4 * mtu, 6 * mtu} {
		c.window = window
		s.onCNP(vtime.Time(i)*us, &wire.Packet{BECN: true})
	}
	if p.from.WindowChanges != 2 || p.from.RateChanges != 0 {
		t.Errorf("%d changes of the window, %d of the rate", p.from.WindowChanges, p.from.RateChanges)
	}
}

// TestRateOfThePacketItself: a controller reacts to a packet's departure, such as by a byte counter, after the next
// departure has been scheduled. The reaction moves that departure only if changes of the rate do.
func TestRateOfThePacketItself(t *testing.T) {
	for _, moves := range []bool{false, true} {
		p := newPair(t, nil)
		c := &counting{recording: *newRecording()}
		c.rate, c.moves = line/4, moves
		p.start(100_000, c)
		p.next()
		p.next()
		want := 4 * first
		if moves {
			want /= 2
		}
		if p.now != want {
			t.Errorf("a change moves a departure: %t: the second packet left at %v, want %v", moves, p.now, want)
		}
	}
}

// counting doubles its rate with every packet.
type counting struct{ recording }

func (c *counting) OnSent(vtime.Time, int) { c.rate *= 2 }

// TestDepartureWhileBlocked: a flow whose window opens goes when its packet was to leave, and at once if that is
// past, whatever its rate has become meanwhile, unless a change of the rate moves departures.
func TestDepartureWhileBlocked(t *testing.T) {
	for _, moves := range []bool{false, true} {
		p := newPair(t, nil)
		c := newRecording()
		c.window, c.moves = mtu, moves
		s, _ := p.start(10*mtu, c)
		data := p.next()
		p.now = 10 * us
		if f, wake := p.from.Dequeue(p.now, 0); f != nil || wake != vtime.Never {
			t.Fatal("the window is full")
		}
		c.rate = line / 1000
		s.onCNP(p.now, &wire.Packet{BECN: true})
		p.to.Receive(p.now, whole(data))
		p.answers()
		p.next()
		want := 10 * us
		if moves {
			want = 1000 * first
		}
		if p.now != want {
			t.Errorf("a change moves a departure: %t: the second packet left at %v, want %v", moves, p.now, want)
		}
	}
}

// TestTurns: flows that may all send take turns.
func TestTurns(t *testing.T) {
	p := newPair(t, nil)
	for range 3 {
		p.start(10*mtu, newRecording())
	}
	var order []uint32
	for range 9 {
		data := p.next()
		order = append(order, p.parse(data).DestQP)
		p.now += vtime.Time(bytePS * (len(data) + overhead))
	}
	if want := []uint32{1, 2, 3, 1, 2, 3, 1, 2, 3}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}

// TestPauseOfPriorities: a priority that is OFF sends nothing, the other goes on.
func TestPauseOfPriorities(t *testing.T) {
	p := newPair(t, nil)
	p.start(10*mtu, newRecording())
	if f, wake := p.from.Dequeue(0, 1<<3); f != nil || wake != vtime.Never {
		t.Errorf("paused data: %v, wake at %v", f, wake)
	}
	p.to.Receive(0, whole(p.next()))
	if f, _ := p.to.Dequeue(p.now, 1<<6); f != nil {
		t.Error("a paused ACK left")
	}
	if p.to.Backlog() != 1 || p.to.BacklogBytes() != wire.AckLen {
		t.Errorf("%d frames of %d bytes wait", p.to.Backlog(), p.to.BacklogBytes())
	}
	f, _ := p.to.Dequeue(p.now, 1<<3)
	if f == nil || f.Priority != 6 {
		t.Errorf("data is paused, control is not: %v", f)
	}
}

// TestWindow: a flow whose window is full waits for an ACK, and goes on with it.
func TestWindow(t *testing.T) {
	p := newPair(t, nil)
	c := newRecording()
	c.window = 2 * mtu
	p.start(10*mtu, c)
	first, second := p.next(), p.next()
	p.now += 100 * us
	if f, wake := p.from.Dequeue(p.now, 0); f != nil || wake != vtime.Never {
		t.Fatalf("the window is full: %v, wake at %v", f, wake)
	}
	p.to.Receive(p.now, whole(first))
	p.answers()
	if data := p.pull(p.from); data == nil || p.parse(data).PSN != 2 {
		t.Errorf("after an ACK: %v", data)
	}
	p.to.Receive(p.now, whole(second))
	if a := c.acks[0]; a.AckedBytes != mtu || a.AckSequence != mtu || a.NextSend != 2*mtu || a.RTT != p.now {
		t.Errorf("%+v", a)
	}
}

// TestTimers: the controller's deadline is armed and rings once.
func TestTimers(t *testing.T) {
	p := newPair(t, nil)
	c := newRecording()
	c.alarm = 55 * us
	s, _ := p.start(10*mtu, c)
	if p.armed[s] != 55*us || s.Armed() != 55*us {
		t.Errorf("armed at %v", p.armed[s])
	}
	s.OnTimer(55 * us)
	if !slices.Equal(c.rang, []vtime.Time{55 * us}) || s.Armed() != vtime.Never {
		t.Errorf("rang at %v, armed at %v", c.rang, s.Armed())
	}
}

// TestStrays: frames that belong to nothing here, and damaged ones, are counted and change nothing.
func TestStrays(t *testing.T) {
	p := newPair(t, nil)
	_, r := p.start(10*mtu, newRecording())
	data := p.next()
	p.from.Receive(0, whole(data)) // h0 expects no data
	broken := slices.Clone(data)
	broken[200] ^= 1
	p.to.Receive(0, whole(broken))
	p.to.Receive(0, whole(data[:20]))
	if p.from.Stray != 1 || p.to.Corrupted != 1 || p.to.Stray != 1 || r.Delivered != 0 || p.to.Backlog() != 0 {
		t.Errorf("h0 %+v\nh1 %+v", p.from.Counters, p.to.Counters)
	}
	p.to.Forget(1)
	p.to.Receive(0, whole(data))
	if p.to.Stray != 2 {
		t.Errorf("a frame for a flow that has ended: %+v", p.to.Counters)
	}
}

// TestCNM: the message reaches the flow of its id, all of them if ids collide, and none of another.
func TestCNM(t *testing.T) {
	p := newPair(t, nil)
	c, other := newRecording(), newRecording()
	s, _ := p.start(10*mtu, c)
	p.start(10*mtu, other)
	var b [wire.CNMLen]byte
	wire.PutCNM(b[:], wire.MAC{}, wire.MAC{}, s.flowID, 5, 40_000)
	p.from.Receive(3*us, whole(b[:]))
	if len(c.cnms) != 1 || c.cnms[0].CNMFlows != 5 || c.cnms[0].CNMRate != line || c.cnms[0].Now != 3*us ||
		len(other.cnms) != 0 {
		t.Errorf("%+v, %+v", c.cnms, other.cnms)
	}
	wire.PutCNM(b[:], wire.MAC{}, wire.MAC{}, s.flowID+1, 5, 40_000)
	p.from.Receive(4*us, whole(b[:]))
	if p.from.CNMsReceived != 2 || p.from.CNMsUnknown != 1 || len(c.cnms) != 1 {
		t.Errorf("%+v", p.from.Counters)
	}
}

// TestACKsWithData: ACKs go in the data's priority, before data, and CNPs in their own; PAUSE stops each by its
// priority.
func TestACKsWithData(t *testing.T) {
	p := newPair(t, func(s *Settings) { s.ACKsWithData = true })
	p.start(2*mtu, newRecording())
	for range 2 {
		data := whole(p.next())
		wire.Ethernet(data.Data())[15] |= byte(wire.CE) // of the IP header's TOS
		p.to.Receive(p.now, data)
	}
	if p.to.Backlog() != 3 || p.to.BacklogBytes() != 2*wire.AckLen+wire.CNPLen {
		t.Fatalf("%d frames of %d bytes wait, want two ACKs and a CNP", p.to.Backlog(), p.to.BacklogBytes())
	}
	leaves := func(off uint8, kind wire.Kind, priority uint8) {
		t.Helper()
		f, _ := p.to.Dequeue(p.now, off)
		if f == nil {
			t.Fatalf("nothing leaves with the priorities %08b OFF", off)
		}
		if got := p.parse(f.Data()); got.Kind != kind || got.Priority() != priority || f.Priority != priority ||
			!got.ICRCValid() {
			t.Errorf("%v of priority %d (%d in the frame), want %v of %d", got.Kind, f.Priority, got.Priority(), kind, priority)
		}
		p.pool.Put(f)
	}
	leaves(1<<6, wire.KindAck, 3)
	if f, _ := p.to.Dequeue(p.now, 1<<3|1<<6); f != nil {
		t.Error("a paused answer left")
	}
	leaves(1<<3, wire.KindCNP, 6)
	if f, _ := p.to.Dequeue(p.now, 1<<3); f != nil {
		t.Error("a paused ACK left")
	}
	if !p.to.Waiting() {
		t.Error("nobody waits")
	}
	leaves(0, wire.KindAck, 3)
}

// TestACKsWhenPaused: PAUSE stops data and no answer.
func TestACKsWhenPaused(t *testing.T) {
	for _, withData := range []bool{false, true} {
		p := newPair(t, func(s *Settings) { s.ACKsWithData, s.ACKsWhenPaused = withData, true })
		p.start(10*mtu, newRecording())
		data := whole(p.next())
		wire.Ethernet(data.Data())[15] |= byte(wire.CE)
		p.to.Receive(p.now, data)
		for left := range 2 { // a CNP and an ACK
			if f, _ := p.to.Dequeue(p.now, 0xff); f == nil {
				t.Errorf("ACKs with data %v: %d of two answers left a paused port", withData, left)
			}
		}
		if f, _ := p.from.Dequeue(p.now, 1<<3); f != nil {
			t.Error("data left a paused port")
		}
	}
}
